// Sine, cosine and tangent where a fused multiply-add is an instruction: of f32 and f64 in their own arithmetic. An
// angle is a number of steps, of which registers hold the sines, and so little more that short series do.
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_angles.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

// In parts of one sign, so that no zero changes its own where nothing of a step is taken from it.
DoubleDouble split_of_one_sign(DoubleDouble value, LaneType type) {
  const DoubleDouble nearest = split(value, type);
  if (nearest.lo >= 0) return nearest;
  const double below = std::nextafter(static_cast<float>(nearest.hi), 0.0F);
  return {below, (value.hi - below) + value.lo};
}

struct Turn {
  int in_quarter;  // steps
  DoubleDouble step;
  double per_radian;
  double large;       // beside it the type has whole numbers only
  double most, near;  // steps that two parts of a step serve, and where too little is left for them, of each step
  HeldTable sines;
  std::vector<double> sine, cosine;  // sin(r) = r + r^3 (...), cos(r) = 1 + r^2 (...)

  Turn(LaneType type, double most, double near, int sine_degree, int cosine_degree)
      : in_quarter(LaneCode::held_entries(type) / 4),
        step(split_of_one_sign(dd::kHalfPi / DoubleDouble(in_quarter), type)),
        per_radian(in_quarter * 0.6366197723675814),
        large(type == LaneType::f64 ? 0x1.8p52 : 0x1.8p23),
        most(most),
        near(near),
        sines(type, [&](int i) {
          return i == 0 ? DoubleDouble(-0.0) : dd::sin_pi(DoubleDouble(i) / DoubleDouble(2 * in_quarter));
        }) {
    const double end = step.hi * step.hi * 0.2525;  // half a step
    sine = fit_odd_tail<dd::sin>(end, sine_degree);
    cosine =
        fit_doubles([](DoubleDouble s) { return (dd::cos(dd::sqrt(s)) - DoubleDouble(1)) / s; }, 0, end, cosine_degree);
  }
};
const Turn& turn_of(LaneType type) {
  static const Turn kSingle(LaneType::f32, 0x1p15, 0x1p-23, 1, 1), kDouble(LaneType::f64, 0x1p18, 0x1p-50, 3, 4);
  return type == LaneType::f32 ? kSingle : kDouble;
}

// Of an angle: steps, an integer of which few bits count, and what is left.
struct Left {
  V number, high, low;
};
Left less_steps(V x, V n, V number, const Turn& turn) {
  // The first difference is small and exact.
  const V first = fma(n, -turn.step.hi, x), high = fma(n, -turn.step.lo, first);
  return {number, high, fma(n, -turn.step.lo, first - high)};
}
Left from_quarters(V quarters, V high, V low, const Turn& turn) {
  const V sum = fma(high, turn.per_radian, turn.large);
  Left left = less_steps(high, sum - turn.large, quarters * turn.in_quarter + bits(sum), turn);
  left.low = left.low + low;
  return left;
}
Left steps_of(V x) {
  const Turn& turn = turn_of(x.type);
  const V sum = fma(x, turn.per_radian, turn.large), n = sum - turn.large;
  const Left usual = less_steps(x, n, bits(sum), turn);
  const V rare = !((abs(n) < turn.most) & (abs(usual.high) >= abs(n) * turn.near));
  const LaneType types[] = {usual.number.type, x.type, x.type};
  const auto all = x.code->rarely(rare, {usual.number, usual.high, usual.low}, [&] {
    return x.code->apart("far_steps", x, types, [&](V far) {
      Left left;
      if (far.type == LaneType::f32) {
        const Angle a = angle_by_double(far);
        left = from_quarters(a.number, a.high, a.low, turn);
      } else {
        const Quadrant at = quadrant(select(is_finite(far), far, 1));
        left = from_quarters(at.number, select(is_finite(far), at.angle.hi, kNan), at.angle.lo, turn);
      }
      return std::vector<V>{left.number, left.high, left.low};
    });
  });
  return {all[0], all[1], all[2]};
}

struct Rest {
  V angle, sine_more, cosine_more;  // sin(r) - r, cos(r) - 1
};
Rest rest_of(const Left& left) {
  const Turn& turn = turn_of(left.high.type);
  const V some = for_powers(left.high), square = some * some;
  return {left.high, fma(some * square, polynomial(square, turn.sine), left.low),
          square * polynomial(square, turn.cosine)};
}
struct Step {
  V sine, sine_low, cosine, cosine_low;
  Step quarter_on() const { return {cosine, cosine_low, -sine, -sine_low}; }
};
Step step_of(V number, const Turn& turn) {
  const V quarter_on = number + turn.in_quarter;
  return {turn.sines.high(number), turn.sines.low(number), turn.sines.high(quarter_on), turn.sines.low(quarter_on)};
}
// sin(step + r) = sin(step) cos(r) + cos(step) sin(r): a sum whose second part is small beside the first. That is taken
// away rather than added, and the sine of no steps is -0: so a zero keeps its sign.
struct Sum {
  V high, less;
  V rounded() const { return high - less; }
};
Sum sine_of(const Step& at, const Rest& r) {
  const V sum = fma(at.cosine, r.angle, at.sine), more = fma(-at.cosine, r.angle, sum - at.sine);
  const V less = fma(-at.cosine, r.sine_more, fma(-at.cosine_low, r.angle, more - at.sine_low));
  return {sum, fma(-at.sine, r.cosine_more, less)};
}
template <int Quarter>
V wave(V x) {
  const Turn& turn = turn_of(x.type);
  const Left left = steps_of(x);
  return sine_of(step_of(left.number + Quarter * turn.in_quarter, turn), rest_of(left)).rounded();
}
V tan(V x) {
  const Left left = steps_of(x);
  const Rest rest = rest_of(left);
  const Step at = step_of(left.number, turn_of(x.type));
  const Sum sine = sine_of(at, rest), cosine = sine_of(at.quarter_on(), rest);
  return select(x == 0, x, quotient_of(sine.high, -sine.less, cosine.high, -cosine.less));
}

}  // namespace

V quotient_of(V above, V above_low, V below, V below_low) {
  const V divisor = below + below_low;
  V estimate = divisor.code->reciprocal_estimate(divisor);
  if (above.type == LaneType::f64) estimate = fma(estimate, fma(-divisor, estimate, 1), estimate);  // twice the digits
  const V quotient = (above + above_low) * estimate;
  const V rest = fma(-quotient, below, above) + fma(-quotient, below_low, above_low);
  return fma(rest, estimate, quotient);
}

void add_fused_angles(Spellings& t) {
  t.push_back({.name = "sin", .fused_f32 = spell<wave<0>>, .fused_f64 = spell<wave<0>>});
  t.push_back({.name = "cos", .fused_f32 = spell<wave<1>>, .fused_f64 = spell<wave<1>>});
  t.push_back({.name = "tan", .fused_f32 = spell<tan>, .fused_f64 = spell<tan>});
}

}  // namespace lenz::native
