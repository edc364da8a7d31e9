// Inverse functions of complex numbers, trigonometric and hyperbolic.
#include "compiler/backend/llvm/complex_parts.h"

namespace lenz::native {

namespace {
using namespace complex_parts;

// asin(x + iy) for x, y >= 0, by the distances from 1 and -1 (Hull, Fairgrieve and Tang's formulas).
struct Arcs {
  Wide sine_re, cosine_re, im;
};
Arcs arcs(Wide x, Wide y) {
  const Wide one = constant(x, 1), yy = y * y;
  const Wide p = x + one, m = one - x;
  // At one the distance from it is y, whose square may vanish.
  const V at_one = m.hi == 0;
  const Wide r = sqrt(p * p + yy), s = select(at_one, y, sqrt(m * m + yy)), a = (r + s) * 0.5;
  const V inside = m.hi >= 0;
  const Wide tiny = constant(x, 0x1p-1000);
  auto over = [&](Wide d) { return yy / (d + tiny); };
  const Wide left = over(r + p);
  const Wide a_less_one = (left + select(inside & !at_one, over(s + abs(m)), s + abs(m))) * 0.5;
  const Wide a_less_x = (left + y * 0.0 + select(inside, s + abs(m), over(s + abs(m)))) * 0.5;
  const Wide root = sqrt((a + x) * a_less_x);
  const V none = (x.hi == 0) & (root.hi == 0);
  return {atan2_positive(x, select(none, one, root)), atan2_positive(root, select(none, one, x)),
          log1p(a_less_one + sqrt(a_less_one * (a + 1.0)))};
}
// Of a large operand: asin z = asin(x / |z|) + i log(2 |z|).
Arcs far_arcs(Complex z) {
  const Scaled s = scaled(z);
  const Wide x = abs(s.z.re), y = abs(s.z.im);
  const V none = (x.hi == 0) & (y.hi == 0);
  const Wide size = log(square_sum(s.z)) * 0.5;
  return {atan2_positive(x, select(none, constant(x, 1), y)), atan2_positive(y, select(none, constant(x, 1), x)),
          size + (wide_of(size, s.n) + 1.0) * constant(size, dd::kLn2)};
}
// Of operands so large an infinite one is the largest: only the size that it has, which is infinite, is left to say.
Complex brought_in(Complex z) { return seen_from_afar(z, z.re.type == LaneType::f32 ? 0x1p120 : 0x1p1000); }
Arcs arcs_of(Complex z) {
  const double limit = z.re.type == LaneType::f32 ? 0x1p100 : 0x1p200;
  const V far = (abs(z.re) > limit) | (abs(z.im) > limit);
  const Pair w = widened({select(far, 1, abs(z.re)), select(far, 1, abs(z.im))});
  const Arcs near = arcs(w.re, w.im), out = far_arcs(z);
  return {select(far, out.sine_re, near.sine_re), select(far, out.cosine_re, near.cosine_re),
          select(far, out.im, near.im)};
}
V tiny_operand(Complex z) { return (abs(z.re) < 0x1p-60) & (abs(z.im) < 0x1p-60); }
Complex kept_where_tiny(Complex z, Complex value) {
  return {select(tiny_operand(z), z.re, value.re), select(tiny_operand(z), z.im, value.im)};
}
Complex asin_of(Complex any) {
  const Complex z = brought_in(any);
  const Arcs a = arcs_of(z);
  const Complex value = narrowed({a.sine_re, a.im}, z);
  const V re = select(any.re == 0, any.re, angle_of_any(value.re, any)), im = size_of(value.im, any);
  return kept_where_tiny(z, {copysign(re, z.re), copysign(im, z.im)});
}
// The angle in [0, pi], and the size, each without the sign.
Complex cosine_arc(Complex any) {
  const Complex z = brought_in(any);
  const Arcs a = arcs_of(z);
  const Wide angle = select(sign_bit(z.re), constant(a.im, dd::kPi) - a.cosine_re, a.cosine_re);
  const Complex value = narrowed({angle, a.im}, z);
  const V re = select((any.re == 0) & is_nan(any.im), narrow(constant(a.im, dd::kHalfPi), any.re.type),
                      angle_of_any(value.re, any));
  return {re, size_of(select(tiny_operand(z), abs(z.im), value.im), any)};
}
Complex acos_of(Complex z) {
  const Complex arc = cosine_arc(z);
  return {arc.re, select(sign_bit(z.im), arc.im, -arc.im)};
}
Complex asinh_of(Complex z) { return turned_back(asin_of(turned(z))); }
Complex acosh_of(Complex z) {
  const Complex arc = cosine_arc(z);
  return {arc.im, copysign(arc.re, z.im)};
}
Complex atanh_of(Complex z) {
  const double limit = z.re.type == LaneType::f32 ? 0x1p100 : 0x1p200;
  const V far = (abs(z.re) > limit) | (abs(z.im) > limit);
  const Pair w = widened({select(far, 1, abs(z.re)), select(far, 1, abs(z.im))});
  const Wide one = constant(w.re, 1), less = one - w.re, yy = w.im * w.im;
  const Wide norm = less * less + yy;
  const V pole = norm.hi == 0;
  // At one, where only the distance from it counts, its square may vanish.
  const V beside = (less.hi == 0) & (w.im.hi < 0x1p-100) & (w.im.hi > 0);
  const Wide steep = (constant(one, dd::kLn2) - log(select(beside, w.im, one))) * 0.5;
  const Wide re = select(beside, steep, log1p(w.re * 4.0 / select(pole, one, norm)) * 0.25);
  const Wide down = less * (w.re + 1.0) - yy;
  const Wide im = angle_of(w.im * 2.0, select(pole, one, down), w.im.hi) * 0.5;
  Complex value = narrowed({re, im}, z);
  // Far out: 1 / z, beside a quarter turn.
  const Complex inverse = reciprocal(z);
  const V quarter = narrow(constant(re, dd::kHalfPi), z.re.type);
  value.im = select(beside, quarter * 0.5, value.im);
  value.re = select(far, select(any_infinite(z), 0, abs(inverse.re)), select(pole & !beside, kInfinity, value.re));
  value.im = select(far, select(is_nan(z.im), from(quarter, kNan), quarter), value.im);
  value.re = select(z.re == 0, z.re, value.re);
  return kept_where_tiny(z, {copysign(value.re, z.re), copysign(value.im, z.im)});
}
Complex atan_of(Complex z) { return turned_back(atanh_of(turned(z))); }

}  // namespace

void add_complex_arcs(Spellings& t) {
  auto add = [&](std::string_view name, Spell spelling) { t.push_back({.name = name, .complexes = spelling}); };
  add("asin", spell_complex<asin_of>);
  add("acos", spell_complex<acos_of>);
  add("atan", spell_complex<atan_of>);
  add("asinh", spell_complex<asinh_of>);
  add("acosh", spell_complex<acosh_of>);
  add("atanh", spell_complex<atanh_of>);
}

}  // namespace lenz::native
