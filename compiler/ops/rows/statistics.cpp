// Quantiles, integrals by the trapezoid rule, covariances: all by definition.
#include "compiler/ops/make/statistics.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rows/families.h"

// Quantiles %q of %self as eager computes them: sorts, ranks, and interpolates between neighbours. $whole says whether
// $dim was left out; `ranks` gives each row's ranks from its sorted values %sorted.
#define LENZ_QUANTILE(ranks)                                                                                  \
  "if numel(%self) == 0 { raise \"needs elements\" } "                                                        \
  "if dtype(%self) != f32 and dtype(%self) != f64 { raise \"needs f32 or f64\" } "                            \
  "if dtype(%q) != dtype(%self) { raise \"`q` must have the dtype of `self`\" } "                             \
  "if rank(%q) > 1 { raise \"`q` must be a number or a vector\" } "                                           \
  "if $interpolation != \"linear\" and $interpolation != \"lower\" and $interpolation != \"higher\" and "     \
  "$interpolation != \"midpoint\" and $interpolation != \"nearest\" { raise \"no such interpolation\" } "     \
  "$kept = list(0, 1) "                                                                                       \
  "if given($dim) { "                                                                                         \
  "  if $dim >= max(rank(%self), 1) or $dim < -max(rank(%self), 1) { raise \"the dim is out of range\" } "    \
  "  $at = wrap($dim, rank(%self)) "                                                                          \
  "  $kept = concat(first(shape(%self), $at), concat(choose($keepdim and rank(%self) > 0, [1], list(0, 1)), " \
  "drop(shape(%self), $at + 1))) "                                                                            \
  "  if $at == rank(%self) - 1 { %line = %self } "                                                            \
  "  else { %line = aten.transpose(aten.unsqueeze(%self, -1), $at, -1) } "                                    \
  "} else { "                                                                                                 \
  "  if $keepdim { $kept = list(rank(%self), 1) } "                                                           \
  "  %line = aten.flatten(%self) "                                                                            \
  "} "                                                                                                        \
  "%ordered, %order = aten.sort(%line) "                                                                      \
  "$n = size(%ordered, -1) "                                                                                  \
  "%sorted = aten.view(%ordered, concat($kept, [$n])) "                                                       \
  "%nan = aten.isnan(%sorted) " ranks                                                                         \
  "if $interpolation == \"lower\" { %rank = aten.floor(%rank) } "                                             \
  "if $interpolation == \"higher\" { %rank = aten.ceil(%rank) } "                                             \
  "if $interpolation == \"nearest\" { %rank = aten.round(%rank) } "                                           \
  "%below = aten._to_copy(%rank, dtype=i64) "                                                                 \
  "%y = aten.gather(%sorted, -1, %below) "                                                                    \
  "if $interpolation == \"linear\" or $interpolation == \"midpoint\" { "                                      \
  "  if $interpolation == \"midpoint\" { %weight = aten.full_like(%rank, 0.5) } "                             \
  "  else { %weight = aten.sub(%rank, %below) } "                                                             \
  "  %above = aten._to_copy(aten.ceil(%rank), dtype=i64) "                                                    \
  "  %y = aten.lerp(%y, aten.gather(%sorted, -1, %above), %weight) "                                          \
  "} "                                                                                                        \
  "if rank(%q) == 0 { return aten.squeeze(%y, -1) } "                                                         \
  "return aten.squeeze(aten.transpose(aten.unsqueeze(%y, 0), 0, -1), -1)"
// A row with a NaN has its last rank, which is where the NaN is.
#define LENZ_RANKS "%rank = aten.masked_fill(aten.mul(%q, $n - 1), aten.any(%nan, -1, true), $n - 1) "
// Ranks among the numbers only; of none the first, which is NaN.
#define LENZ_RANKS_OF_NUMBERS                                                        \
  "%rank = aten.mul(%q, aten.sub(aten.sum(aten.logical_not(%nan), [-1], true), 1)) " \
  "%rank = aten.masked_fill(%rank, aten.lt(%rank, 0), 0) "
#define LENZ_SCALAR_Q                                                     \
  "if $q < 0 or $q > 1 or $q != $q { raise \"`q` must lie in [0, 1]\" } " \
  "return "

