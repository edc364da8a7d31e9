// The incomplete gamma functions where a fused multiply-add is an instruction, as quick_gamma.cpp has them: weights by
// exponents in two parts, times a series or a continued fraction. What is not usual asks that.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPiece = 0.4375, kLow = 2, kLarge = kLow + 16 * kPiece - 1;

TwoParts exact_sum_of(V a, V b) {
  const V sum = a + b, other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}
TwoParts exact_product_of(V a, V b) {
  const V product = a * b;
  return {product, fma(a, b, -product)};
}
TwoParts plus(TwoParts a, TwoParts b) {
  const TwoParts sum = exact_sum_of(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}
// Nearly to every digit.
V inverse_of(V x) {
  V guess = x.code->reciprocal_estimate(x);
  for (int i = 0; i < 2; ++i) guess = fma(guess, fma(-x, guess, 1), guess);
  return guess;
}

// a times what log gamma(a) is beyond (a - 1/2) log a - a + log(2 pi) / 2, by 1 / a^2.
DoubleDouble correction(DoubleDouble inverse_square) {
  const DoubleDouble a = DoubleDouble(1) / dd::sqrt(inverse_square);
  return a * (dd::lgamma(a) - (a - DoubleDouble(0.5)) * dd::log(a) + a - dd::kHalfLog2Pi);
}
// The logarithm of x^a e^-x / gamma(a + 1).
TwoParts log_weight(V a, V x) {
  static const HeldPieces kGamma(dd::lgamma, kLow, kPiece, 12);
  static const std::vector<double> kCorrection = fit_doubles(correction, 1e-6, 1 / (kLarge * kLarge), 6);
  static const std::vector<double> kSlope = fit_doubles(dd::digamma, kLow, kLarge + 1, 4);  // for what rounding took
  const V large = a >= kLarge, small = a < 1;
  const TwoParts of_x = fused_log_in_parts(x), of_a = fused_log_in_parts(select(large, a, select(small, a + 1, 1)));
  // x^a e^-x, or (x / a)^a e^(a - x)
  const TwoParts of_ratio = plus(of_x, {select(large, -of_a.high, 0), select(large, -of_a.low, 0)});
  TwoParts power = exact_product_of(a, of_ratio.high);
  power.low = fma(a, of_ratio.low, power.low);
  const TwoParts all = plus(power, exact_sum_of(select(large, a, 0), -x));
  const V raised = select(large, kLow, select(small, a + 2, a + 1)), off = a - (raised - select(small, from(a, 2), 1));
  const auto gamma = kGamma(raised);
  const V more = fma(select(large, 0, off), polynomial(raised, kSlope), gamma.more);
  const V inverse = inverse_of(a), half = of_a.high * 0.5;
  const V stirling = fma(inverse, polynomial(inverse * inverse, kCorrection), dd::kHalfLog2Pi.hi);
  return plus(all, exact_sum_of(select(large, -half, select(small, of_a.high, 0) - gamma.first),
                                select(large, -stirling, -more)));
}

// The sum of x^n / ((a + 1) ... (a + n)), in the lanes that ask for it, each term with what its rounding left.
V series(V a, V x, V asked, double nothing) {
  const V one = from(x, 1), zero = from(x, 0);
  const auto state = x.code->repeat(
      {one, one, zero, one, zero, select(asked, one, zero)}, [&](const std::vector<V>& s) { return s[5] != 0; },
      [&](const std::vector<V>& s) {
        const V n = s[0], by = a + n, by_low = a - (by - n), inverse = inverse_of(by), factor = x * inverse;
        const V more = (fma(-factor, by, x) - factor * by_low) * inverse;
        const TwoParts term = exact_product_of(s[1], factor);
        const V rest = fma(s[2], factor, fma(s[1], more, term.low)), sum = s[3] + term.high;
        const V low = s[4] + ((term.high - (sum - s[3])) + rest);
        return std::vector<V>{n + 1, term.high, rest, sum, low, select(term.high > sum * nothing, one, zero)};
      });
  return state[3] + state[4];
}

// The continued fraction by its partial sums.
V fraction(V a, V x, V asked, double nothing) {
  const V one = from(x, 1), zero = from(x, 0), first = x + 1 - a, begin = one / first;
  const auto state = x.code->repeat(
      {one, first, begin, begin, begin, zero, select(asked, one, zero)},
      [&](const std::vector<V>& s) { return s[6] != 0; },
      [&](const std::vector<V>& s) {
        const V n = s[0], numerator = n * (a - n), b = s[1] + 2, before = s[2];
        const V d = inverse_of(fma(numerator, before, b)), step = -s[3] * numerator * before * d, sum = s[4] + step;
        const V lost = s[5] + (step - (sum - s[4]));
        return std::vector<V>{n + 1, b, d, step, sum, lost, select(abs(step) > sum * nothing, one, zero)};
      });
  return state[4] + state[5];
}

// log gamma(1 + a) / a
DoubleDouble log_gamma_ratio(DoubleDouble a) {
  return a.hi == 0 ? -dd::kEulerGamma : dd::lgamma(a + DoubleDouble(1)) / a;
}
// The upper function of an a below 1 and an x below kShort: one minus x^a / gamma(a + 1) times one and a sum, each of
// which is small by itself.
constexpr double kShort = 0.875;
V upper_of_small(V a, V x) {
  static const HeldPieces kRatio(log_gamma_ratio, 0, 1.0 / 16, 9);
  const TwoParts of_x = fused_log_in_parts(x);
  const auto ratio = kRatio(a);
  const V minus_one = fused_expm1(a * ((of_x.high - ratio.first) + (of_x.low - ratio.more)));
  V term = -x, sum = term * inverse_of(a + 1);
  for (int n = 2; n <= 16; ++n) {
    term = term * x * (-1.0 / n);
    sum = fma(term, inverse_of(a + n), sum);
  }
  return -fma(fma(minus_one, a, a), sum, minus_one);
}

// By table where it is not sure.
template <bool Upper>
V regularised(V a, V x) {
  LaneCode& code = *x.code;
  const ScalarRow& row = *find_scalar(Upper ? "igammac" : "igamma");
  auto by_table = [&](V of, V at) {
    const V operands[] = {of, at};
    return code.by_table(row, x.type, operands);
  };
  if (!code.target().fma) return by_table(a, x);
  const V wide_a = convert(a, LaneType::f64), wide_x = convert(x, LaneType::f64);
  const V usual = (wide_a > 0x1p-5) & (wide_a < 128) & (wide_x > 0x1p-100) & (wide_x < 0x1p20);
  const V order = select(usual, wide_a, 1), at = select(usual, wide_x, 1);
  const TwoParts exponent = log_weight(order, at);
  const V power = fused_exp(exponent.high), weight = fma(power, exponent.low, power);
  const V low = Upper ? at < order : at < larger(order + 1, from(at, 3));
  const double nothing = x.type == LaneType::f64 ? 0x1p-56 : 0x1p-32;
  const V small = Upper ? (order < 1) & (at < kShort) : code.truth(false);
  const V sum = series(order, at, usual & low, nothing), above = fraction(order, at, usual & !low & !small, nothing);
  const V part = weight * select(low, sum, order * above);
  V value = select(Upper ? low : !low, 1 - part, part);
  if (Upper)
    value = code.rarely(small, {value}, [&] {
      return std::vector<V>{upper_of_small(select(small, order, 0.5), select(small, at, 0.25))};
    })[0];
  // Subnormal weights have lost digits.
  const V sure = usual & ((exponent.high > -700) | (exponent.high < -760));
  return code.rarely(!sure, {convert(value, x.type)},
                     [&] { return std::vector<V>{by_table(select(sure, kNan, a), x)}; })[0];
}

}  // namespace

void add_fused_incomplete_gamma(Spellings& t) {
  t.push_back({.name = "igamma", .reals = spell<regularised<false>>});
  t.push_back({.name = "igammac", .reals = spell<regularised<true>>});
}

}  // namespace lenz::native
