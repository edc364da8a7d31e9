// Arc sine and cosine of f64 where a fused multiply-add is an instruction: up to a half by a polynomial, beyond by half
// the angle, whose sine is the root of (1 - x) / 2.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"

namespace lenz::native {

namespace {

// asin(r) = r + more(r); sine + rest is the operand itself or that root, which is NaN beyond 1.
struct HalfAngle {
  V far, sine, more;
};
HalfAngle half_angle(V operand) {
  static const std::vector<double> kTail = fit_odd_tail<dd::asin>(0.25, 17);
  constexpr double kNothing = 0x1p-500;  // keeps what a root of 0 lacks from being NaN
  const V size = abs(operand), far = size > 0.5;
  const V square = select(far, fma(size, -0.5, 0.5), operand * operand), root = sqrt(square);
  const V rest = select(far, fma(-root, root, square) * 0.5 / (root + kNothing), 0);
  const V sine = select(far, root, operand);
  return {far, sine, fma(sine * square, polynomial(square, kTail), rest)};
}
// from + times * (sine + more)
V angle_from(const HalfAngle& h, V high, V low, V times) {
  const V sum = fma(times, h.sine, high), lost = fma(times, h.sine, high - sum);
  return sum + fma(times, h.more, lost + low);
}
V asin(V x) {
  const HalfAngle h = half_angle(abs(x));
  const V zero = from(x, 0);
  return copysign(angle_from(h, select(h.far, dd::kHalfPi.hi, zero), select(h.far, dd::kHalfPi.lo, zero),
                             select(h.far, from(x, -2), 1)),
                  x);
}
V acos(V x) {
  const HalfAngle h = half_angle(x);
  const V below = x < 0, zero = from(x, 0);
  return angle_from(h, select(h.far, select(below, dd::kPi.hi, zero), dd::kHalfPi.hi),
                    select(h.far, select(below, dd::kPi.lo, zero), dd::kHalfPi.lo),
                    select(h.far, select(below, from(x, -2), 2), -1));
}

}  // namespace

void add_fused_arcs(Spellings& t) {
  t.push_back({.name = "asin", .fused_f64 = spell<asin>});
  t.push_back({.name = "acos", .fused_f64 = spell<acos>});
}

}  // namespace lenz::native
