// Copies that turn what they copy: into a result of another shape, or for an extern op that wants its operand so.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// A nest that stores what no other nest reads has the axes of the nest that computes what it reads, in their order:
// then both may be one. In which order points run is for tiles to say, by where elements lie.
void order_axes_as_read(loops::Program& program);

}  // namespace lenz::schedule
