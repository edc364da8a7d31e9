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
    either { %r = aten.baddbmm(_, %x, %y, beta=0, alpha=$f) } or { %r = aten.addmm(_, %x, %y, beta=0, alpha=$f) }
    where is_number($f)
    replace %r with %x
  }
  rule biased_product {
    either { %r = aten.baddbmm(%t, %x, %y, beta=$b, alpha=$f) } or { %r = aten.addmm(%t, %x, %y, beta=$b, alpha=$f) }
    where is_number($f), is_number($b), dtype(%t) in floats
    replace %r with %x
  }
)";

// Sums of products by letters, which become products of matrices before anything is looked for.
constexpr std::string_view kEquations = R"(
  rule equation {
    %r = aten.einsum($e, [%x, %y], ...)
    replace %r with %x
  }
)";

// Weights %x that are divided by their sum when the product is done.
constexpr std::string_view kLate = R"(
  rule late_division {
    either { %p = aten.matmul(%x, %y) } or { %p = aten.bmm(%x, %y) } or { %p = aten.mm(%x, %y) }
    %s = aten.sum.dim_IntList(%x, [$d], true)
    %r = aten.div.Tensor(%p, %s)
    where rank(%x) >= 2, rank(%y) >= 2, wrap($d, rank(%x)) + 1 == rank(%x)
    replace %r with %x
  }
)";

// The same elements in the same order under other sizes; how they lie does not matter.
#define LENZ_RESHAPE                                                                                        \
  "rule reshape { %r = ?f(%x, ...) where ?f in [aten.view, aten.reshape, aten._unsafe_view, aten.flatten, " \
  "aten.unflatten, aten.squeeze, aten.unsqueeze, aten.clone, aten.contiguous, aten.alias, aten.expand] "    \
  "where dtype(%r) == dtype(%x), numel(%r) == numel(%x) replace %r with %x } "
#define LENZ_CAST                                                                                         \
  "rule cast { %r = ?f(%x, ...) where ?f in [aten.to, aten._to_copy, aten.type_as], dtype(%r) in floats " \
  "replace %r with %x } "

// The last two dims exchanged.
#define LENZ_TURN                                                                                                     \
  "rule turn { "                                                                                                      \
  "either { %r = aten.transpose.int(%x, $d, $e) where wrap($d, rank(%x)) + wrap($e, rank(%x)) + 3 == 2 * rank(%x) } " \
  "or { %r = aten.permute(%x, $p) where exchanges_last($p) } or { %r = aten.t(%x) where rank(%x) == 2 } "             \
  "or { %r = aten.mT(%x) } replace %r with %x } "

constexpr std::string_view kWeights = LENZ_RESHAPE LENZ_CAST LENZ_TURN R"(
  rule off {
    either { %r = aten.dropout(%x, _, false) } or { %r = aten.dropout(%x, 0, _) }
    replace %r with %x
  }
)";

// `$back` is the dim counted from behind: the last is 1.
constexpr std::string_view kSoftmax = R"(
  rule softmax {
    either { %r = aten.softmax.int(%x, $d, ...) } or { %r = aten._softmax(%x, $d, _) }
    or { %r = aten.special_softmax(%x, $d, ...) }
    let $back = rank(%x) - wrap($d, rank(%x))
    replace %r with %x
  }
  rule written_out {
    either { %m = aten.amax(%x, [$d], true) } or { %m, _ = aten.max.dim(%x, $d, true) }
    %c = aten.sub.Tensor(%x, %m)
    %e = aten.exp(%c)
    %s = aten.sum.dim_IntList(%e, [$d], true)
    %r = aten.div.Tensor(%e, %s)
    let $back = rank(%x) - wrap($d, rank(%x))
    replace %r with %x
  }
  rule of_logarithms {
    either { %l = aten.log_softmax.int(%x, $d, ...) } or { %l = aten._log_softmax(%x, $d, _) }
    or { %l = aten.special_log_softmax(%x, $d, ...) }
    or { %s = aten.logsumexp(%x, [$d], true) %l = aten.sub.Tensor(%x, %s) }
    %r = aten.exp(%l)
    let $back = rank(%x) - wrap($d, rank(%x))
    replace %r with %x
  }
)";

