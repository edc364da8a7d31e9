// Exponentials, logarithms, powers, trigonometric and hyperbolic functions of reals, through Wide: nothing but the last
// rounding is felt. What f32 wants faster stands in fast_rows.cpp.
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_f64.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

V clamped(V x, double low, double high) {  // NaN becomes low
  return select(x > low, select(x < high, x, high), low);
}
Wide one(Wide like) { return constant(like, 1); }
Wide scaled(Wide x, V n) {  // by 2^n; n in the range of LaneCode::scale, x near one
  return {x.hi.code->scale(x.hi, n), x.is_double() ? V{} : x.hi.code->scale(x.lo, n)};
}
V nan_kept(V x, V result) { return select(is_nan(x), x, result); }

// --- exponentials

V finished(Exponential e, LaneType type) {
  const V sum = narrow(e.minus_one + 1.0, LaneType::f64);
  return convert(sum.code->scale(sum, e.n), type);
}
template <bool Base2>
V exp(V x) {
  const double none = x.type == LaneType::f64 ? (Base2 ? -1076 : -746) : (Base2 ? -151 : -104);
  return unless_nothing(x, x < none, [none](V some) {
    const Wide w = widen(clamped(some, none, Base2 ? 1025 : 711));
    if (!Base2) return nan_kept(some, finished(exponential(w), some.type));
    const V n = round_even(w.hi);
    Exponential e = exponential((w - wide_of(w, n)) * constant(w, dd::kLn2));
    e.n = e.n + n;
    return nan_kept(some, finished(e, some.type));
  });
}
V expm1_row(V x) {
  // Over 2^n: (1 + m) - 2^-n, which does not overflow.
  const Exponential e = exponential(widen(clamped(x, -50, 711)));
  const V one = from(e.n, 1), power = x.code->scale(one, -e.n);
  const Wide rest = e.minus_one.is_double() ? wide_of(e.minus_one, one - power) : exact_sum(one, -power);
  const V sum = narrow(e.minus_one + rest, LaneType::f64);
  const V result = convert(x.code->scale(sum, e.n), x.type);
  return select(is_nan(x) | (abs(x) < 0x1p-60), x, result);
}

// --- logarithms

V logarithm_of(V x, Wide result) {
  const V value = narrow(result, x.type);
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
  return select((x > 0) & is_finite(x), value, special);
}
V usable(V x) { return select((x > 0) & is_finite(x), x, 1); }
V log_row(V x) { return logarithm_of(x, log(widen(usable(x)))); }
V log2_row(V x) {
  const Logarithm l = split_logarithm(widen(usable(x)));
  const Wide part = log1p_fraction(l.fraction) * constant(l.fraction, DoubleDouble(1) / dd::kLn2);
  return logarithm_of(x, part + wide_of(part, l.k));
}
V log10_row(V x) {
  const Wide l = log(widen(usable(x)));
  return logarithm_of(x, l * constant(l, DoubleDouble(1) / dd::kLn10));
}
V log1p_row(V x) {
  const V inside = (x > -1) & is_finite(x) & (abs(x) > 0x1p-60);
  const V value = narrow(log1p(widen(select(inside, x, 1))), x.type);
  const V special = select(x == -1, -kInfinity, select(x < -1, kNan, x));
  return select(inside, value, special);
}

// The greater operand, and what the lesser adds.
template <bool Base2>
V logaddexp(V a, V b) {
  const V high = select((a > b) | is_nan(a), a, b), low = select((a > b) | is_nan(a), b, a);
  Wide gap = widen(select(is_finite(high) & (low > -kInfinity), low, high)) - widen(high);
  gap = select(is_nan(gap.hi), constant(gap, 0), gap);
  const double least = gap.is_double() ? -500 : Base2 ? -1154 : -800;  // beyond that nothing is added
  gap = select(gap.hi > least, gap, constant(gap, least));
  if (Base2) gap = gap * constant(gap, dd::kLn2);
  const Exponential e = exponential(gap);
  const Wide grown = e.minus_one + 1.0;
  const auto in_base = [](const Wide& x) { return Base2 ? x * constant(x, DoubleDouble(1) / dd::kLn2) : x; };
  V both = narrow(widen(high) + in_base(log1p(scaled(grown, e.n))), a.type);
  // Far below, it is the power itself, which may be subnormal: beside a zero that is all there is.
  if (!gap.is_double()) {
    const V power = a.code->scale(narrow(in_base(grown), a.type), e.n);
    both = select(gap.hi < -500.0, high + power, both);
  }
  const V alone = is_infinite(high) | (low == -kInfinity);
  return select(is_nan(a), a, select(is_nan(b), b, select(alone, high, both)));
}

