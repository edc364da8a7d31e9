// What kernels of f32 (and of f16 and bf16, which are held as f32) spend their time in: in f32's own arithmetic, with a
// second part only where a rounding would show.
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_angles.h"
#include "compiler/backend/llvm/fast_powers.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/wide.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 as a part whose products with exponents are exact in f32, and the rest.
constexpr double kLn2High = 0x1.62e4p-1;
const double kLn2Low = static_cast<double>(dd::kLn2 - DoubleDouble(kLn2High));

V at_most(V x, double high) { return select(from(x, high) < x, high, x); }  // a NaN stays
V at_least(V x, double low) { return select(from(x, low) > x, low, x); }

// --- exponentials

constexpr double kNoPower = -104;  // e^x is nothing in f32

Power power_of(V x) {
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.35, 4);
  const V n = round_even(x * 1.4426950408889634);
  // The first product is exact; the operand so reduced leads, the rest is small beside it.
  const V high = fma(n, -kLn2High, x), r = fma(n, -kLn2Low, high);
  return {high, fma(r * r, polynomial(r, kTail), n * -kLn2Low), n};
}
// What the last sum but one takes away stays lost: a quarter of a last place.
V exp(V x) {
  return unless_nothing(x, x < kNoPower, [](V some) {
    const Power p = power_of(at_most(some, 89));
    return some.code->scale(p.minus_one + p.low + 1, p.n);
  });
}
V exp2(V x) {
  static const std::vector<double> kSlope =
      fit_doubles([](DoubleDouble r) { return dd::expm1(r * dd::kLn2) / r; }, -0.5, 0.5, 5);
  return unless_nothing(x, x < -151, [](V some) {
    const V inside = at_most(some, 129), n = round_even(inside), r = inside - n;
    if (some.code->target().fma) return some.code->scale(fma(r, polynomial(r, kSlope), 1), n);
    // Rounded products would take half a place more: what the first sum takes away goes with what is small beside it.
    static const std::vector<double> kRest(kSlope.begin() + 1, kSlope.end());
    const V first = r * kSlope[0], sum = first + 1;
    return some.code->scale(sum + ((first - (sum - 1)) + r * r * polynomial(r, kRest)), n);
  });
}

V sigmoid(V x) { return sigmoid_by(power_of, kNoPower, -40, x); }
V tanh(V x) {
  static const std::vector<double> kNear = fit_odd_tail<dd::tanh>(0.3025, 5);
  return tanh_by(power_of, kNear, 20, x);
}

// --- logarithms

struct Logarithm32 {
  V k, fraction, unit;  // unit: 2^-k
};
Logarithm32 split(V x) {
  constexpr int64_t kTwoThirds = 0x3f2aaaab;
  const V word = bits(x), k = (word - kTwoThirds) >> 23;
  return {convert(k, LaneType::f32), as_float(word - (k << 23)) - 1, as_float((127 - k) << 23)};
}
V logarithm(V k, V f, V low) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble f) { return (dd::log1p(f) - f + f * f * DoubleDouble(0.5)) / (f * f * f); }, -0.334, 0.34, 8);
  const V high = k * kLn2High, sum = high + f;
  const V lost = f - (sum - high);
  const V tail = fma(f * f, fma(f, polynomial(f, kTail), -0.5), fma(k, kLn2Low, lost) + low);
  return sum + tail;
}
V log_f32(V x) {
  const V tiny = x < 0x1p-126;
  const Logarithm32 l = split(select(tiny, x * 0x1p24, x));
  const V value = logarithm(l.k - select(tiny, from(x, 24), 0), l.fraction, from(x, 0));
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
  return select((x > 0) & (x < kInfinity), value, special);
}
V log1p_f32(V x) {
  const V sum = x + 1, lost = x - (sum - 1);
  const Logarithm32 l = split(sum);
  const V near = l.k == 0;
  const V f = select(near, x, l.fraction), low = select(near | (l.k > 64), 0, lost * l.unit * (from(f, 1) - f));
  const V value = logarithm(l.k, f, low);
  const V special = select(x == -1, -kInfinity, select(x < -1, kNan, x));
  return select((x > -1) & (x < kInfinity) & (x != 0), value, special);
}

// --- the error function

// 1 - erfc, where erfc falls as a power whose exponent is nearly a parabola. Near 0 the exponent is nearly the answer,
// so that nothing cancels; its first coefficient is one that f32 has, the rest of it stands among the others.
V erf(V x) {
  constexpr double kFirst = -0x1.20dd76p+0;  // -2 / sqrt(pi), nearly
  static const std::vector<double> kExponent =
      fit_doubles([](DoubleDouble r) { return (dd::log(dd::erfc(r)) - r * kFirst) / r; }, 0, 4, 11);
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.35, 4);
  const V size = at_most(abs(x), 4);  // from there on it is 1
  V exponent;
  if (x.code->target().fma) {
    // So near 0 nothing but the first coefficient is felt, and squares are no normal numbers.
    const V some = larger(size, from(x, 0x1p-40));
    exponent = fma(size, kFirst, size * polynomial_by_halves(some, kExponent));
  } else {  // a rounded product would take a whole place of the result: both factors are cut so that theirs is exact
    constexpr double kShort = -0x1.20cp+0;
    constexpr int64_t kUpperDigits = ~int64_t{0x1fff};
    const V high = as_float(bits(size) & kUpperDigits), low = size - high;
    const V rest = size * polynomial(size, kExponent);
    exponent = high * kShort + (low * kShort + (size * (kFirst - kShort) + rest));
  }
  // It is above -18: the power is a normal number, whose digits are the whole number's behind the large one's.
  constexpr double kLarge = 0x1.8p23;
  const V sum = fma(exponent, 1.4426950408889634, kLarge), r = fma(sum - kLarge, -0x1.62e43p-1, exponent);
  const V power = as_float((bits(sum) << 23) + 0x3f800000);
  const V some = for_powers(r), more = fma(some * some, polynomial(r, kTail), r);
  return copysign(fma(-power, more, from(x, 1) - power), x);
}

