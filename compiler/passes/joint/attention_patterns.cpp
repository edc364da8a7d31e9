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

// Keys and values of a few heads, repeated so that each head of the queries has its own: the op can share them.
constexpr std::string_view kShared = R"(
  rule expanded_heads {
    %k1 = aten.unsqueeze(%k, 2)
    %k2 = aten.expand(%k1, $es)
    %k3 = ?f(%k2, ...)
    %v1 = aten.unsqueeze(%v, 2)
    %v2 = aten.expand(%v1, $fs)
    %v3 = ?g(%v2, ...)
    %r = aten.scaled_dot_product_attention(%q, %k3, %v3, ...)
    where ?f in [aten.reshape, aten.flatten], ?g in [aten.reshape, aten.flatten],
          rank(%k) == 4, rank(%v) == 4, rank(%q) == 4, rank(%k2) == 5, rank(%v2) == 5, rank(%k3) == 4, rank(%v3) == 4,
          size(%k3, 0) == size(%k, 0), size(%k3, 1) == size(%q, 1), size(%k3, 2) == size(%k, 2), size(%k3, 3) == size(%k, 3),
          size(%v3, 0) == size(%v, 0), size(%v3, 1) == size(%q, 1), size(%v3, 2) == size(%v, 2), size(%v3, 3) == size(%v, 3),
          size(%k2, 0) == size(%k, 0), size(%k2, 1) == size(%k, 1), size(%k2, 3) == size(%k, 2), size(%k2, 4) == size(%k, 3),
          size(%v2, 0) == size(%v, 0), size(%v2, 1) == size(%v, 1), size(%v2, 3) == size(%v, 2), size(%v2, 4) == size(%v, 3)
    shared %k1, %k2, %k3, %v1, %v2, %v3
    replace %r { %n = aten.scaled_dot_product_attention(%q, %k, %v, enable_gqa=true, ...) return %n }
  }
  rule interleaved_heads {
    %k3 = aten.repeat_interleave.self_int(%k, $n, $d, ...)
    %v3 = aten.repeat_interleave.self_int(%v, $m, $e, ...)
    %r = aten.scaled_dot_product_attention(%q, %k3, %v3, ...)
    where rank(%k) == 4, rank(%v) == 4, rank(%q) == 4, wrap($d, 4) == 1, wrap($e, 4) == 1, size(%k3, 1) == size(%q, 1),
          size(%v3, 1) == size(%q, 1)
    shared %k3, %v3
    replace %r { %n = aten.scaled_dot_product_attention(%q, %k, %v, enable_gqa=true, ...) return %n }
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
  static const AttentionPatterns patterns{parse(kProducts), parse(kWeights), parse(kSoftmax), parse(kScores),
                                          parse(kShared)};
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
