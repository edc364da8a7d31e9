// Errors of what a grid of positions samples. Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle::flow {

struct Sampled {
  at::Tensor error;    // of each sample, but for the rounding that stores it
  at::Tensor largest;  // no smaller than any element that it may be made of
  bool jumps = false;  // the nearest element is taken, not a mean
};

// `value`: the samples; `unit`: of the dtype that positions, weights and sums are computed in.
Sampled errors_by_grid(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& value, double unit);

}  // namespace lenz::oracle::flow
