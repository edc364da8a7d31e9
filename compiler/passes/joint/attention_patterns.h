// What attention is written with: rules that recognise one step each. A step's name says what it does, `%x` what it is
// done to; but for the last set none is ever applied as a rewrite.
// Thread-safety: constant.
#pragma once

#include <string_view>

#include "compiler/graph/pattern.h"

namespace lenz {

struct AttentionPatterns {
  RuleSet products;  // product, product_scaled: of %x and %y, its last attribute being the scale
  RuleSet weights;   // between the softmax and the second product: off, cast, reshape
  RuleSet softmax;   // over the last dim of %x
  RuleSet
      scores;  // between the first product and the softmax: cast, reshape, scale, factor, divisor, bias, seen, hidden
  RuleSet shared_heads;  // applied as they are: the op on keys and values that are repeated for each head of a group
};
const AttentionPatterns& attention_patterns();

// Names of the ops that the replacement is made of.
struct AttentionForms {
  std::string_view attention, transpose, expand, reshape, view, add, mul, div, where, also, negated;
};
const AttentionForms& attention_forms();

}  // namespace lenz
