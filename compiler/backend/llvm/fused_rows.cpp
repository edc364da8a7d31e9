// What f32 is computed by where a fused multiply-add is an instruction: nothing is widened to double. What a product or
// a sum rounds away is one more such instruction, so only the last rounding and a little is felt.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
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

// e^r - 1 = r + r^2 (...)
const std::vector<double>& tail_of_less_one() {
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.35, 4);
  return kTail;
}
V less_one(V r) {
  const V some = for_powers(r);
  return fma(some * some, polynomial(r, tail_of_less_one()), r);
}

// Times 2^more.
V power_of(V x, double more) {
  static const std::vector<double> kSlope =
      fit_doubles([](DoubleDouble r) { return dd::expm1(r) / r; }, -0.3472, 0.35, 5);
  const Nearest n = nearest(x, kLog2E);
  const V r = fma(n.number, -kLn2Low, fma(n.number, -kLn2High, x));
  return x.code->scale(fma(r, polynomial(r, kSlope), 1), more == 0 ? n.number : n.number + more);
}
V exp(V x) {
  return unless_nothing(x, x < -104, [](V some) { return power_of(at_most(some, 89), 0); });
}

// 1 / (1 + e^-x), both with what their sums round away; so far below that e^-x is nearly beyond f32, it is e^x.
V sigmoid(V x) {
  constexpr double kFar = -86, kOne = 30;
  const V inside = at_most(select(from(x, kFar) > x, kFar, x), kOne);
  const Nearest n = nearest(inside, -kLog2E);
  const V r = fma(n.number, -kLn2Low, fma(n.number, -kLn2High, -inside));
  // Two by two: of Horner's steps each waits for the one before.
  const std::vector<double>& tail = tail_of_less_one();
  const V square = r * r, upper = fma(square, tail[4], fma(r, tail[3], tail[2])), lower = fma(r, tail[1], tail[0]);
  const V m = fma(fma(square, upper, lower), square, r), most = m + 1, lost = m - (most - 1);
  const V unit = as_float((n.integer << 23) + 0x3f800000), below = fma(unit, most, 1);
  const V low = fma(unit, lost, fma(unit, most, -below) + 1);
  const V estimate = x.code->reciprocal_estimate(below);
  const V value = fma(estimate, fma(-low, estimate, fma(-below, estimate, 1)), estimate);
  return x.code->rarely(!(x > kFar), {value}, [&] { return std::vector<V>{exp(x)}; })[0];
}

// A series about a place in each quarter of a binade that counts: registers hold what all quarters have.
struct Quarters {
  static constexpr int kCount = LaneCode::held_entries(LaneType::f32), kDegree = 5;
  static constexpr uint32_t kQuarter = 1U << 21;
  static constexpr float kLeast = 0x1p-4F;
  std::vector<double> place, value, terms[kDegree + 1];

