// Arc tangents of f64 where a fused multiply-add is an instruction: of c from a table that registers hold, and of what
// the quotient turns by from there, (y - c x) / (x + c y), which is so small that a short series does.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"

namespace lenz::native {

namespace {

constexpr int kParts = LaneCode::held_entries(LaneType::f64);
DoubleDouble middle_of(int i) {  // of quotients up to 1; those from 0 on keep all their digits
  return i == 0 ? DoubleDouble(0) : DoubleDouble(i + 0.5) / DoubleDouble(kParts);
}
DoubleDouble arc_of(int i) { return dd::atan(middle_of(i)); }

struct Turn {
  V part, angle, cube;  // arc tangent of small / large = arc_of(part) + angle + cube
  V small, large;       // the quotient is angle, nearly: above / below
};
// 0 <= small <= large, not both 0; `quotient`: to some ten digits.
Turn turn(V small, V large, V quotient) {
  static const HeldTable kMiddles(LaneType::f64, middle_of);
  static const std::vector<double> kTail = fit_odd_tail<dd::atan>(0x1.2p-8, 6);
  // Just below one for each part: the last one has quotients of 1.
  const V part = bits(floor(quotient * (kParts - 0x1p-7)) + 0x1.8p52), middle = kMiddles.high(part);
  const V above = fma(-middle, large, small), below = fma(middle, small, large), angle = above / below;
  const V square = angle * angle;
  return {part, angle, angle * square * polynomial(square, kTail), above, below};
}

// |high| >= |angle| or high = 0.
V sum_of(V high, V angle, V low) {
  const V sum = high + angle;
  return sum + ((angle - (sum - high)) + low);
}

V atan(V x) {
  static const HeldTable kArcs(LaneType::f64, arc_of),
      kRest(LaneType::f64, [](int i) { return dd::kHalfPi - arc_of(i); });
  constexpr double kHuge = 0x1p60;  // from far below on a quarter turn; infinities too
  const V size = select(abs(x) > kHuge, kHuge, abs(x)), far = size > 1;
  const Turn t =
      turn(select(far, from(x, 1), size), select(far, size, 1), select(far, x.code->reciprocal_estimate(size), size));
  const V high = select(far, kRest.high(t.part), kArcs.high(t.part));
  const V low = select(far, kRest.low(t.part) - t.cube, kArcs.low(t.part) + t.cube);
  return copysign(sum_of(high, select(far, -t.angle, t.angle), low), x);
}

V atan2(V y, V x) {
  static const HeldTable kArcs(LaneType::f64, arc_of);
  const V up = abs(y), across = abs(x), steep = up > across, back = sign_bit(x);
  const V small = select(steep, across, up), given = select(steep, up, across), large = select(given == 0, 1, given);
  const V inverse = x.code->reciprocal_estimate(large);
  const Turn t = turn(small, large, small * inverse);
  // What the quotient was rounded by shows where it is small.
  const V rest = fma(-t.angle, t.large, t.small) * inverse;
  const V sign = select(steep ^ back, from(x, -1), 1);
  const V whole = select(steep, from(x, dd::kHalfPi.hi), select(back, from(x, dd::kPi.hi), 0));
  const V whole_low = select(steep, from(x, dd::kHalfPi.lo), select(back, from(x, dd::kPi.lo), 0));
  const V arc = kArcs.high(t.part), high = fma(sign, arc, whole);
  const V low = fma(sign, kArcs.low(t.part) + (t.cube + rest), whole_low) + fma(sign, arc, whole - high);
  const V value = copysign(sum_of(high, sign * t.angle, low), y);
  const V usual = (given == 0) | ((given > 0x1p-900) & (given < 0x1p1000));
  return x.code->rarely(!usual, {value}, [&] {
    const V operands[] = {y, x};
    return std::vector<V>{x.code->by_table(*find_scalar("atan2"), x.type, operands)};
  })[0];
}

}  // namespace

void add_fused_arc_tangents(Spellings& t) {
  t.push_back({.name = "atan", .fused_f64 = spell<atan>});
  t.push_back({.name = "atan2", .fused_f64 = spell<atan2>});
}

}  // namespace lenz::native
