// Values that all their readers see in another shape: a group's channels and places as one dim where it is normed, as
// channels, rows and columns behind it.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// An axis by whose quotient something is read becomes two (channels: groups, and those of a group).
// A dim that every reader takes as two (an axis times a number, plus an axis of that number) becomes two dims, and the
// axis that goes along it where it is computed two axes: then both nests have the same axes, and may be one.
void split_dims_as_read(loops::Program& program);

}  // namespace lenz::schedule