// Softmaxes but for the division.
constexpr std::string_view kExponentials = R"(
  rule exponentials {
    either { %m = aten.amax(%x, [$d], true) } or { %m, _ = aten.max.dim(%x, $d, true) }
    %c = aten.sub.Tensor(%x, %m)
    %r = aten.exp(%c)
    let $back = rank(%x) - wrap($d, rank(%x))
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

constexpr std::string_view kScores = LENZ_RESHAPE LENZ_CAST LENZ_TURN R"(
  rule scale {
    either { %r = aten.mul(%x, $f) where is_number($f) }
    or { %r = aten.div(%x, $g) where is_number($g), $g != 0 let $f = 1 / $g }
    replace %r with %x
  }
  # Tensors of one element, and numbers that only a run knows.
  rule factor {
    either { %r = aten.mul.Tensor(%x, %t) where numel(%t) == 1 } or { %r = aten.mul.Scalar(%x, $n) where is_value($n) }
    replace %r with %x
  }
  rule divisor {
    either { %r = aten.div.Tensor(%x, %t) where numel(%t) == 1 } or { %r = aten.div.Scalar(%x, $n) where is_value($n) }
    replace %r with %x
  }
  rule bias {
    either { %r = aten.add.Tensor(%x, %t, alpha=$b) }
    or { %r = aten.sub.Tensor(%x, %t, alpha=$a) let $b = 0 - $a }
    where dtype(%t) in floats, is_number($b)
    replace %r with %x
  }
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
#undef LENZ_TURN

// A number that only a run knows.
std::optional<Arg> is_value(const Graph&, std::span<const Arg> args) {
  return Arg::of_bool(args.size() == 1 && args[0].is_value());
}

// [0, 1, 3, 2] of four dims.
std::optional<Arg> exchanges_last(const Graph&, std::span<const Arg> args) {
  if (args.size() != 1 || args[0].kind != ArgKind::int_list) return std::nullopt;
  std::span<const Dim> dims = args[0].dim_list();
  auto rank = static_cast<int64_t>(dims.size());
  for (int64_t i = 0; i < rank; ++i) {
    int64_t from = i < rank - 2 ? i : 2 * rank - 3 - i;
    if (!dims[static_cast<size_t>(i)].is(from) && !dims[static_cast<size_t>(i)].is(from - rank))
      return Arg::of_bool(false);
  }
  return Arg::of_bool(rank >= 2);
}
}  // namespace

const AttentionPatterns& attention_patterns() {
  static constexpr NamedFunction kFunctions[] = {{"is_value", is_value}, {"exchanges_last", exchanges_last}};
  auto parse = [](std::string_view text) { return RuleSet::parse(text, op_table(), "attention_patterns", kFunctions); };
  static const AttentionPatterns patterns{.equations = parse(kEquations),
                                          .products = parse(kProducts),
                                          .late = parse(kLate),
                                          .weights = parse(kWeights),
                                          .softmax = parse(kSoftmax),
                                          .exponentials = parse(kExponentials),
                                          .scores = parse(kScores),
                                          .shared_heads = parse(kShared)};
  return patterns;
}

const AttentionForms& attention_forms() {
  static const AttentionForms forms{.attention = "lenz.attention",
                                    .cast = "aten._to_copy",
                                    .copy = "aten.clone",
                                    .number_as_tensor = "aten.scalar_tensor",
                                    .number_of_tensor = "aten._local_scalar_dense",
                                    .reciprocal = "aten.reciprocal",
                                    .root = "aten.sqrt",
                                    .unsqueeze = "aten.unsqueeze",
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
