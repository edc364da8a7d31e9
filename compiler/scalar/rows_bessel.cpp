// Bessel and Airy functions, orthogonal polynomials.
#include <cmath>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/special_functions.h"
#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

constexpr EagerException kOscillation[] = {
    {dtypes::wide_floats, "np.abs(a) > 100", "the phase of a large operand is rounded to the dtype"},
    {DtypeSet::of(Dtype::f64), "(np.abs(a) > 0.5) & (np.abs(a) <= 100)",
     "the coefficients are those of single precision: off by 1e-6 just above 5", 1e10}};
constexpr EagerException kSmallestOperand[] = {
    {dtypes::wide_floats, "np.abs(a) < 2 * tiny", "half of the smallest operand is zero: infinite or NaN"}};
constexpr EagerException kBesselOverflow[] = {
    {dtypes::floats, "np.abs(a) > np.log(largest)", "e^|a| overflows before it is divided", 0, false}};
constexpr EagerException kAiryPhase[] = {
    {dtypes::wide_floats, "a < -10", "the phase, two thirds of |a|^(3/2), is rounded to the dtype"},
    {DtypeSet::of(Dtype::f64), "(a >= -10) & (a < -1)", "the coefficients are off by 1e-6", 1e11}};
constexpr EagerException kPolynomials[] = {
    {dtypes::wide_floats, "np.isnan(a)", "of a NaN, a value that was never set is returned", 0, false},
    {dtypes::wide_floats, "np.minimum(np.minimum(np.abs(a + 1), np.abs(a - 1)), np.abs(a)) < 1e-3",
     "degrees above 6 divide by the sine of an angle near 0 (of shifted ones near a = 0 and 1)", 0, false}};

// The degree as eager takes it: truncated; NaN and what int64 can't hold count as negative.
int64_t degree(DoubleDouble n) {
  double d = std::trunc(n.hi);
  return d >= 0 && d < 0x1p63 ? static_cast<int64_t>(d) : -1;
}

// Of |Y1| and |Y0| from x on: the pole at 0, and the decaying wave.
double y1_bound(double x) { return x > 0 ? 0.64 / x + 0.8 / std::sqrt(x) : dd::kInfinity; }

// Shifted ones are of 2a - 1.
template <dd::Polynomial Family, bool Shifted>
DoubleDouble polynomial(DoubleDouble x, DoubleDouble n) {
  if (Shifted) x = dd::scale(x, 1) - DoubleDouble(1);
  return dd::polynomial(Family, x, degree(n));
}
template <dd::Polynomial Family, bool Shifted>
double polynomial_slope(int operand, const double* low, const double* high) {
  if (operand == 1) return dd::kInfinity;  // no degree between degrees
  const double l = Shifted ? 2 * low[0] - 1 : low[0], h = Shifted ? 2 * high[0] - 1 : high[0];
  const double magnitude = std::fmax(std::fabs(l), std::fabs(h));
  return (Shifted ? 2 : 1) * dd::polynomial_slope(Family, magnitude, degree(low[1]));
}
// Nobody's formula is off by more, also where the polynomial itself may vanish.
template <dd::Polynomial Family, bool Shifted>
double polynomial_reach(Dtype dtype, const double* low, const double* high) {
  if (degree(low[1]) != degree(high[1])) return dd::kInfinity;
  const double l = Shifted ? 2 * low[0] - 1 : low[0], h = Shifted ? 2 * high[0] - 1 : high[0];
  const double off = Shifted ? std::fmax(1, std::fmax(std::fabs(l), std::fabs(h))) : 0;  // 2a - 1 is rounded
  const double places = dd::polynomial_roundings(Family, l, h, degree(low[1]), off);
  if (places == 0 || !std::isfinite(places)) return places == 0 ? 0 : dd::kInfinity;
  // Below the normal numbers a step rounds by half the least one, whatever its terms; at most n times that is its
  // share.
  const auto n = static_cast<double>(degree(low[1]));
  return places * last_place(dtype, 1) + 4 * n * n * smallest_subnormal(dtype);
}

