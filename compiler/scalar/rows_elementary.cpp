// Exponentials, logarithms, powers, trigonometric and hyperbolic functions, of real and complex numbers.
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/table.h"
#include "compiler/scalar/wide_complex.h"

namespace lenz::scalar_rows {

namespace {

constexpr EagerException kHyperbolicOverflow[] = {
    {dtypes::floats, "np.abs(a) > np.log(largest)", "e^|a| overflows before it is halved", 0, false}};
constexpr EagerException kPow[] = {
    {dtypes::complexes, "a == 0", "0 times the infinite logarithm of 0 is NaN, on some paths"},
    {dtypes::floats, "(np.isneginf(a) | (a == 0)) & (np.abs(b) == 0.5)",
     "a power of a half that is a Python number is a square root, of -0 and -inf too", 0, false}};

constexpr EagerException kSigmoidUnderflow[] = {
    {dtypes::floats, "a < -np.log(largest)", "eager's exp(-a) overflows, and the result is 0 instead of tiny"}};

// A complex function of long doubles as an evaluator.
template <auto F>
inline constexpr Evaluator wide_complex = complexes<[](Complex z) { return narrow(F(wide(z))); }>;

const long double kLn2Long = std::log(2.0L);

WideComplex exp_of(WideComplex z) { return z.imag() == 0 ? WideComplex(std::exp(z.real()), z.imag()) : std::exp(z); }
// exp(z) - 1 without cancellation: expm1(x) cos y - 2 sin^2(y/2) is the real part.
WideComplex expm1_of(WideComplex z) {
  long double x = z.real(), y = z.imag(), half = std::sin(y / 2);
  if (y == 0) return {std::expm1(x), y};
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}
// log(1 + z): the modulus by log1p of 2x + x^2 + y^2.
WideComplex log1p_of(WideComplex z) {
  long double x = z.real(), y = z.imag();
  if (!(std::abs(z) < 0.5L)) return std::log(WideComplex(1 + x, y));
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
}

Complex complex_log_add_exp(Complex a, Complex b) {
  if (a.real() >= b.real()) std::swap(a, b);
  if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag()))
    return {dd::kNan, dd::kNan};
  if (a.real() == b.real() && std::isinf(a.real()))
    return b.real() < 0 ? a : narrow(std::log(std::exp(wide(a)) + std::exp(wide(b))));
  return narrow(wide(b) + log1p_of(std::exp(wide(a) - wide(b))));
}
// Of log1p(e^z): e^z / |1 + e^z|, the lesser operand's share.
double share_slope(Complex z, double r) {
  if (z.real() > 0) z = -z;
  double greatest = std::exp(z.real() + r), least = std::abs(1.0 + std::exp(z)) - r * greatest;
  return least > 0 ? greatest / least : dd::kInfinity;
}
DoubleDouble log2_1p(DoubleDouble x) { return dd::log1p(x) / dd::kLn2; }

// The greater operand, and what the lesser adds.
template <DoubleDouble (*Exp)(DoubleDouble), DoubleDouble (*Log1p)(DoubleDouble)>
DoubleDouble log_add_exp(DoubleDouble a, DoubleDouble b) {
  if (dd::is_nan(a) || dd::is_nan(b)) return dd::kNan;
  if (a < b) std::swap(a, b);
  if (dd::is_inf(a)) return a;  // also of two -infinities
  return a + Log1p(Exp(b - a));
}

// |1 / cos^2| by a lower bound of |cos| over the disc.
double tangent_slope(Complex z, double r) {
  double least = std::abs(std::cos(z)) - r * std::cosh(std::fabs(z.imag()) + r);
  return least > 0 ? 1 / (least * least) : dd::kInfinity;
}
double arc_slope(Complex z, double r) { return 1 / std::sqrt(distance(z, r, 1) * distance(z, r, -1)); }
double sigmoid_slope(Complex z, double r) {  // |e^-z| / |1 + e^-z|^2, the same of -z, whose exponential may overflow
  if (z.real() < 0) z = -z;
  double greatest = std::exp(-z.real() + r), least = std::abs(1.0 + std::exp(-z)) - r * greatest;
  return least > 0 ? greatest / (least * least) : dd::kInfinity;
}

double sigmoid(double a) { return static_cast<double>(1 / (1 + std::exp(-static_cast<long double>(a)))); }
DoubleDouble sigmoid_dd(DoubleDouble a) {
  if (a.hi >= 0) return DoubleDouble(1) / (DoubleDouble(1) + dd::exp(-a));
  DoubleDouble e = dd::exp(a);  // exp(-a) would overflow before the result underflows
  return e / (DoubleDouble(1) + e);
}

