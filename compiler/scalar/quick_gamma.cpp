// The incomplete gamma functions: weights by exponents in two doubles, series whose terms keep what is rounded away.
#include <cmath>
#include <limits>

#include "compiler/scalar/quick_functions.h"
#include "compiler/scalar/quick_logarithm.h"

namespace lenz::quick {

namespace {
constexpr double kAskTheReference = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostTerms = 20000;  // what wants more is left to the reference
constexpr double kSmall = 0x1p-5, kRaised = 14, kLarge = 30;

// What log gamma(y) is beyond (y - 1/2) log y - y + log(2 pi) / 2, for y >= kRaised.
DoubleDouble correction(DoubleDouble y) {
  const DoubleDouble first = over(1, times(12, y));
  const double inverse = 12 * first.hi, square = inverse * inverse;
  return plus(
      first,
      inverse * square *
          (-1. / 360 +
           square * (1. / 1260 +
                     square * (-1. / 1680 +
                               square * (1. / 1188 + square * (-691. / 360360 +
                                                               square * (1. / 156 + square * (-3617. / 122400))))))));
}

// log gamma(1 + a) of a small a: -euler a + zeta(2) a^2 / 2 - zeta(3) a^3 / 3 + ...
DoubleDouble log_gamma_of_small(double a) {
  constexpr double kZeta[] = {1.6449340668482264365, 1.2020569031595942854, 1.0823232337111381915,
                              1.0369277551433699263, 1.0173430619844491397, 1.0083492773819228268,
                              1.0040773561979443394, 1.0020083928260822144, 1.0009945751278180853,
                              1.0004941886041194646, 1.0002460865533080483, 1.0001227133475784891};
  double sum = 0;
  for (int k = 13; k >= 3; --k) sum = kZeta[k - 2] / k - a * sum;
  // 1/2 zeta(2) = pi^2 / 12
  static const DoubleDouble kSecond = dd::kPi * dd::kPi / DoubleDouble(12);
  const DoubleDouble second = times(kSecond, dd::two_product(a, a));
  const DoubleDouble first = plus(times(-dd::kEulerGamma, a), second);
  return plus(first, -(a * a) * a * sum);
}

DoubleDouble log_gamma_above_one(double a) {
  if (a < kSmall) return log_gamma_of_small(a);
  DoubleDouble y = dd::two_sum(a, 1), product = 1;
  for (int n = 2; y.hi < kRaised; y = dd::two_sum(a, n++)) {
    const DoubleDouble p = dd::two_product(product.hi, y.hi);
    product = {p.hi, dd::fused(product.lo, y.hi, dd::fused(product.hi, y.lo, p.lo))};
  }
  const DoubleDouble stirling = plus(plus(times(plus(y, -0.5), log(y)), -y), plus(dd::kHalfLog2Pi, correction(y)));
  return plus(stirling, -log(dd::fast_two_sum(product.hi, product.lo)));
}

// The logarithm of x^a e^-x / gamma(a + 1)
DoubleDouble log_weight(double a, double x) {
  if (a < kLarge) return plus(plus(times(a, log(x)), -x), -log_gamma_above_one(a));
  const DoubleDouble ratio = over(x, a), u = over(dd::two_sum(x, -a), a);
  static const DoubleDouble kTwoPi = dd::scale(dd::kPi, 1);
  const DoubleDouble half = log(times(kTwoPi, a));
  return plus(times(a, plus(log(ratio), -u)), plus({-0.5 * half.hi, -0.5 * half.lo}, -correction(a)));
}

// Nothing is left of what has such an exponent.
constexpr double kNothing = -800;

// A product of factors x / by, with what its rounding left.
struct Term {
  double value = 1, rest = 0;
  void take(double x, DoubleDouble by) {
    const double inverse = 1 / by.hi, factor = x * inverse;
    const double more = (dd::fused(-factor, by.hi, x) - factor * by.lo) * inverse;
    const DoubleDouble product = dd::two_product(value, factor);
    rest = dd::fused(rest, factor, dd::fused(value, more, product.lo));
    value = product.hi;
  }
};

// Of the lower function: the sum of x^n / ((a + 1) ... (a + n)).
DoubleDouble series(double a, double x, double nothing) {
  Term term;
  DoubleDouble sum = 1;
  for (int n = 1; n < kMostTerms; ++n) {
    term.take(x, dd::two_sum(a, n));
    const DoubleDouble s = dd::two_sum(sum.hi, term.value);
    sum = {s.hi, sum.lo + (s.lo + term.rest)};
    if (term.value <= sum.hi * nothing) return dd::fast_two_sum(sum.hi, sum.lo);
  }
  return kAskTheReference;
}

Scaled scaled(Scaled by, DoubleDouble x) { return {times(by.value, x), by.exponent}; }

// The continued fraction of the upper function by its partial sums, for an x well above a.
double fraction(double a, double x) {
  double b = x + 1 - a, d = 1 / b, step = d;
  Sum sum;
  sum.add(d);
  for (int n = 1; n < kMostTerms; ++n) {
    const double an = n * (a - n), before = d;
    b += 2;
    d = 1 / dd::fused(an, d, b);
    step *= -an * before * d;
    sum.add(step);
    if (std::fabs(step) < sum.high * 0x1p-56) return sum.value();
  }
  return kAskTheReference;
}
double upper_by_fraction(double a, double x, DoubleDouble exponent) {
  if (exponent.hi < kNothing) return 0;
  return rounded(scaled(exp(exponent), times(a, fraction(a, x))));
}

// Both parts of one minus the lower function are small by themselves, and what is left of them ten times smaller.
double upper_of_small(double a, double x) {
  const DoubleDouble minus_one = expm1(plus(times(a, log(x)), -log_gamma_above_one(a)));
  Term term;
  DoubleDouble sum = 0;
  for (int n = 1; n < 50; ++n) {
    term.take(-x, n);
    const DoubleDouble more = over({term.value, term.rest}, dd::two_sum(a, n));
    sum = plus(sum, more);
    if (std::fabs(more.hi) < std::fabs(sum.hi) * 0x1p-66) break;
  }
  const DoubleDouble value = plus(minus_one, times(times(plus(1, minus_one), a), sum));
  return -(value.hi + value.lo);
}

bool are_plain(double a, double x) { return a > 0x1p-20 && a < 1e5 && x > 0x1p-1000 && x < 0x1p100; }
// The series serves up to here, where little is left of one.
bool is_low(double a, double x) { return x <= a + 1 + (a < kLarge ? 1.5 : 2.5) * std::sqrt(x); }
}  // namespace

double igamma_f64(double a, double x) {
  if (!are_plain(a, x)) return kAskTheReference;
  const DoubleDouble exponent = log_weight(a, x);
  if (!is_low(a, x)) return 1 - upper_by_fraction(a, x, exponent);
  return exponent.hi < kNothing ? 0 : rounded(scaled(exp(exponent), series(a, x, 0x1p-56)));
}

double igammac_f64(double a, double x) {
  if (!are_plain(a, x)) return kAskTheReference;
  if (a < 1 && x <= 3) return upper_of_small(a, x);
  const DoubleDouble exponent = log_weight(a, x);
  if (a < 1 || !is_low(a, x)) return upper_by_fraction(a, x, exponent);
  if (exponent.hi < kNothing) return 1;
  const Scaled lower = scaled(exp(exponent), series(a, x, 0x1p-64));
  const double scale = std::ldexp(1.0, lower.exponent);
  const DoubleDouble rest = plus(1, {-lower.value.hi * scale, -lower.value.lo * scale});
  return rest.hi + rest.lo;
}

}  // namespace lenz::quick
