// Arc tangents where a fused multiply-add is an instruction. Of f64: of c from a table that registers hold, and of what
// the quotient turns by from there, (y - c x) / (x + c y), which is so small that a short series does. Of f32 c is 0 or
// 1, and the series longer.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"

namespace lenz::native {

namespace {

// --- of f64

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

// --- of f32

constexpr int64_t kSign = int64_t{1} << 31;

// So many eighths of a turn, as f32 and the rest.
using Constant = DoubleDouble;
Constant constant_of(int eighths) { return split(dd::kHalfPi * DoubleDouble(eighths / 2.0), LaneType::f32); }
struct DoubleV {
  V high, low;
};

// value + rest, nearly above / (below + below_low).
struct Quotient {
  V value, rest;
};
Quotient quotient_of(V above, V below, V below_low) {
  const V estimate = below.code->reciprocal_estimate(below), first = above * estimate;
  auto missing = [&](V t) { return fma(-t, below, above) - t * below_low; };
  const V t = fma(missing(first), estimate, first);
  return {t, missing(t) * estimate};
}
// The angle of a quotient of a half at most, from `base` on: that is 0 or more than the angle.
V turned_from(DoubleV base, const Quotient& t) {
  static const std::vector<double> kTail = fit_odd_tail<dd::atan>(0.25, 5);
  const V some = for_powers(t.value), square = some * some;
  const V sum = base.high + t.value, lost = t.value - (sum - base.high);
  return sum + fma(some * square, polynomial(square, kTail), (lost + base.low) + t.rest);
}

// From a half to 2 an eighth of a turn and the angle of (x - 1) / (x + 1), beyond a quarter and that of -1 / x.
V atan_f32(V x) {
  static const Constant quarter = constant_of(2), eighth = constant_of(1);
  const V size = select(from(x, 0x1p60) < abs(x), 0x1p60, abs(x)), middle = size > 0.5, far = size > 2;  // a NaN stays
  auto choose = [&](auto&& in_far, auto&& in_middle, auto&& near) {
    return select(far, in_far, select(middle, in_middle, near));
  };
  const V more = size + 1, zero = from(x, 0), one = from(x, 1);
  const V above = choose(from(x, -1), size - 1, size), below = choose(size, more, one);
  const V below_low = choose(zero, size - (more - 1), zero);
  const DoubleV base{choose(from(x, quarter.hi), from(x, eighth.hi), zero),
                     choose(from(x, quarter.lo), from(x, eighth.lo), zero)};
  return copysign(turned_from(base, quotient_of(above, below, below_low)), x);
}

// The lesser by the greater, from a half on less an eighth of a turn, to either side of some quarter. What may come to
// numbers below the normal ones, or from them, and what is not finite, goes by doubles.
V atan2_f32(V y, V x) {
  const V up = abs(y), across = abs(x), steep = up > across, back = sign_bit(x);
  const V small = select(steep, across, up), given = select(steep, up, across), large = select(given == 0, 1, given);
  const V middle = small > large * 0.5, sum = small + large;
  const V flip = (bits(x) & kSign) ^ select(steep, from(bits(x), kSign), 0);
  const V above = as_float(bits(select(middle, small - large, small)) ^ flip);
  const V below = select(middle, sum, large), below_low = select(middle, small - (sum - large), 0);
  auto base = [&](auto part) {
    auto eighths = [&](int count) { return from(x, part(constant_of(count))); };
    return select(middle, select(back, eighths(3), eighths(1)), select(steep, eighths(2), select(back, eighths(4), 0)));
  };
  const V angle = turned_from({base([](Constant c) { return c.hi; }), base([](Constant c) { return c.lo; })},
                              quotient_of(above, below, below_low));
  constexpr double kLeast = 0x1p-60, kMost = 0x1p40;  // their quotient's rest is a normal number
  const V usual = (large < kMost) & ((small > kLeast) | ((small == 0) & (large > kLeast)));
  return x.code->rarely(!usual, {copysign(angle, y)}, [&] {
    return std::vector<V>{convert(atan2(convert(y, LaneType::f64), convert(x, LaneType::f64)), LaneType::f32)};
  })[0];
}

}  // namespace

void add_fused_arc_tangents(Spellings& t) {
  t.push_back({.name = "atan", .fused_f32 = spell<atan_f32>, .fused_f64 = spell<atan>});
  t.push_back({.name = "atan2", .fused_f32 = spell<atan2_f32>, .fused_f64 = spell<atan2>});
}

}  // namespace lenz::native
