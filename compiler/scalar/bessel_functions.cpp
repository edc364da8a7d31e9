// Bessel and Airy functions of real argument. Power series near zero, asymptotic expansions far out, and for K the
// trapezoidal rule on its integral, which converges geometrically.
#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/scalar/special_functions.h"

namespace lenz::dd {

namespace {

constexpr DoubleDouble kTwoOverPi{0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55};

constexpr int kTerms = 400;

// 1/n for 0 < n <= kTerms: series multiply by it, which takes a third of what a division does.
DoubleDouble reciprocal(int n) {
  static const auto all = [] {
    std::array<DoubleDouble, kTerms + 1> of;
    for (int i = 1; i <= kTerms; ++i) of[static_cast<size_t>(i)] = DoubleDouble(1) / DoubleDouble(i);
    return of;
  }();
  return all[static_cast<size_t>(n)];
}

// sum of (sign x^2/4)^k / (k! (k + order)!), each term times weight(k), which is asked for one k after the other;
// order is 0 or 1
template <class Weight>
DoubleDouble bessel_series(DoubleDouble x, int order, int sign, Weight weight) {
  DoubleDouble quarter = scale(x * x, -2), term = 1, sum = weight(0);
  if (sign < 0) quarter = -quarter;
  double largest = std::fabs(sum.hi);
  for (int k = 1; k < kTerms; ++k) {
    term = term * quarter * (reciprocal(k) * reciprocal(k + order));
    DoubleDouble weighted = term * weight(k);
    sum = sum + weighted;
    largest = std::max(largest, std::fabs(weighted.hi));
    if (std::fabs(term.hi) * (k + 10) <= std::max(std::fabs(sum.hi), largest * 0x1p-20) * 0x1p-110) break;
  }
  return sum;
}
constexpr auto kPlain = [](int) { return DoubleDouble(1); };

// 1 + 1/2 + ... + 1/k
struct Harmonic {
  DoubleDouble sum = 0;
  int n = 0;
  DoubleDouble operator()(int k) {
    while (n < k) sum = sum + reciprocal(++n);
    return sum;
  }
};

// The terms a_k = product of (4 nu^2 - (2j-1)^2) / (8j x) of the expansions for large x, given mu = 4 nu^2: `even` and
// `odd` are the alternating sums over even and odd k, `plain` the sum of (-1)^k a_k. Stops at the smallest term.
struct Hankel {
  DoubleDouble even, odd, plain;
};
Hankel hankel(DoubleDouble mu, DoubleDouble x) {
  Hankel sums{1, 0, 1};
  DoubleDouble term = 1;
  for (int k = 1; k < 400; ++k) {
    double odd_number = 2.0 * k - 1;
    DoubleDouble next = term * (mu - DoubleDouble(odd_number * odd_number)) / (DoubleDouble(8.0 * k) * x);
    if (std::fabs(next.hi) > std::fabs(term.hi) && k > 2) break;
    term = next;
    DoubleDouble& sum = k % 2 == 0 ? sums.even : sums.odd;
    sum = (k / 2) % 2 == 0 ? sum + term : sum - term;
    sums.plain = k % 2 == 0 ? sums.plain + term : sums.plain - term;
    if (std::fabs(term.hi) < 0x1p-110) break;
  }
  return sums;
}

const DoubleDouble kOfOrderOneThird = DoubleDouble(4) / DoubleDouble(9);  // 4 nu^2

constexpr double kFarI = 42, kFarJ = 26;

// I_order(x) exp(-x) for x >= 0.
DoubleDouble i_scaled(int order, DoubleDouble x) {
  if (is_inf(x)) return 0;
  if (x.hi > kFarI) return hankel(DoubleDouble(4 * order), x).plain / (sqrt(scale(kPi, 1)) * sqrt(x));
  DoubleDouble sum = bessel_series(x, order, 1, kPlain) * exp(-x);
  return order == 0 ? sum : sum * scale(x, -1);
}

DoubleDouble i_unscaled(int order, DoubleDouble x) {
  if (is_inf(x)) return kNan;
  if (x.hi > 800) return kInfinity;
  DoubleDouble half = exp(scale(x, -1));  // exp(x) may overflow where the product does not
  return half * i_scaled(order, x) * half;
}

// cosh and sinh of one step after the other, from 0 on; by sums of what is not negative, so that nothing cancels.
struct HyperbolicSteps {
  explicit HyperbolicSteps(DoubleDouble step) : step_cosh(cosh(step)), step_sinh(sinh(step)) {}
  void advance() {
    const DoubleDouble next = cosh_ * step_cosh + sinh_ * step_sinh;
    sinh_ = sinh_ * step_cosh + cosh_ * step_sinh;
    cosh_ = next;
  }
  DoubleDouble step_cosh, step_sinh, cosh_ = 1, sinh_ = 0;
};

// K_nu(x) exp(x) for x > 0: the integral of exp(-x (cosh t - 1)) cosh(nu t).
DoubleDouble k_scaled_integral(DoubleDouble nu, DoubleDouble x) {
  double h = std::min(0.12, 0.48 / std::sqrt(x.hi));
  DoubleDouble sum = 0.5;  // the end point counts half
  HyperbolicSteps halves(h / 2), times_nu(nu * DoubleDouble(h));
  for (int i = 1; i < 100000; ++i) {
    halves.advance();
    DoubleDouble term = exp(-scale(x * halves.sinh_ * halves.sinh_, 1));
    if (nu.hi != 0) {
      times_nu.advance();
      term = term * times_nu.cosh_;
    }
    sum = sum + term;
    if (term.hi <= sum.hi * 0x1p-112) break;
  }
  return sum * DoubleDouble(h);
}

DoubleDouble log_half_plus_gamma(DoubleDouble x) { return log(x) - kLn2 + kEulerGamma; }

// psi(k + 1) + psi(k + 2) + 2 gamma
struct PairedHarmonic {
  Harmonic harmonic;
  DoubleDouble operator()(int k) { return scale(harmonic(k), 1) + reciprocal(k + 1); }
};

DoubleDouble k_small(int order, DoubleDouble x) {  // 0 < x <= 1
  DoubleDouble half = scale(x, -1), l = log_half_plus_gamma(x);
  if (order == 0) return bessel_series(x, 0, 1, Harmonic()) - l * bessel_series(x, 0, 1, kPlain);
  return DoubleDouble(1) / x + l * half * bessel_series(x, 1, 1, kPlain) -
         scale(half * bessel_series(x, 1, 1, PairedHarmonic()), -1);
}

DoubleDouble k_scaled(int order, DoubleDouble x) {
  if (is_nan(x) || x.hi < 0) return kNan;
  if (x.hi == 0) return kInfinity;
  if (is_inf(x)) return 0;
  if (x.hi <= 1) return k_small(order, x) * exp(x);
  if (x.hi > 1000) {  // K's expansion is I's with all signs positive
    DoubleDouble sum = hankel(DoubleDouble(4 * order), -x).plain;
    return sum * sqrt(kHalfPi / x);
  }
  return k_scaled_integral(DoubleDouble(order), x);
}

// x > 0. cosine of the phase x - (order/2 + 1/4) pi for J, its sine for Y
DoubleDouble far_oscillation(int order, DoubleDouble x, bool second_kind) {
  Hankel sums = hankel(DoubleDouble(4 * order), x);
  DoubleDouble s = sin(x), c = cos(x);
  // cos(x - pi/4) = (c + s) / sqrt 2, sin(x - pi/4) = (s - c) / sqrt 2; another quarter turn back for order 1
  DoubleDouble cosine = order == 0 ? c + s : s - c, sine = order == 0 ? s - c : -(c + s);
  DoubleDouble wave = second_kind ? sine * sums.even + cosine * sums.odd : cosine * sums.even - sine * sums.odd;
  return wave / (kSqrtPi * sqrt(x));
}

DoubleDouble j(int order, DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  DoubleDouble a = abs(x), y;
  if (a.hi > kFarJ) {
    y = far_oscillation(order, a, false);
  } else {
    y = bessel_series(a, order, -1, kPlain);
    if (order == 1) y = y * scale(a, -1);
  }
  return order == 1 && sign_bit(x) ? -y : y;
}

DoubleDouble y(int order, DoubleDouble x) {
  if (is_nan(x) || x.hi < 0) return kNan;
  if (x.hi == 0) return -kInfinity;
  if (is_inf(x)) return kNan;
  if (x.hi > kFarJ) return far_oscillation(order, x, true);
  if (order == 1 && x.hi < 1e-290) return -(kTwoOverPi / x);  // may be infinite
  DoubleDouble l = log_half_plus_gamma(x), half = scale(x, -1);
  if (order == 0) return kTwoOverPi * (l * bessel_series(x, 0, -1, kPlain) - bessel_series(x, 0, -1, Harmonic()));
  DoubleDouble regular =
      half * (scale(l * bessel_series(x, 1, -1, kPlain), 1) - bessel_series(x, 1, -1, PairedHarmonic()));
  return scale(kTwoOverPi * (regular - scale(DoubleDouble(1) / x, 1)), -1);
}

// Ai and its derivative at zero (negated), for the power series.
constexpr DoubleDouble kAiryZero{0x1.6b8c7962715b8p-2, 0x1.7a96d7bb04e65p-56};
constexpr DoubleDouble kAirySlope{0x1.0907f42b70f8bp-2, -0x1.d1459035afde2p-56};

DoubleDouble airy_series(DoubleDouble x) {
  DoubleDouble cube = x * x * x, f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 200; ++k) {
    f_term = f_term * cube / DoubleDouble(double(3 * k - 1) * (3 * k));
    g_term = g_term * cube / DoubleDouble(double(3 * k) * (3 * k + 1));
    f = f + f_term, g = g + g_term;
    if (std::fabs(f_term.hi) + std::fabs(g_term.hi) < 0x1p-112) break;
  }
  return kAiryZero * f - kAirySlope * g;
}

}  // namespace

