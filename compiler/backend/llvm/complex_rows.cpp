// Complex arithmetic and functions: through Wide, in which the formulas' cancellations don't reach the result.
#include <cmath>
#include <optional>

#include "compiler/backend/llvm/complex_parts.h"

namespace lenz::native {

namespace complex_parts {
V finite(Complex z) { return is_finite(z.re) & is_finite(z.im); }
V any_infinite(Complex z) { return is_infinite(z.re) | is_infinite(z.im); }
V any_nan(Complex z) { return is_nan(z.re) | is_nan(z.im); }
Pair widened(Complex z) {
  const V usable = finite(z);
  return {widen(select(usable, z.re, 1)), widen(select(usable, z.im, 1))};
}
Complex narrowed(Pair w, Complex z) {
  const V usable = finite(z), nan = from(z.re, kNan);
  return {select(usable, narrow(w.re, z.re.type), nan), select(usable, narrow(w.im, z.re.type), nan)};
}
Complex turned(Complex z) { return {-z.im, z.re}; }
Complex turned_back(Complex z) { return {z.im, -z.re}; }
Scaled scaled(Complex z) {
  const V usable = finite(z) & !((z.re == 0) & (z.im == 0));
  const V x = select(usable, z.re, 1), y = select(usable, z.im, 0);
  if (z.re.type == LaneType::f32) return {{widen(x), widen(y)}, convert(from(x, 0), LaneType::f64)};
  const V high = select(abs(x) > abs(y), abs(x), abs(y)), n = frexp(high).exponent;
  return {{widen(ldexp(x, -n)), widen(ldexp(y, -n))}, n};
}
Wide square_sum(Pair z) { return z.re * z.re + z.im * z.im; }
Wide angle_of(Wide y, Wide x, V y_sign) {
  const V none = (y.hi == 0) & (x.hi == 0);
  Wide angle = atan2_positive(abs(y), select(none, constant(x, 1), abs(x)));
  angle = select(x.hi < 0, constant(x, dd::kPi) - angle, angle);
  return select(sign_bit(y_sign), -angle, angle);
}
Complex seen_from_afar(Complex z, double size) {
  const V infinite = any_infinite(z);
  auto part = [&](V x) { return select(infinite, copysign(select(is_infinite(x), from(x, size), from(x, 0)), x), x); };
  return {part(z.re), part(z.im)};
}
V size_of(V made, Complex z) { return select(any_infinite(z), kInfinity, made); }
V angle_of_any(V made, Complex z) { return select(any_nan(z), from(made, kNan), made); }
}  // namespace complex_parts

namespace {
using namespace complex_parts;

Pair operator*(Wide a, Pair b) { return {a * b.re, a * b.im}; }

V with_sign(V value, V sign) { return select(value == 0, copysign(value, sign), value); }

Wide modulus(Pair z) { return sqrt(square_sum(z)); }

V absolute(Complex z) {
  const Scaled s = scaled(z);
  const V root = narrow(modulus(s.z), LaneType::f64);
  const V value = convert(ldexp(root, s.n), z.re.type);
  const V zero = (z.re == 0) & (z.im == 0);
  const V other = select(any_infinite(z), kInfinity, from(z.re, kNan));
  return select(zero, 0, select(finite(z), value, other));
}

Wide argument(Complex z) {
  const Scaled s = scaled(z);
  const V negative = sign_bit(z.re) & (z.re == 0);
  const Wide angle = angle_of(s.z.im, s.z.re, z.im);
  // Of zero: 0 or pi by the signs.
  const V zero = (z.re == 0) & (z.im == 0);
  const Wide of_zero = select(negative, constant(angle, dd::kPi), constant(angle, 0));
  const Wide made = select(zero, select(sign_bit(z.im), -of_zero, of_zero), angle);
  if (z.re.type != LaneType::f64) return made;
  // So small a quotient is the angle itself; of the parts as they came, for it may be subnormal.
  const V steep = finite(z) & !sign_bit(z.re) & (z.re > abs(z.im) * 0x1p70);
  return select(steep, widen(z.im / select(steep, z.re, 1)), made);
}
V angle(Complex z) {
  const V value = narrow(argument(seen_from_afar(z)), z.re.type);
  return select(any_nan(z), from(z.re, kNan), with_sign(value, z.im));
}

Complex multiplied(Complex a, Complex b) { return a * b; }
// Smith's: by the greater part of the divisor; by zero each part alone, as in eager.
Complex divided(Complex a, Complex b) {
  const V real_greater = abs(b.re) >= abs(b.im);
  const V p = select(real_greater, b.re, b.im), q = select(real_greater, b.im, b.re);
  const V ratio = q / p, scale = from(p, 1) / (p + q * ratio);
  const V x = select(real_greater, a.re, a.im), y = select(real_greater, a.im, a.re);
  const V im = (y - x * ratio) * scale;
  const auto parts = a.re.code->rarely(p == 0, {(x + y * ratio) * scale, select(real_greater, im, -im)}, [&] {
    const V by_none = select(q == 0, from(q, kInfinity), kNan);
    return std::vector<V>{a.re * by_none, a.im * by_none};
  });
  return {parts[0], parts[1]};
}
// In double, or with the divisor brought near one: what overflows on the way does not reach the result.
Complex quotient(Complex a, Complex b) {
  if (a.re.type == LaneType::f32) {
    auto wide = [](Complex z) { return Complex{convert(z.re, LaneType::f64), convert(z.im, LaneType::f64)}; };
    const Complex q = divided(wide(a), wide(b));
    return {convert(q.re, LaneType::f32), convert(q.im, LaneType::f32)};
  }
  const Scaled s = scaled(b), t = scaled(a);
  auto plain = [](Pair z) { return Complex{z.re.hi, z.im.hi}; };
  const V nothing = (a.re == 0) & (a.im == 0);
  const Complex top = plain(t.z);
  const Complex q = divided({select(nothing, a.re, top.re), select(nothing, a.im, top.im)}, plain(s.z));
  const V n = t.n - s.n, usable = finite(a) & finite(b) & !((b.re == 0) & (b.im == 0));
  const Complex direct = divided(a, b);
  return {select(usable, ldexp(q.re, n), direct.re), select(usable, ldexp(q.im, n), direct.im)};
}

}  // namespace

Complex complex_parts::reciprocal(Complex a) { return quotient({from(a.re, 1), from(a.re, 0)}, a); }

namespace {
Complex sign(Complex z) {
  const Scaled s = scaled(z);
  const Wide size = modulus(s.z);
  const Complex unit = narrowed({s.z.re / size, s.z.im / size}, z);
  const V zero = (z.re == 0) & (z.im == 0);
  return {select(zero, 0, unit.re), select(zero, 0, unit.im)};
}

Complex lerp(Complex a, Complex b, Complex w) {
  // Linear in a and b: large ones are made smaller, so that nothing overflows before the result does.
  const V high = larger(larger(abs(a.re), abs(a.im)), larger(abs(b.re), abs(b.im)));
  const V large = high > (a.re.type == LaneType::f32 ? 0x1p120 : 0x1p1000);
  const V shrink = select(large, from(high, 0x1p-8), 1), grow = select(large, from(high, 0x1p8), 1);
  const bool carried = a.re.type == LaneType::f32;  // a double carries what isn't finite through
  auto wide = [&](Complex z) { return carried ? Pair{widen(z.re), widen(z.im)} : widened(z); };
  const Pair x = wide({a.re * shrink, a.im * shrink}), y = wide({b.re * shrink, b.im * shrink}), t = wide(w);
  const Pair step{y.re - x.re, y.im - x.im};
  const V near = narrow(square_sum(t), LaneType::f64) < 0.25;
  const Wide u = select(near, t.re, t.re - 1.0);
  const Wide re = select(near, x.re, y.re) + u * step.re - t.im * step.im;
  const Wide im = select(near, x.im, y.im) + u * step.im + t.im * step.re;
  const Complex usual{narrow(re, a.re.type) * grow, narrow(im, a.re.type) * grow};
  if (carried) return usual;
  // Of what isn't finite, and where steps on the way aren't, it is what eager's own formula makes of it.
  auto plain = [&] {
    const Complex gap = b - a, one{from(a.re, 1), from(a.re, 0)};
    const V small = w.re * w.re + w.im * w.im < 0.25;
    const Complex first = a + w * gap, second = b - gap * (one - w);
    return std::vector<V>{select(small, first.re, second.re), select(small, first.im, second.im)};
  };
  const V rare = !(finite(a) & finite(b) & finite(w)) | any_nan(usual);
  const auto parts = a.re.code->rarely(rare, {usual.re, usual.im}, plain);
  return {parts[0], parts[1]};
}

// --- exponentials. A power 2^n is applied last. Beyond e^1600 all is infinite, the least of sines times it too.

constexpr double kFar = 1600;

V limited(V x, double limit) { return select(x > limit, limit, select(x < -limit, -limit, x)); }
SinCos sine_and_cosine(Wide like, V y) { return sin_cos(like, quadrant(convert(y, LaneType::f64))); }
// Of an angle in two parts: the low one turns further, by much where the angle is huge.
SinCos turned_by(Wide angle) {
  auto part = [&](V x) { return sin_cos(angle, quadrant(convert(select(is_finite(angle.hi), x, 0), LaneType::f64))); };
  const SinCos at = part(angle.hi);
  if (angle.is_double()) return at;
  const SinCos low = part(angle.lo);
  return {at.sin * low.cos + at.cos * low.sin, at.cos * low.cos - at.sin * low.sin};
}
Complex times_power(Pair w, V n, Complex z) {
  auto part = [&](Wide x) { return convert(ldexp(narrow(x, LaneType::f64), n), z.re.type); };
  const V usable = finite(z), nan = from(z.re, kNan);
  return {select(usable, part(w.re), nan), select(usable, part(w.im), nan)};
}

// An infinite real part is a large one, and where it is there, an imaginary part that is not finite is any angle.
V blurred(Complex z) { return is_infinite(z.re) & !is_finite(z.im); }
Complex with_large_real(Complex z) {
  return {select(is_infinite(z.re), copysign(from(z.re, 0x1p14), z.re), z.re), select(blurred(z), 0, z.im)};
}
// An infinite number of any angle has an infinite part, and one that is unknown.
V unknown_where_blurred(V part, V size, Complex z) {
  return select(blurred(z) & is_infinite(size), from(part, kNan), part);
}

Complex exp_of(Complex any) {
  const Complex z = with_large_real(any);
  const V x = select(finite(z), z.re, 0), y = select(finite(z), z.im, 0);
  const Exponential e = exponential(widen(limited(x, kFar)));
  const SinCos at = sine_and_cosine(e.minus_one, y);
  Complex result = times_power((e.minus_one + 1.0) * Pair{at.cos, at.sin}, e.n, z);
  result.im = unknown_where_blurred(select(z.im == 0, z.im, result.im), result.re, any);
  return result;
}
Complex exp2_of(Complex any) {
  const Complex z = with_large_real(any);
  const V x = select(finite(z), z.re, 0), y = select(finite(z), z.im, 0);
  const Wide ln2 = constant(widen(x), dd::kLn2);
  const Wide grow = widen(limited(x, 1100)) * ln2, turn = widen(y) * ln2;
  const Exponential e = exponential(grow);
  const SinCos at = turned_by(turn);
  Complex result = times_power((e.minus_one + 1.0) * Pair{at.cos, at.sin}, e.n, z);
  result.im = unknown_where_blurred(select(z.im == 0, z.im, result.im), result.re, any);
  return result;
}
Complex expm1_of(Complex any) {
  const Complex z = with_large_real(any);
  const V x = select(finite(z), z.re, 0), y = select(finite(z), z.im, 0);
  const V small = limited(x, 40);
  const Wide grown = expm1(widen(small));
  const SinCos at = sine_and_cosine(grown, y), half = sine_and_cosine(grown, y * 0.5);
  const Complex near = narrowed({grown * at.cos - half.sin * half.sin * 2.0, (grown + 1.0) * at.sin}, z);
  const Complex far = exp_of(z);  // beyond, the one is lost in the power
  const V inside = x < 40;
  const V re = select(inside, near.re, far.re), im = select(inside, near.im, far.im);
  return {re, unknown_where_blurred(select(z.im == 0, z.im, im), re, any)};
}

Complex sigmoid(Complex any) {
  // One far to the right, and nothing far to the left; but there eager has 1 / (1 + e^-z), and where that power is
  // infinite in both parts NaN.
  const Complex right = with_large_real(any);
  const V out = (any.re == kInfinity) | (any.im == 0);
  const Complex z{select(out, right.re, any.re), select(out, right.im, any.im)};
  // 1 / (1 + e^-z), or e^z / (1 + e^z), whichever power is small.
  const V below = z.re < 0;
  const V x = limited(select(finite(z), -abs(z.re), 0), 800), y = select(finite(z), select(below, z.im, -z.im), 0);
  const Exponential e = exponential(widen(x));
  LaneCode& code = *z.re.code;
  const V power = code.scale(from(e.n, 1), limited(e.n, 1000));
  Wide size = e.minus_one + 1.0;
  const SinCos at = sine_and_cosine(size, y);
  const Wide scale = wide_of(size, power);
  const Pair unit{size * at.cos, size * at.sin}, small{unit.re * scale, unit.im * scale};
  const Pair d{small.re + 1.0, small.im};
  const Wide norm = square_sum(d);
  const Complex above = narrowed({d.re / norm, -(d.im / norm)}, z);
  const Pair product{(unit.re * d.re + unit.im * d.im) / norm, (unit.im * d.re - unit.re * d.im) / norm};
  const Complex under = times_power(product, e.n, z);
  return {select(below, under.re, above.re), select(below, under.im, above.im)};
}

// --- logarithms

// Beside a modulus of one the logarithm is what the lesser part adds, however small: what the square sum has beyond one
// is made of exact factors there.
Pair log_pair(Complex any) {
  const Complex z = seen_from_afar(any);
  const Scaled s = scaled(z);
  Logarithm l = split_logarithm(square_sum(s.z));
  l.k = l.k + s.n * 2.0;
  const V beside = (l.k == 0) & finite(z), x = abs(z.re), y = abs(z.im), wider = x > y;
  const Wide greater = widen(select(beside, select(wider, x, y), 1)),
             least = widen(select(beside, select(wider, y, x), 0));
  l.fraction = select(beside, (greater - 1.0) * (greater + 1.0) + least * least, l.fraction);
  return {value_of(l) * 0.5, argument(z)};
}
Complex finished_log(Pair w, Complex z) {
  Complex result = narrowed(w, seen_from_afar(z));
  const V zero = (z.re == 0) & (z.im == 0);
  return {size_of(select(zero, -kInfinity, result.re), z), angle_of_any(with_sign(result.im, z.im), z)};
}
Complex log_of(Complex z) { return finished_log(log_pair(z), z); }
template <int Base>
Complex log_base(Complex z) {
  const Pair w = log_pair(z);
  const Wide factor = constant(w.re, DoubleDouble(1) / (Base == 2 ? dd::kLn2 : dd::kLn10));
  return finished_log({w.re * factor, w.im * factor}, z);
}
Complex log1p_of(Complex z) {
  const Pair w = widened(z);
  // 2x + x^2 + y^2: near 0 what the modulus is beyond one.
  const V small = (abs(z.re) < 0.5) & (abs(z.im) < 0.5);
  const Wide beyond = select(small, w.re * 2.0 + w.re * w.re + w.im * w.im, constant(w.re, 0));
  const Wide near = log1p(beyond) * 0.5, near_angle = angle_of(w.im, w.re + 1.0, z.im);
  const Complex first = narrowed({near, near_angle}, z), second = log_of({z.re + 1, z.im});
  // A modulus that is about a subnormal's is the operand's.
  const V tiny = (abs(z.re) < 0x1p-90) & (abs(z.im) < 0x1p-90);
  return {select(tiny, z.re, select(small, first.re, second.re)),
          select(tiny, z.im, with_sign(select(small, first.im, second.im), z.im))};
}

Complex sqrt_of(Complex z) {
  const Scaled s = scaled(z);
  // An even power of two is left outside.
  const V half = floor(s.n * 0.5), odd = s.n - half * 2.0;
  const Wide unit = wide_of(s.z.re, odd + 1.0);  // 2^0 or 2^1
  const Pair w{s.z.re * unit, s.z.im * unit};
  const Wide size = modulus(w), root = sqrt((size + abs(w.re)) * 0.5);
  const Wide other = abs(w.im) / (root * 2.0);
  const V left = w.re.hi < 0;
  Complex result = times_power({select(left, other, root), select(left, root, other)}, half, z);
  const V zero = (z.re == 0) & (z.im == 0);
  // An infinite imaginary part outweighs all; beside an infinite real one, any other is nothing.
  const V left_out = z.re == -kInfinity, above = is_infinite(z.im);
  const V beside = select(is_nan(z.im), z.im, from(z.im, 0)), infinite = from(z.re, kInfinity);
  result.re = select(above | (z.re == kInfinity), infinite, select(left_out, beside, select(zero, 0, result.re)));
  result.im = select(above | left_out, infinite, select(z.re == kInfinity, beside, select(zero, 0, result.im)));
  return {result.re, copysign(result.im, z.im)};
}
Complex rsqrt_of(Complex z) { return reciprocal(sqrt_of(z)); }

// By small whole numbers, which are products, as eager has them.
std::optional<Complex> by_products(Complex a, Complex b) {
  const auto exponent = b.re.code->known(b.re), turn = b.im.code->known(b.im);
  if (!exponent || turn != 0.0) return {};
  if (*exponent == 1) return a;
  if (*exponent == 2) return a * a;
  if (*exponent == 3) return a * a * a;
  return {};
}
// C's product: where both parts came out as NaN beside an infinite operand, or of an overflow, it is an infinity.
Complex product_as_in_c(Complex a, Complex b) {
  const V ac = a.re * b.re, bd = a.im * b.im, ad = a.re * b.im, bc = a.im * b.re;
  const V re = ac - bd, im = ad + bc, of_a = any_infinite(a), of_b = any_infinite(b);
  const V overflows = is_infinite(ac) | is_infinite(bd) | is_infinite(ad) | is_infinite(bc);
  auto part = [](V x, V boxed, V cleared) {
    const V unit = select(boxed, select(is_infinite(x), from(x, 1), from(x, 0)), x);
    return copysign(select(is_nan(x) & cleared, 0, unit), x);
  };
  const Complex x{part(a.re, of_a, of_b | overflows), part(a.im, of_a, of_b | overflows)};
  const Complex y{part(b.re, of_b, of_a | overflows), part(b.im, of_b, of_a | overflows)};
  const Complex direction = x * y;
  const V rescued = is_nan(re) & is_nan(im) & (of_a | of_b | overflows);
  return {select(rescued, direction.re * kInfinity, re), select(rescued, direction.im * kInfinity, im)};
}
Complex pow_of(Complex a, Complex b) {
  if (const auto product = by_products(a, b)) return *product;
  // The product of both may overflow where the power is nothing but a zero: it is taken so much smaller first.
  constexpr double kSpare = 0x1p12;
  const Pair l = log_pair(a), whole = widened(b), y{whole.re * (1 / kSpare), whole.im * (1 / kSpare)};
  Wide grow = (y.re * l.re - y.im * l.im) * kSpare, turn = (y.re * l.im + y.im * l.re) * kSpare;
  // Of what isn't finite it is what C's product of exponent and logarithm has for an exponential.
  const V special = !(finite(a) & finite(b)), zeros = from(b.re, 0);
  const auto exponent = a.re.code->rarely(special, {b.re, b.im, zeros}, [&] {
    const Complex any = product_as_in_c(b, finished_log(l, a)), z = with_large_real(any);
    return std::vector<V>{z.re, z.im, select(blurred(any), from(z.re, 1), zeros)};
  });
  const Complex power{exponent[0], exponent[1]};
  auto given = [&](V part, Wide made) { return select(special, widen(select(finite(power), part, 0)), made); };
  grow = given(power.re, grow), turn = given(power.im, turn);
  const V limit = limited(grow.hi, kFar);
  const Exponential e =
      exponential(grow.is_double() ? Wide{limit, {}} : Wide{limit, select(abs(grow.hi) > kFar, 0, grow.lo)});
  const SinCos at = turned_by(turn);
  Complex value = times_power((e.minus_one + 1.0) * Pair{at.cos, at.sin}, e.n, power);
  value.im = select(special & (power.im == 0), power.im, value.im);
  value.im = select((exponent[2] > 0) & is_infinite(value.re), from(value.im, kNan), value.im);
  const V zero = (a.re == 0) & (a.im == 0), none = (b.re == 0) & (b.im == 0), vanishes = b.re > 0;
  const V pole = select(b.re < 0, from(a.re, kInfinity), kNan);
  const V of_zero = select(none, from(a.re, 1), select(vanishes, from(a.re, 0), pole));
  return {select(zero, of_zero, value.re), select(zero, select(none | vanishes, from(a.re, 0), kNan), value.im)};
}

// --- trigonometric and hyperbolic: sinh and cosh of one part, sin and cos of the other

struct Waves {
  Wide sinh, cosh;
  SinCos at;
  V n;  // of sinh and cosh
};
Waves waves(Complex z) {  // of what has no infinite real part
  const V x = select(finite(z), z.re, 0), y = select(finite(z), z.im, 0);
  Waves w;
  const Wide size = widen(limited(abs(x), kFar));
  w.sinh = sinh_over(size, w.n);
  w.cosh = cosh_over(size, w.n);
  w.sinh = select(sign_bit(x), -w.sinh, w.sinh);
  w.at = sine_and_cosine(size, y);
  return w;
}
Complex sinh_of(Complex any) {
  const Complex z = with_large_real(any);
  const Waves w = waves(z);
  const Complex value = times_power({w.sinh * w.at.cos, w.cosh * w.at.sin}, w.n, z);
  const V im = select(z.im == 0, z.im, value.im);
  const V re = select(blurred(any), abs(value.re), value.re);  // of either sign; positive in the C library
  return {select(z.re == 0, z.re, re), unknown_where_blurred(im, value.re, any)};
}
Complex cosh_of(Complex any) {
  const Complex z = with_large_real(any);
  const Waves w = waves(z);
  const Complex value = times_power({w.cosh * w.at.cos, w.sinh * w.at.sin}, w.n, z);
  // On the axes it is real, whatever the angle or the size.
  const V beside = select((z.re == 0) & !is_finite(z.im), 0, value.im);
  const V im = select((z.im == 0) & is_nan(z.re), z.im, beside);
  return {value.re, unknown_where_blurred(im, value.re, any)};
}
Complex tanh_of(Complex z) {
  // (sinh cosh + i sin cos) / (sinh^2 + cos^2); far out it is 1 but for the angle.
  const V far = abs(z.re) > 40, x = select(finite(z) & !far, z.re, 0), y = select(finite(z), z.im, 0);
  const Waves w = waves({x, y});
  LaneCode& code = *z.re.code;
  const Wide power = wide_of(w.sinh, code.scale(from(w.n, 1), w.n));
  const Wide s = w.sinh * power, c = w.cosh * power;
  const Wide below = s * s + w.at.cos * w.at.cos;
  const Complex near = narrowed({s * c / below, w.at.sin * w.at.cos / below}, z);
  const Complex shrink = exp_of({limited(abs(z.re), 1000) * -2.0, from(z.re, 0)});
  const V product = narrow(w.at.sin * w.at.cos, z.re.type) * 4.0 * shrink.re;
  const V one = copysign(from(z.re, 1), z.re);
  return {select(far, one, select(z.re == 0, z.re, near.re)), select(z.im == 0, z.im, select(far, product, near.im))};
}
Complex sin_of_z(Complex z) {
  const Complex value = turned_back(sinh_of(turned(z)));
  return {value.re, select(blurred(turned(z)), abs(value.im), value.im)};
}
Complex cos_of_z(Complex z) { return cosh_of(turned(z)); }
Complex tan_of(Complex z) { return turned_back(tanh_of(turned(z))); }

Complex sinc(Complex z) {
  // The angle pi z: its real part reduced exactly, by what it is beyond a whole number.
  const V x = select(finite(z), z.re, 1), y = select(finite(z), z.im, 1);
  const Wide pi = constant(widen(x), dd::kPi);
  const Pair turn{widen(x) * pi, widen(y) * pi};
  V n;
  const Wide size = abs(turn.im),
             far_size{limited(size.hi, kFar), size.is_double() ? V{} : select(size.hi > kFar, 0, size.lo)};
  const Wide c = cosh_over(far_size, n), s0 = sinh_over(far_size, n), s = select(turn.im.hi < 0, -s0, s0);
  const V whole = round_even(convert(x, LaneType::f64)), rest = convert(x, LaneType::f64) - whole;
  const Wide angle = wide_of(pi, rest) * pi;
  const V quarter = round_even(rest * 2.0);
  const Wide reduced = angle - wide_of(pi, quarter) * constant(pi, dd::kHalfPi);
  const V half = whole * 0.5, odd = trunc(half) != half;
  const SinCos at =
      sin_cos(pi, {bits(quarter + 0x1.8p52), {reduced.hi, reduced.is_double() ? reduced.hi : reduced.lo}});
  const Wide sine = select(odd, -at.sin, at.sin), cosine = select(odd, -at.cos, at.cos);
  const Pair top{sine * c, cosine * s};
  // The divisor's square may overflow where the quotient doesn't: it is made so much smaller first.
  constexpr double kBits = 600;
  const V large = larger(abs(turn.re).hi, abs(turn.im).hi) > 0x1p500;
  const Wide less = wide_of(pi, select(large, from(n, 0x1p-600), 1));
  const Pair near{turn.re * less, turn.im * less};
  const Wide norm = square_sum(near);
  const Pair quotient{(top.re * near.re + top.im * near.im) / norm, (top.im * near.re - top.re * near.im) / norm};
  const Complex value = times_power(quotient, select(large, n - kBits, n), z);
  const V zero = (abs(z.re) < 0x1p-60) & (abs(z.im) < 0x1p-60);
  return {select(zero, 1, value.re), select(zero, 0, value.im)};
}

// The operand with the greater real part, and what the other adds: log(1 + e^gap), which may cancel the former.
Complex logaddexp(Complex a, Complex b) {
  const V swap = a.re >= b.re;
  const Complex low{select(swap, b.re, a.re), select(swap, b.im, a.im)};
  const Complex high{select(swap, a.re, b.re), select(swap, a.im, b.im)};
  const V usable = finite(low) & finite(high), far = !usable | (low.re - high.re < -800);
  const Pair x = widened({select(far, 0, low.re), select(far, 0, low.im)});
  const Pair y = widened({select(far, 1, high.re), select(far, 0, high.im)});
  const Exponential e = exponential(x.re - y.re);
  const SinCos at = turned_by(x.im - y.im);
  LaneCode& code = *a.re.code;
  const Wide size = e.minus_one + 1.0, power = wide_of(size, code.scale(from(e.n, 1), limited(e.n, 1000)));
  const Wide re = size * at.cos * power, im = size * at.sin * power;
  const Wide sum_re = y.re + log1p(re * 2.0 + re * re + im * im) * 0.5;
  const Wide sum_im = y.im + angle_of(im, re + 1.0, im.hi);
  const Complex both{narrow(sum_re, a.re.type), narrow(sum_im, a.re.type)};
  // Infinitely far below, the lesser adds nothing, whatever its angle; of two that are infinite the sum has an angle.
  auto of_infinite = [&] {
    const V nan = from(a.re, kNan), alike = high.re == low.re;
    const V alone = (low.re - high.re == -kInfinity) | (alike & (high.re == -kInfinity));
    const Complex sum = log_of(exp_of(low) + exp_of(high));
    const V none = any_nan(low) | any_nan(high), summed = alike & (high.re == kInfinity);
    auto part = [&](V of_one, V of_sum) {
      return select(none, nan, select(alone, of_one, select(summed, of_sum, nan)));
    };
    return std::vector<V>{part(high.re, sum.re), part(select(alike, low.im, high.im), sum.im)};
  };
  const auto parts = code.rarely(!usable, {select(far, high.re, both.re), select(far, high.im, both.im)}, of_infinite);
  return {parts[0], parts[1]};
}

}  // namespace

Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

void add_complex(Spellings& t) {
  auto add = [&](std::string_view name, Spell spelling) { t.push_back({.name = name, .complexes = spelling}); };
  add("add", spell_complex<[](Complex a, Complex b) { return a + b; }>);
  add("sub", spell_complex<[](Complex a, Complex b) { return a - b; }>);
  add("mul", spell_complex<multiplied>);
  add("div", spell_complex<quotient>);
  add("neg", spell_complex<[](Complex a) { return Complex{-a.re, -a.im}; }>);
  add("square", spell_complex<[](Complex a) { return a * a; }>);
  add("reciprocal", spell_complex<reciprocal>);
  add("abs", spell_complex<absolute>);
  add("angle", spell_complex<angle>);
  add("sgn", spell_complex<sign>);
  add("lerp", spell_complex<lerp>);
  add("exp", spell_complex<exp_of>);
  add("exp2", spell_complex<exp2_of>);
  add("expm1", spell_complex<expm1_of>);
  add("log", spell_complex<log_of>);
  add("log2", spell_complex<log_base<2>>);
  add("log10", spell_complex<log_base<10>>);
  add("log1p", spell_complex<log1p_of>);
  add("logaddexp", spell_complex<logaddexp>);
  add("sigmoid", spell_complex<sigmoid>);
  add("sqrt", spell_complex<sqrt_of>);
  add("rsqrt", spell_complex<rsqrt_of>);
  add("pow", spell_complex<pow_of>);
  add("sin", spell_complex<sin_of_z>);
  add("cos", spell_complex<cos_of_z>);
  add("tan", spell_complex<tan_of>);
  add("sinh", spell_complex<sinh_of>);
  add("cosh", spell_complex<cosh_of>);
  add("tanh", spell_complex<tanh_of>);
  add("sinc", spell_complex<sinc>);
  add_complex_arcs(t);
}

}  // namespace lenz::native
