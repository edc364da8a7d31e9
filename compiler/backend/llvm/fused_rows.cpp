// What f32 is computed by where a fused multiply-add is an instruction: nothing is widened to double. What a product or
// a sum rounds away is one more such instruction, so only the last rounding and a little is felt.
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_angles.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/wide.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// A constant as f32, and the rest.
struct Split {
  double high, low;
};
Split split_constant(DoubleDouble c) {
  const double high = static_cast<float>(static_cast<double>(c));
  return {high, static_cast<double>(c - DoubleDouble(high))};
}

// In powers of what x is beyond the middle: where those of x would be large and cancel.
std::vector<double> around(DoubleDouble (*f)(DoubleDouble), double middle, double reach, int degree) {
  std::vector<double> rounded;
  for (DoubleDouble c : fit_around(f, middle, reach, degree)) rounded.push_back(static_cast<double>(c));
  return rounded;
}

V at_most(V x, double high) { return select(from(x, high) < x, high, x); }  // a NaN stays

// x is nearly `number` times `step`: that as a float, and in the low bits of an integer.
struct Nearest {
  V number, integer;
};
Nearest nearest(V x, double steps) {
  constexpr double kLarge = 0x1.8p23;  // beside it f32 has whole numbers only
  const V sum = fma(x, steps, kLarge);
  return {sum - kLarge, bits(sum)};
}

// --- exponentials

constexpr double kLn2High = 0x1.62e4p-1;  // products with exponents are exact
const double kLn2Low = static_cast<double>(dd::kLn2 - DoubleDouble(kLn2High));
constexpr double kLog2E = 1.4426950408889634;

// e^r - 1
V less_one(V r) {
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.35, 4);
  return fma(r * r, polynomial(r, kTail), r);
}

// Beside 0 by its series; else 1 - 2 / (e^2x + 1), whose quotient is an estimate of few digits and a correction.
V tanh(V x) {
  static const std::vector<double> kNear = fit_odd_tail<dd::tanh>(0.3025, 5);
  const V size = abs(x), square = x * x;
  const V near = fma(size * square, polynomial(square, kNear), size);
  const V twice = at_most(size + size, 20);  // 1, from there on
  const Nearest n = nearest(twice, kLog2E);
  const V m = less_one(fma(n.number, -kLn2Low, fma(n.number, -kLn2High, twice)));
  const V unit = as_float((n.integer << 23) + 0x3f800000), sum = unit + 1;
  const V denominator = fma(unit, m, sum), low = fma(unit, m, sum - denominator);
  const V estimate = x.code->reciprocal_estimate(denominator);
  const V error = fma(-low, estimate, fma(-denominator, estimate, 1));
  const V most = fma(estimate, -2, 1), lost = fma(estimate, -2, from(x, 1) - most);
  const V far = most + fma(estimate * -2, error, lost);
  return copysign(select(size < 0.55, near, far), x);
}

// e^(x^2) erfc(x), which is smooth and falls slowly, times e^(-x^2), of whose exponent both parts count.
V erfc(V x) {
  constexpr double kMiddle = 0.578125;
  static const std::vector<double> kScaled =
      around([](DoubleDouble t) { return dd::erfcx((DoubleDouble(1) / t - DoubleDouble(1)) * DoubleDouble(2)) / t; },
             kMiddle, 0.4219, 10);
  const V size = at_most(abs(x), 10.5);  // nothing is left there
  const V below = fma(size, 0.5, 1), estimate = x.code->reciprocal_estimate(below);
  const V low = fma(size, 0.5, from(x, 1) - below);
  auto missing = [&](V t) { return fma(-low, t, fma(-below, t, 1)); };
  // What rounding takes from t counts as the function's slope is there, nearly.
  const V t = fma(estimate, missing(estimate), estimate), lost = missing(t) * fma(t, 1.3, 1);
  const V square = size * size, rest = fma(size, size, -square);
  const Nearest n = nearest(square, -kLog2E);
  const V r = fma(n.number, -kLn2Low, fma(n.number, -kLn2High, -square)) - rest;
  const V scaled = t * polynomial(t - kMiddle, kScaled);
  const V value = x.code->scale(fma(scaled, less_one(r) + lost, scaled), n.number);
  return select(x < 0, from(x, 2) - value, value);
}