// log(x / (1 - x)): near one half as 2 atanh(2x - 1), so that the zero is exact.
DoubleDouble logit(DoubleDouble x) {
  if (!(x.hi >= 0 && x.hi <= 1)) return dd::kNan;
  if (x.hi > 0.25 && x.hi < 0.75) return dd::scale(dd::atanh(dd::scale(x, 1) - DoubleDouble(1)), 1);
  return dd::log(x) - dd::log1p(-x);
}

int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t int_pow(int64_t a, int64_t n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 != 0 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; n > 0; n >>= 1, a = wrap_mul(a, a))
    if ((n & 1) != 0) result = wrap_mul(result, a);
  return result;
}
Complex complex_pow(Complex a, Complex b) {
  WideComplex x = wide(a), y = wide(b);
  if (x == WideComplex(0)) {
    if (y == WideComplex(0)) return {1, 0};
    if (y.real() > 0) return {0, 0};
    const double nan = std::numeric_limits<double>::quiet_NaN();  // a pole has no angle
    return {y.real() < 0 ? std::numeric_limits<double>::infinity() : nan, nan};
  }
  return narrow(std::exp(y * std::log(x)));
}

void add_exponentials(Table& t) {
  using namespace traits;
  constexpr auto exp = [](double a) { return std::exp(a); };
  constexpr auto exp2 = [](double a) { return std::exp2(a); };
  constexpr auto expm1 = [](double a) { return std::expm1(a); };
  constexpr auto log = [](double a) { return std::log(a); };
  constexpr auto log2 = [](double a) { return std::log2(a); };
  constexpr auto log1p = [](double a) { return std::log1p(a); };
  t.push_back(row("exp", 1, kInexact, {.reals = reals<exp>, .dds = dds<dd::exp>, .complexes = wide_complex<exp_of>},
                  "torch.exp(a)", "e^a")
                  .within(1)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return std::exp(z.real() + r); })
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("exp2", 1, kInexact,
                  {.reals = reals<exp2>,
                   .dds = dds<dd::exp2>,
                   .complexes = wide_complex<[](WideComplex z) { return exp_of(z * kLn2Long); }>},
                  "torch.exp2(a)", "2^a")
                  .within(1)
                  .eager_complex_within(64)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return std::exp2(z.real() + r); })
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("expm1", 1, kInexact,
                  {.reals = reals<expm1>, .dds = dds<dd::expm1>, .complexes = wide_complex<expm1_of>}, "torch.expm1(a)",
                  "e^a - 1, accurate near 0")
                  .within(1)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return std::exp(z.real() + r); })
                  .rising()
                  .over(domains::exponents));
  t.push_back(row("log", 1, kInexact,
                  {.reals = reals<log>,
                   .dds = dds<dd::log>,
                   .complexes = wide_complex<[](WideComplex z) { return std::log(z); }>},
                  "torch.log(a)", "the natural logarithm; -inf at 0, NaN below; complex: the principal branch")
                  .within(1)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return 1 / distance(z, r, 0); }, BranchCut::negative_real)
                  .rising()
                  .over(domains::positive));
  t.push_back(
      row("log2", 1, kInexact,
          {.reals = reals<log2>,
           .dds = dds<dd::log2>,
           .complexes = wide_complex<[](WideComplex z) { return std::log(z) / kLn2Long; }>},
          "torch.log2(a)", "the logarithm of base 2, exact at powers of two")
          .within(1)
          .passes(ErrorRule::corners)
          .complex_slope([](Complex z, double r) { return 1.4427 / distance(z, r, 0); }, BranchCut::negative_real)
          .rising()
          .over(domains::positive));
  t.push_back(
      row("log10", 1, kInexact,
          {.reals = reals_by_dd<dd::log10>,
           .dds = dds<dd::log10>,
           .complexes = wide_complex<[](WideComplex z) { return std::log10(z); }>},
          "torch.log10(a)", "the logarithm of base 10")
          .within(1)
          .passes(ErrorRule::corners)
          .complex_slope([](Complex z, double r) { return 0.4343 / distance(z, r, 0); }, BranchCut::negative_real)
          .rising()
          .over(domains::positive));
  t.push_back(
      row("log1p", 1, kInexact, {.reals = reals<log1p>, .dds = dds<dd::log1p>, .complexes = wide_complex<log1p_of>},
          "torch.log1p(a)", "log(1 + a), accurate near 0")
          .within(1)
          .passes(ErrorRule::corners)
          .complex_slope([](Complex z, double r) { return 1 / distance(z, r, -1); }, BranchCut::real_below_minus_one)
          .rising()
          .over(domains::above_minus_one));
  t.push_back(row("logaddexp", 2, kInexact,
                  {.reals = reals_by_dd<log_add_exp<dd::exp, dd::log1p>>,
                   .dds = dds<log_add_exp<dd::exp, dd::log1p>>,
                   .complexes = complexes<complex_log_add_exp>},
                  "torch.logaddexp(a, b)",
                  "log(e^a + e^b) without overflow on the way; complex: b + log1p(e^(a - b)) with the greater real "
                  "part of the two as b (the first of equals), so that the imaginary part is not the principal one")
                  .with(commutative | loose_zero)
                  .within(4, 1)
                  .of_operands()
                  .passes(ErrorRule::sum)
                  .bounded_for_reals_only()
                  .complex_slope(share_slope)  // at the operands' difference
                  .rising()
                  .over(domains::moderate, domains::moderate));
  t.push_back(row("logaddexp2", 2, dtypes::floats, real_function<log_add_exp<dd::exp2, log2_1p>>,
                  "torch.logaddexp2(a, b)", "log2(2^a + 2^b) without overflow on the way")
                  .with(commutative | loose_zero)
                  .within(4, 1)
                  .of_operands()
                  .passes(ErrorRule::sum)
                  .rising()
                  .over(domains::moderate, domains::moderate));
  t.push_back(row("sigmoid", 1, kInexact,
                  {.reals = reals<sigmoid>,
                   .dds = dds<sigmoid_dd>,
                   .complexes = wide_complex<[](WideComplex z) { return divide(1, 1.0L + std::exp(-z)); }>},
                  "torch.sigmoid(a)", "1 / (1 + e^-a)")
                  .within(2)
                  .eager_within(3)  // 2.49 at -16.6 vectorised, of all f32
                  .eager_complex_within(64)
                  .except(kSigmoidUnderflow)
                  .passes(ErrorRule::corners)
                  .complex_slope(sigmoid_slope)
                  .rising()
                  .over(domains::moderate));
  t.push_back(
      row("logit", 1, dtypes::floats, real_function<logit>, "torch.logit(a)", "log(a / (1 - a)); NaN outside [0, 1]")
          .within(2, 1)
          .eager_narrow_within(2)
          .passes(ErrorRule::corners)
          .rising()
          .over(domains::probability));
}

