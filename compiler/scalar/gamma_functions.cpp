// The gamma family: asymptotic series after a shift to large arguments, reflection for negative ones.
#include <algorithm>
#include <cmath>

#include "compiler/scalar/special_functions.h"

namespace lenz::dd {

namespace {

constexpr DoubleDouble kBernoulli[] = {
    // B_2, B_4, ...
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},   {-0x1.1111111111111p-5, -0x1.1111111111111p-61},
    {0x1.8618618618618p-6, 0x1.8618618618618p-60},   {-0x1.1111111111111p-5, -0x1.1111111111111p-61},
    {0x1.364d9364d9365p-4, -0x1.364d9364d9365p-59},  {-0x1.0330330330330p-2, -0x1.981981981981ap-57},
    {0x1.2aaaaaaaaaaabp+0, -0x1.5555555555555p-54},  {-0x1.c5e5e5e5e5e5ep+2, -0x1.7979797979798p-52},
    {0x1.b7c4f8f13e3c5p+5, -0x1.c3b070ec1c3b0p-53},  {-0x1.088fe72cfe72dp+9, 0x1.8d3018d3018d3p-51},
    {0x1.8301f89467e25p+12, 0x1.9f89467e251a0p-44},  {-0x1.523440cc0cc0dp+16, 0x1.f99f99f99f9a0p-39},
    {0x1.5c06d2aaaaaabp+20, -0x1.5555555555555p-34}, {-0x1.a089b7115c654p+24, 0x1.ba8e6b1ba8e6bp-30},
    {0x1.1edb2a4f34840p+29, -0x1.c996f807265bep-26}, {-0x1.c280563b8bcbdp+33, 0x1.0d0d0d0d0d0d1p-21},
    {0x1.901c1cddd4aabp+38, -0x1.5555555555555p-16}, {-0x1.8f0fcacf1c0aap+43, -0x1.8473226a98473p-11},
    {0x1.bc22ba679e993p+48, -0x1.5555555555555p-6},  {-0x1.12388bf439d59p+54, -0x1.3066530665306p-3},
    {0x1.75c96bc0d1733p+59, 0x1.b801224dadc90p+5},   {-0x1.17e6cf50c4b2cp+65, -0x1.da89d4f65a871p+9},
};
constexpr int kBernoulliCount = 22;
constexpr double kShift = 30;  // from here the series reach 106 bits

constexpr DoubleDouble kZeta[] = {  // zeta(2) .. zeta(6)
    {0x1.a51a6625307d3p+0, 0x1.1873d8912200cp-55},
    {0x1.33ba004f00621p+0, 0x1.c1b8b8ae2cf35p-55},
    {0x1.151322ac7d848p+0, 0x1.b5f91211196e5p-55},
    {0x1.097418eca7ccep+0, -0x1.21773ec70b998p-54},
    {0x1.0470984c09245p+0, -0x1.c209343d2bfc4p-54}};

bool is_whole(DoubleDouble x) { return floor(x) == x; }

// log gamma(1 + z) = -euler z + zeta(2) z^2/2 - zeta(3) z^3/3 + ..., for |z| < 2^-16
DoubleDouble lgamma_near_one(DoubleDouble z) {
  DoubleDouble sum = -(kEulerGamma * z), power = -z;
  for (int k = 2; k <= 6; ++k) {
    power = -(power * z);  // (-z)^k
    sum = sum + kZeta[k - 2] * power / DoubleDouble(k);
  }
  return sum;
}

DoubleDouble stirling(DoubleDouble x) {
  DoubleDouble log_x = log(x), inverse = DoubleDouble(1) / x, square = inverse * inverse, power = inverse, sum = 0;
  for (int k = 1; k <= kBernoulliCount; ++k) {
    DoubleDouble term = kBernoulli[k - 1] / DoubleDouble(double(2 * k) * (2 * k - 1)) * power;
    sum = sum + term;
    if (std::fabs(term.hi) < 0x1p-112) break;
    power = power * square;
  }
  return (x - DoubleDouble(0.5)) * log_x - x + kHalfLog2Pi + sum;
}

DoubleDouble lgamma_positive(DoubleDouble x) {
  if (std::fabs(x.hi - 1) < 0x1p-16) return lgamma_near_one(x - DoubleDouble(1));
  if (std::fabs(x.hi - 2) < 0x1p-16) {
    DoubleDouble z = x - DoubleDouble(2);
    return log1p(z) + lgamma_near_one(z);
  }
  if (x.hi >= kShift) return stirling(x);
  DoubleDouble product = 1;
  for (; x.hi < kShift; x = x + DoubleDouble(1)) product = product * x;
  return stirling(x) - log(product);
}

DoubleDouble digamma_positive(DoubleDouble x) {
  DoubleDouble sum = 0;
  for (; x.hi < kShift; x = x + DoubleDouble(1)) sum = sum - DoubleDouble(1) / x;
  DoubleDouble inverse = DoubleDouble(1) / x, square = inverse * inverse, power = square, tail = 0;
  for (int k = 1; k <= kBernoulliCount; ++k) {
    DoubleDouble term = kBernoulli[k - 1] / DoubleDouble(2 * k) * power;
    tail = tail + term;
    if (std::fabs(term.hi) < 0x1p-112) break;
    power = power * square;
  }
  return sum + log(x) - scale(inverse, -1) - tail;
}

// Euler-Maclaurin: terms up to q + n, then the integral and corrections from there. s > 1, q > 0.
DoubleDouble zeta_positive(DoubleDouble s, DoubleDouble q) {
  DoubleDouble sum = 0;
  const double far = std::max(kShift, (s.hi + 60) / 3);
  for (; q.hi < far; q = q + DoubleDouble(1)) {
    DoubleDouble term = pow(q, -s);
    sum = sum + term;
    if (term.hi <= sum.hi * 0x1p-110 || is_inf(sum)) return sum;
  }
  DoubleDouble power = pow(q, -s), inverse_square = DoubleDouble(1) / (q * q);
  // not q times that power, which may underflow before the integral does
  sum = sum + pow(q, DoubleDouble(1) - s) / (s - DoubleDouble(1)) + scale(power, -1);
  DoubleDouble factor = s * power / q, factorial = 2;
  for (int k = 1; k <= kBernoulliCount; ++k) {
    DoubleDouble term = kBernoulli[k - 1] / factorial * factor;
    sum = sum + term;
    if (std::fabs(term.hi) <= std::fabs(sum.hi) * 0x1p-110) break;
    factor = factor * (s + DoubleDouble(2 * k - 1)) * (s + DoubleDouble(2 * k)) * inverse_square;
    factorial = factorial * DoubleDouble(double(2 * k + 1) * (2 * k + 2));
  }
  return sum;
}

// For a whole s the sum over all integers, backwards too, has period 1: the part from a negative q on is what is left
// of it after the part below q, which reflects to positive arguments.
DoubleDouble zeta_negative(DoubleDouble s, DoubleDouble q) {
  const bool even = std::fmod(s.hi, 2.0) == 0;
  DoubleDouble fraction = q - floor(q);
  DoubleDouble reflected = zeta_positive(s, DoubleDouble(1) - fraction);
  DoubleDouble below = zeta_positive(s, DoubleDouble(1) - q);
  if (!even) reflected = -reflected, below = -below;
  return zeta_positive(s, fraction) + reflected - below;
}

// x^a exp(-x) / gamma(a + 1), with the exponent's large parts cancelled before they are rounded.
DoubleDouble gamma_weight(DoubleDouble a, DoubleDouble x) {
  if (a.hi < 30) return exp(a * log(x) - x - lgamma(a + DoubleDouble(1)));
  DoubleDouble u = (x - a) / a;
  DoubleDouble bracket;  // log(1 + u) - u
  if (std::fabs(u.hi) < 0.05) {
    DoubleDouble power = u;
    bracket = 0;
    for (int k = 2; k < 100; ++k) {
      power = -(power * u);
      DoubleDouble term = power / DoubleDouble(k);
      bracket = bracket + term;
      if (std::fabs(term.hi) <= std::fabs(bracket.hi) * 0x1p-110) break;
    }
  } else {
    bracket = log(x / a) - u;
  }
  DoubleDouble correction = stirling(a) - ((a - DoubleDouble(0.5)) * log(a) - a + kHalfLog2Pi);
  return exp(a * bracket - kHalfLog2Pi - scale(log(a), -1) - (a.hi < 0x1p40 ? correction : DoubleDouble(0)));
}

constexpr int kTermLimit = 2000000;

DoubleDouble lower_series(DoubleDouble a, DoubleDouble x) {
  DoubleDouble term = 1, sum = 1;
  for (int n = 1; n < kTermLimit; ++n) {
    term = term * x / (a + DoubleDouble(n));
    sum = sum + term;
    if (term.hi <= sum.hi * 0x1p-106) break;
  }
  return gamma_weight(a, x) * sum;
}

// Lentz's evaluation of the continued fraction of the upper function, for x > a + 1.
DoubleDouble upper_fraction(DoubleDouble a, DoubleDouble x) {
  const DoubleDouble weight = gamma_weight(a, x);
  if (weight.hi == 0) return 0;  // and where x is too large for its reciprocal, the fraction never settles
  DoubleDouble b = x + DoubleDouble(1) - a, c = 0x1p500, d = DoubleDouble(1) / b, h = d;
  for (int i = 1; i < kTermLimit; ++i) {
    DoubleDouble an = DoubleDouble(-i) * (DoubleDouble(i) - a);
    b = b + DoubleDouble(2);
    d = DoubleDouble(1) / (an * d + b);
    c = b + an / c;
    DoubleDouble delta = d * c;
    h = h * delta;
    if (std::fabs((delta - DoubleDouble(1)).hi) < 0x1p-104) break;
  }
  return weight * a * h;
}

// The upper function for small operands, where 1 - P cancels: both parts are small by themselves.
DoubleDouble upper_small(DoubleDouble a, DoubleDouble x) {
  DoubleDouble exponent = a * log(x) - lgamma(a + DoubleDouble(1)), term = 1, sum = 0;
  for (int n = 1; n < 60; ++n) {
    term = -(term * x) / DoubleDouble(n);
    sum = sum + term / (a + DoubleDouble(n));
  }
  return -expm1(exponent) - exp(exponent) * a * sum;
}

// Where even a million terms are too few, both functions are the normal distribution's, to about 1/sqrt(a).
bool is_normal_limit(DoubleDouble a, DoubleDouble x) { return a.hi > 1e10 && std::fabs(x.hi - a.hi) < 0.01 * a.hi; }
DoubleDouble normal_deviation(DoubleDouble a, DoubleDouble x) { return (x - a) / sqrt(a); }

}  // namespace

