// Generators of calls of reductions and scans.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void reduction(CallMaker& m);  // `dim` in any of its forms, `keepdim`, `dtype`
void logsumexp(CallMaker& m);
void reduction_nonempty(CallMaker& m);  // nothing is reduced to no element: extrema have no identity
void vector_norm(CallMaker& m);
void power_sum(CallMaker& m);
void norm(CallMaker& m);  // aten.norm: p first
void variance(CallMaker& m);
void median(CallMaker& m);  // along a dim; no two elements share memory
void kthvalue(CallMaker& m);
void matrix(CallMaker& m);  // trace
void distance(CallMaker& m);
void scan(CallMaker& m);  // one dim, optional dtype
void renorm(CallMaker& m);

// `dim` of a reduction over `self`, in the form that the schema asks for.
void set_dims(CallMaker& m, ValueId self, bool allow_empty);

void difference(CallMaker& m);  // along a dim, with more in front of or behind `self`

}  // namespace lenz::make
