// The logarithm of the gamma function of f64, and its derivatives, where a fused multiply-add is an instruction: from 2
// on in sixteen pieces whose coefficients registers hold, below by recurrences, far out by Stirling's series; below
// zero by reflection.
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kLow = 2, kPiece = 0.4375, kFar = kLow + 16 * kPiece;

// x (log gamma(x) - (x - 1/2) (log x - 1)) - (log(2 pi) - 1) / 2 x, by 1 / x^2.
DoubleDouble correction(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  const DoubleDouble large = (x - DoubleDouble(0.5)) * (dd::log(x) - DoubleDouble(1));
  return x * (dd::lgamma(x) - large - (dd::kHalfLog2Pi - DoubleDouble(0.5)));
}

struct Raised {
  V least, low, far, by;  // below 1, below 2; x, x + 1 or x + 2
};
Raised raised(V x) {
  const V least = x < 1, low = x < 2, far = x >= kFar;
  return {least, low, far, select(far, kLow, select(least, x + 2, select(low, x + 1, x)))};
}
// What is not above zero is rare.
template <V (*Below)(V)>
V unless_negative(std::string_view name, V x, V value) {
  return x.code->rarely(x <= 0, {value}, [&] {
    return x.code->apart(name, x, std::array{LaneType::f64}, [](V any) { return std::vector<V>{Below(any)}; });
  })[0];
}

// --- below zero, of s = -x by what follows at 1 + s and by s beyond a whole number. Both may cancel: the parts are
// summed with what sums round away.

constexpr double kLeast = 0x1p-1000;  // below, inverses overflow and logarithms are of subnormal numbers
constexpr double kFarBelow = 16 * kPiece;

struct Below {
  V size, far, near, least, turn;  // near, least: of what serves it, or any that does
  explicit Below(V x)
      : size(abs(x)),
        far(size >= kFarBelow),
        near(select(size < kFarBelow, size, 1)),
        least(select(far, size, kFarBelow)),
        turn(size - round_even(size)) {}
};
// a + b
TwoParts sum_of(V a, V b) {
  const V sum = a + b, second = sum - a;
  return {sum, (a - (sum - second)) + (b - second)};
}

DoubleDouble lgamma_of_next(DoubleDouble s) { return dd::lgamma(s + DoubleDouble(1)); }
V lgamma_below(V x) {
  static const HeldPieces kNear(lgamma_of_next, 0, kPiece, 16);
  static const std::vector<double> kCorrection = fit_doubles(correction, 1e-5, 1 / (kFarBelow * kFarBelow), 7);
  static const std::vector<double> kSine = fit_doubles(  // sin(pi r) / (pi r), by r^2
      [](DoubleDouble square) {
        const DoubleDouble turn = dd::kPi * dd::sqrt(square);
        return dd::sin(turn) / turn;
      },
      0, 0.25, 10);
  const Below at(x);
  const auto near = kNear(at.near);
  // (s + 1/2) (log s - 1), with what its parts round away
  const TwoParts logarithm = fused_log_in_parts(at.least), factor = sum_of(at.least, from(x, 0.5));
  const V minus = logarithm.high - 1, large = factor.high * minus;
  const V lost = fma(factor.high, minus, -large) + fma(factor.high, logarithm.low, factor.low * minus);
  const V inverse = from(x, 1) / at.least;
  const V beyond = fma(inverse, polynomial(inverse * inverse, kCorrection),
                       static_cast<double>(dd::kHalfLog2Pi + DoubleDouble(0.5)));
  const V next = select(at.far, large, near.first), more = select(at.far, beyond + lost, near.more);
  const V some = abs(at.turn), whole = !(some > 0);
  const V sine = select(whole, from(x, 1), some * polynomial(some * some, kSine));
  const TwoParts of_sine = fused_log_in_parts(sine), sum = sum_of(of_sine.high, next);
  const V value = -(sum.high + (more + (sum.low + of_sine.low)));
  const V right = select(whole, std::numeric_limits<double>::infinity(), value);
  return x.code->rarely((x <= 0) & !(at.size > kLeast), {right}, [&] { return std::vector<V>{wide_lgamma(x)}; })[0];
}

V lgamma(V x) {
  static const HeldPieces kNear(dd::lgamma, kLow, kPiece, 12);
  static const std::vector<double> kCorrection = fit_doubles(correction, 1e-5, 1 / (kFar * kFar), 6);
  const Raised at = raised(x);
  const V logarithm = fused_log(select(at.least, x * (x + 1), x));
  const auto near = kNear(at.by);
  const V passed = select(at.low, near.first - logarithm + near.more, near.first + near.more);
  const V inverse = from(x, 1) / select(at.far, x, kFar);
  const V beyond = fma(inverse, polynomial(inverse * inverse, kCorrection),
                       static_cast<double>(dd::kHalfLog2Pi - DoubleDouble(0.5)));
  const V value = select(at.far, fma(x - 0.5, logarithm - 1, beyond), passed);
  return unless_negative<lgamma_below>("lenz_lgamma", x, select((x == 1) | (x == 2), 0, value));
}