DoubleDouble lgamma(DoubleDouble x) {
  if (is_nan(x)) return x;
  if (is_inf(x)) return kInfinity;
  if (x.hi > 0) return lgamma_positive(x);
  if (is_whole(x)) return kInfinity;
  if (x.hi > -0x1p-110) return -log(abs(x));
  return log(kPi) - log(abs(sin_pi(x))) - lgamma_positive(DoubleDouble(1) - x);
}

DoubleDouble digamma(DoubleDouble x) {
  if (is_nan(x) || x.hi == kInfinity) return x;
  if (x.hi == 0) return std::copysign(kInfinity, -x.hi);
  if (x.hi > 0) return digamma_positive(x);
  if (is_inf(x) || is_whole(x)) return kNan;
  return digamma_positive(DoubleDouble(1) - x) - kPi * cos_pi(x) / sin_pi(x);
}

DoubleDouble zeta(DoubleDouble s, DoubleDouble q) {
  if (s == DoubleDouble(1)) return kInfinity;
  if (s.hi < 1) return kNan;
  if (q.hi <= 0) {
    if (is_whole(q)) return kInfinity;
    if (!is_whole(s)) return kNan;
  }
  if (!is_finite(q) || is_nan(s)) return kNan;
  if (is_inf(s)) {
    if (q.hi < 0) return kNan;
    return q.hi < 1 ? DoubleDouble(kInfinity) : q == DoubleDouble(1) ? DoubleDouble(1) : DoubleDouble(0);
  }
  if (q.hi > 0) return zeta_positive(s, q);
  return zeta_negative(s, q);
}