// --- logarithms

// Of a base: what one more in the exponent counts, in two parts of which the first has few digits, and a natural
// logarithm of 1.
struct Base {
  Split step, factor;
};
Base base_of(DoubleDouble step, DoubleDouble factor) {
  constexpr double kDigits = 0x1p14;
  const double high = static_cast<double>(static_cast<int64_t>(static_cast<double>(step) * kDigits)) / kDigits;
  return {{high, static_cast<double>(step - DoubleDouble(high))}, split_constant(factor)};
}

// x > 0 and normal, or anything for anything.
V logarithm_of(V x, double exponents, const Base& base) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble f) { return (dd::log1p(f) - f + f * f * DoubleDouble(0.5)) / (f * f * f); }, -0.334, 0.34, 8);
  constexpr int64_t kTwoThirds = 0x3f2aaaab;
  const V word = bits(x), exponent = (word - kTwoThirds) >> 23;
  const V k = convert(exponent, LaneType::f32) + exponents, f = as_float(word - (exponent << 23)) - 1;
  const bool natural = base.factor.high == 1;
  std::vector<double> tail = kTail;
  for (double& c : tail) c *= base.factor.high;
  const V first = natural ? f : f * base.factor.high;
  const V high = k * base.step.high, sum = high + first;
  V lost = fma(k, base.step.low, first - (sum - high));
  if (!natural) lost = fma(f, base.factor.low, fma(f, base.factor.high, -first)) + lost;
  const V square = f * f;
  // Next to a power of two from below places are half as wide as what the square was rounded to.
  if (!natural) lost = fma(square, -0.5 * base.factor.low, fma(fma(f, f, -square), -0.5 * base.factor.high, lost));
  return sum + fma(square, fma(f, polynomial(f, tail), -0.5 * base.factor.high), lost);
}
V log_by(V x, const Base& base) {
  constexpr int64_t kLeastNormal = 0x00800000, kNormals = 0x7f000000;
  const V number = bits(x) - kLeastNormal, value = logarithm_of(x, 0, base);
  const V usual = x.code->compare(Compare::unsigned_lt, number, from(number, kNormals));
  return x.code->instead(!usual, {value}, [&] {
    const V subnormal = (x > 0) & (number < 0);
    const V any =
        x.code->rarely(subnormal, {value}, [&] { return std::vector<V>{logarithm_of(x * 0x1p24, -24, base)}; })[0];
    const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
    return std::vector<V>{select((x > 0) & (x < kInfinity), any, special)};
  })[0];
}
V log_e(V x) {
  static const Base kBase = base_of(dd::kLn2, 1);
  return log_by(x, kBase);
}
V log2(V x) {
  static const Base kBase = base_of(1, DoubleDouble(1) / dd::kLn2);
  return log_by(x, kBase);
}
V log10(V x) {
  static const Base kBase = base_of(dd::kLn2 / dd::kLn10, DoubleDouble(1) / dd::kLn10);
  return log_by(x, kBase);
}

// --- the inverse of the error function

// erfinv(y) / y, where w is -log(1 - y^2)
DoubleDouble ratio_of_erfinv(DoubleDouble w) {
  const DoubleDouble y = dd::sqrt(-dd::expm1(-w));
  return dd::erfinv(y) / y;
}
// By that quotient, which is nearly straight; far out, near 1, by the root of w.
V erfinv(V y) {
  static const Base kBase = base_of(dd::kLn2, 1);
  constexpr double kFar = 6.25, kMiddle = kFar / 2, kFarMiddle = 3.25;
  static const std::vector<double> kNear = around(ratio_of_erfinv, kMiddle, kMiddle, 10);
  static const std::vector<double> kFarTerms =
      around([](DoubleDouble s) { return ratio_of_erfinv(s * s); }, kFarMiddle, 0.83, 8);
  const V less = fma(-y, y, 1), w = -logarithm_of(less, 0, kBase), far = !(less > std::exp(-kFar));
  const V ratio = y.code->rarely(far, {polynomial(w - kMiddle, kNear)}, [&] {
    const V inside = polynomial(sqrt(w) - kFarMiddle, kFarTerms), size = abs(y);
    return std::vector<V>{select(size < 1, inside, select(size == 1, kInfinity, from(y, kNan)))};
  })[0];
  return y * ratio;
}

