// Elementwise ops of one tensor.
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/pointwise.h"

namespace lenz {

namespace {
using enum Trait;
constexpr Variants kBoth{true, "out"};
constexpr Variants kSameDtype{true, "out", {}, OutRule::same_dtype};
constexpr Domain kUnit{-0.9375, 0.9375};
constexpr Domain kPositive{0.125, 4};

void same_dtype_rows(RowSink& t) {
  Row row{.variants = kSameDtype,
          .traits = elementwise | involution | core,
          .infer = rule::same_dtype,
          .generate = make::unary,
          .dtypes = dtypes::numbers,
          .scalar = "neg",
          .raises = "bool has no negation"};
  t.row("neg(Tensor self) -> Tensor", row);
  t.alias("negative(Tensor self) -> Tensor", "neg");

  row = {.variants = kSameDtype,
         .traits = elementwise | idempotent | monotone | core,
         .infer = rule::same_dtype,
         .generate = make::unary,
         .dtypes = dtypes::real,
         .scalar = "{}",
         .raises = "bool, complex",
         .copies = dtypes::integers};
  t.rows("{}(Tensor self) -> Tensor", "floor ceil round trunc", row);
  t.alias("fix(Tensor self) -> Tensor", "trunc");
  row = {.variants = {true, "decimals_out", {}, OutRule::same_dtype},
         .traits = elementwise,
         .infer = rule::same_dtype,
         .generate = make::round_decimals,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex"};
  t.row("round.decimals(Tensor self, *, int decimals) -> Tensor", meaning(R"(
    if $decimals == 0 { return aten.round(%self) }
    $scale = power(10, max($decimals, 0 - $decimals))
    if $decimals < 0 { return aten.mul(aten.round(aten.div(%self, $scale)), $scale) }
    return aten.div(aten.round(aten.mul(%self, $scale)), $scale))",
                                                                          row));
  t.alias("special_round(Tensor self, *, int decimals=0) -> Tensor", "round.decimals",
          Variants{false, "out", {}, OutRule::same_dtype});
  t.row("frac(Tensor self) -> Tensor", {.variants = kSameDtype,
                                        .traits = elementwise | core,
                                        .infer = rule::same_dtype,
                                        .generate = make::unary,
                                        .dtypes = dtypes::floats,
                                        .scalar = "{}",
                                        .raises = "integers, complex"});
  t.row("sign(Tensor self) -> Tensor", {.variants = kSameDtype,
                                        .traits = elementwise | idempotent | monotone | core,
                                        .infer = rule::same_dtype,
                                        .generate = make::unary,
                                        .dtypes = dtypes::real_and_bool,
                                        .scalar = "{}",
                                        .raises = "complex",
                                        .copies = dtypes::boolean});
  t.row("sgn(Tensor self) -> Tensor", {.variants = kSameDtype,
                                       .traits = elementwise | core,
                                       .infer = rule::same_dtype,
                                       .generate = make::unary,
                                       .accuracy = Accuracy::ulp2,
                                       .scalar = "{}",
                                       .copies = dtypes::boolean});
  t.row("bitwise_not(Tensor self) -> Tensor", {.variants = kSameDtype,
                                               .traits = elementwise | involution | core,
                                               .infer = rule::same_dtype,
                                               .generate = make::unary,
                                               .dtypes = dtypes::integers | dtypes::boolean,
                                               .scalar = "{}",
                                               .raises = "floats, complex"});
  t.row("abs(Tensor self) -> Tensor", {.variants = kBoth,
                                       .traits = elementwise | idempotent | core,
                                       .infer = rule::abs,
                                       .generate = make::abs,
                                       .dtypes = dtypes::numbers | dtypes::float8,
                                       .accuracy = Accuracy::ulp1,
                                       .scalar = "{}",
                                       .raises = "bool; complex in place",
                                       .copies = DtypeSet::of(Dtype::u8)});
  t.alias("absolute(Tensor self) -> Tensor", "abs");
  t.row("square(Tensor self) -> Tensor", meaning(R"(if dtype(%self) == bool { return aten.pow(%self, 2) }
                   return aten.mul(%self, %self))",
                                                 {.variants = kBoth,
                                                  .traits = elementwise,
                                                  .infer = rule::square,
                                                  .generate = make::square,
                                                  .accuracy = Accuracy::rounded,
                                                  .scalar = "{}",
                                                  .exception = rule::kConvertsOnCpu}));
  t.row("positive(Tensor(a) self) -> Tensor(a)", {.traits = view | idempotent,
                                                  .infer = rule::itself,
                                                  .generate = make::unary,
                                                  .dtypes = dtypes::all - dtypes::boolean,
                                                  .raises = "bool",
                                                  .decompose = "return %self"});
  t.row("conj_physical(Tensor self) -> Tensor",
        {.variants = kSameDtype,
         .traits = elementwise | maybe_view | involution,
         .infer = rule::conj_physical,
         .generate = make::conj_physical,
         .dtypes = dtypes::all,
         .computes = dtypes::usual,
         .scalar = "{}",
         .decompose = R"(if is_complex(%self) { return aten._conj_physical(%self) }
                         return %self)",
         .exception = "of a real tensor eager returns that tensor itself, though the schema promises a fresh one",
         .copies = dtypes::real_and_bool | dtypes::float8});
  t.row("_conj_physical(Tensor self) -> Tensor", {.variants = {false, "out", {}, OutRule::copied},
                                                  .traits = elementwise | core,
                                                  .infer = rule::preserved,
                                                  .generate = make::unary,
                                                  .scalar = "conj_physical",
                                                  .copies = dtypes::real_and_bool});
  t.row("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        {.variants = kSameDtype,
         .traits = elementwise,  // not idempotent: NaN may become infinity, and that something else
         .infer = rule::preserved,
         .generate = make::nan_to_num,
         .decompose = R"(
           if is_integral(%self) { return aten.clone(%self) }
           if is_complex(%self) {
             return aten.complex(aten.nan_to_num(aten.real(%self), $nan, $posinf, $neginf),
                                 aten.nan_to_num(aten.imag(%self), $nan, $posinf, $neginf))
           }
           if given($nan) { $missing = $nan } else { $missing = 0.0 }
           if given($posinf) { $above = $posinf } else { $above = highest(%self) }
           if given($neginf) { $below = $neginf } else { $below = lowest(%self) }
           %x = aten.where(aten.isneginf(%self), held($below, dtype(%self)), %self)
           %x = aten.where(aten.isposinf(%self), held($above, dtype(%self)), %x)
           return aten.where(aten.isnan(%self), held($missing, dtype(%self)), %x))",
         .copies = dtypes::integers | dtypes::boolean});
}

