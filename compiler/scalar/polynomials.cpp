// Orthogonal polynomials by their three-term recurrences; the work grows with the degree, until the values overflow.
// Chebyshev polynomials of high degree inside [-1, 1] by trigonometry, whose work does not.
#include <cmath>

#include "compiler/scalar/special_functions.h"

namespace lenz::dd {

namespace {

// p_(k+1) = ((a x + b) p_k - c p_(k-1)) / d, from p_0 = 1 and p_1 = first_a x + first_b
struct Step {
  double a, b, c, d;
};
struct Recurrence {
  double first_a, first_b;
  Step (*step)(double k);
};

Recurrence recurrence_of(Polynomial family) {
  constexpr auto chebyshev = [](double) { return Step{2, 0, 1, 1}; };
  switch (family) {
    case Polynomial::chebyshev_t: return {1, 0, chebyshev};
    case Polynomial::chebyshev_u: return {2, 0, chebyshev};
    case Polynomial::chebyshev_v: return {2, -1, chebyshev};
    case Polynomial::chebyshev_w: return {2, 1, chebyshev};
    case Polynomial::hermite_h: return {2, 0, [](double k) { return Step{2, 0, 2 * k, 1}; }};
    case Polynomial::hermite_he: return {1, 0, [](double k) { return Step{1, 0, k, 1}; }};
    case Polynomial::laguerre: return {-1, 1, [](double k) { return Step{-1, 2 * k + 1, k, k + 1}; }};
    case Polynomial::legendre: return {1, 0, [](double k) { return Step{2 * k + 1, 0, k, k + 1}; }};
  }
  return {0, 0, chebyshev};
}

DoubleDouble chebyshev_by_angle(Polynomial family, DoubleDouble x, double n) {
  DoubleDouble theta = acos(x), half = scale(theta, -1), degree = n;
  switch (family) {
    case Polynomial::chebyshev_t: return cos(degree * theta);
    case Polynomial::chebyshev_u: return sin((degree + DoubleDouble(1)) * theta) / sin(theta);
    case Polynomial::chebyshev_v: return cos((degree + DoubleDouble(0.5)) * theta) / cos(half);
    default: return sin((degree + DoubleDouble(0.5)) * theta) / sin(half);
  }
}

// At 1 and -1, which no angle is asked of and whose recurrence never ends by itself.
DoubleDouble chebyshev_at_end(Polynomial family, bool at_one, int64_t n) {
  const DoubleDouble sign = at_one || n % 2 == 0 ? 1 : -1,
                     odd = scale(DoubleDouble(static_cast<double>(n)), 1) + DoubleDouble(1);
  switch (family) {
    case Polynomial::chebyshev_t: return sign;
    case Polynomial::chebyshev_u: return sign * (DoubleDouble(static_cast<double>(n)) + DoubleDouble(1));
    case Polynomial::chebyshev_v: return at_one ? sign : sign * odd;
    default: return at_one ? odd : sign;
  }
}

bool is_chebyshev(Polynomial family) { return family <= Polynomial::chebyshev_w; }

}  // namespace

DoubleDouble polynomial(Polynomial family, DoubleDouble x, int64_t n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (is_chebyshev(family) && abs(x) == DoubleDouble(1)) return chebyshev_at_end(family, x.hi > 0, n);
  if (is_chebyshev(family) && n > 100 && abs(x) < DoubleDouble(1))
    return chebyshev_by_angle(family, x, static_cast<double>(n));
  const Recurrence r = recurrence_of(family);
  DoubleDouble before = 1, now = DoubleDouble(r.first_a) * x + DoubleDouble(r.first_b);
  for (int64_t k = 1; k < n && !is_nan(now); ++k) {
    auto [a, b, c, d] = r.step(static_cast<double>(k));
    DoubleDouble factor = b == 0 ? DoubleDouble(a) * x : DoubleDouble(a) * x + DoubleDouble(b);
    DoubleDouble next = factor * now - DoubleDouble(c) * before;
    before = now, now = d == 1 ? next : next / DoubleDouble(d);
  }
  return now;
}

namespace {
// The value and the slope of the recurrence at a magnitude, with all signs positive: no less than those of the
// polynomial anywhere up to there.
struct Positive {
  double value, slope;
};
Positive without_signs(Polynomial family, double magnitude, int64_t n) {
  const Recurrence r = recurrence_of(family);
  double value_before = 1, slope_before = 0;
  double slope = std::fabs(r.first_a), value = slope * magnitude + std::fabs(r.first_b);
  for (int64_t k = 1; k < n && std::isfinite(slope); ++k) {
    auto [a, b, c, d] = r.step(static_cast<double>(k));
    const double factor = std::fabs(a) * magnitude + std::fabs(b);
    const double next_slope = (std::fabs(a) * value + factor * slope + c * slope_before) / d;
    const double next_value = (factor * value + c * value_before) / d;
    slope_before = slope, slope = next_slope, value_before = value, value = next_value;
  }
  return {std::isfinite(slope) ? value : kInfinity, slope};
}
}  // namespace

double polynomial_slope(Polynomial family, double magnitude, int64_t n) {
  if (n <= 0) return 0;
  const auto degree = static_cast<double>(n);
  // Markov's inequality bounds the derivatives of what is bounded on [-1, 1].
  if (magnitude <= 1 && is_chebyshev(family)) return (2 * degree + 1) * degree * degree;
  if (magnitude <= 1 && family == Polynomial::legendre) return degree * degree;
  return without_signs(family, magnitude, n).slope;
}

double polynomial_terms(Polynomial family, double low, double high, int64_t n) {
  if (n <= 0) return 0;          // a constant
  constexpr int64_t kFew = 6;    // steps that everybody takes as such
  constexpr int64_t kMany = 32;  // behind which terms without signs are far more, and inside [-1, 1] not soon infinite
  const double magnitude = std::fmax(std::fabs(low), std::fabs(high)), degree = static_cast<double>(n);
  auto by_steps = [&] { return degree * without_signs(family, magnitude, n).value; };
  if (family == Polynomial::legendre && magnitude <= 1) {
    const double bounded = (degree + 1) * (degree + 1);
    return n > kMany ? bounded : std::fmin(by_steps(), bounded);
  }
  if (!is_chebyshev(family) || n <= kFew || low >= 1 || high <= -1) return by_steps();
  // An angle's cosine within (-1, 1), in float64 no nearer to the ends than this. All but the first kind are divided by
  // a sine.
  constexpr double kNearest = 0x1p-26;
  const double sine = magnitude < 1 ? std::sqrt(1 - magnitude * magnitude) : kNearest;
  const double steep = std::fmin(degree + 1, 2 / sine);
  const double inside = (degree + 1) * steep * (family == Polynomial::chebyshev_t ? 1 : 2 / sine);
  return magnitude > 1 ? std::fmax(inside, by_steps()) : inside;
}

}  // namespace lenz::dd
