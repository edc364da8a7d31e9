#include "compiler/passes/joint/attention_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
constexpr std::string_view kProducts = R"(
  rule product {
    either { %r = aten.matmul(%x, %y) } or { %r = aten.bmm(%x, %y) } or { %r = aten.mm(%x, %y) }
    where rank(%x) >= 2, rank(%y) >= 2
    replace %r with %x
  }
  # An addend of no weight is not even looked at.
  rule scaled_product {
    %r = aten.baddbmm(_, %x, %y, beta=0, alpha=$f)
    where is_number($f)
    replace %r with %x
  }
)";

// The same elements in the same order under other sizes; how they lie does not matter.
#define LENZ_RESHAPE                                                                                        \
  "rule reshape { %r = ?f(%x, ...) where ?f in [aten.view, aten.reshape, aten._unsafe_view, aten.flatten, " \
  "aten.unflatten, aten.squeeze, aten.unsqueeze, aten.clone, aten.contiguous, aten.alias, aten.expand] "    \
  "where numel(%r) == numel(%x) replace %r with %x } "
#define LENZ_CAST                                                                                         \
  "rule cast { %r = ?f(%x, ...) where ?f in [aten.to, aten._to_copy, aten.type_as], dtype(%r) in floats " \
  "replace %r with %x } "

constexpr std::string_view kWeights = LENZ_RESHAPE LENZ_CAST R"(
  rule off {
    either { %r = aten.dropout(%x, _, false) } or { %r = aten.dropout(%x, 0, _) }
    replace %r with %x
  }
)";

constexpr std::string_view kSoftmax = R"(
  rule softmax {
    either { %r = aten.softmax.int(%x, $d, ...) } or { %r = aten._softmax(%x, $d, _) }
    or { %r = aten.special_softmax(%x, $d, ...) }
    where wrap($d, rank(%x)) + 1 == rank(%x)
    replace %r with %x
  }
  rule written_out {
    %m = aten.amax(%x, [$d], true)
    %c = aten.sub.Tensor(%x, %m)
    %e = aten.exp(%c)
    %s = aten.sum.dim_IntList(%e, [$d], true)
    %r = aten.div.Tensor(%e, %s)
    where wrap($d, rank(%x)) + 1 == rank(%x)
    replace %r with %x
  }
)";

constexpr std::string_view kScores = LENZ_RESHAPE LENZ_CAST R"(
  rule scale {
    either { %r = aten.mul(%x, $f) where is_number($f) }
    or { %r = aten.div(%x, $g) where is_number($g), $g != 0 let $f = 1 / $g }
    replace %r with %x
  }
  rule factor { %r = aten.mul.Tensor(%x, %t) where numel(%t) == 1 replace %r with %x }
  rule divisor { %r = aten.div.Tensor(%x, %t) where numel(%t) == 1 replace %r with %x }
  rule bias { %r = aten.add.Tensor(%x, %t) where dtype(%t) in floats replace %r with %x }
  # Where the mask does not hold, a number stands in place of the score,
  rule seen {
    either { %r = aten.where.ScalarOther(%m, %x, $h) where is_number($h) }
    or { %r = aten.where.self(%m, %x, %t) }
    replace %r with %x
  }
  # or where it does.
  rule hidden {
    either { %r = aten.where.ScalarSelf(%m, $h, %x) where is_number($h) }
    or { %r = aten.where.self(%m, %t, %x) }
    or { %r = aten.masked_fill.Scalar(%x, %m, $h) where is_number($h) }
    or { %r = aten.masked_fill.Tensor(%x, %m, %t) }
    replace %r with %x
  }
)";
#undef LENZ_RESHAPE
#undef LENZ_CAST
}  // namespace

const AttentionPatterns& attention_patterns() {
  auto parse = [](std::string_view text) { return RuleSet::parse(text, op_table(), "attention_patterns"); };
  static const AttentionPatterns patterns{parse(kProducts), parse(kWeights), parse(kSoftmax), parse(kScores)};
  return patterns;
}

const AttentionForms& attention_forms() {
  static const AttentionForms forms{.attention = "lenz.attention",
                                    .transpose = "aten.transpose.int",
                                    .expand = "aten.expand",
                                    .reshape = "aten.reshape",
                                    .view = "aten.view",
                                    .add = "aten.add.Tensor",
                                    .mul = "aten.mul",
                                    .div = "aten.div",
                                    .where = "aten.where.ScalarOther",
                                    .also = "aten.logical_and",
                                    .negated = "aten.logical_not"};
  return forms;
}

}  // namespace lenz
