// How much there is for an interpreter to walk.
// Thread-safety: pure functions.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::loops {

// Points of all nests, at these sizes (an open one counts as one); of a costly function each counts so many times.
inline constexpr double kCostlyPoints = 32;
double points(const Program& program, const SymValues& sizes);

}  // namespace lenz::loops
