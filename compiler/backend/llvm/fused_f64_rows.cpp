// What f64 is computed by where a fused multiply-add is an instruction. Tables of sixteen numbers, which two registers
// hold, leave so little to series that these are short and what they round away does not show.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 as a part of 37 bits, whose products with exponents are exact, and the rest.
constexpr double kLn2High = 0x1.62e42fefap-1;
const double kLn2Low = static_cast<double>(dd::kLn2 - DoubleDouble(kLn2High));

V at_most(V x, double high) { return select(from(x, high) < x, high, x); }  // a NaN stays
V at_least(V x, double low) { return select(x < from(x, low), low, x); }

constexpr int kEntries = LaneCode::held_entries(LaneType::f64);

struct Table {
  std::vector<double> high, low;
  explicit Table(const std::function<DoubleDouble(int)>& entry) {
    for (int i = 0; i < kEntries; ++i) {
      const DoubleDouble value = entry(i);
      high.push_back(value.hi), low.push_back(value.lo);
    }
  }
};
V look_up(const std::vector<double>& table, V index) { return index.code->look_up_held(table, LaneType::f64, index); }

// --- exponentials: e^x = 2^n (power + power_low) (1 + r + ...), n of whole sixteenths

struct Power {
  V n, power, power_low;    // the power of what n is beyond a whole number
  V high, more, minus_one;  // e^r - 1 as what is left exactly, and more; rounded
};
Power power_of(V x) {
  static const Table kPowers([](int i) { return dd::exp(dd::kLn2 * DoubleDouble(i) / DoubleDouble(kEntries)); });
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.0218, 0.0218, 5);
  constexpr double kLarge = 0x1.8p48;  // beside it f64 has whole sixteenths only
  const V sum = fma(x, 1.4426950408889634, kLarge), n = sum - kLarge, index = bits(sum);
  // The first product is exact, and so is what is left.
  const V high = fma(n, -kLn2High, x), r = fma(n, -kLn2Low, high), square = r * r, tail = polynomial(r, kTail);
  return {n,    look_up(kPowers.high, index),    look_up(kPowers.low, index),
          high, fma(square, tail, n * -kLn2Low), fma(square, tail, r)};
}
V exp(V x) {
  return unless_nothing(x, x < -746, [](V some) {
    const Power p = power_of(at_most(some, 711));
    return some.code->scale_down(p.power + fma(p.power, p.minus_one, p.power_low), p.n);
  });
}

// A sum whose second part is small beside the first.
struct Sum {
  V high, low;
  V rounded() const { return high + low; }
};
// |a| >= |b| or a = 0: what the sum rounds away.
V lost_by(V sum, V a, V b) { return b - (sum - a); }
// By an estimate that has half of the digits, and what it leaves.
V quotient_of(const Sum& above, const Sum& below) {
  const V divisor = below.rounded(), estimate = divisor.code->reciprocal_estimate(divisor);
  const V better = fma(estimate, fma(-divisor, estimate, 1), estimate), quotient = above.rounded() * better;
  const V rest = fma(-quotient, below.high, above.high) + fma(-quotient, below.low, above.low);
  return fma(rest, better, quotient);
}

// e^x - 1 for x in [-40, 711).
Sum less_one(V x) {
  const Power p = power_of(x);
  const V unit = x.code->scale_down(from(x, 1), p.n), power = p.power * unit, power_low = p.power_low * unit;
  const Wide first = exact_sum(power, from(x, -1));
  // Beside 0 the first is 0, or far enough from it.
  const V sum = fma(power, p.high, first.hi), lost = fma(power, p.high, first.hi - sum);
  return {sum, fma(power, p.more, fma(power_low, p.high, power_low) + (first.lo + lost))};
}
V expm1_f64(V x) {
  const V value = copysign(less_one(at_least(x, -40)).rounded(), x);
  return x.code->rarely(x > 700, {value}, [&] { return std::vector<V>{exp(x)}; })[0];
}

// t / (t + 2), of t = e^2x - 1
V tanh(V x) {
  const Sum t = less_one(at_most(abs(x), 20) * 2);
  const Wide more = exact_sum(t.high, from(x, 2));
  return copysign(quotient_of(t, {more.hi, more.lo + t.low}), x);
}

// --- logarithms: x = 2^k (1 + fraction) / inverse, of sixteen inverses

// The first parts of logarithms are multiples of this, so that sums of those and products with exponents are exact.
constexpr double kGrain = 0x1p-42;
DoubleDouble in_parts(DoubleDouble value) {
  const double high = std::nearbyint(value.hi / kGrain) * kGrain;
  return {high, static_cast<double>(value - DoubleDouble(high))};
}

