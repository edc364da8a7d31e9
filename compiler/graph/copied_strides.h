// How eager lays a copy of a tensor, or the result of an iteration over several. Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz {

bool is_contiguous(Infer& in, const Type& t);
bool is_dense(Infer& in, const Type& t);  // non-overlapping and dense

// The order in which eager's iterator puts the dims, innermost first: a stable sort by the operands' strides, in which
// a broadcast dim says nothing.
SmallVec<size_t, 6> iteration_order(Infer& in, std::span<const DimVec> strides, std::span<const Dim> shape);
DimVec strides_in_order(std::span<const Dim> shape, std::span<const size_t> inner_first);

// empty_like with preserve_format: dense strides are kept, others give the order of dims.
DimVec preserved_strides(Infer& in, const Type& like);

// Whether eager hands that operand over as a copy, where no other op of its own sees it first: it is lazily conjugated
// or negated.
bool is_read_lazily(const Infer& in, size_t i);
const Type& copied_if_lazy(Infer& in, size_t i);  // its type as it is handed over then

}  // namespace lenz
