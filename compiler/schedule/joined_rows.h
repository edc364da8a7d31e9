// Rows that a nest walks in short parts, as groups of channels are: they are one axis, though something is one value
// for a part (a group's mean). Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Points of a row are worth one axis where its innermost parts are shorter than memory brings at once.
inline constexpr int64_t kShortPart = 64;

// The two innermost parallel axes of such nests become one, and so do the dims of what they store, where its place is
// free.
void join_parts_of_rows(loops::Program& program);

}  // namespace lenz::schedule
