// Parts of a tensor along a dim, for rules of views.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule::at {

// The dim that a parameter names, of a tensor that must have dims.
size_t dim_of_ranked(Infer& in, std::string_view param, const Type& t);
// The place of an element counted from either end, which lies in the dim. Whatever a place is that only the run knows,
// what it becomes lies in a dim that has elements.
Dim element_place(Assumptions& known, Dim at, Dim size);
// A position counted from either end, into [low, size].
Dim clamped(Infer& in, Dim at, Dim low, Dim size);
TensorType slice_of(const TensorType& t, size_t dim, Dim start, Dim length, Dim step = 1);

}  // namespace lenz::rule::at
