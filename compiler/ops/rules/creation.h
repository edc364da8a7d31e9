// Result types of ops that make tensors: of sizes, like other tensors, of ranges, of random numbers.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

// Eager converts a number to an element of this dtype, and raises when it is out of range.

// --- of sizes
void empty(Infer& in);
void empty_strided(Infer& in);  // and new_empty_strided
void empty_permuted(Infer& in);
void filled(Infer& in);           // zeros, ones, rand, randn, normal: f32 unless a dtype is given
void full(Infer& in);             // the fill value tells the dtype
void random_integers(Infer& in);  // randint
// *_like; the set is what the result's dtype may be.
void like_of(Infer& in, DtypeSet results);
template <DtypeSet Results>
void like(Infer& in) {
  like_of(in, Results);
}
void random_integers_like(Infer& in);  // randint_like
void full_like(Infer& in);
void new_sized(Infer& in);  // new_*
void new_full(Infer& in);

// --- of ranges and patterns
void arange(Infer& in);
void linspace(Infer& in);  // and logspace
void eye(Infer& in);
void triangle_indices(Infer& in, bool lower);
template <bool Lower>
void triangle_indices(Infer& in) {
  triangle_indices(in, Lower);
}
void scalar_tensor(Infer& in);
void window(Infer& in);
void randperm(Infer& in);

// --- over a tensor's place
void fill(Infer& in);  // fill, zero: self's place, another value

// --- random
void draw_like(Infer& in);
void geometric(Infer& in);
void log_normal(Infer& in);  // uniform and its kin: parameters are checked by what they are called
void draw_into(Infer& in);   // the same, in place
void bernoulli(Infer& in);   // .default and .p
void bernoulli_by_tensor(Infer& in);
void normal(Infer& in);  // one or both parameters are tensors
void poisson(Infer& in);
void binomial(Infer& in);
void dropout_of(Infer& in, bool channels);  // one draw for each element, or for each channel
template <bool Channels>
void dropout(Infer& in) {
  dropout_of(in, Channels);
}
void native_dropout(Infer& in);
void multinomial(Infer& in);

}  // namespace lenz::rule
