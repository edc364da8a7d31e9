// Values that are the same all along an axis of a nest, as the weights of a pixel for all channels of an image that is
// sampled at computed places: where they take long, they are computed once, in nests of their own.
// Thread-safety: pure functions.
#pragma once

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// Nests of one value for each point alone. What coordinates decide without data stays: it is worked out once for rows
// and columns anyway.
void compute_shared_values_once(loops::Program& program, const Target& target);

}  // namespace lenz::schedule