DoubleDouble bessel_i0e(DoubleDouble x) { return i_scaled(0, abs(x)); }
DoubleDouble bessel_i1e(DoubleDouble x) { return sign_bit(x) ? -i_scaled(1, -x) : i_scaled(1, x); }
DoubleDouble bessel_i0(DoubleDouble x) { return i_unscaled(0, abs(x)); }
DoubleDouble bessel_i1(DoubleDouble x) { return sign_bit(x) ? -i_unscaled(1, -x) : i_unscaled(1, x); }
DoubleDouble bessel_j0(DoubleDouble x) { return j(0, x); }
DoubleDouble bessel_j1(DoubleDouble x) { return j(1, x); }
DoubleDouble bessel_y0(DoubleDouble x) { return y(0, x); }
DoubleDouble bessel_y1(DoubleDouble x) { return y(1, x); }
DoubleDouble bessel_k0_scaled(DoubleDouble x) { return k_scaled(0, x); }
DoubleDouble bessel_k1_scaled(DoubleDouble x) { return k_scaled(1, x); }
DoubleDouble bessel_k0(DoubleDouble x) { return x.hi > 0 && x.hi <= 1 ? k_small(0, x) : k_scaled(0, x) * exp(-x); }
DoubleDouble bessel_k1(DoubleDouble x) { return x.hi > 0 && x.hi <= 1 ? k_small(1, x) : k_scaled(1, x) * exp(-x); }