// From zero on Ai falls, and what eager is off by falls with it: by up to 269 half places where it changes formulas,
// about 2, and by a rounding of the exponent further out.
double airy_reach(Dtype dtype, const double* low, const double*) {
  if (!(low[0] >= 0)) return dd::kInfinity;
  const double half_places = 320 + 4 * low[0] * std::sqrt(low[0]);
  return half_places * (last_place(dtype, 1) / 2) * dd::airy_ai(DoubleDouble(low[0])).hi +
         4 * smallest_subnormal(dtype);
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
                  .eager_within(16)
                  .except(kBesselOverflow)
                  .turning_at({0})
                  .over(domains::exponents));
  t.push_back(
      row("special_i0e", 1, dtypes::floats, real_function<dd::bessel_i0e>, "torch.special.i0e(a)", "e^-|a| i0(a)")
          .with(even)
          .within(4)
          .eager_within(16)
          .eager_narrow_within(6)  // 5.91 at -0.036 in f16, of all inputs, by its scalar path
          .turning_at({0})
          .over(domains::moderate));
  t.push_back(row("special_i1", 1, dtypes::floats, real_function<dd::bessel_i1>, "torch.special.i1(a)",
                  "the modified Bessel function of the first kind, order 1")
                  .with(odd | loose_zero)
                  .within(4)
                  .eager_within(16)
                  .except(kBesselOverflow)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("special_i1e", 1, dtypes::floats, real_function<dd::bessel_i1e>, "torch.special.i1e(a)",
                  "e^-|a| special_i1(a)")
                  .with(odd | loose_zero)
                  .within(4)
                  .eager_within(16)
                  .lipschitz(0.5)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_j0", 1, wide, real_function<dd::bessel_j0>, "torch.special.bessel_j0(a)",
                  "the Bessel function of the first kind, order 0; NaN at infinity, as its phase is")
                  .with(even)
                  .within(8, 1)
                  .except(kOscillation)
                  .lipschitz(0.59)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_j1", 1, wide, real_function<dd::bessel_j1>, "torch.special.bessel_j1(a)",
                  "the Bessel function of the first kind, order 1; NaN at infinity, as its phase is")
                  .with(odd)
                  .within(8, 1)
                  .except(kOscillation)
                  .lipschitz(0.5)
                  .over(domains::moderate));
  t.push_back(row("special_bessel_y0", 1, wide, real_function<dd::bessel_y0>, "torch.special.bessel_y0(a)",
                  "the Bessel function of the second kind, order 0; -inf at 0, NaN below")
                  .within(8, 1)
                  .except(kOscillation)
                  .slope([](int, const double* low, const double*) { return y1_bound(low[0]); })
                  .over(domains::up_to_100));
  t.push_back(row("special_bessel_y1", 1, wide, real_function<dd::bessel_y1>, "torch.special.bessel_y1(a)",
                  "the Bessel function of the second kind, order 1; -inf at 0, NaN below")
                  .within(8, 1)
                  .except(kOscillation)
                  .slope([](int, const double* low, const double*) {
                    return low[0] > 0 ? y1_bound(low[0]) * (1 + 1 / low[0]) : dd::kInfinity;
                  })
                  .over(domains::up_to_100));
  t.push_back(row("special_modified_bessel_i0", 1, wide, real_function<dd::bessel_i0>,
                  "torch.special.modified_bessel_i0(a)", "i0 under its other name")
                  .with(even)
                  .within(4)
                  .eager_within(16)
                  .except(kBesselOverflow)
                  .turning_at({0})
                  .over(domains::exponents));
  t.push_back(row("special_modified_bessel_i1", 1, wide, real_function<dd::bessel_i1>,
                  "torch.special.modified_bessel_i1(a)", "special_i1 under its other name")
                  .with(odd | loose_zero)
                  .within(4)
                  .eager_within(16)
                  .except(kBesselOverflow)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("special_modified_bessel_k0", 1, wide, real_function<dd::bessel_k0>,
                  "torch.special.modified_bessel_k0(a)",
                  "the modified Bessel function of the second kind, order 0; infinite at 0, NaN below")
                  .within(4)
                  .eager_within(16)
                  .except(kSmallestOperand)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_modified_bessel_k1", 1, wide, real_function<dd::bessel_k1>,
                  "torch.special.modified_bessel_k1(a)",
                  "the modified Bessel function of the second kind, order 1; infinite at 0, NaN below")
                  .within(4)
                  .eager_within(16)
                  .except(kSmallestOperand)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_scaled_modified_bessel_k0", 1, wide, real_function<dd::bessel_k0_scaled>,
                  "torch.special.scaled_modified_bessel_k0(a)", "e^a special_modified_bessel_k0(a)")
                  .within(4)
                  .eager_within(16)
                  .except(kSmallestOperand)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("special_scaled_modified_bessel_k1", 1, wide, real_function<dd::bessel_k1_scaled>,
                  "torch.special.scaled_modified_bessel_k1(a)", "e^a special_modified_bessel_k1(a)")
                  .within(4)
                  .eager_within(16)
                  .except(kSmallestOperand)
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
                  .eager_within(64)
                  .reaching(airy_reach)
                  .except(kAiryPhase)
                  // |Ai'(x)| is at most 0.3 (1 + |x|)^(1/4) times a constant below 2 on the oscillating side
                  .slope([](int, const double* low, const double*) {
                    return low[0] >= 0 ? 0.26 : 0.65 * std::pow(1 - low[0], 0.25);
                  })
                  .over(domains::small_exponents));
}