DoubleDouble polygamma(int64_t n, DoubleDouble x) {
  if (n == 0) return digamma(x);
  if (is_nan(x) || (n == 1 && x.hi == -kInfinity)) return kNan;
  if (n == 1 && is_inf(x)) return 0;
  DoubleDouble z = zeta(DoubleDouble(static_cast<double>(n + 1)), x);
  // Past 170! the factorial alone overflows while the product need not.
  DoubleDouble y =
      is_finite(z) && z.hi != 0 ? exp(lgamma(DoubleDouble(static_cast<double>(n + 1))) + log(abs(z))) : abs(z);
  return (n % 2 != 0) == !sign_bit(z) ? y : -y;
}

DoubleDouble igamma(DoubleDouble a, DoubleDouble x) {
  if (a.hi < 0 || x.hi < 0) return kNan;
  if (a.hi == 0) return x.hi > 0 ? DoubleDouble(1) : DoubleDouble(kNan);
  if (x.hi == 0) return 0;
  if (is_inf(a)) return is_inf(x) ? DoubleDouble(kNan) : DoubleDouble(0);
  if (is_inf(x)) return 1;
  if (is_nan(a) || is_nan(x)) return kNan;
  if (is_normal_limit(a, x)) return ndtr(normal_deviation(a, x));
  if (x > a + DoubleDouble(1)) return DoubleDouble(1) - upper_fraction(a, x);
  return lower_series(a, x);
}

DoubleDouble igammac(DoubleDouble a, DoubleDouble x) {
  if (a.hi < 0 || x.hi < 0) return kNan;
  if (a.hi == 0) return x.hi > 0 ? DoubleDouble(0) : DoubleDouble(kNan);
  if (x.hi == 0) return 1;
  if (is_inf(a)) return is_inf(x) ? DoubleDouble(kNan) : DoubleDouble(1);
  if (is_inf(x)) return 0;
  if (is_nan(a) || is_nan(x)) return kNan;
  if (is_normal_limit(a, x)) return ndtr(-normal_deviation(a, x));
  if (a.hi < 1 && x.hi <= 1) return upper_small(a, x);
  if (x > a + DoubleDouble(1)) return upper_fraction(a, x);
  return DoubleDouble(1) - lower_series(a, x);
}

}  // namespace lenz::dd
