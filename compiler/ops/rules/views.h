// Views: where the elements of a result lie in the storage of the op's first operand. One function per way of looking;
// the op that aliases, the op that copies (`*_copy`) and the op that writes there (`*_scatter`) share it.
// Thread-safety: pure, given one Infer.
#pragma once

#include <vector>

#include "compiler/graph/infer.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

using View = TensorType (*)(Infer&);
using ViewList = std::vector<TensorType> (*)(Infer&);

namespace at {  // places
TensorType whole(Infer& in);    // alias, detach, lift_fresh
TensorType shaped(Infer& in);   // view, by its shape
TensorType as_dtype(Infer& in);
TensorType like_other(Infer& in);
TensorType with_strides(Infer& in);  // _reshape_alias
TensorType permuted(Infer& in);
TensorType swapped(Infer& in);   // transpose, swapaxes, swapdims
TensorType moved(Infer& in);     // movedim, moveaxis
TensorType reversed(Infer& in);  // numpy_T
TensorType flat_transposed(Infer& in);    // t: rank 2 at most
TensorType matrix_transposed(Infer& in);  // mT: rank 2 at least
TensorType adjoint(Infer& in);            // of real tensors
TensorType expanded(Infer& in);
TensorType expanded_as(Infer& in);
TensorType squeezed(Infer& in);
TensorType squeezed_dims(Infer& in);  // .dim and .dims
TensorType unsqueezed(Infer& in);
TensorType sliced(Infer& in);
TensorType selected(Infer& in);
TensorType narrowed(Infer& in);
TensorType unfolded(Infer& in);
TensorType on_diagonal(Infer& in);
TensorType strided(Infer& in);  // as_strided
TensorType of_reals(Infer& in);      // view_as_real
TensorType of_complexes(Infer& in);  // view_as_complex
TensorType real_part(Infer& in);
TensorType imaginary_part(Infer& in);
TensorType unflattened(Infer& in);

std::vector<TensorType> split(Infer& in);
std::vector<TensorType> split_with_sizes(Infer& in);
std::vector<TensorType> chunked(Infer& in);
std::vector<TensorType> split_in_sections(Infer& in);  // tensor_split
std::vector<TensorType> split_at(Infer& in);           // tensor_split with indices
std::vector<TensorType> split_along(Infer& in, size_t axis);
template <size_t Axis>
std::vector<TensorType> split_axis(Infer& in) {  // vsplit, hsplit, dsplit: axis 0, 1, 2; a vector's only one for 1
  return split_along(in, Axis);
}
std::vector<TensorType> unbound(Infer& in);
}  // namespace at

// The whole of a list's types as results that alias operand 0.
void alias_list(Infer& in, const std::vector<TensorType>& views);
void fresh_list(Infer& in, const std::vector<TensorType>& views);  // contiguous copies

template <View V>
void view(Infer& in) {
  in.alias(V(in), 0);
}
template <View V>
void view_copy(Infer& in) {
  in.result(contiguous_like(V(in)));
}
template <ViewList V>
void views(Infer& in) {
  alias_list(in, V(in));
}
template <ViewList V>
void views_copy(Infer& in) {
  fresh_list(in, V(in));
}
// slice_scatter and its kin: a copy of self, of which that part is `src`.
void scattered(Infer& in, const TensorType& part);
template <View V>
void scatter(Infer& in) {
  scattered(in, V(in));
}
// slice_backward and its kin: zeros of `input_sizes`, of which that part is the gradient.
void zeros_of_input_sizes(Infer& in);

// Views where strides allow, else copies.
void reshape(Infer& in);
void reshape_as(Infer& in);
void flatten(Infer& in);
void ravel(Infer& in);
void contiguous(Infer& in);

}  // namespace lenz::rule
