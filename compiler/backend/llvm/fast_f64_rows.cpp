// What kernels of f64 spend their time in: in f64's own arithmetic, with a second part only where a rounding would
// show.
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_f64.h"
#include "compiler/backend/llvm/fast_powers.h"
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

// --- exponentials

constexpr double kNoPower = -746;  // e^x is nothing

const std::vector<double>& tail_of_exp() {
  static const std::vector<double> kTail =
      fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -0.3472, 0.3472, 10);
  return kTail;
}

Power power_of(V x) {
  const V n = round_even(x * 1.4426950408889634);
  // The first product is exact; the operand so reduced leads, the rest is small beside it.
  const V high = fma(n, -kLn2High, x), r = fma(n, -kLn2Low, high);
  return {high, fma(r * r, polynomial(r, tail_of_exp()), n * -kLn2Low), n};
}
V exp(V x) {
  return unless_nothing(x, x < kNoPower, [](V some) {
    const Power p = power_of(at_most(some, 711));
    return some.code->scale(p.one_more() + p.lost(), p.n);
  });
}

V exp2(V x) {
  return unless_nothing(x, x < -1076, [](V some) {
    const V least = at_most(some, 1025), n = round_even(least), r = least - n;
    const V high = r * dd::kLn2.hi, low = fma(r, dd::kLn2.hi, -high) + r * dd::kLn2.lo;
    const Power p{high, fma(high * high, polynomial(high, tail_of_exp()), fma(low, high, low)), n};
    return some.code->scale(p.one_more() + p.lost(), p.n);
  });
}

V sigmoid(V x) { return sigmoid_by(power_of, kNoPower, -45, x); }
V tanh(V x) {
  static const std::vector<double> kNear = fit_odd_tail<dd::tanh>(0.3025, 11);
  return tanh_by(power_of, kNear, 50, x);
}

// --- logarithms

struct Logarithm64 {
  V k, fraction, unit;  // x = 2^k (1 + fraction); unit: 2^-k
};
Logarithm64 split(V x) {
  constexpr int64_t kTwoThirds = 0x3fe5555555555555;
  const V word = bits(x), k = (word - kTwoThirds) >> 52;
  // The shift is small: exact as a float by way of the mantissa of a large number.
  const V number = as_float(k + 0x4338000000000000) - 0x1.8p52;
  return {number, as_float(word - (k << 52)) - 1.0, as_float((1023 - k) << 52)};
}
V logarithm(V k, V f, V low) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble f) { return (dd::log1p(f) - f + f * f * DoubleDouble(0.5)) / (f * f * f); }, -0.334, 0.334, 19);
  const V high = k * kLn2High, sum = high + f;
  const V lost = f - (sum - high), square = f * f, half = square * 0.5;
  const V less = sum - half, lost_too = (sum - less) - half;
  return less + (fma(square, f * polynomial(f, kTail), lost_too) + (fma(k, kLn2Low, lost) + low));
}
V log_f64(V x) {
  const V tiny = x < 0x1p-1022;
  const Logarithm64 l = split(select(tiny, x * 0x1p54, x));
  const V value = logarithm(l.k - select(tiny, from(x, 54), 0), l.fraction, from(x, 0));
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
  return select((x > 0) & (x < kInfinity), value, special);
}
V log1p_f64(V x) {
  const V sum = x + 1, lost = x - (sum - 1);
  const Logarithm64 l = split(sum);
  const V near = l.k == 0;
  const V f = select(near, x, l.fraction),
          low = select(near | (l.k > 64), 0, lost * l.unit * fma(f, f, from(f, 1) - f));
  const V value = logarithm(l.k, f, low);
  const V special = select(x == -1, -kInfinity, select(x < -1, kNan, x));
  return select((x > -1) & (x < kInfinity) & (x != 0), value, special);
}

// --- sine and cosine

