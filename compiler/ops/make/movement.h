// Generators of calls of ops that move elements.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void clone(CallMaker& m);            // with a memory format
void copy(CallMaker& m);             // self and a src that expands to it, of any dtype
void conversion(CallMaker& m);       // to another dtype and format
void conversion_like(CallMaker& m);  // to another tensor's dtype

// Eager flips and shuffles float8 in some layouts only: these draw none.
void flip(CallMaker& m);
void flip_of_rank(CallMaker& m, int rank);
template <int Rank>
void flip_from(CallMaker& m) {
  flip_of_rank(m, Rank);
}
void roll(CallMaker& m);
void rot90(CallMaker& m);
void repeat(CallMaker& m);  // and tile
void repeat_interleave(CallMaker& m);
void repeats(CallMaker& m);  // repeat_interleave.Tensor
void triangle(CallMaker& m);
void diag(CallMaker& m);
void diag_embed(CallMaker& m);
void diagflat(CallMaker& m);
void vander(CallMaker& m);
void kron(CallMaker& m);
void pixel_shuffle(CallMaker& m);
void pixel_unshuffle(CallMaker& m);
void channel_shuffle(CallMaker& m);
void im2col(CallMaker& m);
void col2im(CallMaker& m);

void cat(CallMaker& m);    // tensors that agree but for one dim, some of shape [0]
void stack(CallMaker& m);  // tensors of one shape
void joined_at_rank(CallMaker& m, int rank, size_t dim);
template <int Rank, size_t Dim>
void joined(CallMaker& m) {  // hstack and its kin: as cat of tensors of at least this rank
  joined_at_rank(m, Rank, Dim);
}
void column_stack(CallMaker& m);
void block_diag(CallMaker& m);
void cartesian_prod(CallMaker& m);

void constant_pad(CallMaker& m);
void pad(CallMaker& m);
void circular_pad(CallMaker& m);
void pad_sequence(CallMaker& m);
void edge_padding(CallMaker& m, size_t dims, bool reflect, bool backward);
template <size_t Dims, bool Reflect, bool Backward = false>
void edge_pad(CallMaker& m) {
  edge_padding(m, Dims, Reflect, Backward);
}

}  // namespace lenz::make
