// Error functions, the gamma family, information-theoretic products.
#include <cmath>

#include "compiler/scalar/special_functions.h"
#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

using Complex = std::complex<double>;
const DtypeSet kNoHalf = dtypes::wide_floats;  // eager has the function for f32 and f64 alone

template <DoubleDouble (*Log)(DoubleDouble)>
DoubleDouble x_log_y(DoubleDouble x, DoubleDouble y) {
  if (dd::is_nan(y)) return dd::kNan;
  if (x.hi == 0) return 0;
  return x * Log(y);
}

DoubleDouble entr(DoubleDouble x) {
  if (dd::is_nan(x)) return x;
  if (x.hi < 0) return -dd::kInfinity;
  return x.hi == 0 ? DoubleDouble(0) : -x * dd::log(x);
}

DoubleDouble sinc(DoubleDouble x) {
  if (x.hi == 0) return 1;
  return dd::sin_pi(x) / (dd::kPi * x);
}
Complex complex_sinc(Complex a) {
  if (a == Complex(0, 0)) return {1, 0};
  std::complex<long double> z = std::complex<long double>(a.real(), a.imag()) * std::acos(-1.0L);
  z = std::sin(z) / z;
  return {static_cast<double>(z.real()), static_cast<double>(z.imag())};
}

void add_error_functions(Table& t) {
  using namespace traits;
  t.push_back(row("erf", 1, dtypes::floats, real_function<dd::erf>, "torch.erf(a)", "the error function")
                  .with(odd)
                  .within(2)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::moderate));
  t.push_back(row("erfc", 1, dtypes::floats, real_function<dd::erfc>, "torch.erfc(a)", "1 - erf(a), accurate far out")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::small_exponents));
  t.push_back(row("special_erfcx", 1, kNoHalf, real_function<dd::erfcx>, "torch.special.erfcx(a)",
                  "e^(a^2) erfc(a): the scaled complement")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::small_exponents));
  t.push_back(row("erfinv", 1, dtypes::floats, real_function<dd::erfinv>, "torch.erfinv(a)",
                  "the inverse of erf; infinite at -1 and 1, NaN outside")
                  .with(odd)
                  .within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::open_unit));
  t.push_back(row("special_ndtr", 1, dtypes::floats, real_function<dd::ndtr>, "torch.special.ndtr(a)",
                  "the distribution function of the standard normal")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::small_exponents));
  t.push_back(row("special_ndtri", 1, kNoHalf, real_function<dd::ndtri>, "torch.special.ndtri(a)",
                  "the inverse of ndtr; infinite at 0 and 1, NaN outside")
                  .within(4, 0.25)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::probability));
  t.push_back(row("special_log_ndtr", 1, kNoHalf, real_function<dd::log_ndtr>, "torch.special.log_ndtr(a)",
                  "log(ndtr(a)), accurate far out")
                  .within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::small_exponents));
  t.push_back(row("special_entr", 1, dtypes::floats, real_function<entr>, "torch.special.entr(a)",
                  "-a log a; 0 at 0, -inf below")
                  .within(2)
                  .turning_at({0.36787944117144233})
                  .over(domains::positive));
  t.push_back(row("xlogy", 2, dtypes::floats, real_function<x_log_y<dd::log>>, "torch.xlogy(a, b)",
                  "a log b; 0 for a = 0 unless b is NaN")
                  .within(2)
                  .passes(ErrorRule::corners)
                  .on_nan(NanRule::selects)
                  .over(domains::moderate, domains::positive));
  t.push_back(row("special_xlog1py", 2, dtypes::floats, real_function<x_log_y<dd::log1p>>,
                  "torch.special.xlog1py(a, b)", "a log(1 + b); 0 for a = 0 unless b is NaN")
                  .within(2)
                  .passes(ErrorRule::corners)
                  .on_nan(NanRule::selects)
                  .over(domains::moderate, domains::above_minus_one));
  t.push_back(row("sinc", 1, kInexact,
                  {.reals = reals_by_dd<sinc>, .dds = dds<sinc>, .complexes = complexes<complex_sinc>}, "torch.sinc(a)",
                  "sin(pi a) / (pi a); 1 at 0")
                  .with(even)
                  .within(2, 1)
                  .lipschitz(1.4)
                  .over(domains::moderate));
}

void add_gamma_family(Table& t) {
  // The slope of the gamma family between poles is largest at the ends of the interval nearest to a pole, and convex in
  // between, so that corners are extremes of |f'|, and the error is that slope times the width.
  t.push_back(row("lgamma", 1, dtypes::floats, real_function<dd::lgamma>, "torch.lgamma(a)",
                  "log |gamma(a)|; infinite at 0, at negative integers and at both infinities")
                  .within(4, 1)
                  .turning_at({1.4616321449683623})
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .over(domains::up_to_100));
  t.push_back(row("digamma", 1, dtypes::floats, real_function<dd::digamma>, "torch.digamma(a)",
                  "lgamma's derivative; infinite at 0 with the opposite sign, NaN at negative integers")
                  .within(4, 1)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .rising()
                  .over(domains::up_to_100));
  t.push_back(row("trigamma", 1, dtypes::floats, real_function<[](DoubleDouble x) { return dd::polygamma(1, x); }>,
                  "torch.special.polygamma(1, a)", "digamma's derivative; infinite at 0 and at negative integers")
                  .within(4)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("polygamma", 2, dtypes::floats, real_function<dd::polygamma, 0>, "torch.special.polygamma(int(a), b)",
                  "digamma's a-th derivative, a >= 0; infinite at 0 and at "
                  "negative integers for a > 0")
                  .taking(OperandRule::integer_first)
                  .with(traits::costly)
                  .within(16)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .over(domains::degrees, domains::up_to_100));
  t.push_back(row("special_zeta", 2, kNoHalf, real_function<dd::zeta>, "torch.special.zeta(a, b)",
                  "the Hurwitz zeta function: the sum of (b + k)^-a over k >= 0; infinite at a = 1 and where b is 0 or "
                  "a negative integer; NaN for a < 1 and for a negative b with a fractional a")
                  .with(traits::costly)
                  .within(8)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .over(domains::orders, domains::up_to_100));
  t.push_back(row("igamma", 2, dtypes::floats, real_function<dd::igamma>, "torch.special.gammainc(a, b)",
                  "the regularised lower incomplete gamma function P(a, b); NaN for a negative operand")
                  .with(traits::costly)
                  .within(16)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100, domains::up_to_100));
  t.push_back(row("igammac", 2, dtypes::floats, real_function<dd::igammac>, "torch.special.gammaincc(a, b)",
                  "the regularised upper incomplete gamma function Q(a, b) = 1 - P(a, b); NaN for a negative operand")
                  .with(traits::costly)
                  .within(16)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::up_to_100, domains::up_to_100));
}

}  // namespace

void add_special(Table& table) {
  add_error_functions(table);
  add_gamma_family(table);
}

}  // namespace lenz::scalar_rows