  Quarters(DoubleDouble (*f)(DoubleDouble), double (*nearly)(double)) : place(kCount), value(kCount) {
    for (std::vector<double>& t : terms) t.resize(kCount);
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t begin = std::bit_cast<uint32_t>(kLeast) + i * kQuarter;
      const double low = i == 0 ? 0 : std::bit_cast<float>(begin), high = std::bit_cast<float>(begin + kQuarter);
      const size_t at = begin / kQuarter % kCount;
      if (i > 0) settle(nearly, low, high, at);
      const DoubleDouble here(place[at]), there = f(here);
      // The least quarter stands for all that is less: of odd functions that begin with x, without that.
      const auto slope = [&](DoubleDouble d) { return (f(here + d) - there) / d - DoubleDouble(i == 0 ? 1 : 0); };
      const std::vector<double> powers = fit_doubles(slope, low - place[at], high - place[at], kDegree);
      for (size_t k = 0; k < powers.size(); ++k) terms[k][at] = powers[k];
    }
  }
  // The place nearest to the middle, or nearly, whose value is nearly one of f32.
  void settle(double (*nearly)(double), double low, double high, size_t at) {
    constexpr int kTries = 64;
    double best = 1;
    for (int i = 0; i < 2 * kTries && best > 0x1p-6; ++i) {
      const double beyond = (i % 2 == 0 ? i : -i) * (high - low) / (4.0 * kTries);
      const double tried = static_cast<float>((low + high) / 2 + beyond), there = nearly(tried);
      const double rounded = static_cast<float>(there);
      const double off = std::fabs(there - rounded) / std::ldexp(1.0, std::ilogb(rounded) - 23);
      if (off < best) best = off, place[at] = tried, value[at] = rounded;
    }
  }
};
V tanh_by_quarters(V x) {
  static const Quarters kQuarters(dd::tanh, std::tanh);
  auto held = [](const std::vector<double>& table, V at) { return at.code->look_up_held(table, LaneType::f32, at); };
  const V size = at_most(abs(x), 15), at = lshr(bits(larger(size, from(x, Quarters::kLeast))), 21);
  const V beyond = size - held(kQuarters.place, at), least = size < Quarters::kLeast * 1.25;
  V slope = held(kQuarters.terms[Quarters::kDegree], at);
  for (int k = Quarters::kDegree; k-- > 0;) slope = fma(slope, beyond, held(kQuarters.terms[k], at));
  return copysign(fma(slope, beyond, select(least, size, held(kQuarters.value, at))), x);
}
// Beside 0 by its series; else 1 - 2 / (e^2x + 1), whose quotient is an estimate of few digits and a correction.
V tanh(V x) {
  if (x.code->target().avx512) return tanh_by_quarters(x);
  static const std::vector<double> kNear = fit_odd_tail<dd::tanh>(0.3025, 5);
  const V size = abs(x), some = for_powers(size), square = some * some;
  const V near = fma(some * square, polynomial(square, kNear), size);
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

// Half of what e^x and e^-x are together, or apart; far out e^x is alone.
template <bool Apart>
V hyperbolic(V x) {
  constexpr double kFar = 80;
  static const std::vector<double> kNear = fit_odd_tail<dd::sinh>(1.01, 4);
  const V size = abs(x), some = for_powers(size), inside = at_most(some, kFar);
  const Nearest n = nearest(inside, kLog2E);
  // e^x = 2^n (most + low)
  const V high = fma(n.number, -kLn2High, inside), r = fma(n.number, -kLn2Low, high), most = high + 1;
  const V low = fma(r * r, polynomial(r, tail_of_less_one()), fma(n.number, -kLn2Low, high - (most - 1)));
  const V grown = most + low, estimate = x.code->reciprocal_estimate(grown),
          half = as_float((n.integer << 23) + 0x3f000000);
  // So far out it is nothing beside what has grown, and its square no normal number.
  const V fewer = select(n.number < 40, n.integer, 40);
  const V unit = as_float(from(n.integer, 0x3f800000) - (fewer << 23));
  const V shrunk = fma(estimate, fma(-grown, estimate, 1), estimate) * (unit * unit);
  V value = half * (most + (Apart ? low - shrunk : low + shrunk));
  if (Apart) {
    const V square = some * some;
    value = select(size < 1, fma(some * square, polynomial(square, kNear), size), value);
  }
  value = x.code->rarely(size > kFar, {value}, [&] { return std::vector<V>{power_of(at_most(size, 91), -1)}; })[0];
  return Apart ? copysign(value, x) : value;
}

// e^(x^2) erfc(x), which is smooth and falls slowly, times e^(-x^2), of whose exponent both parts count.
V erfc(V x) {
  constexpr double kMiddle = 0.578125;
  static const std::vector<double> kScaled =
      around([](DoubleDouble t) { return dd::erfcx((DoubleDouble(1) / t - DoubleDouble(1)) * DoubleDouble(2)) / t; },
             kMiddle, 0.4219, 10);
  const V size = at_most(for_powers(abs(x)), 10.5);  // nothing is left there
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
// `low`: what is beyond that, over x.
V logarithm_of(V x, double exponents, const Base& base, std::optional<V> low = {}) {
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
  if (low) lost = lost + *low;
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
const Base& natural_base() {
  static const Base kBase = base_of(dd::kLn2, 1);
  return kBase;
}
V log_e(V x) { return log_by(x, natural_base()); }
V log2(V x) {
  static const Base kBase = base_of(1, DoubleDouble(1) / dd::kLn2);
  return log_by(x, kBase);
}
V log10(V x) {
  static const Base kBase = base_of(dd::kLn2 / dd::kLn10, DoubleDouble(1) / dd::kLn10);
  return log_by(x, kBase);
}

// The greater operand, and what the lesser adds: the logarithm of 1 + e^-gap.
template <bool Base2>
V logaddexp(V a, V b) {
  static const std::vector<double> kSlope =
      fit_doubles([](DoubleDouble t) { return dd::log1p(t) / t / (Base2 ? dd::kLn2 : DoubleDouble(1)); }, 0, 1, 10);
  const V gap = abs(a - b), t = Base2 ? fused_fall_of_two(gap) : exp(-gap);
  return select(is_nan(gap), a + b, fma(t, polynomial(t, kSlope), larger(a, b)));  // infinities of one sign too
}

// --- inverses of hyperbolic functions: beside 0 by their series

// Half the logarithm of (1 + x) / (1 - x), with what that rounds away.
V atanh_f32(V x) {
  static const std::vector<double> kNear = fit_odd_tail<dd::atanh>(0.2501, 5);
  const V size = abs(x), some = for_powers(size), square = some * some,
          near = fma(some * square, polynomial(square, kNear), size);
  const V above = size + 1, above_low = size - (above - 1), below = from(x, 1) - size;
  const V estimate = x.code->reciprocal_estimate(below), first = above * estimate;
  const V quotient = fma(fma(-first, below, above), estimate, first);
  // Over the quotient: over what is above, which lies between 1.5 and 2.
  const V low = (fma(-quotient, below, above) + above_low) * 0.57;
  const V value = select(size < 0.5, near, logarithm_of(quotient, 0, natural_base(), low) * 0.5);
  return x.code->rarely(!(size < 1), {copysign(value, x)},
                        [&] { return std::vector<V>{copysign(select(size == 1, kInfinity, from(x, kNan)), x)}; })[0];
}
// The logarithm of x + root(x^2 + 1), with what these round away; far out of 2 x.
V asinh_f32(V x) {
  static const std::vector<double> kNear = fit_odd_tail<dd::asinh>(0.2501, 5);
  constexpr double kFar = 0x1p14;
  const V size = abs(x), some = for_powers(size), square = some * some,
          near = fma(some * square, polynomial(square, kNear), size);
  const V inside = at_most(some, kFar), more = fma(inside, inside, 1),
          more_low = fma(inside, inside, from(x, 1) - more);
  const V estimate = x.code->rsqrt_estimate(more), first = more * estimate, half = estimate * 0.5;
  const V root = fma(fma(-first, first, more), half, first), root_low = (fma(-root, root, more) + more_low) * half;
  const V sum = root + inside, low = ((inside - (sum - root)) + root_low) * x.code->reciprocal_estimate(sum);
  const V value = copysign(select(size < 0.5, near, logarithm_of(sum, 0, natural_base(), low)), x);
  return x.code->rarely(!(size < kFar), {value}, [&] {
    const V finite = is_finite(x), far = logarithm_of(select(finite, size, 1), 1, natural_base());
    return std::vector<V>{select(finite, copysign(far, x), x)};
  })[0];
}

// --- the inverse of the error function

// erfinv(y) / y, where w is -log(1 - y^2)
DoubleDouble ratio_of_erfinv(DoubleDouble w) {
  const DoubleDouble y = dd::sqrt(-dd::expm1(-w));
  return dd::erfinv(y) / y;
}
// By that quotient, which is nearly straight; far out, near 1, by the root of w.
V erfinv(V y) {
  constexpr double kFar = 6.25, kMiddle = kFar / 2, kFarMiddle = 3.25;
  static const std::vector<double> kNear = around(ratio_of_erfinv, kMiddle, kMiddle, 10);
  static const std::vector<double> kFarTerms =
      around([](DoubleDouble s) { return ratio_of_erfinv(s * s); }, kFarMiddle, 0.83, 8);
  const V less = fma(-y, y, 1), w = -logarithm_of(less, 0, natural_base()), far = !(less > std::exp(-kFar));
  const V ratio = y.code->rarely(far, {polynomial(w - kMiddle, kNear)}, [&] {
    const V inside = polynomial(sqrt(w) - kFarMiddle, kFarTerms), size = abs(y);
    return std::vector<V>{select(size < 1, inside, select(size == 1, kInfinity, from(y, kNan)))};
  })[0];
  return y * ratio;
}

}  // namespace

void add_fused(Spellings& t) {
  t.push_back({.name = "exp", .fused_f32 = spell<exp>});
  t.push_back({.name = "sigmoid", .fused_f32 = spell<sigmoid>});
  t.push_back({.name = "tanh", .fused_f32 = spell<tanh>});
  t.push_back({.name = "sinh", .fused_f32 = spell<hyperbolic<true>>});
  t.push_back({.name = "cosh", .fused_f32 = spell<hyperbolic<false>>});
  t.push_back({.name = "erfc", .fused_f32 = spell<erfc>});
  t.push_back({.name = "atanh", .fused_f32 = spell<atanh_f32>});
  t.push_back({.name = "asinh", .fused_f32 = spell<asinh_f32>});
  t.push_back({.name = "erfinv", .fused_f32 = spell<erfinv>});
  t.push_back({.name = "log", .fused_f32 = spell<log_e>});
  t.push_back({.name = "log2", .fused_f32 = spell<log2>});
  t.push_back({.name = "log10", .fused_f32 = spell<log10>});
  t.push_back({.name = "logaddexp", .fused_f32 = spell<logaddexp<false>>});
  t.push_back({.name = "logaddexp2", .fused_f32 = spell<logaddexp<true>>});
}

}  // namespace lenz::native
