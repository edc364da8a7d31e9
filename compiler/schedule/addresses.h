// Where elements of buffers lie.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// In elements, from the start of the buffer's storage.
Dim address_of(const loops::Program& program, loops::BufferId id, const DimVec& index);

}  // namespace lenz::schedule
