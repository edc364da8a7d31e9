#include "compiler/scalar/quick_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "compiler/scalar/quick_logarithm.h"

namespace lenz::quick {

namespace {
constexpr double kAskTheReference = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfLog2Pi = 0.91893853320467274178;
constexpr int kMostTerms = 20000;  // what wants more is left to the reference

double log_gamma(double x) {
  int sign;  // std::lgamma leaves it where all threads write
  return lgamma_r(x, &sign);
}

// x^a e^-x / gamma(a + 1)
double gamma_weight(double a, double x) {
  if (a < 30) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const double u = (x - a) / a;
  double bracket = 0;  // log(1 + u) - u
  if (std::fabs(u) < 0.05) {
    double power = u;
    for (int k = 2; k < 30; ++k) {
      power *= -u;
      bracket += power / k;
    }
  } else {
    bracket = std::log(x / a) - u;
  }
  const double inverse = 1 / a, square = inverse * inverse;  // log gamma beyond its larger terms
  const double correction = inverse * (1. / 12 - square * (1. / 360 - square * (1. / 1260 - square * (1. / 1680))));
  return std::exp(a * bracket - kHalfLog2Pi - 0.5 * std::log(a) - correction);
}

double lower_series(double a, double x) {
  double term = 1, sum = 1;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= x / (a + n);
    sum += term;
    if (term <= sum * 0x1p-53) return gamma_weight(a, x) * sum;
  }
  return kAskTheReference;
}

// The continued fraction of the upper function by Lentz, for x > a + 1.
double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = 0x1p500, d = 1 / b, h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const double delta = d * c;
    h *= delta;
    if (std::fabs(delta - 1) < 0x1p-51) return gamma_weight(a, x) * a * h;
  }
  return kAskTheReference;
}

// For operands so small that 1 - P cancels: both parts are small by themselves.
double upper_of_small(double a, double x) {
  const double exponent = a * std::log(x) - log_gamma(a + 1);
  double term = 1, sum = 0;
  for (int n = 1; n < 24; ++n) {
    term *= -x / n;
    sum += term / (a + n);
  }
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

bool are_plain(double a, double x) {
  // Beyond, the weight's exponent loses too much, and below so does log gamma(1 + a).
  return a > 0x1p-20 && a < 4e6 && x > 0x1p-100 && x < 0x1p100;
}
// What is left of one by what is nearly one has lost its places.
double rest_of_one(double part) { return part > 0.999 ? kAskTheReference : 1 - part; }

// The Hurwitz zeta function by Euler and Maclaurin: terms up to some q + n, then the integral and corrections from
// there.

// B_2k / (2k)!
constexpr double kCorrections[] = {1. / 12,
                                   -1. / 720,
                                   1. / 30240,
                                   -1. / 1209600,
                                   1. / 47900160,
                                   -691. / 1307674368000,
                                   1. / 74724249600,
                                   -3617. / 10670622842880000,
                                   43867. / 5109094217170944000,
                                   -174611. / 802857662698291200000.,
                                   77683. / 14101100039391805440000.,
                                   -236364091. / 1693824136731743669452800000.};

// (q + lo)^-s, of a lo that rounding left.
double power_of(DoubleDouble q, double s) { return std::pow(q.hi, -s) * (1 - s * q.lo / q.hi); }

// Of s > 1.
double zeta_of_positive(double s, double q) {
  Sum sum;
  DoubleDouble at = q;
  const double far = std::max(9.0, 0.6 * (s + 22));
  for (int n = 1; at.hi < far; at = dd::two_sum(q, n++)) {
    const double term = power_of(at, s);
    sum.add(term);
    // The rest is this term and an integral from it on at most.
    if (term * (1 + at.hi / (s - 1)) <= sum.high * 0x1p-56) return sum.value();
  }
  const double power = power_of(at, s);
  const double inverse = 1 / at.hi, square = inverse * inverse;
  sum.add(power * at.hi / (s - 1));
  sum.add(power / 2);
  double factor = s * power * inverse, rest = 0;
  for (size_t k = 1; k <= std::size(kCorrections); ++k) {
    const double term = kCorrections[k - 1] * factor;
    rest += term;
    if (std::fabs(term) <= sum.high * 0x1p-56) break;
    factor *= (s + (2. * k - 1)) * (s + 2. * k) * square;
  }
  return sum.high + (sum.low + rest);
}
}  // namespace

double igamma(double a, double x) {
  if (!are_plain(a, x)) return kAskTheReference;
  return x > a + 1 ? rest_of_one(upper_fraction(a, x)) : lower_series(a, x);
}

double igammac(double a, double x) {
  if (!are_plain(a, x)) return kAskTheReference;
  if (a < 1 && x <= 1) return upper_of_small(a, x);
  return x > a + 1 ? upper_fraction(a, x) : rest_of_one(lower_series(a, x));
}

double zeta(double s, double q) {
  if (!(s > 1 && s < 1e4 && q > 0 && q < 0x1p100)) return kAskTheReference;
  const double value = zeta_of_positive(s, q);
  if (value > 0x1p-940) return value;
  return std::pow(q, 1 - s) == 0 ? 0 : kAskTheReference;  // powers underflow before the integral does
}

double polygamma(double n, double x) {
  if (!(n >= 1 && n <= 100)) return kAskTheReference;
  static const auto kFactorials = [] {
    std::array<double, 101> all{};
    DoubleDouble product = 1;
    for (int i = 1; i <= 100; ++i) all[static_cast<size_t>(i)] = (product = product * DoubleDouble(i)).hi;
    return all;
  }();
  const double size = kFactorials[static_cast<size_t>(n)] * zeta(n + 1, x);
  return std::fmod(n, 2) != 0 ? size : -size;
}

}  // namespace lenz::quick