Quadrant angle_of(V x) {
  static const std::vector<double> kParts = parts_of(dd::kHalfPi, 32, 4);
  const V n = round_even(x * 0.6366197723675814);
  // Products with all parts but the last are exact, and so is the first difference.
  const Wide once = exact_sum(fma(n, -kParts[0], x), n * -kParts[1]), twice = exact_sum(once.hi, n * -kParts[2]);
  const Wide near = renormalised(twice.hi, fma(n, -kParts[3], once.lo + twice.lo));
  const V large = !(abs(x) < 0x1p19);
  const auto all = x.code->rarely(large, {bits(n + 0x1.8p52), near.hi, near.lo}, [&] {
    const Quadrant far = far_quadrant(select(large & is_finite(x), x, 1));
    return std::vector<V>{far.number, far.angle.hi, far.angle.lo};
  });
  return {all[0], {all[1], all[2]}};
}
template <int Quarter>
V wave(V x) {
  static const std::vector<double> kSine = fit_odd_tail<dd::sin>(0.6169, 7);
  static const std::vector<double> kCosine = fit_doubles(
      [](DoubleDouble s) { return (dd::cos(dd::sqrt(s)) - DoubleDouble(1) + s * DoubleDouble(0.5)) / (s * s); }, 0,
      0.6169, 7);
  const Quadrant at = angle_of(x);
  const V high = at.angle.hi, low = at.angle.lo, square = high * high, half = square * 0.5;
  const V sine = high + fma(high * square, polynomial(square, kSine), low - low * half);
  // 1 - r^2 / 2, with what that sum loses.
  const V most = from(x, 1) - half, lost = (from(x, 1) - most) - half;
  const V cosine = most + fma(square * square, polynomial(square, kCosine), lost - high * low);
  const V number = at.number + Quarter;
  const V value = select((number & 1) != 0, cosine, sine);
  const V turned = as_float(bits(value) ^ ((number & 2) << 62));
  const V finite = select(is_finite(x), turned, kNan);
  return Quarter == 0 ? select(x == 0, x, finite) : finite;
}

// --- powers

// The logarithm to 70 bits: s = f / (2 + f), then 2 s + 2/3 s^3 + ..., whose first terms have a second part.
Wide long_log(V x) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble z) {
        const DoubleDouble s = dd::sqrt(z), half = dd::log1p(s) - dd::log1p(-s);  // 2 atanh(s)
        return (half / s - DoubleDouble(2) - z * DoubleDouble(2) / DoubleDouble(3)) / (z * z);
      },
      0, 0.0401, 8);
  static const DoubleDouble kThird = DoubleDouble(2) / DoubleDouble(3);
  const V tiny = x < 0x1p-1022;
  const Logarithm64 l = split(select(tiny, x * 0x1p54, x));
  const V k = l.k - select(tiny, from(x, 54), 0), f = l.fraction;
  const Wide d = renormalised(from(f, 2), f);
  const V inverse = from(f, 1) / d.hi, q = f * inverse;
  const Wide qd = exact_product(q, d.hi);
  const V q_low = (((f - qd.hi) - qd.lo) - q * d.lo) * inverse;
  const Wide s = renormalised(q, q_low), z = s * s, cube = s * z;
  const Wide third = cube * Wide{from(f, kThird.hi), from(f, kThird.lo)};
  const V rest = cube.hi * z.hi * polynomial(z.hi, kTail);
  const Wide fraction = renormalised(s.hi + s.hi, third.hi);
  const V low = fraction.lo + (s.lo + s.lo + third.lo + rest);
  const V high = k * kLn2High, sum = high + fraction.hi;
  return renormalised(sum, (fraction.hi - (sum - high)) + fma(k, kLn2Low, low));
}

}  // namespace

V power_f64(V size, V exponent) {
  const Wide base = long_log(size);
  const Wide product = exact_product(base.hi, exponent);
  const V far = !(abs(product.hi) < 800.0);
  const V high = select(far, select((base.hi > 0) ^ (exponent < 0), from(size, 800), -800), product.hi);
  const V low = select(far, 0, fma(base.lo, exponent, product.lo));
  const V n = round_even(high * 1.4426950408889634);
  const Wide r = exact_sum(fma(n, -kLn2High, high), fma(n, -kLn2Low, low));
  const V more = fma(r.hi * r.hi, polynomial(r.hi, tail_of_exp()), fma(r.hi, r.lo, r.lo));
  const Wide sum = renormalised(from(size, 1), r.hi);
  return size.code->scale(sum.hi + (sum.lo + more), n);
}

void add_fast_f64(Spellings& t) {
  t.push_back({.name = "exp", .only_f64 = spell<exp>});
  t.push_back({.name = "exp2", .only_f64 = spell<exp2>});
  t.push_back({.name = "sigmoid", .only_f64 = spell<sigmoid>});
  t.push_back({.name = "tanh", .only_f64 = spell<tanh>});
  t.push_back({.name = "log", .only_f64 = spell<log_f64>});
  t.push_back({.name = "log1p", .only_f64 = spell<log1p_f64>});
  t.push_back({.name = "sin", .only_f64 = spell<wave<0>>});
  t.push_back({.name = "cos", .only_f64 = spell<wave<1>>});
}

}  // namespace lenz::native