// x^2 (log x - digamma(x)) - x / 2, by 1 / x^2.
DoubleDouble digamma_correction(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  return x * x * (dd::log(x) - dd::digamma(x)) - x * DoubleDouble(0.5);
}
DoubleDouble digamma_of_next(DoubleDouble s) { return dd::digamma(s + DoubleDouble(1)); }
V digamma_below(V x) {
  static const HeldPieces kNear(digamma_of_next, 0, kPiece, 16);
  static const std::vector<double> kCorrection = fit_doubles(digamma_correction, 1e-5, 1 / (kFarBelow * kFarBelow), 7);
  static const std::vector<double> kTurn = fit_doubles(  // (1 / r - pi / tan(pi r)) / r, by r^2
      [](DoubleDouble square) {
        const DoubleDouble r = dd::sqrt(square), turn = dd::kPi * r;
        return (DoubleDouble(1) - turn * dd::cos(turn) / dd::sin(turn)) / square;
      },
      0, 0.25, 13);
  const Below at(x);
  const auto near = kNear(at.near);
  const TwoParts logarithm = fused_log_in_parts(at.least);
  const V small = from(x, 1) / at.least, series = fma(-small, polynomial(small * small, kCorrection), 0.5);
  const V next = select(at.far, logarithm.high, near.first);
  const V more = select(at.far, fma(small, series, logarithm.low), near.more);
  const V whole = !(abs(at.turn) > 0), turn = select(whole, 1, at.turn), over = from(x, 1) / turn;
  const TwoParts tangent = sum_of(over, -turn * polynomial(turn * turn, kTurn)), sum = sum_of(tangent.high, next);
  const V rest = fma(fma(-over, turn, 1), over, more) + (tangent.low + sum.low);
  const V value = select(whole, std::numeric_limits<double>::quiet_NaN(), sum.high + rest);
  return x.code->rarely((x <= 0) & !(at.size > kLeast), {value}, [&] { return std::vector<V>{wide_digamma(x)}; })[0];
}
V digamma(V x) {
  static const HeldPieces kNear(dd::digamma, kLow, kPiece, 12);
  static const std::vector<double> kCorrection = fit_doubles(digamma_correction, 1e-5, 1 / (kFar * kFar), 6);
  const Raised at = raised(x);
  const V inverse = from(x, 1) / x, next = select(at.least, from(x, 1) / (x + 1), 0);
  const auto near = kNear(at.by);
  const V passed = select(at.low, near.first - (next - near.more) - inverse, near.first + near.more);
  const V far = x.code->instead(at.far, {passed}, [&] {
    const V small = select(at.far, inverse, 0);
    const V series = fma(small, polynomial(small * small, kCorrection), 0.5);
    return std::vector<V>{select(at.far, fma(-small, series, fused_log(x)), passed)};
  })[0];
  return unless_negative<digamma_below>("lenz_digamma", x, far);
}

// x^3 trigamma(x) - x^2 - x / 2, by 1 / x^2.
DoubleDouble trigamma_of(DoubleDouble x) { return dd::polygamma(1, x); }
DoubleDouble trigamma_correction(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square), square = x * x;
  return (trigamma_of(x) * x - DoubleDouble(1)) * square - x * DoubleDouble(0.5);
}
V trigamma(V x) {
  static const HeldPieces kNear(trigamma_of, kLow, kPiece, 12);
  static const std::vector<double> kCorrection = fit_doubles(trigamma_correction, 1e-5, 1 / (kFar * kFar), 6);
  const Raised at = raised(x);
  const V inverse = from(x, 1) / x, next = select(at.least, from(x, 1) / (x + 1), 0);
  const auto near = kNear(at.by);
  const V below = fma(inverse, inverse, fma(next, next, near.first + near.more));
  const V small = select(at.far, inverse, 0);
  const V series = fma(small, fma(small, polynomial(small * small, kCorrection), 0.5), 1);
  const V value = select(at.far, small * series, select(at.low, below, near.first + near.more));
  return unless_negative<wide_trigamma>("lenz_trigamma", x, value);
}

}  // namespace

V best_trigamma(V x) { return x.type == LaneType::f64 && x.code->target().fma ? trigamma(x) : wide_trigamma(x); }

void add_fused_gamma(Spellings& t) {
  t.push_back({.name = "lgamma", .fused_f64 = spell<lgamma>});
  t.push_back({.name = "digamma", .fused_f64 = spell<digamma>});
  t.push_back({.name = "trigamma", .fused_f64 = spell<trigamma>});
}

}  // namespace lenz::native