// --- of results that have at most 11 binary digits, 16 or more

V short_exp(V x) {
  static const std::vector<double> kSlope =
      fit_doubles([](DoubleDouble r) { return dd::expm1(r) / r; }, -0.3472, 0.35, 3);
  return unless_nothing(x, x < kNoPower, [](V some) {
    const V inside = at_most(some, 89);
    const V n = round_even(inside * 1.4426950408889634), r = fma(n, -0x1.62e43p-1, inside);
    return some.code->scale(fma(r, polynomial(r, kSlope), 1), n);
  });
}
// e^x - 1, beside 0 as elsewhere.
V short_expm1(V x) {
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.35, 2);
  const V n = round_even(x * 1.4426950408889634), r = fma(n, -0x1.62e43p-1, x);
  const V power = x.code->scale(from(x, 1), n);
  return fma(power, fma(r * r, polynomial(r, kTail), r), power - 1);
}
V short_erf(V x) {
  static const std::vector<double> kExponent =
      fit_doubles([](DoubleDouble r) { return dd::log(dd::erfc(r)) / r; }, 0, 4, 6);
  const V size = at_most(abs(x), 4);
  return copysign(short_expm1(size * polynomial(size, kExponent)), x);
}
V short_sigmoid(V x) {
  const V e = short_exp(-abs(x));
  return select(x < 0, e, 1) / (e + 1);
}
V short_tanh(V x) {
  const V less = short_expm1(at_least(abs(x) * -2, -40));
  return copysign(less / (less + 2), x);
}

// --- sine and cosine: the angle reduced in double, the series in f32

template <int Quarter>
V wave(V x) {
  static const std::vector<double> kSine = fit_odd_tail<dd::sin>(0.6169, 3);
  static const std::vector<double> kCosine = fit_doubles(
      [](DoubleDouble s) { return (dd::cos(dd::sqrt(s)) - DoubleDouble(1) + s * DoubleDouble(0.5)) / (s * s); }, 0,
      0.6169, 3);
  const Angle a = angle_by_double(x);
  const V some = for_powers(a.high), square = some * some;
  const V sine = a.high + fma(some * square, polynomial(square, kSine), a.low);
  // 1 - r^2 / 2, with what that sum loses.
  const V half = square * 0.5, most = from(x, 1) - half;
  const V lost = (from(x, 1) - most) - half;
  const V cosine = most + fma(square * square, polynomial(square, kCosine), lost - a.high * a.low);
  const V number = a.number + Quarter;
  const V value = select((number & 1) != 0, cosine, sine);
  const V turned = as_float(bits(value) ^ ((number & 2) << 30));
  return Quarter == 0 ? select(x == 0, x, turned) : turned;
}

}  // namespace

Angle angle_by_double(V x) {
  const Wide wide = widen(x);
  const V n = round_even(wide.hi * 0.6366197723675814);
  constexpr double kHigh = 0x1.921fb544p+0;  // 33 bits: exact times a small number
  const V r = fma(n, -static_cast<double>(dd::kHalfPi - DoubleDouble(kHigh)), fma(n, -kHigh, wide.hi));
  const V near_number = convert(n, LaneType::i32), large = !(abs(x) < 0x1p19);
  const auto all = x.code->rarely(large, {near_number, r}, [&] {
    const Quadrant far = far_quadrant(select(large & is_finite(wide.hi), wide.hi, 1));
    return std::vector<V>{convert(far.number, LaneType::i32), select(is_finite(wide.hi), far.angle.hi, kNan)};
  });
  const V high = convert(all[1], LaneType::f32), low = convert(all[1] - convert(high, LaneType::f64), LaneType::f32);
  return {all[0], high, low};
}

void add_fast(Spellings& t) {
  t.push_back({.name = "exp", .only_f32 = spell<exp>, .only_reduced = spell<short_exp>});
  t.push_back({.name = "exp2", .only_f32 = spell<exp2>});
  t.push_back({.name = "sigmoid", .only_f32 = spell<sigmoid>, .only_reduced = spell<short_sigmoid>});
  t.push_back({.name = "tanh", .only_f32 = spell<tanh>, .only_reduced = spell<short_tanh>});
  t.push_back({.name = "log", .only_f32 = spell<log_f32>});
  t.push_back({.name = "log1p", .only_f32 = spell<log1p_f32>});
  t.push_back({.name = "erf", .only_f32 = spell<erf>, .only_reduced = spell<short_erf>});
  t.push_back({.name = "sin", .only_f32 = spell<wave<0>>});
  t.push_back({.name = "cos", .only_f32 = spell<wave<1>>});
}

}  // namespace lenz::native
