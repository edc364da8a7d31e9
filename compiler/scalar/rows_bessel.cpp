// Bessel and Airy functions, orthogonal polynomials.
#include <cmath>

#include "compiler/scalar/special_functions.h"
#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

// The degree as eager takes it: truncated; NaN and what int64 can't hold count as negative.
int64_t degree(DoubleDouble n) {
  double d = std::trunc(n.hi);
  return d >= 0 && d < 0x1p63 ? static_cast<int64_t>(d) : -1;
}

template <dd::Chebyshev Kind>
DoubleDouble chebyshev(DoubleDouble x, DoubleDouble n) {
  return dd::chebyshev(Kind, x, degree(n));
}
template <dd::Chebyshev Kind>
DoubleDouble shifted_chebyshev(DoubleDouble x, DoubleDouble n) {
  return dd::chebyshev(Kind, dd::scale(x, 1) - DoubleDouble(1), degree(n));
}
template <DoubleDouble (*F)(DoubleDouble, int64_t)>
DoubleDouble of_degree(DoubleDouble x, DoubleDouble n) {
  return F(x, degree(n));
}

}  // namespace

void add_bessel(Table& t) {
  using namespace traits;
  const DtypeSet wide = dtypes::wide_floats;
  // name, call, meaning, dtypes, parity, rule
  t.push_back(row("i0", 1, dtypes::floats, real_function<dd::bessel_i0>, "torch.special.i0(a)",
                  "the modified Bessel function of the first kind, order 0")
                  .with(even)
                  .within(4)
                  .turning_at({0})
                  .over(domains::exponents));
  t.push_back(
      row("special_i0e", 1, dtypes::floats, real_function<dd::bessel_i0e>, "torch.special.i0e(a)", "e^-|a| i0(a)")
          .with(even)
          .within(4)
          .turning_at({0})
          .over(domains::moderate));
  t.push_back(row("special_i1", 1, dtypes::floats, real_function<dd::bessel_i1>, "torch.special.i1(a)",
                  "the modified Bessel function of the first kind, order 1")
                  .with(odd)
                  .within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("special_i1e", 1, dtypes::floats, real_function<dd::bessel_i1e>, "torch.special.i1e(a)",
                  "e^-|a| special_i1(a)")
                  .with(odd)
                  .within(4)
                  .lipschitz(0.5)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_j0", 1, wide, real_function<dd::bessel_j0>, "torch.special.bessel_j0(a)",
                  "the Bessel function of the first kind, order 0; 0 at infinity")
                  .with(even)
                  .within(8, 1)
                  .lipschitz(0.59)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_j1", 1, wide, real_function<dd::bessel_j1>, "torch.special.bessel_j1(a)",
                  "the Bessel function of the first kind, order 1; 0 at infinity")
                  .with(odd)
                  .within(8, 1)
                  .lipschitz(0.5)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_y0", 1, wide, real_function<dd::bessel_y0>, "torch.special.bessel_y0(a)",
                  "the Bessel function of the second kind, order 0; -inf at 0, NaN below")
                  .within(8, 1)
                  .slope([](int, const double* low, const double*) { return low[0] > 0 ? 1 / low[0] : dd::kInfinity; })
                  .over(domains::up_to_100));
  t.push_back(row("special_bessel_y1", 1, wide, real_function<dd::bessel_y1>, "torch.special.bessel_y1(a)",
                  "the Bessel function of the second kind, order 1; -inf at 0, NaN below")
                  .within(8, 1)
                  .slope([](int, const double* low, const double*) {
                    return low[0] > 0 ? 1 / low[0] + 1 / (low[0] * low[0]) : dd::kInfinity;
                  })
                  .over(domains::up_to_100));
  t.push_back(row("special_modified_bessel_i0", 1, wide, real_function<dd::bessel_i0>,
                  "torch.special.modified_bessel_i0(a)", "i0 under its other name")
                  .with(even)
                  .within(4)
                  .turning_at({0})
                  .over(domains::exponents));
  t.push_back(row("special_modified_bessel_i1", 1, wide, real_function<dd::bessel_i1>,
                  "torch.special.modified_bessel_i1(a)", "special_i1 under its other name")
                  .with(odd)
                  .within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("special_modified_bessel_k0", 1, wide, real_function<dd::bessel_k0>,
                  "torch.special.modified_bessel_k0(a)",
                  "the modified Bessel function of the second kind, order 0; infinite at 0, NaN below")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_modified_bessel_k1", 1, wide, real_function<dd::bessel_k1>,
                  "torch.special.modified_bessel_k1(a)",
                  "the modified Bessel function of the second kind, order 1; infinite at 0, NaN below")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_scaled_modified_bessel_k0", 1, wide, real_function<dd::bessel_k0_scaled>,
                  "torch.special.scaled_modified_bessel_k0(a)", "e^a special_modified_bessel_k0(a)")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_scaled_modified_bessel_k1", 1, wide, real_function<dd::bessel_k1_scaled>,
                  "torch.special.scaled_modified_bessel_k1(a)", "e^a special_modified_bessel_k1(a)")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_spherical_bessel_j0", 1, wide, real_function<dd::spherical_bessel_j0>,
                  "torch.special.spherical_bessel_j0(a)", "sin(a) / a; 1 at 0, 0 at infinity")
                  .with(even)
                  .within(4)
                  .lipschitz(0.44)
                  .over(domains::moderate));
  t.push_back(row("special_airy_ai", 1, wide, real_function<dd::airy_ai>, "torch.special.airy_ai(a)",
                  "the Airy function Ai; NaN at infinities")
                  .within(16, 1)
                  // |Ai'(x)| is at most 0.3 (1 + |x|)^(1/4) times a constant below 2 on the oscillating side
                  .slope([](int, const double* low, const double*) {
                    return low[0] >= 0 ? 0.26 : 0.65 * std::pow(1 - low[0], 0.25);
                  })
                  .over(domains::small_exponents));
}

