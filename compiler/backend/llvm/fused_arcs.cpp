// Arc sine and cosine where a fused multiply-add is an instruction: up to a half by a polynomial, beyond by half the
// angle, whose sine is the root of (1 - x) / 2.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"

namespace lenz::native {

namespace {

// The arc sine of `sine`, which is the operand or, `far`, that root, is sine + more.
struct HalfAngle {
  V far, sine, more;
};

// The root, and what its rounding took away; NaN beyond 1, nothing of 0.
struct Root {
  V value, rest;
};
Root root_of_f32(V square) {
  constexpr double kNothing = 0x1p-100;  // keeps the root of 0 from being NaN
  const V estimate = square.code->rsqrt_estimate(square + kNothing), root = square * estimate;
  const V missing = fma(-root, root, square) * (estimate * 0.5), better = root + missing;
  return {better, missing - (better - root)};
}
Root root_of_f64(V square) {
  constexpr double kNothing = 0x1p-500;  // keeps what a root of 0 lacks from being NaN
  const V root = sqrt(square);
  return {root, fma(-root, root, square) * 0.5 / (root + kNothing)};
}

HalfAngle half_angle(V operand) {
  static const std::vector<double> kTail = fit_odd_tail<dd::asin>(0.25, 5),
                                   kLongTail = fit_odd_tail<dd::asin>(0.25, 17);
  const bool is_f64 = operand.type == LaneType::f64;
  const V size = abs(operand), far = size > 0.5;
  const V some = for_powers(operand), square = select(far, fma(size, -0.5, 0.5), some * some);
  const Root root = is_f64 ? root_of_f64(square) : root_of_f32(square);
  const V sine = select(far, root.value, operand), rest = select(far, root.rest, 0);
  return {far, sine, fma(sine * square, polynomial(square, is_f64 ? kLongTail : kTail), rest)};
}

// from + times * (sine + more)
V angle_from(const HalfAngle& h, V high, V low, V times) {
  const V sum = fma(times, h.sine, high), lost = fma(times, h.sine, high - sum);
  return sum + fma(times, h.more, lost + low);
}
V asin(V x) {
  const HalfAngle h = half_angle(abs(x));
  const DoubleDouble quarter = split(dd::kHalfPi, x.type);
  return copysign(angle_from(h, select(h.far, from(x, quarter.hi), 0), select(h.far, from(x, quarter.lo), 0),
                             select(h.far, from(x, -2), 1)),
                  x);
}
V acos(V x) {
  const HalfAngle h = half_angle(x);
  const DoubleDouble quarter = split(dd::kHalfPi, x.type), half = split(dd::kPi, x.type);
  const V below = x < 0;
  return angle_from(h, select(h.far, select(below, from(x, half.hi), 0), quarter.hi),
                    select(h.far, select(below, from(x, half.lo), 0), quarter.lo),
                    select(h.far, select(below, from(x, -2), 2), -1));
}

}  // namespace

void add_fused_arcs(Spellings& t) {
  t.push_back({.name = "asin", .fused_f32 = spell<asin>, .fused_f64 = spell<asin>});
  t.push_back({.name = "acos", .fused_f32 = spell<acos>, .fused_f64 = spell<acos>});
}

}  // namespace lenz::native
