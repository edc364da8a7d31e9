// Values that a program builds up in memory of their own (rows added at places that data name), and then copies whole
// into a result.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Builds such values where they are copied to, if nobody else reads them, and takes out the copy.
void build_in_place(loops::Program& program);

}  // namespace lenz::schedule