V sigmoid(V x) {
  const Exponential e = exponential(widen(-abs(clamped(x, -800, 800))));
  const Wide grown = e.minus_one + 1.0, power = scaled(grown, select(e.n > -1000.0, e.n, -1000.0));
  const V above = narrow(one(grown) / (power + 1.0), x.type);
  // Far below, the quotient is e^x itself, which may be subnormal.
  const V fraction = narrow(grown / (power + 1.0), LaneType::f64);
  const V below = convert(x.code->scale(fraction, e.n), x.type);
  return nan_kept(x, select(x < 0, below, above));
}

V logit(V x) {
  const V inside = (x > 0) & (x < 1);
  const Wide p = widen(select(inside, x, 0.25)), q = one(p) - p;
  Logarithm l = split_logarithm(p / q);
  // Near one half the quotient less one, without the quotient's rounding.
  l.fraction = select(l.k == 0.0, (p - q) / q, l.fraction);
  const Wide value = log1p_fraction(l.fraction) + wide_of(p, l.k) * constant(p, dd::kLn2);
  return select(inside, narrow(value, x.type), select(x == 0, -kInfinity, select(x == 1, kInfinity, from(x, kNan))));
}

// --- powers

V rsqrt(V x) { return from(x, 1) / sqrt(x); }

V cbrt(V x) {
  const V plain = is_finite(x) & (x != 0);
  const V value = abs(convert(select(plain, x, 1), LaneType::f64));
  const Fraction f = frexp(value);
  const V third = floor((f.exponent + 2.0) * (1.0 / 3)), rest = f.exponent - third * 3.0;  // -2, -1 or 0
  const V m = x.code->scale(f.mantissa, rest);                                             // in [1/8, 1)
  V root = fma(fma(m, from(m, -0.52), 1.15), m, 0.38);
  for (int i = 0; i < 3; ++i) {  // Halley's: the digits triple
    const V cube = root * root * root;
    root = root * (cube + m + m) / (cube + cube + m);
  }
  if (x.type == LaneType::f64) {
    const Wide square = exact_product(root, root), cube = square * Wide{root, from(root, 0)};
    const Wide error = cube - Wide{m, from(m, 0)};
    root = root - error.hi / (square.hi * 3.0);
  }
  return select(plain, copysign(convert(x.code->scale(root, third), x.type), x), x);
}

V hypot(V a, V b) {
  const V x = abs(a), y = abs(b), infinite = is_infinite(a) | is_infinite(b);
  const V high = select(x > y, x, y), plain = is_finite(high) & (high > 0);
  V result;
  if (a.type == LaneType::f32) {
    const Wide p = widen(x), q = widen(y);
    result = narrow(sqrt(p * p + q * q), a.type);
  } else {
    const V n = frexp(select(plain, high, 1)).exponent;
    const V u = ldexp(x, -n), v = ldexp(y, -n);
    const Wide root = sqrt(exact_product(u, u) + exact_product(v, v));
    result = select(plain, a.code->scale(narrow(root, a.type), n), high);
  }
  return select(infinite, kInfinity, select(is_nan(a) | is_nan(b), from(a, kNan), result));
}