void add_polynomials(Table& t) {
  struct Spec {
    std::string_view name, call, semantics;
    Evaluators eval;
  };
  const Spec specs[] = {
      {"special_chebyshev_polynomial_t", "torch.special.chebyshev_polynomial_t(a, b)",
       "Chebyshev's, of the first kind: T_b(a)", real_function<chebyshev<dd::Chebyshev::t>>},
      {"special_chebyshev_polynomial_u", "torch.special.chebyshev_polynomial_u(a, b)",
       "Chebyshev's, of the second kind: U_b(a)", real_function<chebyshev<dd::Chebyshev::u>>},
      {"special_chebyshev_polynomial_v", "torch.special.chebyshev_polynomial_v(a, b)",
       "Chebyshev's, of the third kind: V_b(a)", real_function<chebyshev<dd::Chebyshev::v>>},
      {"special_chebyshev_polynomial_w", "torch.special.chebyshev_polynomial_w(a, b)",
       "Chebyshev's, of the fourth kind: W_b(a)", real_function<chebyshev<dd::Chebyshev::w>>},
      {"special_shifted_chebyshev_polynomial_t", "torch.special.shifted_chebyshev_polynomial_t(a, b)", "T_b(2a - 1)",
       real_function<shifted_chebyshev<dd::Chebyshev::t>>},
      {"special_shifted_chebyshev_polynomial_u", "torch.special.shifted_chebyshev_polynomial_u(a, b)", "U_b(2a - 1)",
       real_function<shifted_chebyshev<dd::Chebyshev::u>>},
      {"special_shifted_chebyshev_polynomial_v", "torch.special.shifted_chebyshev_polynomial_v(a, b)", "V_b(2a - 1)",
       real_function<shifted_chebyshev<dd::Chebyshev::v>>},
      {"special_shifted_chebyshev_polynomial_w", "torch.special.shifted_chebyshev_polynomial_w(a, b)", "W_b(2a - 1)",
       real_function<shifted_chebyshev<dd::Chebyshev::w>>},
      {"special_hermite_polynomial_h", "torch.special.hermite_polynomial_h(a, b)",
       "Hermite's, as physicists have them: H_b(a)", real_function<of_degree<dd::hermite_h>>},
      {"special_hermite_polynomial_he", "torch.special.hermite_polynomial_he(a, b)",
       "Hermite's, as probabilists have them: He_b(a)", real_function<of_degree<dd::hermite_he>>},
      {"special_laguerre_polynomial_l", "torch.special.laguerre_polynomial_l(a, b)", "Laguerre's: L_b(a)",
       real_function<of_degree<dd::laguerre>>},
      {"special_legendre_polynomial_p", "torch.special.legendre_polynomial_p(a, b)", "Legendre's: P_b(a)",
       real_function<of_degree<dd::legendre>>},
  };
  for (const Spec& s : specs)
    t.push_back(row(s.name, 2, dtypes::wide_floats, s.eval, s.call, s.semantics)
                    .with(traits::costly)
                    .within(64, 64)
                    .passes(ErrorRule::unbounded)
                    .on_nan(NanRule::selects)
                    .over(domains::small_exponents, domains::degrees));
}

}  // namespace lenz::scalar_rows
