// The double-double functions against libquadmath (113 bits): an implementation that shares nothing with ours.
#include "compiler/scalar/double_double.h"

#include <gtest/gtest.h>
#include <quadmath.h>

#include <random>
#include <string>

namespace lenz {
namespace {

using Quad = __float128;

Quad quad(DoubleDouble x) { return static_cast<Quad>(x.hi) + static_cast<Quad>(x.lo); }
// Correct bits of `got`: -log2 of the relative error.
double correct_bits(DoubleDouble got, Quad want) {
  Quad g = quad(got);
  if (g == want) return 113;
  return -static_cast<double>(log2q(fabsq((g - want) / want)));
}

struct Drawn {
  std::mt19937_64 bits{20240611};
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(bits); }
  DoubleDouble full(double x) {  // x with a random low part
    double ulp = std::ldexp(1.0, std::ilogb(x) - 53);
    return dd::fast_two_sum(x, uniform(-0.9, 0.9) * ulp);
  }
  DoubleDouble between(double low, double high) { return full(uniform(low, high)); }
  // log-uniform magnitude, random sign if asked
  DoubleDouble magnitude(double low_exponent, double high_exponent, bool both_signs) {
    double x = std::exp2(uniform(low_exponent, high_exponent));
    return full(both_signs && (bits() & 1) != 0 ? -x : x);
  }
};

TEST(DoubleDouble, arithmetic_has_104_bits) {
  Drawn draw;
  for (int i = 0; i < 20000; ++i) {
    DoubleDouble a = draw.magnitude(-200, 200, true), b = draw.magnitude(-200, 200, true);
    if ((i & 3) == 0) b = draw.full(a.hi * draw.uniform(0.25, 1.75));
    DoubleDouble same_sign = (a.hi < 0) == (b.hi < 0) ? b : -b;
    EXPECT_GE(correct_bits(a + same_sign, quad(a) + quad(same_sign)), 104);
    EXPECT_GE(correct_bits(a * b, quad(a) * quad(b)), 103.5);
    EXPECT_GE(correct_bits(a / b, quad(a) / quad(b)), 103);
    EXPECT_GE(correct_bits(dd::sqrt(dd::abs(a)), sqrtq(fabsq(quad(a)))), 104);
  }
}

// A sum that cancels keeps every bit of its operands.
TEST(DoubleDouble, cancellation_is_exact_to_the_operands) {
  Drawn draw;
  for (int i = 0; i < 10000; ++i) {
    DoubleDouble a = draw.between(1, 2);
    DoubleDouble b = draw.full(a.hi * (1 + draw.uniform(-1e-12, 1e-12)));
    Quad error = fabsq(quad(a - b) - (quad(a) - quad(b)));
    EXPECT_LE(static_cast<double>(error), 0x1p-103 * std::fabs((a - b).hi));
  }
}

struct Case {
  const char* name;
  DoubleDouble (*ours)(DoubleDouble);
  Quad (*theirs)(Quad);
  double low, high;  // a range; log-uniform in magnitude if `exponents`
  bool exponents, both_signs;
  double bits;
};

const Case kCases[] = {
    {"sqrt", dd::sqrt, sqrtq, -1000, 1000, true, false, 104},
    {"cbrt", dd::cbrt, cbrtq, -900, 900, true, true, 102},
    {"exp", dd::exp, expq, -600, 700, false, false, 100},
    {"exp small", dd::exp, expq, -60, 0, true, true, 102},
    {"expm1", dd::expm1, expm1q, -80, 4, true, true, 100},
    {"log", dd::log, logq, -900, 1000, true, false, 102},
    {"log near 1", dd::log, logq, 0.5, 2, false, false, 101},
    {"log2", dd::log2, log2q, -900, 1000, true, false, 100},
    {"log10", dd::log10, log10q, -900, 1000, true, false, 100},
    {"log1p", dd::log1p, log1pq, -90, 100, true, false, 100},
    {"log1p negative", dd::log1p, log1pq, -0.99, 0, false, false, 100},
    {"sin", dd::sin, sinq, -60, 10, true, true, 100},
    {"cos", dd::cos, cosq, -60, 10, true, true, 100},
    {"tan", dd::tan, tanq, -60, 10, true, true, 100},
    {"asin", dd::asin, asinq, -1, 1, false, false, 100},
    {"acos", dd::acos, acosq, -1, 1, false, false, 100},
    {"atan", dd::atan, atanq, -90, 90, true, true, 101},
    {"sinh", dd::sinh, sinhq, -60, 9, true, true, 100},
    {"cosh", dd::cosh, coshq, -60, 9, true, true, 100},
    {"tanh", dd::tanh, tanhq, -60, 5, true, true, 100},
    {"asinh", dd::asinh, asinhq, -60, 600, true, true, 100},
    {"acosh", dd::acosh, acoshq, 0.0001, 600, true, false, 100},
    {"atanh", dd::atanh, atanhq, -0.999, 0.999, false, false, 100},
};

TEST(DoubleDouble, elementary_functions_have_100_bits) {
  for (const Case& c : kCases) {
    Drawn draw;
    double worst = 113, worst_at = 0;
    for (int i = 0; i < 3000; ++i) {
      DoubleDouble x = c.exponents ? draw.magnitude(c.low, c.high, c.both_signs) : draw.between(c.low, c.high);
      double bits = correct_bits(c.ours(x), c.theirs(quad(x)));
      if (!(bits >= worst)) worst = bits, worst_at = x.hi;
    }
    EXPECT_GE(worst, c.bits) << c.name << " at " << worst_at;
  }
}

TEST(DoubleDouble, two_operand_functions) {
  Drawn draw;
  for (int i = 0; i < 5000; ++i) {
    DoubleDouble x = draw.magnitude(-30, 30, true), y = draw.magnitude(-30, 30, true);
    EXPECT_GE(correct_bits(dd::hypot(x, y), hypotq(quad(x), quad(y))), 102);
    EXPECT_GE(correct_bits(dd::atan2(y, x), atan2q(quad(y), quad(x))), 100) << y.hi << " " << x.hi;
    const DoubleDouble few(std::ldexp(x.hi, -1040)), less(std::ldexp(y.hi, -1040));  // subnormal numbers, most of them
    if (less.hi != 0 && few.hi != 0)
      EXPECT_GE(correct_bits(dd::atan2(less, few), atan2q(quad(less), quad(few))), 100) << less.hi << " " << few.hi;
    DoubleDouble base = draw.magnitude(-20, 20, false), exponent = draw.between(-40, 40);
    EXPECT_GE(correct_bits(dd::pow(base, exponent), powq(quad(base), quad(exponent))), 94) << base.hi;
  }
}

// Huge angles: the quadruple reference is given the double alone, which it too has to reduce exactly.
TEST(DoubleDouble, sine_of_huge_angles) {
  Drawn draw;
  for (int i = 0; i < 3000; ++i) {
    double x = std::exp2(draw.uniform(20, 1023));
    EXPECT_GE(correct_bits(dd::sin(x), sinq(x)), 99) << x;
    EXPECT_GE(correct_bits(dd::cos(x), cosq(x)), 99) << x;
  }
  // the double nearest to a multiple of pi/2, relative to its size
  const double worst = 0x1.6ac5b262ca1ffp+849;
  EXPECT_GE(correct_bits(dd::cos(worst), cosq(worst)), 99);
}

TEST(DoubleDouble, sine_of_pi_multiples_is_exact) {
  EXPECT_EQ(dd::sin_pi(3.0).hi, 0);
  EXPECT_EQ(dd::cos_pi(0.5).hi, 0);
  EXPECT_EQ(dd::sin_pi(-2.5).hi, -1);
  EXPECT_EQ(dd::sin_pi(0x1p60).hi, 0);
  Drawn draw;
  for (int i = 0; i < 1000; ++i) {
    double x = draw.uniform(-30, 30);
    Quad fraction = static_cast<Quad>(x) - 2 * floorq(static_cast<Quad>(x) / 2);
    EXPECT_LE(std::fabs(static_cast<double>(quad(dd::sin_pi(x)) - sinq(fraction * acosq(-1)))), 0x1p-100);
  }
}

TEST(DoubleDouble, rounding_looks_at_the_low_part) {
  DoubleDouble above_half{2.5, 0x1p-60}, below_half{3.5, -0x1p-60}, just_below_three{3.0, -0x1p-60};
  EXPECT_EQ(dd::round_half_even(above_half).hi, 3);
  EXPECT_EQ(dd::round_half_even(below_half).hi, 3);
  EXPECT_EQ(dd::round_half_even(2.5).hi, 2);
  EXPECT_EQ(dd::round_half_even(3.5).hi, 4);
  EXPECT_EQ(dd::floor(just_below_three).hi, 2);
  EXPECT_EQ(dd::ceil(above_half).hi, 3);
  EXPECT_EQ(dd::trunc(-above_half).hi, -2);
  EXPECT_TRUE(std::signbit(dd::round_half_even(-0.25).hi));
  DoubleDouble odd{0x1p53, 1.0};  // 2^53 + 1, not a double
  EXPECT_TRUE(dd::floor(odd) == odd);
}

// Whoever adds up exact products has to have all of each: by the machine's instruction, or libm's.
TEST(DoubleDouble, fused_rounds_once) {
  Drawn draw;
  for (int i = 0; i < 20000; ++i) {
    const double a = draw.magnitude(-400, 400, true).hi, b = draw.magnitude(-400, 400, true).hi;
    for (double c : {-(a * b), draw.magnitude(-800, 800, true).hi}) EXPECT_EQ(dd::fused(a, b, c), std::fma(a, b, c));
  }
  EXPECT_EQ(dd::fused(1 + 0x1p-52, 1 + 0x1p-52, -(1 + 0x1p-51)), 0x1p-104);
}

TEST(DoubleDouble, scaling_rounds_as_ldexp_does) {
  Drawn draw;
  for (int exponent : {-2100, -1075, -1074, -1023, -1022, -60, 0, 60, 1023, 1024, 2100})
    for (int i = 0; i < 200; ++i) {
      const DoubleDouble x = draw.magnitude(-900, 900, true), scaled = dd::scale(x, exponent);
      const double high = std::ldexp(x.hi, exponent);
      EXPECT_EQ(scaled.hi, high) << exponent;
      EXPECT_EQ(scaled.lo, std::isfinite(high) ? std::ldexp(x.lo, exponent) : 0) << exponent;
    }
}

TEST(DoubleDouble, limits) {
  using dd::kInfinity;
  EXPECT_EQ(dd::exp(kInfinity).hi, kInfinity);
  EXPECT_EQ(dd::exp(-kInfinity).hi, 0);
  EXPECT_EQ(dd::exp(1000).hi, kInfinity);
  EXPECT_EQ(dd::log(0).hi, -kInfinity);
  EXPECT_TRUE(dd::is_nan(dd::log(-1)));
  EXPECT_TRUE(dd::is_nan(dd::sin(kInfinity)));
  EXPECT_EQ(dd::tanh(-kInfinity).hi, -1);
  EXPECT_EQ(dd::atanh(1).hi, kInfinity);
  EXPECT_EQ(dd::pow(-2, 3).hi, -8);
  EXPECT_TRUE(dd::is_nan(dd::pow(-2, 0.5)));
  EXPECT_EQ(dd::pow(dd::kNan, 0).hi, 1);
  EXPECT_EQ(dd::pow(0, -1).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(kInfinity) + DoubleDouble(1)).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(1) / DoubleDouble(0)).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(1) / DoubleDouble(kInfinity)).hi, 0);
  EXPECT_EQ((DoubleDouble(1e200) * DoubleDouble(1e200)).hi, kInfinity);
  EXPECT_TRUE(std::signbit(dd::atan2(-0.0, 1).hi));
  EXPECT_NEAR(dd::atan2(-0.0, -1).hi, -3.14159265358979, 1e-14);
}

}  // namespace
}  // namespace lenz