// Of a finite size > 0 and a finite exponent.
V power_f32(V size, V exponent) {
  Wide product = log(widen(size)) * widen(exponent);
  product.hi = clamped(product.hi, -1000, 1000);
  return finished(exponential(product), size.type);
}
// By small whole numbers, which are products, and by halves: rounded once to three times, but nothing that overflows
// where the result doesn't.
std::optional<V> by_products(V a, double exponent) {
  if (exponent == 1) return a;
  if (exponent == 2) return a * a;
  if (exponent == 3) return a * a * a;
  if (exponent == 4) return (a * a) * (a * a);
  const V inverse = 1 / a;
  if (exponent == -1) return inverse;
  if (exponent == -2) return inverse * inverse;
  const V root = select(a == -kInfinity, kInfinity, sqrt(a) + 0);  // of -0 it is 0
  if (exponent == 0.5) return root;
  if (exponent == -0.5) return 1 / root;
  if (exponent == 1.5) return abs(a) * root;
  return {};
}
V pow(V a, V b) {
  if (const auto exponent = b.code->known(b))
    if (const auto product = by_products(a, *exponent)) return *product;
  const V size = abs(a), plain = is_finite(size) & (size > 0) & is_finite(b);
  V magnitude = a.type == LaneType::f64 ? power_f64(select(plain, size, 1), select(plain, b, 1))
                                        : power_f32(select(plain, size, 1), select(plain, b, 1));
  // C's special cases.
  const V whole = (trunc(b) == b), half = b * 0.5, odd = whole & (trunc(half) != half) & is_finite(b);
  const V grows = (size > 1) ^ (b < 0);
  const V by_infinite = select(size == 1, 1, select(grows, from(a, kInfinity), 0));
  const V of_extreme = select((size == 0) ^ (b < 0), from(a, 0), kInfinity);
  magnitude = select(plain, magnitude, select(is_infinite(b), by_infinite, of_extreme));
  V result = select(sign_bit(a) & odd, -magnitude, magnitude);
  result = select((a < 0) & !whole & is_finite(a) & is_finite(b), from(a, kNan), result);
  result = select(is_nan(a) | is_nan(b), from(a, kNan), result);
  return select((b == 0) | (a == 1), 1, result);
}

// --- trigonometric

V finite_or_one(V x) { return select(is_finite(x), x, 1); }
SinCos turned(V x) { return sin_cos(widen(x), quadrant(convert(finite_or_one(x), LaneType::f64))); }
V trigonometric(V x, Wide value) { return select(is_finite(x), narrow(value, x.type), from(x, kNan)); }
V zero_kept(V x, V result) { return select(x == 0, x, result); }
V sin_row(V x) { return zero_kept(x, trigonometric(x, turned(x).sin)); }
V cos_row(V x) { return trigonometric(x, turned(x).cos); }
V tan_row(V x) {
  const SinCos at = turned(x);
  return zero_kept(x, trigonometric(x, at.sin / at.cos));
}

V unit_or(V x, double other) { return select(abs(x) <= 1, x, other); }
V asin_row(V x) {
  const Wide w = widen(abs(unit_or(x, 0.5)));
  const Wide other = sqrt((one(w) - w) * (one(w) + w));
  const V value = copysign(narrow(atan2_positive(w, other), x.type), x);
  return select(abs(x) < 0x1p-60, x, select(abs(x) <= 1, value, from(x, kNan)));
}
V acos_row(V x) {
  const Wide w = widen(unit_or(x, 0.5));
  const Wide half = atan2_positive(sqrt(one(w) - w), sqrt(one(w) + w));
  return select(abs(x) <= 1, narrow(half * 2.0, x.type), from(x, kNan));
}
V atan_row(V x) {
  const V size = abs(x), large = size > 0x1p70;  // within an ulp of a quarter turn
  const Wide w = widen(select((size > 0x1p-60) & !large, size, 1));
  const V value = narrow(atan2_positive(w, one(w)), x.type);
  const V quarter = narrow(constant(w, dd::kHalfPi), x.type);
  return select(is_nan(x) | (size <= 0x1p-60), x, copysign(select(large, quarter, value), x));
}
V atan2_row(V y, V x) {
  V a = abs(y), b = abs(x);
  const V infinite = is_infinite(a) & is_infinite(b), none = (a == 0) & (b == 0);
  a = select(infinite, 1, a), b = select(infinite | none, 1, b);
  // Their quotient counts: brought into reach of the arithmetic.
  V p = convert(a, LaneType::f64), q = convert(b, LaneType::f64);
  const V high = select(p > q, p, q), plain = is_finite(high) & !is_nan(p) & !is_nan(q);
  const V n = frexp(select(plain & (high > 0), high, 1)).exponent;
  p = select(plain, p, select(is_infinite(p), from(p, 1), 0)),
  q = select(plain, q, select(is_infinite(q), from(q, 1), 0));
  p = select((p == 0) & (q == 0), 1, p);
  if (y.type == LaneType::f64) {
    const V by = select(plain, -n, 0);
    p = ldexp(p, by), q = ldexp(q, by);
  }
  const Wide like = widen(y);
  Wide angle = atan2_positive(wide_of(like, p), wide_of(like, q));
  angle = select(sign_bit(x), constant(like, dd::kPi) - angle, angle);
  V value = narrow(angle, y.type);
  if (y.type == LaneType::f64) {
    // So small a quotient is the angle itself; of the operands as they came, for it may be subnormal.
    const V steep = !sign_bit(x) & (q > p * 0x1p70) & plain;
    value = select(steep, a / b, value);
  }
  return select(is_nan(x) | is_nan(y), from(y, kNan), copysign(value, y));
}

