// What attention is written with: rules that recognise one step each. A step's name says what it does, `%x` what it is
// done to; but for the last set none is ever applied as a rewrite.
// Thread-safety: constant.
#pragma once

#include <string_view>

#include "compiler/graph/pattern.h"

namespace lenz {

struct AttentionPatterns {
  RuleSet equations;     // products in another spelling, which are taken apart before anything is looked for
  RuleSet products;      // $f times that of %x and %y, and $b times %t
  RuleSet late;          // the second product where its result is divided by the sum of the weights
  RuleSet weights;       // between the softmax and the second product: off, cast, reshape, turn
  RuleSet softmax;       // of %x over its dim number $back from behind
  RuleSet exponentials;  // and but for the division
  // Between the first product and the softmax: cast, reshape, turn, scale, factor, divisor, bias, seen, hidden.
  RuleSet scores;
  RuleSet shared_heads;  // applied as they are: the op on keys and values that are repeated for each head of a group
};
const AttentionPatterns& attention_patterns();

// Names of the ops that the replacement is made of.
struct AttentionForms {
  std::string_view attention, cast, copy, number_as_tensor, number_of_tensor, reciprocal, root, unsqueeze, transpose,
      expand, reshape, view, add, mul, div, where, also, negated;
};
const AttentionForms& attention_forms();

}  // namespace lenz
