// What the roundings of a sum come to, in whatever order and tree its terms are added.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

// The most that a part of a sum may come to, in whatever order it is taken: all that has one sign, whose size is half
// of that of all and of the sum together; and what operands and roundings bring to it.
at::Tensor most_of_sums(const at::Tensor& far, const at::Tensor& near, const at::Tensor& size, const at::Tensor& n,
                        Dtype sums);

// What the terms of the lesser sign come to, of sums of this size.
at::Tensor lesser_of_sums(const at::Tensor& far, const at::Tensor& near, const at::Tensor& size, const at::Tensor& n);

struct SumOf {
  at::Tensor n;         // terms, of each result
  at::Tensor most;      // that a part of them comes to
  at::Tensor lesser;    // what those that have the other sign than the sum come to
  at::Tensor value;     // the sum
  double greatest = 0;  // size of a term
  Dtype carried = Dtype::f32;
};
// What a sum of a call's floating elements, each once and as it is, may lose or gain by roundings: no more than what
// either of two counts allows, of the sizes that parts may have, and of what terms are beside the grid of the largest.
at::Tensor lost_in_sums(FlowContext& in, const Call& call, const SumOf& sum, size_t result);

// How terms of other sums of floating elements, or of products of them, are rounded themselves: by how many places each
// at most, whatever the order that factors are taken in.
struct TermRoundings {
  double each = 0;           // of a term
  double part = 0;           // of what each addition gives
  bool whole_places = true;  // numbers scale parts, whose binades are others then
  Dtype carried = Dtype::f32;
};
TermRoundings roundings_of_terms(FlowContext& in, const Call& call, const std::vector<Arg>& ones, Dtype sums);
// What such sums of n terms, no part of which exceeds `most`, lose: `far` is what all come to without signs.
at::Tensor lost_in_linear(const TermRoundings& terms, const at::Tensor& n, const at::Tensor& most,
                          const at::Tensor& far);

}  // namespace lenz::oracle