// --- sine, cosine, tangent

// In f32 unless the angle is large, or so near whole quarters that little is left of it.
Angle angle_of(V x) {
  // The first has so few digits, and the second too, that nothing is rounded but where what is left is large.
  static const Split kFirst = split_constant(dd::kHalfPi);
  constexpr double kDigits = 0x1p33, kTurns = 0.6366197723675814;
  static const double kSecond = std::nearbyint(static_cast<double>(dd::kHalfPi - kFirst.high) * kDigits) / kDigits;
  static const Split kThird = split_constant(dd::kHalfPi - kFirst.high - kSecond);
  const Nearest n = nearest(x, kTurns);
  const V first = fma(n.number, -kFirst.high, x), second = fma(n.number, -kSecond, first);
  const V high = fma(n.number, -kThird.high, second);
  const V lost = fma(n.number, -kSecond, first - second) + fma(n.number, -kThird.high, second - high);
  const V low = fma(n.number, -kThird.low, lost);
  const V rare = !(abs(x) < 0x1p15) | ((abs(high) < 0x1p-17) & (n.number != 0));
  const auto all = x.code->rarely(rare, {n.integer, high, low}, [&] {
    const Angle a = angle_by_double(x);
    return std::vector<V>{a.number, a.high, a.low};
  });
  return {all[0], all[1], all[2]};
}

// A sum whose second part is small beside the first.
struct Sum {
  V high, low;
  V rounded() const { return high + low; }
};
Sum normalised(Sum s) {
  const V sum = s.rounded();
  return {sum, s.low - (sum - s.high)};
}
Sum select(V condition, Sum yes, Sum no) {
  return {select(condition, yes.high, no.high), select(condition, yes.low, no.low)};
}
Sum sine_of(const Angle& a) {
  static const std::vector<double> kSine = fit_odd_tail<dd::sin>(0.6189, 3);
  const V square = a.high * a.high, low = a.low * fma(square, -0.5, 1);
  return {a.high, fma(a.high * square, polynomial(square, kSine), low)};
}
Sum cosine_of(const Angle& a) {
  static const std::vector<double> kCosine = fit_doubles(
      [](DoubleDouble s) { return (dd::cos(dd::sqrt(s)) - DoubleDouble(1) + s * DoubleDouble(0.5)) / (s * s); }, 0,
      0.6189, 3);
  // 1 - r^2 / 2, with what the square and that sum round away.
  const V square = a.high * a.high, most = fma(square, -0.5, 1), lost = fma(square, -0.5, from(square, 1) - most);
  const V lower = fma(fma(a.high, a.high, -square), -0.5, fma(-a.high, a.low, lost));
  return {most, fma(square * square, polynomial(square, kCosine), lower)};
}
template <int Quarter>
V wave(V x) {
  const Angle a = angle_of(x);
  const V number = a.number + Quarter;
  const V value = select((number & 1) != 0, cosine_of(a), sine_of(a)).rounded();
  const V turned = as_float(bits(value) ^ ((number & 2) << 30));
  return Quarter == 0 ? select(x == 0, x, turned) : turned;
}
V tan(V x) {
  const Angle a = angle_of(x);
  const Sum sine = normalised(sine_of(a)), cosine = normalised(cosine_of(a));
  const V odd = (a.number & 1) != 0;
  const Sum above = select(odd, cosine, sine), below = select(odd, sine, cosine);
  const V estimate = x.code->reciprocal_estimate(below.high), quotient = above.high * estimate;
  const V rest = fma(-quotient, below.high, above.high) + fma(-quotient, below.low, above.low);
  const V value = fma(rest, estimate, quotient);
  return select(x == 0, x, as_float(bits(value) ^ ((a.number & 1) << 31)));
}

// --- their inverses