// --- hyperbolic

V sinh_row(V x) {
  V n;
  const Wide w = sinh_over(widen(clamped(abs(x), 0, 712)), n);
  const V value = copysign(convert(x.code->scale(narrow(w, LaneType::f64), n), x.type), x);
  return select(is_nan(x) | (abs(x) < 0x1p-60), x, value);
}
V cosh_row(V x) {
  V n;
  const Wide w = cosh_over(widen(clamped(abs(x), 0, 712)), n);
  return nan_kept(x, convert(x.code->scale(narrow(w, LaneType::f64), n), x.type));
}
V tanh_row(V x) {
  const Wide e = expm1(widen(clamped(abs(x), 0, 25)) * 2.0);
  const V value = copysign(narrow(e / (e + 2.0), x.type), x);
  return select(is_nan(x) | (abs(x) < 0x1p-60), x, value);
}
V asinh_row(V x) {
  const V size = abs(x), large = size > 0x1p60, usual = is_finite(x) & (size > 0x1p-60);
  const Wide w = widen(select(usual & !large, size, 1)), square = w * w;
  const Wide near = log1p(w + square / (one(w) + sqrt(square + 1.0)));
  const Wide far = log(widen(select(usual & large, size, 1))) + constant(w, dd::kLn2);
  return select(usual, copysign(narrow(select(large, far, near), x.type), x), x);
}
V acosh_row(V x) {
  const V inside = (x >= 1) & is_finite(x), large = inside & (x > 0x1p60);
  const Wide w = widen(select(inside & !large, x, 1)), less = w - 1.0;
  const Wide near = log1p(less + sqrt(less * (w + 1.0)));
  const Wide far = log(widen(select(large, x, 1))) + constant(w, dd::kLn2);
  return select(inside, narrow(select(large, far, near), x.type), select(x < 1, kNan, x));
}
V atanh_row(V x) {
  const V inside = (abs(x) < 1) & (abs(x) > 0x1p-60);
  const Wide w = widen(abs(select(inside, x, 0.5)));
  const Wide value = log1p((w * 2.0) / (one(w) - w)) * 0.5;
  const V special = select(abs(x) == 1, copysign(from(x, kInfinity), x), select(abs(x) > 1, kNan, x));
  return select(inside, copysign(narrow(value, x.type), x), special);
}

Complex polar(V a, V b) {
  const SinCos at = turned(b);
  const V finite = is_finite(b), nan = from(b, kNan);
  const Wide size = widen(a);
  auto part = [&](Wide w) {
    const V product = narrow(size * w, a.type), plain = a * narrow(w, a.type);
    return select(finite, select(is_finite(product), product, plain), nan);
  };
  return {part(at.cos), select(b == 0, a * b, part(at.sin))};
}

// --- with logarithms and sines