// Of the sixteen parts of the numbers from some 0.7 to 1.4 one has 1 inside, a third of its width below the end: below
// 1 numbers are as dense again.
constexpr int64_t kOne = 0x3ff0000000000000, kPart = int64_t{1} << 48, kOnesPart = 9;
constexpr int64_t kFirst = kOne - kOnesPart * kPart - 0xaaaaaaaaaaaa;
double inverse_of_part(int i) {
  if (i == kOnesPart) return 1;
  const double first = std::bit_cast<double>(kFirst + i * kPart), end = std::bit_cast<double>(kFirst + (i + 1) * kPart);
  const double inverse = 2 / (first + end);
  // Beside that part logarithms are so small that it would show if fractions were rounded: by so few digits they are
  // not.
  return std::abs(i - kOnesPart) == 1 ? std::nearbyint(inverse * 64) / 64 : inverse;
}

// What one more in the exponent counts, a natural logarithm of 1, and the logarithms of what the inverses are of.
struct Base {
  DoubleDouble step, factor;
  Table parts;
  Base(DoubleDouble (*log)(DoubleDouble), DoubleDouble factor)
      : step(in_parts(log(2))), factor(factor), parts([&](int i) { return in_parts(-log(inverse_of_part(i))); }) {}
};
const Base& natural_base() {
  static const Base kBase(dd::log, 1);
  return kBase;
}

// x = 2^k (1 + fraction) / inverse, where 2^52 k = exponent
struct Parts {
  V exponent, part, inverse, fraction;
};
Parts parts_of(V x) {
  static const Table kInverse([](int i) { return DoubleDouble(inverse_of_part(i)); });
  const V beyond = bits(x) - kFirst, exponent = beyond & (~int64_t{0} << 52), part = beyond >> 48;
  const V inverse = look_up(kInverse.high, part);
  return {exponent, part, inverse, fma(as_float(bits(x) - exponent), inverse, -1)};
}
// 2^52 k as a float. Few machines have an instruction for that; elsewhere k by way of the mantissa of a large number.
V exponent_of(const Parts& x) {
  if (x.exponent.code->target().avx512) return convert(x.exponent, LaneType::f64);
  return (as_float((x.exponent >> 52) + 0x4338000000000000) - 0x1.8p52) * 0x1p52;
}
// `more`: what it is besides, over 2^k and times the inverse; `exponents`: added to k.
V logarithm_of(const Parts& x, const Base& base, std::optional<V> more = {}, std::optional<V> exponents = {}) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble f) { return (dd::log1p(f) - f + f * f * DoubleDouble(0.5)) / (f * f * f); }, -0.0325, 0.0325, 7);
  const double factor = base.factor.hi;
  const bool natural = factor == 1;
  std::vector<double> tail = kTail;
  for (double& c : tail) c *= factor;
  V k = exponent_of(x);
  if (exponents) k = fma(*exponents, 0x1p52, k);
  const V f = x.fraction, first = natural ? f : f * factor;
  const V high = fma(k, base.step.hi * 0x1p-52, look_up(base.parts.high, x.part)), sum = high + first;
  V low = lost_by(sum, high, first);
  if (!natural) low = fma(f, base.factor.lo, fma(f, factor, -first)) + low;
  if (more) low = fma(-*more, f, *more) + low;
  low = fma(k, base.step.lo * 0x1p-52, look_up(base.parts.low, x.part)) + low;
  return sum + fma(f * f, fma(f, polynomial(f, tail), -0.5 * factor), low);
}
// Whether a number lies in [2^-1022, 2^1023): bits in a stretch.
V is_usual(V x) {
  constexpr int64_t kLeastNormal = int64_t{1} << 52;
  const V number = bits(x) - kLeastNormal;
  return x.code->compare(Compare::unsigned_lt, number, from(number, (int64_t{0x7fe} << 52) - kLeastNormal));
}
V any_logarithm_of(V x, const Base& base) {
  const V subnormal = x < 0x1p-1022;
  const V value =
      logarithm_of(parts_of(select(subnormal, x * 0x1p54, x)), base, {}, select(subnormal, from(x, -54), 0));
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
  return select((x > 0) & (x < kInfinity), value, special);
}
V log_by(V x, const Base& base) {
  return x.code->instead(!is_usual(x), {logarithm_of(parts_of(x), base)},
                         [&] { return std::vector<V>{any_logarithm_of(x, base)}; })[0];
}
V log_e(V x) { return log_by(x, natural_base()); }
V log2(V x) {
  static const Base kBase(dd::log2, DoubleDouble(1) / dd::kLn2);
  return log_by(x, kBase);
}
V log10(V x) {
  static const Base kBase(dd::log10, DoubleDouble(1) / dd::kLn10);
  return log_by(x, kBase);
}
V log1p_f64(V x) {
  const V sum = x + 1, lost = lost_by(sum, from(x, 1), x);
  const Parts parts = parts_of(sum);
  const V more = lost * as_float(kOne - parts.exponent) * parts.inverse;
  const V value = copysign(logarithm_of(parts, natural_base(), more), x);  // of 0 too
  return x.code->instead(!is_usual(sum), {value}, [&] {
    return std::vector<V>{select(is_usual(sum), value, any_logarithm_of(sum, natural_base()))};
  })[0];
}

