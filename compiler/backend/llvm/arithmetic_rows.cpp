// Sums, products, signs, minima and maxima.
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

V less(const Call& call, V a, V b) { return call.is_unsigned() ? a.code->compare(Compare::unsigned_lt, a, b) : a < b; }

V minimum(Call& call, V a, V b) { return select(less(call, b, a), b, a); }
V maximum(Call& call, V a, V b) { return select(less(call, a, b), b, a); }
// NaN wins: of a NaN no comparison holds, so that a stays where it is one, and b is asked. A NaN of their own, in place
// of b's, keeps the selections apart: the inner one is an instruction of processors'.
V float_minimum(V a, V b) { return select(is_nan(b), kNan, smaller(b, a)); }
V float_maximum(V a, V b) { return select(is_nan(b), kNan, larger(b, a)); }
V fmin(V a, V b) { return select((a < b) | is_nan(b), a, b); }
V fmax(V a, V b) { return select((a > b) | is_nan(b), a, b); }

V integer_abs(Call& call, V a) { return call.is_unsigned() ? a : select(a < 0, -a, a); }
V integer_sign(Call& call, V a) {
  const V positive = select(a == 0, a, 1);
  return call.is_unsigned() ? positive : select(a < 0, -1, positive);
}
V float_sign(V a) { return select(a > 0, 1, select(a < 0, from(a, -1), 0)); }

// One rounding to the dtype; the product of two 16-bit floats is exact in double.
V fused(Call& call, V a, V b, V c) {
  if (call.compute == Dtype::f64) return a.code->fused(a, b, c);
  if (call.compute == Dtype::f32 && a.code->target().fma) return a.code->fused(a, b, c);
  const V p = convert(a, LaneType::f64) * convert(b, LaneType::f64), x = convert(c, LaneType::f64);
  const Wide sum = exact_sum(p, x);
  // Rounded to odd, what lies beside a tie of a narrower format is still seen to lie there.
  const V finite = is_finite(sum.hi);
  const V inexact = (sum.lo != 0) & finite & ((bits(sum.hi) & 1) == 0);
  const V toward = select((sum.lo > 0) == (sum.hi > 0), from(bits(p), 1), -1);
  const V odd = as_float(select(inexact, bits(sum.hi) + toward, bits(sum.hi)));
  if (call.compute == Dtype::f32) return convert(odd, LaneType::f32);
  const V once = convert(odd, LaneType::f32), back = convert(once, LaneType::f64);
  const V off = (back != odd) & is_finite(back) & ((bits(once) & 1) == 0);
  const V step = select(abs(odd) > abs(back), from(bits(once), 1), -1);  // off zero, too
  return value_of_dtype(call, as_float(select(off, bits(once) + step, bits(once))), call.compute);
}

// In the arithmetic above, so that what cancels does not lose the operands' last place.
V wide_lerp(V a, V b, V w) {
  const Wide x = widen(a), y = widen(b), t = widen(w), step = y - x;
  const V near = abs(w) < 0.5;
  const Wide sum = select(near, x, y) + select(near, t, t - 1.0) * step;
  if (sum.is_double()) return narrow(sum, a.type);
  const V plain = select(near, a, b) + select(near, w, w - 1.0) * (b - a), value = narrow(sum, a.type);
  // What exceeds the largest number by the second part alone is no difference of two infinities.
  const V beyond = copysign(from(a, std::numeric_limits<double>::infinity()), plain);
  return select(is_finite(plain), select(is_nan(value), beyond, value), plain);
}

// Within the last places of the operands. Half of a step that overflows goes twice as often; of f64 what may be beyond
// the largest number is looked at again.
V lerp(V a, V b, V w) {
  if (!a.code->target().fma) return wide_lerp(a, b, w);
  const V near = abs(w) < 0.5, step = b - a, times = select(near, w, w - 1.0);
  if (a.type == LaneType::f64) {
    const V quick = fma(times, step, select(near, a, b));
    return a.code->rarely(!(abs(quick) < 0x1p1000), {quick}, [&] { return std::vector<V>{wide_lerp(a, b, w)}; })[0];
  }
  const V over = is_infinite(step);
  return fma(select(over, times + times, times), select(over, b * 0.5 - a * 0.5, step), select(near, a, b));
}

