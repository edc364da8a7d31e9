// A program once more: blocks own what stands in them, so that programs are not copied by accident.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::loops {

// Of the same context.
Program clone(const Program& program);

}  // namespace lenz::loops