V x_times(V x, V y, Wide logarithm, V plain, V special) {
  const V simple = x * narrow(logarithm, x.type);
  V value = narrow(widen(x) * logarithm, x.type);
  value = select(is_finite(simple) & (value != 0), value, simple);
  value = select(plain, value, x * special);
  return select(is_nan(y), y, select(x == 0, 0, value));
}
V xlogy(V x, V y) {
  const V plain = (y > 0) & is_finite(y);
  return x_times(x, y, log(widen(usable(y))), plain, select(y == 0, -kInfinity, select(y < 0, kNan, y)));
}
V xlog1py(V x, V y) {
  const V plain = (y > -1) & is_finite(y) & (abs(y) > 0x1p-60);
  const Wide logarithm = log1p(widen(select(plain, y, 1)));
  return x_times(x, y, logarithm, plain, select(y == -1, -kInfinity, select(y < -1, kNan, y)));
}
V entr(V x) {
  const V plain = (x > 0) & is_finite(x);
  const Wide logarithm = log(widen(usable(x)));
  const V simple = -x * narrow(logarithm, x.type);
  const V value = -narrow(widen(select(plain, x, 1)) * logarithm, x.type);
  return select(plain, select(is_finite(simple), value, simple), select(x == 0, 0, select(x < 0, -kInfinity, -x)));
}
V sinc(V x) {
  const V plain = is_finite(x) & (abs(x) > 0x1p-60);
  const V value = convert(select(plain, x, 1), LaneType::f64);
  // sin(pi x) from what x is beyond an integer: exact.
  const V whole = round_even(value), rest = value - whole;
  const Wide like = widen(x), angle = wide_of(like, rest) * constant(like, dd::kPi);
  // Beyond a quarter turn by the cosine of what is missing.
  const V outer = abs(rest) > 0.25;
  const Wide missing = (constant(like, 0.5) - abs(wide_of(like, rest))) * constant(like, dd::kPi);
  Wide sine = select(outer, cos_of(missing), sin_of(abs(angle)));
  const V half = whole * 0.5, odd = trunc(half) != half;
  sine = select(odd ^ (rest < 0), -sine, sine);
  const Wide result = sine / (wide_of(like, value) * constant(like, dd::kPi));
  // pi x may overflow: what is whole has no sine. The table has NaN from 2^1023 on, where twice x does.
  const V none = select(abs(value) >= 0x1p1023, kNan, from(x, 0));
  const V value_of = select(rest == 0, none, narrow(result, x.type));
  return select(plain, value_of, select(is_finite(x), from(x, 1), kNan));
}
V spherical_j0(V x) {
  const V plain = is_finite(x) & (abs(x) > 0x1p-60);
  const V value = select(plain, x, 1);
  const Wide quotient = turned(value).sin / widen(value);
  return select(plain, narrow(quotient, x.type), select(is_infinite(x), from(x, 0), select(is_nan(x), x, 1)));
}

}  // namespace

void add_elementary(Spellings& t) {
  t.push_back({.name = "exp", .reals = spell<exp<false>>});
  t.push_back({.name = "exp2", .reals = spell<exp<true>>});
  t.push_back({.name = "expm1", .reals = spell<expm1_row>});
  t.push_back({.name = "log", .reals = spell<log_row>});
  t.push_back({.name = "log2", .reals = spell<log2_row>});
  t.push_back({.name = "log10", .reals = spell<log10_row>});
  t.push_back({.name = "log1p", .reals = spell<log1p_row>});
  t.push_back({.name = "logaddexp", .reals = spell<logaddexp<false>>});
  t.push_back({.name = "logaddexp2", .reals = spell<logaddexp<true>>});
  t.push_back({.name = "sigmoid", .reals = spell<sigmoid>});
  t.push_back({.name = "logit", .reals = spell<logit>});
  t.push_back({.name = "sqrt", .reals = spell<[](V x) { return sqrt(x); }>});
  t.push_back({.name = "rsqrt", .reals = spell<rsqrt>});
  t.push_back({.name = "cbrt", .reals = spell<cbrt>});
  t.push_back({.name = "hypot", .reals = spell<hypot>});
  t.push_back({.name = "pow", .reals = spell<pow>});
  t.push_back({.name = "sin", .reals = spell<sin_row>});
  t.push_back({.name = "cos", .reals = spell<cos_row>});
  t.push_back({.name = "tan", .reals = spell<tan_row>});
  t.push_back({.name = "asin", .reals = spell<asin_row>});
  t.push_back({.name = "acos", .reals = spell<acos_row>});
  t.push_back({.name = "atan", .reals = spell<atan_row>});
  t.push_back({.name = "atan2", .reals = spell<atan2_row>});
  t.push_back({.name = "sinh", .reals = spell<sinh_row>});
  t.push_back({.name = "cosh", .reals = spell<cosh_row>});
  t.push_back({.name = "tanh", .reals = spell<tanh_row>});
  t.push_back({.name = "asinh", .reals = spell<asinh_row>});
  t.push_back({.name = "acosh", .reals = spell<acosh_row>});
  t.push_back({.name = "atanh", .reals = spell<atanh_row>});
  t.push_back({.name = "polar", .reals = spell<polar>});
  t.push_back({.name = "xlogy", .reals = spell<xlogy>});
  t.push_back({.name = "special_xlog1py", .reals = spell<xlog1py>});
  t.push_back({.name = "special_entr", .reals = spell<entr>});
  t.push_back({.name = "sinc", .reals = spell<sinc>});
  t.push_back({.name = "special_spherical_bessel_j0", .reals = spell<spherical_j0>});
}

}  // namespace lenz::native