// Float results; integers and bools become f32.
void float_rows(RowSink& t) {
  Row row{.variants = kBoth,
          .traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::unary,
          .accuracy = Accuracy::ulp2,
          .scalar = "{}",
          .exception = rule::kConvertsOnCpu};
  auto rows = [&](std::string_view names) { t.rows("{}(Tensor self) -> Tensor", names, row); };
  auto aliases = [&](std::initializer_list<Alias> list) { t.aliases("{}(Tensor self) -> Tensor", list); };
  rows("sin cos tan sinh cosh tanh asinh atan exp exp2 expm1 sigmoid sinc");
  aliases({{"arcsinh", "asinh"}, {"arctan", "atan"}});
  row.domain = kUnit;
  rows("asin acos atanh");
  aliases({{"arcsin", "asin"}, {"arccos", "acos"}, {"arctanh", "atanh"}});
  row.domain = {1.0625, 4};
  rows("acosh");
  aliases({{"arccosh", "acosh"}});
  row.domain = {-0.875, 4};
  rows("log1p");
  row.domain = kPositive;
  rows("log log2 log10 rsqrt");
  row.accuracy = Accuracy::rounded;
  row.traits = row.traits | monotone;
  rows("sqrt");
  row.traits = elementwise | makes_float | core;
  row.domain = {0.125, 4, true};
  rows("reciprocal");
  // No complex.
  row.domain = {};
  row.dtypes = dtypes::real_and_bool;
  row.raises = "complex";
  row.accuracy = Accuracy::ulp4;
  rows("erf erfc i0");
  row.domain = kUnit;
  rows("erfinv");
  row.domain = kPositive;
  row.accuracy = Accuracy::ulp16;
  rows("lgamma digamma");
  row.domain = {0.0625, 0.9375};
  row.accuracy = Accuracy::ulp16;
  row.scalar = {};
  row.traits = elementwise | makes_float;
  row.generate = make::logit;
  row.decompose = R"(
    if is_integral(%self) { %x = aten._to_copy(%self, dtype=float_type(%self)) } else { %x = %self }
    if given($eps) and $eps >= 0 {
      %x = aten.where(aten.lt(%x, $eps), $eps, aten.where(aten.gt(%x, 1 - $eps), 1 - $eps, %x))
    }
    return aten.log(aten.div(%x, aten.rsub(%x, 1))))";
  t.row("logit(Tensor self, float? eps=None) -> Tensor", fitting("eps:result", row));

  const Row scaled{.variants = kBoth,
                   .traits = elementwise | makes_float,
                   .infer = rule::scaled_to_float,
                   .generate = make::unary,
                   .dtypes = dtypes::real_and_bool,
                   .accuracy = Accuracy::ulp1,
                   .raises = "complex",
                   .exception = rule::kConvertsOnCpu};
  t.row("deg2rad(Tensor self) -> Tensor", meaning("return aten.mul(%self, 0.017453292519943295)", scaled));
  t.row("rad2deg(Tensor self) -> Tensor", meaning("return aten.mul(%self, 57.295779513082323)", scaled));
  t.row("angle(Tensor self) -> Tensor", {.variants = {false, "out"},
                                         .traits = elementwise | makes_float | core,
                                         .infer = rule::angle,
                                         .generate = make::unary,
                                         .accuracy = Accuracy::ulp2,
                                         .scalar = "{}",
                                         .exception = rule::kConvertsOnCpu});
  t.row("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
        {.variants = {false, "Tensor_out", {}, OutRule::same_dtype},
         .traits = elementwise | core,
         .infer = rule::frexp,
         .generate = make::unary,
         .dtypes = dtypes::floats,
         .raises = "integers, complex",
         .loops =
             "for $i in shape(%self) { %out0[$i] = frexp_mantissa(%self[$i]) %out1[$i] = frexp_exponent(%self[$i]) }"});
}