DoubleDouble spherical_bessel_j0(DoubleDouble x) {
  if (is_inf(x)) return 0;
  if (x.hi == 0) return 1;
  return sin(x) / x;
}

// Of the first kind's decay K of order 1/3 is what is left; of its wave the sums are Hankel's for that order.
DoubleDouble airy_decay(DoubleDouble u) {
  const DoubleDouble zeta = DoubleDouble(1) / u;
  return sqrt(zeta * DoubleDouble(1.5)) / (kPi * sqrt(DoubleDouble(3))) *
         k_scaled_integral(DoubleDouble(1) / DoubleDouble(3), zeta);
}
DoubleDouble airy_even(DoubleDouble u) { return hankel(kOfOrderOneThird, DoubleDouble(1) / u).even; }
DoubleDouble airy_odd(DoubleDouble u) { return hankel(kOfOrderOneThird, DoubleDouble(1) / u).odd / u; }

DoubleDouble airy_ai(DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  if (x.hi > -10 && x.hi < 1) return airy_series(x);
  DoubleDouble z = abs(x), root = sqrt(z), zeta = scale(z * root, 1) / DoubleDouble(3);
  if (x.hi > 0) {
    if (zeta.hi > 760) return 0;
    DoubleDouble third = DoubleDouble(1) / DoubleDouble(3);
    return root / (kPi * sqrt(DoubleDouble(3))) * k_scaled_integral(third, zeta) * exp(-zeta);
  }
  Hankel sums = hankel(kOfOrderOneThird, zeta);
  DoubleDouble s = sin(zeta), c = cos(zeta);  // sin(zeta + pi/4) and cos(zeta + pi/4), times sqrt 2
  DoubleDouble wave = (s + c) * sums.even + (c - s) * sums.odd;
  return wave / (sqrt(scale(kPi * root, 1)));
}

}  // namespace lenz::dd