void add_powers(Table& t) {
  using namespace traits;
  constexpr auto sqrt = [](double a) { return std::sqrt(a); };
  constexpr auto rsqrt_dd = [](DoubleDouble a) {
    if (a.hi == 0) return DoubleDouble(1 / a.hi);
    return DoubleDouble(1) / dd::sqrt(a);
  };
  t.push_back(row("sqrt", 1, kInexact,
                  {.reals = reals<sqrt>,
                   .dds = dds<dd::sqrt>,
                   .complexes = wide_complex<[](WideComplex z) { return std::sqrt(z); }>},
                  "torch.sqrt(a)", "the square root; -0 for -0, NaN below; complex: the principal branch")
                  .with(never_negative)
                  .rounded()
                  .eager_within(1)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return 0.5 / std::sqrt(distance(z, r, 0)); },
                                 BranchCut::negative_real)
                  .rising()
                  .over(domains::nonnegative));
  t.push_back(row("rsqrt", 1, kInexact,
                  {.reals = reals_by_dd<rsqrt_dd>,
                   .dds = dds<rsqrt_dd>,
                   .complexes = wide_complex<[](WideComplex z) { return divide(1, std::sqrt(z)); }>},
                  "torch.rsqrt(a)", "1 / sqrt(a); infinite at 0 with its sign, NaN below")
                  .within(2)
                  .eager_narrow_within(2)
                  .passes(ErrorRule::corners)
                  .complex_slope([](Complex z, double r) { return 0.5 / std::pow(distance(z, r, 0), 1.5); },
                                 BranchCut::negative_real)
                  .falling()
                  .over(domains::positive));
  t.push_back(row("cbrt", 1, dtypes::floats, real_function<dd::cbrt>, "", "the real cube root; eager has no such op")
                  .within(1)
                  .with(odd)
                  .passes(ErrorRule::corners)
                  .rising()
                  .over(domains::anything));
  t.push_back(row("pow", 2, dtypes::numbers,
                  {.integers = integers<int_pow>,
                   .reals = reals<[](double a, double b) { return b == 0 || a == 1 ? 1 : std::pow(a, b); }>,
                   .dds = dds<dd::pow>,
                   .complexes = complexes<complex_pow>},
                  "torch.pow(a, b)",
                  "a^b with C's special cases: 1 for b = 0 or a = 1 even of NaN; NaN for a negative base and a "
                  "fractional exponent; integers wrap, and a negative exponent gives 0 but for a = 1 and -1 (eager "
                  "refuses it if it is a Python number); complex: exp(b log a), but 1 for a = b = 0")
                  .with(keeps_above_zero)
                  .within(1)
                  .eager_within(2)
                  .eager_complex_within(512)
                  .except(kPow)
                  .passes(ErrorRule::power)
                  .on_nan(NanRule::selects)
                  .over(domains::up_to_100, domains::small_exponents));
  t.push_back(row("hypot", 2, dtypes::floats,
                  {.reals = reals<[](double a, double b) { return std::hypot(a, b); }>, .dds = dds<dd::hypot>},
                  "torch.hypot(a, b)",
                  "sqrt(a^2 + b^2) without overflow on the way; infinite if either is, even beside NaN")
                  .with(commutative | even)
                  .within(1)
                  .passes(ErrorRule::sum)
                  .on_nan(NanRule::selects)
                  .over(domains::anything, domains::anything));
}

