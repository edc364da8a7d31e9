// Error functions, the gamma family, information-theoretic products.
#include <cmath>

#include "compiler/scalar/quick_functions.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/special_functions.h"
#include "compiler/scalar/table.h"
#include "compiler/scalar/wide_complex.h"

namespace lenz::scalar_rows {

namespace {

constexpr DtypeSet k16Bits = dtypes::half | dtypes::bfloat;
constexpr EagerException kSmallErf[] = {
    {k16Bits, "np.abs(a) < 0.02", "the 16-bit vectorized path is accurate absolutely, not relatively", 0, false}};
constexpr EagerException kSincOverflow[] = {
    {dtypes::floats, "np.abs(a) * np.pi > largest", "pi * a overflows, and its sine is NaN"},
    {dtypes::complexes, "np.abs(np.imag(a)) * np.pi > np.log(largest)", "the sine overflows before it is divided"}};
constexpr EagerException kDigammaPoles[] = {{dtypes::floats, "a < 0", "tan(pi a) loses the digits of a near a pole"}};
constexpr EagerException kTrigammaPoles[] = {
    {dtypes::floats, "a < 0", "sin(pi a) is not reduced: its square misses the poles, and overflows far out"}};
constexpr EagerException kPolygamma[] = {
    {dtypes::wide_floats, "(a == 0) & (np.abs(r) < 1)", "as digamma near its zero", 1e4, false},
    {dtypes::floats, "b < 0", "as digamma and trigamma below zero; cancels for higher orders"},
    {dtypes::half, "a > 1", "factorial and zeta are rounded to f16 before they are multiplied"},
    {DtypeSet::of(Dtype::f64), "a == 1", "as trigamma: the expansion stops at single precision", 1e7}};
constexpr EagerException kZetaInfinite[] = {
    {dtypes::wide_floats, "np.isinf(a)", "an infinite order gives NaN, or infinity for a negative b"},
    {dtypes::wide_floats, "b < 0", "the sum over the negative terms cancels", 1e7, false}};
constexpr EagerException kIncompleteGammaTiny[] = {
    {dtypes::floats, "a < 1e-2",
     "lacks the logarithm of gamma(1 + a), and gives the limit's opposite for a subnormal a"},
    {dtypes::floats, "np.abs(r) < (1e-290 if tiny < 1e-300 else 1e-37)", "underflows early", 0, false}};

// Up to order 20 eager's float64 takes series, which are off by 124 half places at most where they were tried; from
// there on an expansion with coefficients for f32.
template <DoubleDouble Function(DoubleDouble, DoubleDouble), bool Lower>
double incomplete_gamma_reach(Dtype dtype, const double* low, const double* high) {
  constexpr double kSeries = 20, kPlaces = 1024;
  if (dtype != Dtype::f64 || !(low[0] > 0 && low[1] >= 0 && high[0] <= kSeries)) return dd::kInfinity;
  const double most = (Lower ? Function(low[0], high[1]) : Function(high[0], low[1])).hi;
  return kPlaces * (last_place(dtype, 1) * most + smallest_subnormal(dtype));
}

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
  WideComplex z = wide(a) * std::acos(-1.0L);
  return narrow(divide(std::sin(z), z));
}

void add_error_functions(Table& t) {
  using namespace traits;
  t.push_back(row("erf", 1, dtypes::floats, real_function<dd::erf>, "torch.erf(a)", "the error function")
                  .with(odd)
                  .within(2)
                  .except(kSmallErf)
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
                  .eager_within(64)
                  .eager_f64_within(520)  // it squares first: half a place of 708 is 512 of most results
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
                  .eager_within(4, 1)
                  .eager_narrow_within(4)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::small_exponents));
  t.push_back(row("special_ndtri", 1, kNoHalf, real_function<dd::ndtri>, "torch.special.ndtri(a)",
                  "the inverse of ndtr; infinite at 0 and 1, NaN outside")
                  .within(4, 0.25)
                  .eager_within(5, 0.25)  // 4.78 at 0.159, of all f32 from 0.135 on
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::probability));
  t.push_back(row("special_log_ndtr", 1, kNoHalf, real_function<dd::log_ndtr>, "torch.special.log_ndtr(a)",
                  "log(ndtr(a)), accurate far out")
                  .within(4)
                  .eager_within(256)
                  .eager_f64_within(2048)  // as the square of the operand, of which f64 takes 38
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::small_exponents));
  t.push_back(row("special_entr", 1, dtypes::floats, real_function<entr>, "torch.special.entr(a)",
                  "-a log a; 0 at 0, -inf below")
                  .within(2)
                  .eager_narrow_within(2)
                  .turning_at({0.36787944117144233})
                  .over(domains::positive));
  t.push_back(row("xlogy", 2, dtypes::floats, real_function<x_log_y<dd::log>>, "torch.xlogy(a, b)",
                  "a log b; 0 for a = 0 unless b is NaN")
                  .within(2)
                  .eager_narrow_within(2)
                  .passes(ErrorRule::corners)
                  .on_nan(NanRule::selects)
                  .over(domains::moderate, domains::positive));
  t.push_back(row("special_xlog1py", 2, dtypes::floats, real_function<x_log_y<dd::log1p>>,
                  "torch.special.xlog1py(a, b)", "a log(1 + b); 0 for a = 0 unless b is NaN")
                  .within(2)
                  .eager_narrow_within(2)
                  .passes(ErrorRule::corners)
                  .on_nan(NanRule::selects)
                  .over(domains::moderate, domains::above_minus_one));
  t.push_back(
      row("sinc", 1, kInexact, {.reals = reals_by_dd<sinc>, .dds = dds<sinc>, .complexes = complexes<complex_sinc>},
          "torch.sinc(a)", "sin(pi a) / (pi a); 1 at 0")
          .with(even | loose_zero)
          .except(kSincOverflow)
          .within(2, 1)
          .eager_complex_within(256)
          .lipschitz(1.4)
          .complex_slope([](Complex z, double r) { return 1.571 * std::cosh(3.1416 * (std::fabs(z.imag()) + r)); })
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
                  .eager_within(16)
                  .except(kDigammaPoles)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .rising()
                  .over(domains::up_to_100));
  t.push_back(row("trigamma", 1, dtypes::floats, real_function<[](DoubleDouble x) { return dd::polygamma(1, x); }>,
                  "torch.special.polygamma(1, a)", "digamma's derivative; infinite at 0 and at negative integers")
                  .within(4)
                  .eager_within(16)
                  .eager_f64_within(1e7)
                  .except(kTrigammaPoles)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .falling()
                  .over(domains::up_to_100));
  t.push_back(row("polygamma", 2, dtypes::floats, real_function<dd::polygamma, 0>, "torch.special.polygamma(int(a), b)",
                  "digamma's a-th derivative, a >= 0; infinite at 0 and at "
                  "negative integers for a > 0")
                  .taking(OperandRule::integer_first)
                  .quickly(quick::polygamma)
                  .with(traits::costly)
                  .within(16)
                  .eager_narrow_within(16)
                  .except(kPolygamma)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .over(domains::degrees, domains::up_to_100));
  t.push_back(row("special_zeta", 2, kNoHalf, real_function<dd::zeta>, "torch.special.zeta(a, b)",
                  "the Hurwitz zeta function: the sum of (b + k)^-a over k >= 0; infinite at a = 1 and where b is 0 or "
                  "a negative integer; NaN for a < 1 and for a negative b with a fractional a")
                  .quickly(quick::zeta)
                  .with(traits::costly)
                  .on_nan(NanRule::selects)  // of an order that is none at a pole
                  .within(8)
                  .eager_within(64)
                  .except(kZetaInfinite)
                  .passes(ErrorRule::corners, Jump::at_nonpositive_integers)
                  .over(domains::orders, domains::up_to_100));
  t.push_back(row("igamma", 2, dtypes::floats, real_function<dd::igamma>, "torch.special.gammainc(a, b)",
                  "the regularised lower incomplete gamma function P(a, b); NaN for a negative operand")
                  .quickly(quick::igamma)
                  .with(traits::costly)
                  .within(16)
                  .eager_within(1024)
                  .eager_f64_within(1e8)
                  .reaching(incomplete_gamma_reach<dd::igamma, true>)
                  .except(kIncompleteGammaTiny)
                  .passes(ErrorRule::corners)
                  .falling()
                  .over(domains::up_to_100, domains::up_to_100));
  t.push_back(row("igammac", 2, dtypes::floats, real_function<dd::igammac>, "torch.special.gammaincc(a, b)",
                  "the regularised upper incomplete gamma function Q(a, b) = 1 - P(a, b); NaN for a negative operand")
                  .quickly(quick::igammac)
                  .with(traits::costly)
                  .within(16)
                  .eager_within(1024)
                  .eager_f64_within(1e8)
                  .reaching(incomplete_gamma_reach<dd::igammac, false>)
                  .except(kIncompleteGammaTiny)
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