namespace lenz {

namespace {
using enum Trait;

void quantiles(RowSink& t) {
  Row row{.variants = {.out = "out", .out_rule = OutRule::copied},
          .infer = rule::composite,
          .generate = make::quantile,
          .dtypes = dtypes::wide_floats,
          .accuracy = Accuracy::rounded,
          .raises = "numbers in `q` outside [0, 1]; no elements",
          .wants = "q in [0, 1]",
          .exception = "elements decide, which its definition does not ask: `must be in the range [0, 1]`"};
  t.row("quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",
        meaning(LENZ_QUANTILE(LENZ_RANKS), row));
  t.row(
      "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> "
      "Tensor",
      meaning(LENZ_QUANTILE(LENZ_RANKS_OF_NUMBERS), row));
  row.variants.out = "scalar_out";
  row.wants = {};
  t.row(
      "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> "
      "Tensor",
      meaning(LENZ_SCALAR_Q "aten.quantile(%self, aten.scalar_tensor($q, dtype=dtype(%self), device=device(%self)), "
                            "$dim, $keepdim, interpolation=$interpolation)",
              row));
  t.row(
      "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") "
      "-> Tensor",
      meaning(LENZ_SCALAR_Q "aten.nanquantile(%self, aten.scalar_tensor($q, dtype=dtype(%self), "
                            "device=device(%self)), $dim, $keepdim, interpolation=$interpolation)",
              row));
}

// What lies between neighbours along $dim, $d of %y: heights' sums %sides, and widths of %x, which broadcasts from the
// right where it is no vector.
#define LENZ_ALONG                                                                                 \
  "if $dim >= max(rank(%y), 1) or $dim < -max(rank(%y), 1) { raise \"the dim is out of range\" } " \
  "$d = wrap($dim, rank(%y)) "
#define LENZ_SIDES "%sides = aten.add(aten.slice(%y, $d, 1), aten.slice(%y, $d, 0, -1)) "
#define LENZ_WIDTHS                                                                            \
  "if dtype(%y) == bool or dtype(%x) == bool { raise \"bools have no area\" } "                \
  "if rank(%x) == 1 { "                                                                        \
  "  if size(%x, 0) != size(%y, $d) { raise \"`x` must have as many points as `y`\" } "        \
  "  %at = aten.view(%x, concat(concat(list($d, 1), shape(%x)), list(rank(%y) - $d - 1, 1))) " \
  "} else if rank(%x) < rank(%y) { "                                                           \
  "  %at = aten.view(%x, concat(list(rank(%y) - rank(%x), 1), shape(%x))) "                    \
  "} else { %at = %x } "                                                                       \
  "%width = aten.sub(aten.slice(%at, $d, 1), aten.slice(%at, $d, 0, -1)) "
#define LENZ_NOTHING                                                                           \
  "if size(%y, $d) == 0 { "                                                                    \
  "return aten.zeros(concat(first(shape(%y), $d), drop(shape(%y), $d + 1)), dtype=dtype(%y), " \
  "device=device(%y)) } "

void trapezoids(RowSink& t) {
  Row row{.infer = rule::composite,
          .generate = make::trapezoid,
          .dtypes = dtypes::numbers,
          .accuracy = Accuracy::composed,
          .raises = "bools; `x` of another length than `y`"};
  row.decompose =
      LENZ_ALONG LENZ_NOTHING LENZ_WIDTHS LENZ_SIDES "return aten.div(aten.sum(aten.mul(%sides, %width), [$d]), 2.0)";
  t.rows("{}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", "trapezoid trapz", row);
  row.decompose = LENZ_ALONG LENZ_WIDTHS
      "%sides = aten.add(aten.slice(%y, $d, 0, -1), aten.slice(%y, $d, 1)) "
      "return aten.div(aten.cumsum(aten.mul(%sides, %width), $d), 2.0)";
  t.row("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", row);
  row.decompose = LENZ_ALONG LENZ_NOTHING R"(
    if dtype(%y) == bool or dtype($dx) == bool or is_complex($dx) { raise "bools have no area, nor have complex widths" }
    %ends = aten.mul(aten.add(aten.select(%y, $d, 0), aten.select(%y, $d, -1)), 0.5)
    return aten.mul(aten.sub(aten.sum(%y, [$d]), %ends), 1.0 * $dx))";
  t.row("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", row);
  t.row("trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", row);
  row.decompose = LENZ_ALONG R"(
    if dtype(%y) == bool or dtype($dx) == bool or is_complex($dx) { raise "bools have no area, nor have complex widths" }
    %sides = aten.add(aten.slice(%y, $d, 0, -1), aten.slice(%y, $d, 1))
    return aten.cumsum(aten.mul(%sides, 0.5 * $dx), $d))";
  t.row("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", row);
}
#undef LENZ_NOTHING
#undef LENZ_WIDTHS
#undef LENZ_SIDES
#undef LENZ_ALONG

