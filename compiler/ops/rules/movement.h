// Result types of ops that move elements into fresh memory: copies and conversions, reorderings, joins, paddings.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

// --- copies and conversions
void clone(Infer& in);
void copy(Infer& in);  // functional copy: self's place, src's values
void to_copy(Infer& in);
void to(Infer& in);        // self itself if nothing changes
void to_other(Infer& in);  // as the tensor `other`: to.other, type_as

// --- reorderings and repetitions
void flip(Infer& in);
void flip_axis(Infer& in, size_t axis);
template <size_t Axis>
void flip_along(Infer& in) {  // flipud, fliplr
  flip_axis(in, Axis);
}
void roll(Infer& in);
void rot90(Infer& in);
void repeat(Infer& in);  // and tile
void tile(Infer& in);
void repeat_interleave(Infer& in);
void repeats_to_indices(Infer& in);  // repeat_interleave.Tensor
void triangle(Infer& in);            // tril, triu
void diag(Infer& in);
void diag_embed(Infer& in);
void diagflat(Infer& in);
void vander(Infer& in);
void kron(Infer& in);
void pixel_shuffle(Infer& in);
void pixel_unshuffle(Infer& in);
void channel_shuffle(Infer& in);
void im2col(Infer& in);
void col2im(Infer& in);
void at_least(Infer& in, size_t rank);
template <size_t Rank>
void atleast(Infer& in) {  // a view, although the schema does not say so
  at_least(in, Rank);
}

// --- joins
TensorType concatenated(Infer& in, const std::vector<const Type*>& tensors, int64_t dim);
void cat(Infer& in);
void stack(Infer& in);
void hstack(Infer& in);
void vstack(Infer& in);
void dstack(Infer& in);
void column_stack(Infer& in);
void block_diag(Infer& in);
void cartesian_prod(Infer& in);

// --- paddings
void constant_pad(Infer& in);
void reflect_or_replicate(Infer& in, size_t dims, bool reflect);
void pad_backward(Infer& in, size_t dims, bool reflect);
template <size_t Dims, bool Reflect>
void edge_pad(Infer& in) {
  reflect_or_replicate(in, Dims, Reflect);
}
template <size_t Dims, bool Reflect>
void edge_pad_backward(Infer& in) {
  pad_backward(in, Dims, Reflect);
}
void circular_pad(Infer& in);
void pad_sequence(Infer& in);
void pad(Infer& in);  // by mode

}  // namespace lenz::rule