void predicate_rows(RowSink& t) {
  t.rows("{}(Tensor self) -> Tensor", "signbit isposinf isneginf",
         {.variants = {false, "out", {}, OutRule::same_dtype},
          .traits = elementwise | core,
          .infer = rule::predicate,
          .generate = make::unary,
          .dtypes = dtypes::real_and_bool,
          .scalar = "{}",
          .raises = "complex"});
  t.row("isnan(Tensor self) -> Tensor", {.variants = {false, "out", {}, OutRule::copied},
                                         .traits = elementwise | core,
                                         .infer = rule::not_nan,
                                         .generate = make::unary,
                                         .dtypes = dtypes::all,
                                         .scalar = "{}"});
  Row row{.variants = {false, "out", {}, OutRule::copied},
          .traits = elementwise | core,
          .infer = rule::is_infinite,
          .generate = make::unary,
          .dtypes = dtypes::usual | DtypeSet::of(Dtype::f8e5m2),
          .scalar = "{}",
          .raises = "f8e4m3, which has no infinity"};
  t.row("isinf(Tensor self) -> Tensor", row);
  row.variants = {};
  row.infer = rule::is_finite;
  t.row("isfinite(Tensor self) -> Tensor", row);
  t.row("isreal(Tensor self) -> Tensor",
        meaning(R"(if is_complex(%self) { return aten.eq(aten.imag(%self), 0) }
                   return aten.ones_like(%self, dtype=bool))",
                {.traits = elementwise, .infer = rule::is_real, .generate = make::unary, .dtypes = dtypes::all}));
  t.row("logical_not(Tensor self) -> Tensor", {.variants = kBoth,
                                               .traits = elementwise | core,
                                               .infer = rule::logical_not,
                                               .generate = make::unary,
                                               .scalar = "{}"});
}
}  // namespace

void pointwise_unary_rows(RowSink& t) {
  same_dtype_rows(t);
  float_rows(t);
  predicate_rows(t);
}

}  // namespace lenz