void add_trigonometric(Table& t) {
  using namespace traits;
  auto unary = [](std::string_view name, std::string_view call, std::string_view semantics, Evaluators eval) -> Row {
    return row(name, 1, kInexact, eval, call, semantics).within(1);
  };
  constexpr auto sin = [](double a) { return std::sin(a); };
  constexpr auto cos = [](double a) { return std::cos(a); };
  constexpr auto tan = [](double a) { return std::tan(a); };
  constexpr auto asin = [](double a) { return std::asin(a); };
  constexpr auto acos = [](double a) { return std::acos(a); };
  constexpr auto atan = [](double a) { return std::atan(a); };
  t.push_back(unary("sin", "torch.sin(a)", "the sine; NaN for infinities",
                    {.reals = reals<sin>,
                     .dds = dds<dd::sin>,
                     .complexes = wide_complex<[](WideComplex z) { return std::sin(z); }>})
                  .with(odd)
                  .lipschitz(1, cos, 1)
                  .complex_slope([](Complex z, double r) { return std::cosh(std::fabs(z.imag()) + r); })
                  .over(domains::moderate));
  t.push_back(unary("cos", "torch.cos(a)", "the cosine; NaN for infinities",
                    {.reals = reals<cos>,
                     .dds = dds<dd::cos>,
                     .complexes = wide_complex<[](WideComplex z) { return std::cos(z); }>})
                  .with(even)
                  .lipschitz(1, sin, 1)
                  .complex_slope([](Complex z, double r) { return std::cosh(std::fabs(z.imag()) + r); })
                  .over(domains::moderate));
  t.push_back(unary("tan", "torch.tan(a)", "the tangent; NaN for infinities",
                    {.reals = reals<tan>,
                     .dds = dds<dd::tan>,
                     .complexes = wide_complex<[](WideComplex z) { return std::tan(z); }>})
                  .with(odd)
                  .passes(ErrorRule::corners, Jump::at_odd_quarter_turns)
                  .complex_slope(tangent_slope)
                  .over(domains::moderate));
  t.push_back(unary("asin", "torch.asin(a)", "the arc sine; NaN outside [-1, 1]",
                    {.reals = reals<asin>,
                     .dds = dds<dd::asin>,
                     .complexes = wide_complex<[](WideComplex z) { return std::asin(z); }>})
                  .with(odd)
                  .passes(ErrorRule::corners)
                  .complex_slope(arc_slope, BranchCut::real_outside_unit)
                  .rising()
                  .over(domains::unit));
  t.push_back(unary("acos", "torch.acos(a)", "the arc cosine; NaN outside [-1, 1]",
                    {.reals = reals<acos>,
                     .dds = dds<dd::acos>,
                     .complexes = wide_complex<[](WideComplex z) { return std::acos(z); }>})
                  .passes(ErrorRule::corners)
                  .complex_slope(arc_slope, BranchCut::real_outside_unit)
                  .falling()
                  .over(domains::unit));
  t.push_back(
      unary("atan", "torch.atan(a)", "the arc tangent",
            {.reals = reals<atan>,
             .dds = dds<dd::atan>,
             .complexes = wide_complex<[](WideComplex z) { return std::atan(z); }>})
          .with(odd)
          .passes(ErrorRule::corners)
          .complex_slope([](Complex z, double r) { return 1 / (distance(z, r, {0, 1}) * distance(z, r, {0, -1})); },
                         BranchCut::imaginary_outside_unit)
          .rising()
          .over(domains::anything));
  t.push_back(row("atan2", 2, dtypes::floats,
                  {.reals = reals<[](double a, double b) { return std::atan2(a, b); }>, .dds = dds<dd::atan2>},
                  "torch.atan2(a, b)",
                  "the angle of the point (b, a), in [-pi, pi], with C's signed zeros and infinities")
                  .with(odd)
                  .within(1)
                  .eager_within(2)
                  .passes(ErrorRule::corners, Jump::at_negative_axis)
                  .over(domains::moderate, domains::moderate));
}