template <dd::Polynomial Family, bool Shifted = false>
Row polynomial_row(std::string_view name, std::string_view call, std::string_view semantics) {
  return row(name, 2, dtypes::wide_floats, real_function<polynomial<Family, Shifted>>, call, semantics)
      .with(traits::costly | traits::loose_zero)
      .except(kPolynomials)
      .within(64, 64)
      .eager_within(4096)
      .reaching(polynomial_reach<Family, Shifted>)
      .slope(polynomial_slope<Family, Shifted>)
      .on_nan(NanRule::selects)
      .over(domains::small_exponents, domains::degrees);
}

void add_polynomials(Table& t) {
  using Family = dd::Polynomial;
  const Row rows[] = {
      polynomial_row<Family::chebyshev_t>("special_chebyshev_polynomial_t",
                                          "torch.special.chebyshev_polynomial_t(a, b)",
                                          "Chebyshev's, of the first kind: T_b(a)"),
      polynomial_row<Family::chebyshev_u>("special_chebyshev_polynomial_u",
                                          "torch.special.chebyshev_polynomial_u(a, b)",
                                          "Chebyshev's, of the second kind: U_b(a)"),
      polynomial_row<Family::chebyshev_v>("special_chebyshev_polynomial_v",
                                          "torch.special.chebyshev_polynomial_v(a, b)",
                                          "Chebyshev's, of the third kind: V_b(a)"),
      polynomial_row<Family::chebyshev_w>("special_chebyshev_polynomial_w",
                                          "torch.special.chebyshev_polynomial_w(a, b)",
                                          "Chebyshev's, of the fourth kind: W_b(a)"),
      polynomial_row<Family::chebyshev_t, true>("special_shifted_chebyshev_polynomial_t",
                                                "torch.special.shifted_chebyshev_polynomial_t(a, b)", "T_b(2a - 1)"),
      polynomial_row<Family::chebyshev_u, true>("special_shifted_chebyshev_polynomial_u",
                                                "torch.special.shifted_chebyshev_polynomial_u(a, b)", "U_b(2a - 1)"),
      polynomial_row<Family::chebyshev_v, true>("special_shifted_chebyshev_polynomial_v",
                                                "torch.special.shifted_chebyshev_polynomial_v(a, b)", "V_b(2a - 1)"),
      polynomial_row<Family::chebyshev_w, true>("special_shifted_chebyshev_polynomial_w",
                                                "torch.special.shifted_chebyshev_polynomial_w(a, b)", "W_b(2a - 1)"),
      polynomial_row<Family::hermite_h>("special_hermite_polynomial_h", "torch.special.hermite_polynomial_h(a, b)",
                                        "Hermite's, as physicists have them: H_b(a)"),
      polynomial_row<Family::hermite_he>("special_hermite_polynomial_he", "torch.special.hermite_polynomial_he(a, b)",
                                         "Hermite's, as probabilists have them: He_b(a)"),
      polynomial_row<Family::laguerre>("special_laguerre_polynomial_l", "torch.special.laguerre_polynomial_l(a, b)",
                                       "Laguerre's: L_b(a)"),
      polynomial_row<Family::legendre>("special_legendre_polynomial_p", "torch.special.legendre_polynomial_p(a, b)",
                                       "Legendre's: P_b(a)"),
  };
  t.insert(t.end(), std::begin(rows), std::end(rows));
}

}  // namespace lenz::scalar_rows