V relu(V a) { return select(from(a, 0) > a, 0, a); }  // one instruction where machines have it
V integer_relu(Call& call, V a) { return call.is_unsigned() ? a : select(a < 0, 0, a); }

V float_clamp(V a, V low, V high) { return float_minimum(float_maximum(a, low), high); }
V integer_clamp(Call& call, V a, V low, V high) { return minimum(call, maximum(call, a, low), high); }

V heaviside(V a, V b) { return select(a == 0, b, select(a > 0, from(a, 1), 0)); }
V integer_heaviside(Call& call, V a, V b) {
  const V at_least = call.is_unsigned() ? from(a, 1) : select(a < 0, 0, from(a, 1));
  return select(a == 0, b, at_least);
}

V plus(V a, V b) { return a + b; }
V minus(V a, V b) { return a - b; }
V times(V a, V b) { return a * b; }
// Quotients of numbers of 8 digits lie no nearer to a tie than 2^-17 of their size, so that a product with the inverse
// is rounded as they are: where lanes share a divisor, there is one division for all. It is brought to where its
// inverse is normal.
V over(Call& call, V a, V b) {
  if (call.compute != Dtype::bf16 || !call.code.same_in_all(b)) return a / b;
  const V size = abs(b);
  const V unit = select(size < 0x1p-64, from(b, 0x1p64), select(size > 0x1p64, from(b, 0x1p-64), 1));
  return a * (from(b, 1) / (b * unit)) * unit;
}
V either(V a, V b) { return a | b; }
V both(V a, V b) { return a & b; }
V negative(V a) { return -a; }
V squared(V a) { return a * a; }
V itself(V a) { return a; }

}  // namespace

V least_of(V like) { return like.code->integer(like.type, int64_t{1} << (bits_of(like.type) - 1)); }

void add_arithmetic(Spellings& t) {
  t.push_back({.name = "add", .booleans = spell<either>, .integers = spell<plus>, .reals = spell<plus>});
  t.push_back({.name = "sub", .integers = spell<minus>, .reals = spell<minus>});
  t.push_back({.name = "mul", .booleans = spell<both>, .integers = spell<times>, .reals = spell<times>});
  t.push_back({.name = "div", .reals = spell<over>});
  t.push_back({.name = "fma", .reals = spell<fused>});
  t.push_back({.name = "neg", .integers = spell<negative>, .reals = spell<negative>});
  t.push_back({.name = "abs", .integers = spell<integer_abs>, .reals = spell<[](V a) { return abs(a); }>});
  for (std::string_view name : {"sign", "sgn"})
    t.push_back({.name = name, .booleans = spell<itself>, .integers = spell<integer_sign>, .reals = spell<float_sign>});
  t.push_back({.name = "reciprocal", .reals = spell<[](V a) { return from(a, 1) / a; }>});
  t.push_back({.name = "square", .integers = spell<squared>, .reals = spell<squared>});
  t.push_back({.name = "lerp", .reals = spell<lerp>});
  t.push_back({.name = "minimum", .booleans = spell<both>, .integers = spell<minimum>, .reals = spell<float_minimum>});
  t.push_back(
      {.name = "maximum", .booleans = spell<either>, .integers = spell<maximum>, .reals = spell<float_maximum>});
  t.push_back({.name = "fmin", .booleans = spell<both>, .integers = spell<minimum>, .reals = spell<fmin>});
  t.push_back({.name = "fmax", .booleans = spell<either>, .integers = spell<maximum>, .reals = spell<fmax>});
  t.push_back({.name = "relu", .integers = spell<integer_relu>, .reals = spell<relu>});
  t.push_back({.name = "clamp", .integers = spell<integer_clamp>, .reals = spell<float_clamp>});
  t.push_back({.name = "heaviside",
               .booleans = spell<[](V a, V b) { return a | b; }>,
               .integers = spell<integer_heaviside>,
               .reals = spell<heaviside>});
}

}  // namespace lenz::native
