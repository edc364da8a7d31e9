// Special functions of one tensor or two, mostly under their `special_` names.
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/pointwise.h"

namespace lenz {

namespace {
using enum Trait;
constexpr DtypeSet kWide = dtypes::integers | dtypes::boolean | dtypes::wide_floats;  // computed in f32 and f64 only

void unary_rows(RowSink& t) {
  Row row{.variants = {false, "out"},
          .traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::unary,
          .dtypes = dtypes::real_and_bool,
          .domain = {0.125, 4},
          .accuracy = Accuracy::ulp16,
          .scalar = "{}",
          .raises = "complex",
          .exception = rule::kConvertsOnCpu};
  t.rows("{}(Tensor self) -> Tensor", "special_entr special_i0e special_i1 special_i1e", row);
  row.dtypes = kWide;
  row.raises = "complex, f16, bf16";
  t.rows("{}(Tensor self) -> Tensor",
         "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 "
         "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_erfcx "
         "special_log_ndtr",
         row);
  t.rows("{}(Tensor x) -> Tensor",
         "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0 "
         "special_airy_ai",
         row);
  row.domain = {0.0625, 0.9375};
  t.row("special_ndtri(Tensor self) -> Tensor", row);
  t.row("special_ndtr(Tensor self) -> Tensor", {.variants = {false, "out", {}, OutRule::copied_cast},
                                                .traits = elementwise | makes_float,
                                                .infer = rule::normal_distribution,
                                                .generate = make::unary,
                                                .dtypes = dtypes::real_and_bool,
                                                .accuracy = Accuracy::ulp16,
                                                .raises = "complex",
                                                .decompose = R"(
    %z = aten.mul(%self, 0.70710678118654752)
    return aten.mul(aten.add(aten.erf(%z), 1), 0.5))",
                                                .exception = rule::kConvertsOnCpu});
  constexpr Variants kOut{false, "out"};
  t.aliases("{}(Tensor self) -> Tensor",
            {{"special_erf", "erf"},
             {"special_erfc", "erfc"},
             {"special_erfinv", "erfinv"},
             {"special_gammaln", "lgamma"},
             {"special_psi", "digamma"},
             {"special_digamma", "digamma"},
             {"special_i0", "i0"},
             {"special_exp2", "exp2"},
             {"special_expm1", "expm1"},
             {"special_expit", "sigmoid"},
             {"special_sinc", "sinc"},
             {"special_log1p", "log1p"}},
            kOut);
  t.alias("special_logit(Tensor self, float? eps=None) -> Tensor", "logit", kOut);
  t.row("polygamma(int n, Tensor self) -> Tensor", {.variants = {false, "out"},
                                                    .traits = elementwise | makes_float,
                                                    .infer = rule::polygamma,
                                                    .generate = make::polygamma,
                                                    .dtypes = dtypes::real_and_bool,
                                                    .domain = {0.5, 4},
                                                    .accuracy = Accuracy::ulp16,
                                                    .flow = {.in_storage = "always", .eager = 4},
                                                    .raises = "complex; n < 0",
                                                    .decompose = R"(
    $d = float_type(%self)
    %x = aten._to_copy(%self, dtype=compute_dtype($d))
    if $n == 0 { return aten._to_copy(aten.digamma(%x), dtype=$d) }
    if $n % 2 == 0 { $scale = 0 - factorial($n) } else { $scale = factorial($n) }
    return aten._to_copy(aten.mul(aten.special_zeta($n + 1, %x), $scale), dtype=$d))",
                                                    .wants = "self counted",
                                                    .exception = rule::kConvertsOnCpu});
  // In place its parameters stand the other way round: not derivable.
  t.row("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
        meaning("return aten.copy_(%self, aten.polygamma($n, %self))", {.infer = rule::polygamma_into,
                                                                        .generate = make::polygamma_into,
                                                                        .dtypes = dtypes::floats,
                                                                        .domain = {0.5, 4},
                                                                        .accuracy = Accuracy::ulp16,
                                                                        .raises = "integers, complex; n < 0",
                                                                        .wants = "self counted"}));
  t.alias("special_polygamma(int n, Tensor self) -> Tensor", "polygamma");
  t.row("mvlgamma(Tensor self, int p) -> Tensor", {.variants = {true, "out", {}, OutRule::copied_cast},
                                                   .traits = makes_float,
                                                   .infer = rule::mvlgamma,
                                                   .generate = make::mvlgamma,
                                                   .dtypes = dtypes::real,
                                                   .domain = {2.5, 6},
                                                   .accuracy = Accuracy::composed,
                                                   .raises = "bool, complex; p < 1",
                                                   .decompose = R"(
    $d = float_type(%self)
    %halves = aten.mul(aten.arange($p, dtype=$d, device=device(%self)), 0.5)
    %terms = aten.lgamma(aten.sub(aten.unsqueeze(aten._to_copy(%self, dtype=$d), -1), %halves))
    return aten.add(aten.sum(%terms, [-1]), $p * ($p - 1) * 0.28618247146235004))"});
  t.alias("special_multigammaln(Tensor self, int p) -> Tensor", "mvlgamma",
          Variants{false, "out", {}, OutRule::copied_cast});
}

void binary_rows(RowSink& t) {
  Row row{.traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::binary_float,
          .dtypes = dtypes::real_and_bool,
          .domain = {0.125, 4},
          .accuracy = Accuracy::ulp16,
          .raises = "complex",
          .exception = rule::kConvertsOnCpu};
  auto three = [&](std::string_view name, std::string_view scalar, bool in_place, std::string_view first,
                   std::string_view second, std::string_view overloads[3], std::string_view outs[3]) {
    row.scalar = scalar;
    bool wide = row.computes == kWide;
    for (int i = 0; i < 3; ++i) {
      if (wide) row.dtypes = i ? kWide : dtypes::real_and_bool;  // f16 and bf16 beside f32 and f64
      row.variants = {in_place && i < 2, outs[i]};
      std::string schema(name);
      if (!overloads[i].empty()) schema += "." + std::string(overloads[i]);
      schema += "(" + std::string(i == 2 ? "Scalar " : "Tensor ") + std::string(first) + ", " +
                std::string(i == 1 ? "Scalar " : "Tensor ") + std::string(second) + ") -> Tensor";
      t.row(schema, row);
    }
  };
  std::string_view plain[] = {"", "other_scalar", "self_scalar"};
  std::string_view plain_out[] = {"out", "other_scalar_out", "self_scalar_out"};
  std::string_view xlogy[] = {"Tensor", "Scalar_Other", "Scalar_Self"};
  std::string_view xlogy_out[] = {"OutTensor", "OutScalar_Other", "OutScalar_Self"};
  three("xlogy", "xlogy", true, "self", "other", xlogy, xlogy_out);
  three("special_xlogy", "xlogy", false, "self", "other", plain, plain_out);
  three("special_xlog1py", "special_xlog1py", false, "self", "other", plain, plain_out);
  row.computes = kWide;
  row.raises = "complex, f16, bf16";
  row.domain = {1.125, 4};
  row.wants = "other counted";  // from what is negative up to zero
  three("special_zeta", "special_zeta", false, "self", "other", plain, plain_out);
  row.wants = {};

  std::string_view polynomial[] = {"", "n_scalar", "x_scalar"};
  std::string_view polynomial_out[] = {"out", "n_scalar_out", "x_scalar_out"};
  row.domain = {-0.9375, 4};
  for (std::string_view name :
       {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he"})
    three("special_" + std::string(name), "{}", false, "x", "n", polynomial, polynomial_out);
  row.wants = "n counted";  // and their values stay what numbers are
  for (std::string_view name : {"laguerre_polynomial_l", "legendre_polynomial_p"})
    three("special_" + std::string(name), "{}", false, "x", "n", polynomial, polynomial_out);

  row = {.variants = {true, "out"},
         .traits = elementwise | core,
         .infer = rule::same_dtype,
         .generate = make::binary,
         .dtypes = dtypes::real_and_bool,
         .computes = dtypes::floats,
         .domain = {0.125, 4},
         .accuracy = Accuracy::ulp16,
         .scalar = "{}",
         .raises = "integers with integers; complex",
         .exception = rule::kConvertsOnCpu};
  t.rows("{}(Tensor self, Tensor other) -> Tensor", "igamma igammac", row);
  t.aliases("{}(Tensor self, Tensor other) -> Tensor",
            {{"special_gammainc", "igamma"}, {"special_gammaincc", "igammac"}}, Variants{false, "out"});
}
}  // namespace

void pointwise_special_rows(RowSink& t) {
  unary_rows(t);
  binary_rows(t);
}

}  // namespace lenz