void covariances(RowSink& t) {
  Row row{.infer = rule::composite,
          .generate = make::covariance,
          .dtypes = dtypes::numbers,
          .accuracy = Accuracy::composed,
          .raises = "bools; more than 2 dims; weights of another number than the observations",
          .wants = "aweights in [0.25, 4]",
          .exception =
              "elements decide, which its definition does not ask: `cannot be negative`, `sum to zero`; a "
              "single observation that is weighted eager overwrites in its input, and refuses a weight of "
              "another dtype: `to have the same dtype`"};
  // What is left of the weights when the correction is taken off is none at least.
  row.decompose = R"(
    if rank(%self) > 2 { raise "at most two dims" }
    if dtype(%self) == bool { raise "bools have no mean" }
    if rank(%self) < 2 { %x = aten.view(%self, [1, numel(%self)]) } else { %x = %self }
    $n = size(%x, 1)
    %w = none
    if given($fweights) {
      if not is_integral(%fweights) or dtype(%fweights) == bool { raise "`fweights` must be integers" }
      if rank(%fweights) > 1 or numel(%fweights) != $n { raise "one of `fweights` for each observation" }
      %w = %fweights
    }
    if given($aweights) {
      if not is_float(%aweights) { raise "`aweights` must be floats" }
      if rank(%aweights) > 1 or numel(%aweights) != $n { raise "one of `aweights` for each observation" }
      if given($fweights) { %w = aten.mul(%fweights, %aweights) } else { %w = %aweights }
    }
    if given(%w) { %all = aten.sum(%w) %mean = aten.div(aten.sum(aten.mul(%x, %w), [1]), %all) }
    else { %all = aten.full([], $n, dtype=i64, device=device(%x)) %mean = aten.div(aten.sum(%x, [1]), %all) }
    if given($aweights) and $correction != 0 {
      %norm = aten.sub(%all, aten.div(aten.mul(aten.sum(aten.mul(%w, %aweights)), $correction), %all))
    } else { %norm = aten.sub(%all, $correction) }
    %norm = aten.clamp_min(%norm, 0)
    %apart = aten.sub(%x, aten.unsqueeze(%mean, 1))
    if given(%w) { %y = aten.mul(%apart, %w) } else { %y = %apart }
    return aten.squeeze(aten.div(aten.mm(%apart, aten.conj(aten.t(%y))), %norm)))";
  t.row("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", row);
  row.wants = {};
  row.exception = {};
  row.decompose = R"(
    if rank(%self) > 2 { raise "at most two dims" }
    %c = aten.cov(%self)
    if rank(%c) == 0 { return aten.div(%c, %c) }
    %d = aten.diagonal(%c)
    if is_complex(%c) { %d = aten.real(%d) }
    %s = aten.sqrt(%d)
    %c = aten.div(aten.div(%c, aten.unsqueeze(%s, 1)), aten.unsqueeze(%s, 0))
    if not is_complex(%c) { return aten.clamp(%c, -1, 1) }
    return aten.complex(aten.clamp(aten.real(%c), -1, 1), aten.clamp(aten.imag(%c), -1, 1)))";
  t.row("corrcoef(Tensor self) -> Tensor", row);
}
}  // namespace

void statistics_rows(RowSink& t) {
  quantiles(t);
  trapezoids(t);
  covariances(t);
}
#undef LENZ_SCALAR_Q
#undef LENZ_RANKS_OF_NUMBERS
#undef LENZ_RANKS
#undef LENZ_QUANTILE

}  // namespace lenz
