// Ends of what may overflow, for whole tensors: which numbers sums and extremes of such elements reach at least.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle::flow {

// The farthest that a right number of this dtype lies above the value (sign 1), or below it (-1); an infinity where it
// has no such end.
at::Tensor end_of(const Planes& planes, Dtype dtype, double sign);

// Where elements may be anything, NaN too.
at::Tensor without_ends(const Planes& planes);

// What a result's lean is whose right numbers lie between these two, where one of them is an infinity.
at::Tensor lean_between(const at::Tensor& value, const at::Tensor& low, const at::Tensor& high, Dtype dtype);

// Of a sum whose errors are infinite: the ends it has where all terms without an end lean to one side. `sum` bounds
// another call of the same op.
void keep_ends_of_sums(FlowContext& in, const Call& call, const at::Tensor& result,
                       const std::function<Outcome(const Call&)>& sum);

}  // namespace lenz::oracle::flow
