// Generators of calls of views, of their copies and scatters.
#pragma once

#include "compiler/ops/call_maker.h"
#include "compiler/ops/rules/views.h"

namespace lenz::make {

// One tensor of a rank in here; other parameters as `finish` fills them.
void tensor_of_rank(CallMaker& m, int low, int high);
template <int Low, int High>
void ranked(CallMaker& m) {
  tensor_of_rank(m, Low, High);
}

void view_shape(CallMaker& m);     // view: a shape that the strides allow
void reshape_shape(CallMaker& m);  // reshape: any shape of as many elements
void view_like(CallMaker& m);      // view_as
void reshape_like(CallMaker& m);
void view_dtype(CallMaker& m);
void reshape_alias(CallMaker& m);
void permutation(CallMaker& m);
void two_dims(CallMaker& m);   // transpose and its names
void move_dims(CallMaker& m);  // movedim, moveaxis: one pair or lists
void expansion(CallMaker& m);
void expansion_like(CallMaker& m);
void a_dim(CallMaker& m);         // squeeze.dim
void list_of_dims(CallMaker& m);  // squeeze.dims
void a_new_dim(CallMaker& m);     // unsqueeze
void slice(CallMaker& m);
void select(CallMaker& m);
void narrow(CallMaker& m);
void unfold(CallMaker& m);
void diagonal(CallMaker& m);
void as_strided(CallMaker& m);
void as_strided_writable(CallMaker& m);  // no two elements share memory by a stride of 0
void of_reals(CallMaker& m);
void of_complexes(CallMaker& m);
void unflatten(CallMaker& m);
void flatten(CallMaker& m);
void contiguous(CallMaker& m);
void split(CallMaker& m);
void split_sizes(CallMaker& m);
void chunk(CallMaker& m);
void tensor_split(CallMaker& m);  // by sections or indices
void split_axis(CallMaker& m, size_t axis);
template <size_t Axis>
void axis_split(CallMaker& m) {
  split_axis(m, Axis);
}
void unbind(CallMaker& m);

// The scatter of a view: its attributes, then a `src` of the part's shape, which the view's rule tells.
void set_source(CallMaker& m, rule::View place);
template <void (*View)(CallMaker&), rule::View Place>
void scatter(CallMaker& m) {
  View(m);
  set_source(m, Place);
}
// The backward of a view: its attributes over `input_sizes`, and a gradient of the part's shape.
void select_backward(CallMaker& m);
void slice_backward(CallMaker& m);
void diagonal_backward(CallMaker& m);
void unfold_backward(CallMaker& m);

}  // namespace lenz::make