// --- sine, cosine, tangent

struct Angle {
  V number, high, low;  // i64, of the steps that were taken away; what is left
};
constexpr int kStepsInQuarter = 4;  // sixteen in a turn
Angle angle_of(V x) {
  static const DoubleDouble kStep = dd::kHalfPi / DoubleDouble(kStepsInQuarter);
  constexpr double kPerRadian = kStepsInQuarter * 0.6366197723675814, kLarge = 0x1.8p52;
  const V sum = fma(x, kPerRadian, kLarge), n = sum - kLarge;
  // The first difference is small and exact.
  const V first = fma(n, -kStep.hi, x), high = fma(n, -kStep.lo, first), low = fma(n, -kStep.lo, first - high);
  // Where nearly nothing is left these two parts are not enough.
  const V steps = abs(n), rare = !(steps < 0x1p18) | (abs(high) < steps * 0x1p-50);
  const auto all = x.code->rarely(rare, {bits(sum), high, low}, [&] {
    const V finite = is_finite(x);
    const Quadrant at = quadrant(select(rare & finite, x, 1));
    const V more = round_even(at.angle.hi * kPerRadian);
    const Wide left = at.angle - Wide{more * kStep.hi, more * kStep.lo};  // few steps: exact products
    return std::vector<V>{at.number * kStepsInQuarter + bits(more + kLarge), select(finite, left.hi, kNan), left.lo};
  });
  return {all[0], all[1], all[2]};
}

// sin(step + r) = sin(step) cos(r) + cos(step) sin(r)
struct Rest {                       // of an angle beyond its steps
  V angle, sine_more, cosine_less;  // sin(r) - r, cos(r) - 1
};
Rest rest_of(const Angle& a) {
  static const std::vector<double> kSine = fit_odd_tail<dd::sin>(0.0389, 3);
  static const std::vector<double> kCosine =
      fit_doubles([](DoubleDouble s) { return (dd::cos(dd::sqrt(s)) - DoubleDouble(1)) / s; }, 0, 0.0389, 4);
  const V square = a.high * a.high;
  return {a.high, fma(a.high * square, polynomial(square, kSine), a.low), square * polynomial(square, kCosine)};
}
struct Step {
  V sine, sine_low, cosine, cosine_low;
};
Step step_of(V number) {
  static const Table kSines([](int i) { return dd::sin_pi(DoubleDouble(i) / DoubleDouble(2 * kStepsInQuarter)); });
  const V quarter_on = number + kStepsInQuarter;
  return {look_up(kSines.high, number), look_up(kSines.low, number), look_up(kSines.high, quarter_on),
          look_up(kSines.low, quarter_on)};
}
Sum sine_of(const Step& at, const Rest& r) {
  const V sum = fma(at.cosine, r.angle, at.sine), lost = fma(at.cosine, r.angle, at.sine - sum);
  const V low = fma(at.cosine, r.sine_more, fma(at.cosine_low, r.angle, at.sine_low + lost));
  return {sum, fma(at.sine, r.cosine_less, low)};
}
template <int Quarter>
V wave(V x) {
  const Angle a = angle_of(x);
  const V value = sine_of(step_of(a.number + Quarter * kStepsInQuarter), rest_of(a)).rounded();
  return Quarter == 0 ? select(x == 0, x, value) : value;
}
V tan(V x) {
  const Angle a = angle_of(x);
  const Rest rest = rest_of(a);
  const Step at = step_of(a.number), quarter_on{at.cosine, at.cosine_low, -at.sine, -at.sine_low};
  const Sum sine = sine_of(at, rest), cosine = sine_of(quarter_on, rest);
  return select(x == 0, x, quotient_of(sine, cosine));
}

}  // namespace

void add_fused_f64(Spellings& t) {
  t.push_back({.name = "exp", .fused_f64 = spell<exp>});
  t.push_back({.name = "expm1", .fused_f64 = spell<expm1_f64>});
  t.push_back({.name = "tanh", .fused_f64 = spell<tanh>});
  t.push_back({.name = "log", .fused_f64 = spell<log_e>});
  t.push_back({.name = "log2", .fused_f64 = spell<log2>});
  t.push_back({.name = "log10", .fused_f64 = spell<log10>});
  t.push_back({.name = "log1p", .fused_f64 = spell<log1p_f64>});
  t.push_back({.name = "sin", .fused_f64 = spell<wave<0>>});
  t.push_back({.name = "cos", .fused_f64 = spell<wave<1>>});
  t.push_back({.name = "tan", .fused_f64 = spell<tan>});
}

}  // namespace lenz::native
