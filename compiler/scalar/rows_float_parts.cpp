// Signs, exponents, neighbours, parts of complex numbers.
#include <algorithm>
#include <cmath>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/table.h"
#include "compiler/scalar/wide_complex.h"

namespace lenz::scalar_rows {

namespace {

int clamp_exponent(int64_t n) { return static_cast<int>(std::clamp<int64_t>(n, -10000, 10000)); }

double frexp_mantissa(double a) {
  int exponent;
  return std::frexp(a, &exponent);
}
int64_t frexp_exponent(double a) {
  int exponent = 0;
  if (std::isfinite(a)) std::frexp(a, &exponent);
  return exponent;
}

// The smaller half of an ulp can put a double-double just below a power of two.
int dd_exponent(DoubleDouble a) {
  int exponent;
  double m = std::frexp(a.hi, &exponent);
  return std::fabs(m) == 0.5 && a.lo != 0 && (a.hi < 0) != (a.lo < 0) ? exponent - 1 : exponent;
}

int64_t heaviside_int(int64_t a, int64_t b) { return a == 0 ? b : a < 0 ? 0 : 1; }
double heaviside(double a, double b) { return a == 0 ? b : a > 0 ? 1 : 0; }

}  // namespace

void add_float_parts(Table& t) {
  using namespace traits;
  t.push_back(
      row("copysign", 2, dtypes::floats,
          {.reals = reals<[](double a, double b) { return std::copysign(a, b); }>,
           .dds = dds<[](DoubleDouble a, DoubleDouble b) { return dd::sign_bit(a) == dd::sign_bit(b) ? a : -a; }>},
          "torch.copysign(a, b)", "|a| with the sign bit of b, a zero's or a NaN's too")
          .passes(ErrorRule::largest, Jump::at_zero)
          .on_nan(NanRule::selects));
  t.push_back(
      row("nextafter", 2, dtypes::floats,
          {.reals = reals<[](const EvalContext& c, double a, double b) { return next_after(c.compute, a, b); }>},
          "torch.nextafter(a, b)",
          "the neighbour of a in the compute dtype, towards b; b itself if they are equal; no evaluation in "
          "double-double, which has no neighbours of a dtype")
          .passes(ErrorRule::unbounded));
  t.push_back(row("ldexp", 2, dtypes::floats,
                  {.reals = reals<[](double a, int64_t n) { return std::ldexp(a, clamp_exponent(n)); }, 1>,
                   .dds = dds<[](DoubleDouble a, int64_t n) { return dd::scale(a, clamp_exponent(n)); }, 1>},
                  "torch.ldexp(a, b)", "a * 2^b with one rounding, of a result that is subnormal")
                  .taking(OperandRule::integer_last)
                  .rounded()
                  .composite_for(dtypes::complexes)
                  .slope([](int, const double*, const double* high) { return std::exp2(high[1]); })
                  .over(domains::moderate, domains::small_exponents));
  t.push_back(row("frexp_mantissa", 1, dtypes::floats,
                  {.reals = reals<frexp_mantissa>, .dds = dds<[](DoubleDouble a) {
                                                     if (!dd::is_finite(a) || a.hi == 0) return a;
                                                     return dd::scale(a, -dd_exponent(a));
                                                   }>},
                  "torch.frexp(a)[0]", "m with a = m 2^e and 0.5 <= |m| < 1; zeros, infinities and NaN are their own")
                  .with(odd)
                  .passes(ErrorRule::unbounded));
  t.push_back(
      row("frexp_exponent", 1, dtypes::floats,
          {.reals = reals<frexp_exponent>,
           .dds = dds<[](DoubleDouble a) { return int64_t{dd::is_finite(a) && a.hi != 0 ? dd_exponent(a) : 0}; }>},
          "torch.frexp(a)[1]", "the e of frexp_mantissa; 0 for zeros, infinities and NaN")
          .giving(ResultRule::int32)
          .with(even)
          .passes(ErrorRule::unbounded)
          .on_nan(NanRule::tests));
  t.push_back(
      row("heaviside", 2, dtypes::real_and_bool,
          {.integers = integers<heaviside_int>,
           .reals = reals<heaviside>,
           .dds = dds<[](DoubleDouble a, DoubleDouble b) { return a.hi == 0 ? b : DoubleDouble(heaviside(a.hi, 0)); }>},
          "torch.heaviside(a, b)", "0 below zero, b at zero, 1 above; 0 for a NaN a")
          .passes(ErrorRule::step, Jump::at_zero)
          .on_nan(NanRule::selects));
  t.push_back(row("real", 1, dtypes::complexes, {.complexes = complexes<[](Complex a) { return a.real(); }>},
                  "torch.real(a)", "the real part")
                  .giving(ResultRule::real_of)
                  .passes(ErrorRule::largest)
                  .on_nan(NanRule::selects));
  t.push_back(row("imag", 1, dtypes::complexes, {.complexes = complexes<[](Complex a) { return a.imag(); }>},
                  "torch.imag(a)", "the imaginary part")
                  .giving(ResultRule::real_of)
                  .passes(ErrorRule::largest)
                  .on_nan(NanRule::selects));
  t.push_back(row("conj_physical", 1, dtypes::all,
                  {integers<[](int64_t a) { return a; }>, reals<[](double a) { return a; }>,
                   dds<[](DoubleDouble a) { return a; }>, complexes<[](Complex a) { return std::conj(a); }>},
                  "torch.conj_physical(a)", "the conjugate: the imaginary part negated; anything real as it is")
                  .with(involution)
                  .passes(ErrorRule::sum)
                  .on_nan(NanRule::selects));
  t.push_back(
      row("angle", 1, dtypes::floats | dtypes::complexes,
          {.reals = reals<[](double a) { return std::isnan(a) ? a
                                                : a < 0       ? dd::kPi.hi
                                                              : 0.0; }>,
           .dds = dds<[](DoubleDouble a) { return dd::is_nan(a) ? a
                                                  : a.hi < 0    ? dd::kPi
                                                                : DoubleDouble(0); }>,
           .complexes = complexes<[](Complex a) { return static_cast<double>(dd::atan2(a.imag(), a.real())); }>},
          "torch.angle(a)", "atan2(imaginary, real); of a real: 0, or pi if it is negative (-0 is not)")
          .giving(ResultRule::real_of)
          .passes(ErrorRule::corners, Jump::at_zero)
          .complex_slope([](Complex z, double r) { return 1 / distance(z, r, 0); }, BranchCut::negative_real)
          .within(1)
          .eager_within(2));
  t.push_back(row("polar", 2, dtypes::wide_floats,
                  {.reals = reals<[](double a, double b) { return Complex(a * std::cos(b), a * std::sin(b)); }>},
                  "torch.polar(a, b)",
                  "the complex number of modulus a and angle b: a cos b + a sin b i; no evaluation in double-double: "
                  "complex values are pairs of doubles")
                  .giving(ResultRule::complex_of)
                  .within(2)
                  .passes(ErrorRule::unbounded)
                  .over(domains::moderate, domains::moderate));
  t.push_back(row("complex", 2, dtypes::wide_floats, {.reals = reals<[](double a, double b) { return Complex(a, b); }>},
                  "torch.complex(a, b)",
                  "a + b i, bit for bit; no evaluation in double-double: complex values are pairs of doubles")
                  .giving(ResultRule::complex_of)
                  .passes(ErrorRule::sum)
                  .on_nan(NanRule::selects));
}

}  // namespace lenz::scalar_rows
