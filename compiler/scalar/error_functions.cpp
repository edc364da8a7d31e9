// erf and its relatives: a series of positive terms near zero, a continued fraction far out, Newton's method for the
// inverses.
#include <algorithm>
#include <cmath>

#include "compiler/scalar/special_functions.h"

namespace lenz::dd {

namespace {

constexpr DoubleDouble kTwoOverSqrtPi{0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
constexpr DoubleDouble kSqrtHalf{0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
constexpr double kSplit = 2.5;

// 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!, all of one sign
DoubleDouble erf_series(DoubleDouble x) {
  DoubleDouble twice_square = scale(x * x, 1), term = x, sum = x;
  for (int n = 1; n < 200; ++n) {
    term = term * twice_square / DoubleDouble(2 * n + 1);
    sum = sum + term;
    if (std::fabs(term.hi) <= std::fabs(sum.hi) * 0x1p-110) break;
  }
  return kTwoOverSqrtPi * exp(-(x * x)) * sum;
}

// exp(x^2) erfc(x) for x >= kSplit: 1/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))))
DoubleDouble erfcx_fraction(DoubleDouble x) {
  if (x.hi > 0x1p60) return DoubleDouble(1) / kSqrtPi / x;
  int depth = 24 + static_cast<int>(850 / (x.hi * x.hi));
  DoubleDouble tail = x;
  for (int k = depth; k >= 1; --k) tail = x + DoubleDouble(0.5 * k) / tail;
  return DoubleDouble(1) / (kSqrtPi * tail);
}

// y > 0 with erfc(y) = q, for 0 < q <= 0.6: Newton on the logarithm, which is nearly a parabola.
DoubleDouble erfc_inverse_tail(DoubleDouble q) {
  DoubleDouble log_q = log(q);
  DoubleDouble y = std::max(0.3, std::sqrt(std::max(0.1, -log_q.hi - 0.5 * std::log(std::max(1.0, -3 * log_q.hi)))));
  for (int i = 0; i < 12; ++i) {
    DoubleDouble scaled = erfcx(y);
    DoubleDouble f = log(scaled) - y * y - log_q;
    DoubleDouble step = f * scaled / kTwoOverSqrtPi;
    y = y + step;
    if (std::fabs(step.hi) <= y.hi * 0x1p-100) break;
  }
  return y;
}

}  // namespace

DoubleDouble erf(DoubleDouble x) {
  if (is_nan(x) || x.hi == 0) return x;
  if (std::fabs(x.hi) < kSplit) return erf_series(x);
  DoubleDouble y = DoubleDouble(1) - erfc(abs(x));
  return sign_bit(x) ? -y : y;
}

DoubleDouble erfc(DoubleDouble x) {
  if (is_nan(x)) return x;
  if (x.hi < -kSplit) return x.hi < -9 ? DoubleDouble(2) : DoubleDouble(2) - erfc(-x);
  if (x.hi < kSplit) return DoubleDouble(1) - erf_series(x);
  if (x.hi > 28) return 0;
  return exp(-(x * x)) * erfcx_fraction(x);
}

DoubleDouble erfcx(DoubleDouble x) {
  if (is_nan(x)) return x;
  if (x.hi < -27) return kInfinity;
  if (is_inf(x)) return 0;
  if (x.hi < kSplit) return exp(x * x) * erfc(x);
  return erfcx_fraction(x);
}

DoubleDouble erfinv(DoubleDouble y) {
  DoubleDouble a = abs(y);
  if (!(a <= DoubleDouble(1))) return kNan;
  if (y.hi == 0) return y;
  if (a == DoubleDouble(1)) return std::copysign(kInfinity, y.hi);
  DoubleDouble x;
  if (a.hi > 0.45) {
    x = erfc_inverse_tail(DoubleDouble(1) - a);
  } else {
    x = a / kTwoOverSqrtPi;
    for (int i = 0; i < 12; ++i) {
      DoubleDouble step = (erf_series(x) - a) * exp(x * x) / kTwoOverSqrtPi;
      x = x - step;
      if (std::fabs(step.hi) <= x.hi * 0x1p-100) break;
    }
  }
  return sign_bit(y) ? -x : x;
}

DoubleDouble ndtr(DoubleDouble x) { return scale(erfc(-(x * kSqrtHalf)), -1); }

DoubleDouble ndtri(DoubleDouble p) {
  if (!(p.hi >= 0 && p <= DoubleDouble(1))) return kNan;
  if (p.hi == 0) return -kInfinity;
  if (p == DoubleDouble(1)) return kInfinity;
  if (p.hi < 0.25) return -(kSqrt2 * erfc_inverse_tail(scale(p, 1)));
  return kSqrt2 * erfinv(scale(p, 1) - DoubleDouble(1));
}

DoubleDouble log_ndtr(DoubleDouble x) {
  if (is_inf(x)) return x.hi > 0 ? DoubleDouble(-0.0) : x;
  if (x.hi < -1) {
    DoubleDouble y = x * kSqrtHalf;
    return log(scale(erfcx(-y), -1)) - y * y;
  }
  return log1p(-scale(erfc(x * kSqrtHalf), -1));
}

}  // namespace lenz::dd
