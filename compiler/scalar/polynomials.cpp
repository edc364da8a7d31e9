// Orthogonal polynomials by their three-term recurrences; the work grows with the degree, until the values overflow.
// Chebyshev polynomials of high degree inside [-1, 1] by trigonometry, whose work does not.
#include <cmath>
#include <vector>

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

// So near to 1 or -1 that no multiple of the angle is of the numbers that it has: a sine of it is none of a small one.
bool is_at_end(DoubleDouble x) { return std::fabs(x.hi) == 1 && std::fabs(x.lo) < 0x1p-108; }

bool is_chebyshev(Polynomial family) { return family <= Polynomial::chebyshev_w; }

}  // namespace

DoubleDouble polynomial(Polynomial family, DoubleDouble x, int64_t n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (is_chebyshev(family) && is_at_end(x)) return chebyshev_at_end(family, x.hi > 0, n);
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

namespace {
// What roundings of the steps of a recurrence, each as large as its terms, and an error of one of the argument come to
// at the end. A step's share of the end is found backwards, from the last one.
struct Condition {
  double terms = 0, argument = 0;
};
Condition condition(Polynomial family, double x, int64_t n) {
  const Recurrence r = recurrence_of(family);
  std::vector<double> value{1, r.first_a * x + r.first_b};
  for (int64_t k = 1; k < n; ++k) {
    auto [a, b, c, d] = r.step(static_cast<double>(k));
    value.push_back(((a * x + b) * value[static_cast<size_t>(k)] - c * value[static_cast<size_t>(k) - 1]) / d);
  }
  Condition all;
  double share = 1, share_of_next = 0;  // of value[k] and value[k + 1] in the end
  for (int64_t k = n; k >= 1; --k) {
    const auto at = static_cast<size_t>(k);
    if (k == 1) {
      all.terms += std::fabs(share) * (std::fabs(r.first_a * x) + std::fabs(r.first_b));
      all.argument += std::fabs(share * r.first_a);
      break;
    }
    auto [a, b, c, d] = r.step(static_cast<double>(k - 1));
    all.terms += std::fabs(share) * (std::fabs((a * x + b) * value[at - 1]) + std::fabs(c * value[at - 2])) / d;
    all.argument += std::fabs(share * a * value[at - 1]) / d;
    const double before = share * (a * x + b) / d + share_of_next;
    share_of_next = -share * c / d;
    share = before;
  }
  return all;
}

Condition condition(Polynomial family, double low, double high, int64_t n) {
  constexpr int64_t kMost = 1024;
  const double degree = static_cast<double>(n), magnitude = std::fmax(std::fabs(low), std::fabs(high));
  // Where operands reach farther than a polynomial of this degree goes straight on, nothing but a bound of all is
  // known.
  if (n > kMost || (high - low) * (degree * degree + 1) > 0.5) {
    if (n > kMost && magnitude < 2) return {kInfinity, kInfinity};  // a sum without signs may take for ever to grow
    const Positive all = without_signs(family, magnitude, n);
    return {degree * all.value, all.slope};
  }
  Condition most = condition(family, low, n);
  if (low == high) return most;
  for (double x : {low + (high - low) / 2, high}) {
    const Condition there = condition(family, x, n);
    most = {std::fmax(most.terms, there.terms), std::fmax(most.argument, there.argument)};
  }
  return {2 * most.terms, 2 * most.argument};
}
}  // namespace

double polynomial_roundings(Polynomial family, double low, double high, int64_t n, double off) {
  if (n <= 0) return 0;          // a constant
  constexpr int64_t kFew = 6;    // steps that everybody takes as such
  constexpr double kPlaces = 4;  // five roundings at most, half a place of a term each
  const Condition steps = condition(family, low, high, n);
  const double by_steps = kPlaces * steps.terms + (off > 0 ? steps.argument * off : 0);
  if (!is_chebyshev(family) || n <= kFew || low >= 1 || high <= -1) return by_steps;
  // By an angle, which is off by four places of one, its multiple by so many more, and all but the first kind are
  // divided by a sine. Within (-1, 1), in float64 no nearer to the ends than this.
  constexpr double kNearest = 0x1p-26;
  const double magnitude = std::fmax(std::fabs(low), std::fabs(high)), multiple = static_cast<double>(n) + 1;
  const double sine = magnitude < 1 ? std::sqrt(1 - magnitude * magnitude) : kNearest;
  const bool first = family == Polynomial::chebyshev_t;
  const double by_angle = first ? 8 * multiple + off * multiple / sine : (32 + off * multiple) * multiple / sine;
  if (std::isinf(by_steps) && magnitude < 1) {
    // No recurrence of this degree is walked: each value is at most 2 / sine, and so is a step's share of the end.
    const double bounded = first ? 1 : 2 / sine;
    return std::fmax(by_angle, 4 * kPlaces * multiple * bounded / sine);
  }
  return std::fmax(by_steps, by_angle);
}

}  // namespace lenz::dd
