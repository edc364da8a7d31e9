// Squares whose results go past the caches and lie in rows that begin anywhere: only whole lines go there at no cost,
// and a vector of a square's row is rarely one. Such a tile is computed in a local buffer, whose rows are then copied.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Of a realised program whose buffers say which are far (far.h).
void stage_squares(loops::Program& program);

}  // namespace lenz::schedule
