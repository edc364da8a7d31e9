// Views: where the elements of a result lie in the storage of the op's first operand. One function per way of looking;
// the op that aliases, the op that copies (`*_copy`) and the op that writes there (`*_scatter`) share it.
// Thread-safety: pure, given one Infer.
#pragma once

#include <vector>

#include "compiler/graph/infer.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

using View = TensorType (*)(Infer&, const Type& of);
using ViewList = std::vector<TensorType> (*)(Infer&, const Type& of);

namespace at {                                // places
TensorType whole(Infer& in, const Type& t);   // alias, detach, lift_fresh
TensorType shaped(Infer& in, const Type& t);  // view, by its shape
TensorType as_dtype(Infer& in, const Type& t);
TensorType with_strides(Infer& in, const Type& t);  // _reshape_alias
TensorType like_other(Infer& in, const Type& t);
TensorType permuted(Infer& in, const Type& t);
TensorType swapped(Infer& in, const Type& t);            // transpose, swapaxes, swapdims
TensorType moved(Infer& in, const Type& t);              // movedim, moveaxis
TensorType reversed(Infer& in, const Type& t);           // numpy_T
TensorType flat_transposed(Infer& in, const Type& t);    // t: rank 2 at most
TensorType matrix_transposed(Infer& in, const Type& t);  // mT: rank 2 at least
TensorType adjoint(Infer& in, const Type& t);            // lazily conjugated, which its trait says
TensorType matrix_adjoint(Infer& in, const Type& t);     // matrix_H: no batches
TensorType expanded(Infer& in, const Type& t);
TensorType expanded_as(Infer& in, const Type& t);
TensorType squeezed(Infer& in, const Type& t);
TensorType squeezed_dims(Infer& in, const Type& t);  // .dim and .dims
TensorType unsqueezed(Infer& in, const Type& t);
TensorType sliced(Infer& in, const Type& t);
TensorType selected(Infer& in, const Type& t);
TensorType narrowed(Infer& in, const Type& t);
TensorType unfolded(Infer& in, const Type& t);
TensorType on_diagonal(Infer& in, const Type& t);
TensorType strided(Infer& in, const Type& t);       // as_strided
TensorType of_reals(Infer& in, const Type& t);      // view_as_real
TensorType of_complexes(Infer& in, const Type& t);  // view_as_complex
TensorType real_part(Infer& in, const Type& t);
TensorType imaginary_part(Infer& in, const Type& t);
TensorType unflattened(Infer& in, const Type& t);

std::vector<TensorType> split(Infer& in, const Type& t);
std::vector<TensorType> split_with_sizes(Infer& in, const Type& t);
std::vector<TensorType> chunked(Infer& in, const Type& t);
std::vector<TensorType> split_in_sections(Infer& in, const Type& t);  // tensor_split
std::vector<TensorType> split_at(Infer& in, const Type& t);           // tensor_split with indices
std::vector<TensorType> split_along(Infer& in, const Type& t, size_t axis);
template <size_t Axis>
std::vector<TensorType> split_axis(Infer& in,
                                   const Type& t) {  // vsplit, hsplit, dsplit: axis 0, 1, 2; a vector's only one for 1
  return split_along(in, t, Axis);
}
std::vector<TensorType> unbound(Infer& in, const Type& t);
}  // namespace at

// The whole of a list's types as results that alias operand 0.
void alias_list(Infer& in, const std::vector<TensorType>& views);
void fresh_list(Infer& in, const std::vector<TensorType>& views);  // contiguous copies
// Of what is lazily conjugated, or negated, views of one copy of it; else views of the operand.
void maybe_alias_list(Infer& in, ViewList views);

template <View V>
void view(Infer& in) {
  in.alias(V(in, in.tensor(0)), 0);
}
template <View V>
void view_copy(Infer& in) {
  in.result(contiguous_like(V(in, in.tensor(0))));
}
template <ViewList V>
void views(Infer& in) {
  alias_list(in, V(in, in.tensor(0)));
}
template <ViewList V>
void maybe_views(Infer& in) {
  maybe_alias_list(in, V);
}
template <ViewList V>
void views_copy(Infer& in) {
  fresh_list(in, V(in, in.tensor(0)));
}
// slice_scatter and its kin: a copy of self, of which that part is `src`.
void scattered(Infer& in, const TensorType& whole, const TensorType& part);
template <View V>
void scatter(Infer& in) {
  TensorType whole = same_placement(in, in.tensor(0));
  scattered(in, whole, V(in, *in.context().tensor(whole)));
}
// slice_backward and its kin: zeros of `input_sizes`, of which that part is the gradient.
TensorType zeros_of_input_sizes(Infer& in);
void require_expands(Infer& in, const Type& from, std::span<const Dim> to);
template <View V>
void view_backward(Infer& in) {
  TensorType whole = zeros_of_input_sizes(in);
  require_expands(in, in.tensor(0), V(in, *in.context().tensor(whole)).sizes);
  in.result(whole);
}

void unfold_backward(Infer& in);

// Views where strides allow, else copies.
void reshape(Infer& in);
void reshape_copy(Infer& in);  // always a copy: view_copy
void reshape_as(Infer& in);
void flatten(Infer& in);
void ravel(Infer& in);
void contiguous(Infer& in);
// A copy of what is lazily conjugated, which only the graph around it knows; else the operand itself.
void resolved_conj(Infer& in);

}  // namespace lenz::rule