// From a half to 2 an eighth of a turn and the angle of (x - 1) / (x + 1), beyond a quarter and that of -1 / x.
V atan(V x) {
  static const std::vector<double> kTail = fit_odd_tail<dd::atan>(0.25, 4);
  static const Split quarter = split_constant(dd::kHalfPi), eighth = {quarter.high / 2, quarter.low / 2};
  const V size = at_most(abs(x), 0x1p60), middle = size > 0.5, far = size > 2;
  auto choose = [&](auto&& in_far, auto&& in_middle, auto&& near) {
    return select(far, in_far, select(middle, in_middle, near));
  };
  const V more = size + 1, zero = from(x, 0), one = from(x, 1);
  const V above = choose(from(x, -1), size - 1, size), below = choose(size, more, one);
  const V below_low = choose(zero, size - (more - 1), zero);
  const V estimate = x.code->reciprocal_estimate(below), first = above * estimate;
  auto missing = [&](V t) { return fma(-t, below, above) - t * below_low; };
  const V t = fma(missing(first), estimate, first), rest = missing(t) * estimate;
  const V base = choose(from(x, quarter.high), from(x, eighth.high), zero);
  const V base_low = choose(from(x, quarter.low), from(x, eighth.low), zero);
  const V square = t * t, sum = base + t, lost = t - (sum - base);
  return copysign(sum + fma(t * square, polynomial(square, kTail), (lost + base_low) + rest), x);
}

// asin(r) = r + more(r), for r up to a half. Beyond, by half the angle, whose sine is the root of (1 - x) / 2.
struct HalfAngle {
  V far, sine, rest, more;  // sine + rest is the operand itself or that root
};
HalfAngle half_angle(V operand) {
  static const std::vector<double> kTail = fit_odd_tail<dd::asin>(0.25, 5);
  const V size = abs(operand), far = size > 0.5;
  const V square = select(far, fma(size, -0.5, 0.5), operand * operand);
  constexpr double kNothing = 0x1p-100;  // keeps the root of 0 from being NaN; of what is less than 0 it is
  const V estimate = operand.code->rsqrt_estimate(square + kNothing), root = square * estimate;
  const V missing = fma(-root, root, square) * (estimate * 0.5), better = root + missing;
  const V sine = select(far, better, operand), rest = select(far, missing - (better - root), 0);
  const V more = fma(sine * square, polynomial(square, kTail), rest);
  return {far, sine, rest, more};
}
// from + times * (sine + more)
V angle_from(const HalfAngle& h, V high, V low, V times) {
  const V sum = fma(times, h.sine, high), lost = fma(times, h.sine, high - sum);
  return sum + fma(times, h.more, lost + low);
}
V asin(V x) {
  const HalfAngle h = half_angle(abs(x));
  static const Split quarter = split_constant(dd::kHalfPi);
  return copysign(angle_from(h, select(h.far, from(x, quarter.high), 0), select(h.far, from(x, quarter.low), 0),
                             select(h.far, from(x, -2), 1)),
                  x);
}
V acos(V x) {
  const HalfAngle h = half_angle(x);
  static const Split quarter = split_constant(dd::kHalfPi), half = split_constant(dd::kPi);
  const V below = x < 0;
  return angle_from(h, select(h.far, select(below, from(x, half.high), 0), quarter.high),
                    select(h.far, select(below, from(x, half.low), 0), quarter.low),
                    select(h.far, select(below, from(x, -2), 2), -1));
}

}  // namespace

void add_fused(Spellings& t) {
  t.push_back({.name = "tanh", .fused_f32 = spell<tanh>});
  t.push_back({.name = "erfc", .fused_f32 = spell<erfc>});
  t.push_back({.name = "erfinv", .fused_f32 = spell<erfinv>});
  t.push_back({.name = "log", .fused_f32 = spell<log_e>});
  t.push_back({.name = "log2", .fused_f32 = spell<log2>});
  t.push_back({.name = "log10", .fused_f32 = spell<log10>});
  t.push_back({.name = "sin", .fused_f32 = spell<wave<0>>});
  t.push_back({.name = "cos", .fused_f32 = spell<wave<1>>});
  t.push_back({.name = "tan", .fused_f32 = spell<tan>});
  t.push_back({.name = "atan", .fused_f32 = spell<atan>});
  t.push_back({.name = "asin", .fused_f32 = spell<asin>});
  t.push_back({.name = "acos", .fused_f32 = spell<acos>});
}

}  // namespace lenz::native
