// Generators of calls of ops that make tensors.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void sized(CallMaker& m);  // a size, and what else the schema has: dtype, format, fill value, bounds
void strided(CallMaker& m);
void permuted_layout(CallMaker& m);
// Self of any dtype, a result of one of these, and as `sized`.
void like_of(CallMaker& m, DtypeSet results);
template <DtypeSet Results>
void like(CallMaker& m) {
  like_of(m, Results);
}
void arange(CallMaker& m);
void linspace(CallMaker& m);
void eye(CallMaker& m);
void triangle_indices(CallMaker& m);
void number(CallMaker& m);  // scalar_tensor
void window(CallMaker& m);
void randperm(CallMaker& m);
void fill(CallMaker& m);

void draw(CallMaker& m);              // uniform and its kin, in place too
void probabilities(CallMaker& m);     // bernoulli: self holds probabilities
void by_probabilities(CallMaker& m);  // bernoulli.Tensor
void normal(CallMaker& m);
void counts(CallMaker& m);  // poisson
void binomial(CallMaker& m);
void dropout_backward(CallMaker& m);
void dropout_from(CallMaker& m, int rank);
template <int Rank>
void dropout(CallMaker& m) {
  dropout_from(m, Rank);
}
void multinomial(CallMaker& m);

}  // namespace lenz::make
