// Result types of reductions and scans. Eager gives every reduction a contiguous result.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

// Which dims of a tensor of this rank a reduction's `dim` argument names: none and an empty list mean all.
SmallVec<bool, 6> reduced_dims(Infer& in, size_t rank);
DimVec reduced_sizes(Infer& in, std::span<const Dim> sizes, const SmallVec<bool, 6>& reduced, bool keep);

void sum_like(Infer& in);   // integers become i64; `dtype` overrides
void nansum(Infer& in);     // as sum_like, complex refused
void mean_like(Infer& in);  // floats only, unless `dtype` says one
void nanmean(Infer& in);
void extremum(Infer& in);         // amax, amin, max, min, median without dim: the operand's dtype; empty refused
void extremum_pair(Infer& in);    // aminmax
void value_and_index(Infer& in);  // max.dim, mode, kthvalue: values and i64 indices
void arg_extremum(Infer& in);     // i64
void any_all(Infer& in);          // bool, but u8 for u8
// Whether eager's kernel asks of operands that have become what it writes: bytes. It runs but for more than one
// element: a single one is asked itself.
bool asks_what_it_writes(const OpDef& op, Dtype written);
void variance(Infer& in);  // floats; of complex its real type
void variance_and_mean(Infer& in);
void vector_norm(Infer& in);
void power_sum(Infer& in);  // a vector norm but for the root
void logsumexp(Infer& in);
void count_nonzero(Infer& in);
void trace(Infer& in);
void distance(Infer& in);  // dist: a 0-dim norm of a broadcast difference

void cumulative(Infer& in);       // cumsum, cumprod
void cumulative_same(Infer& in);  // logcumsumexp: floats keep their dtype
void cumulative_extremum(Infer& in);
void renorm(Infer& in);

}  // namespace lenz::rule