// The C library's are off by more than a place, which is all that rows of one place allow.
void add_hyperbolic(Table& t) {
  using namespace traits;
  auto hyperbolic = [](std::string_view name, std::string_view call, std::string_view semantics,
                       Evaluators eval) -> Row {
    return row(name, 1, kInexact, eval, call, semantics).within(1).passes(ErrorRule::corners);
  };
  t.push_back(hyperbolic("sinh", "torch.sinh(a)", "the hyperbolic sine",
                         {.reals = reals_by_dd<dd::sinh>,
                          .dds = dds<dd::sinh>,
                          .complexes = wide_complex<[](WideComplex z) { return std::sinh(z); }>})
                  .with(odd)
                  .eager_within(2)
                  .except(kHyperbolicOverflow)
                  .complex_slope([](Complex z, double r) { return std::cosh(std::fabs(z.real()) + r); })
                  .rising()
                  .over(domains::exponents));
  t.push_back(hyperbolic("cosh", "torch.cosh(a)", "the hyperbolic cosine",
                         {.reals = reals_by_dd<dd::cosh>,
                          .dds = dds<dd::cosh>,
                          .complexes = wide_complex<[](WideComplex z) { return std::cosh(z); }>})
                  .with(even)
                  .eager_within(2)  // 1.73 at 89 and 1.02 at 1.3, of its scalar path
                  .except(kHyperbolicOverflow)
                  .turning_at({0})
                  .complex_slope([](Complex z, double r) { return std::cosh(std::fabs(z.real()) + r); })
                  .over(domains::exponents));
  t.push_back(hyperbolic("tanh", "torch.tanh(a)", "the hyperbolic tangent",
                         {.reals = reals_by_dd<dd::tanh>,
                          .dds = dds<dd::tanh>,
                          .complexes = wide_complex<[](WideComplex z) { return std::tanh(z); }>})
                  .with(odd)
                  .complex_slope([](Complex z, double r) { return tangent_slope({-z.imag(), z.real()}, r); })
                  .rising()
                  .over(domains::moderate));
  t.push_back(
      hyperbolic("asinh", "torch.asinh(a)", "the inverse of sinh",
                 {.reals = reals_by_dd<dd::asinh>,
                  .dds = dds<dd::asinh>,
                  .complexes = wide_complex<[](WideComplex z) { return std::asinh(z); }>})
          .with(odd)
          .eager_within(2)
          .complex_slope(
              [](Complex z, double r) { return 1 / std::sqrt(distance(z, r, {0, 1}) * distance(z, r, {0, -1})); },
              BranchCut::imaginary_outside_unit)
          .rising()
          .over(domains::anything));
  t.push_back(hyperbolic("acosh", "torch.acosh(a)", "the inverse of cosh; NaN below 1",
                         {.reals = reals_by_dd<dd::acosh>,
                          .dds = dds<dd::acosh>,
                          .complexes = wide_complex<[](WideComplex z) { return std::acosh(z); }>})
                  .eager_within(2.5)
                  .complex_slope(arc_slope, BranchCut::real_below_one)
                  .rising()
                  .over(domains::at_least_one));
  t.push_back(hyperbolic("atanh", "torch.atanh(a)", "the inverse of tanh; infinite at -1 and 1, NaN outside",
                         {.reals = reals_by_dd<dd::atanh>,
                          .dds = dds<dd::atanh>,
                          .complexes = wide_complex<[](WideComplex z) { return std::atanh(z); }>})
                  .with(odd)
                  .eager_within(2)
                  .complex_slope([](Complex z, double r) { return 1 / (distance(z, r, 1) * distance(z, r, -1)); },
                                 BranchCut::real_outside_unit)
                  .rising()
                  .over(domains::open_unit));
}

}  // namespace

void add_elementary(Table& table) {
  add_exponentials(table);
  add_powers(table);
  add_trigonometric(table);
  add_hyperbolic(table);
}

}  // namespace lenz::scalar_rows
