// Exponentials and what follows from them where a fused multiply-add is an instruction: registers hold the powers of
// parts of an exponent, which leave so little to series that these are short and what they round away does not show.
#include <bit>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

V at_most(V x, double high) { return select(from(x, high) < x, high, x); }  // a NaN stays
V at_least(V x, double low) { return select(x < from(x, low), low, x); }

struct Exponents {
  HeldTable powers;
  DoubleDouble ln2;
  double large;              // beside it the type has whole parts of an exponent only
  double none, most;         // e^x is nothing, infinite
  std::vector<double> tail;  // e^r = 1 + r + r^2 (...)

  Exponents(LaneType type, double large, double none, double most, int degree)
      : powers(type,
               [&](int i) { return dd::exp(dd::kLn2 * DoubleDouble(i) / DoubleDouble(LaneCode::held_entries(type))); }),
        ln2(split(dd::kLn2, type)),
        large(large),
        none(none),
        most(most) {
    const double end = 0.35 / LaneCode::held_entries(type);
    tail = fit_doubles([](DoubleDouble r) { return (dd::expm1(r) - r) / (r * r); }, -end, end, degree);
  }
};
const Exponents& exponents_of(LaneType type) {
  static const Exponents kSingle(LaneType::f32, 0x1.8p18, -104, 89, 2), kDouble(LaneType::f64, 0x1.8p48, -746, 711, 5);
  return type == LaneType::f32 ? kSingle : kDouble;
}

// e^x = 2^n (power + power_low) e^r
struct Power {
  V n, index;               // index: the low bits of a large number beside n
  V power, power_low;       // the power of what n is beyond a whole number
  V high, more, minus_one;  // e^r - 1 as what is left exactly, and more; rounded
};
Power power_of(V x) {
  const Exponents& of = exponents_of(x.type);
  const V sum = fma(x, 1.4426950408889634, of.large), n = sum - of.large, index = bits(sum);
  // What is left is small, and the first difference exact.
  const V high = fma(n, -of.ln2.hi, x), r = fma(n, -of.ln2.lo, high), some = for_powers(r);
  const V square = some * some, tail = polynomial(r, of.tail);
  return {n,
          index,
          of.powers.high(index),
          of.powers.low(index),
          high,
          fma(square, tail, n * -of.ln2.lo),
          fma(square, tail, r)};
}
// Times 2^more.
V whole(const Power& p, double more) {
  return p.n.code->scale_down(p.power + fma(p.power, p.minus_one, p.power_low), p.n + more);
}
V exp(V x) {
  const Exponents& of = exponents_of(x.type);
  return unless_nothing(x, x < of.none, [&](V some) { return whole(power_of(at_most(some, of.most)), 0); });
}

struct Sum {
  V high, low;  // small beside the first
};
// e^x - 1, of an x that neither e^x nor e^-x is infinite for.
Sum less_one(V x) {
  const Power p = power_of(x);
  const V unit = x.code->scale_down(from(x, 1), p.n), power = p.power * unit, power_low = p.power_low * unit;
  const V first = power - 1, part = first - power, first_low = (power - (first - part)) - (part + 1);
  // Beside 0 the first is 0, or far enough from it.
  const V sum = fma(power, p.high, first), lost = fma(power, p.high, first - sum);
  return {sum, fma(power, p.more, fma(power_low, p.high, power_low) + (first_low + lost))};
}
V expm1_row(V x) {
  const Exponents& of = exponents_of(x.type);
  const Sum less = less_one(at_least(x, -40));  // -1
  const V value = copysign(less.high + less.low, x);
  return x.code->rarely(x > of.most - 10, {value}, [&] { return std::vector<V>{exp(x)}; })[0];
}
// 2 to the whole part of n, a normal number: in f64, the index' bits above those that are a table's place.
V whole_power_f64(V index) {
  constexpr int64_t kPlaces = LaneCode::held_entries(LaneType::f64);
  constexpr int kBits = std::countr_zero(static_cast<uint64_t>(kPlaces));
  return as_float(((index & ~(kPlaces - 1)) << (52 - kBits)) + (int64_t{1023} << 52));
}
// 1 / (1 + e), of e = power (1 + minus_one), whose product, sum and quotient put back what they round away: what the
// power itself lacks is felt, by half a place.
V one_of_more(V power, V minus_one) {
  const V e = fma(power, minus_one, power), below = e + 1;
  // Where e is the lesser one the sum's rest is not exact, but less than what rounding the sum took away.
  const V low = fma(power, minus_one, power - e) + (from(e, 1) - (below - e));
  const V quotient = from(e, 1) / below;
  return fma(fma(-low, quotient, fma(-below, quotient, 1)), quotient, quotient);
}
// 1 / (1 + e^-x), with what the sums round away; so far below that e^-x is nearly infinite, it is e^x.
V sigmoid_f64(V x) {
  constexpr double kFar = -700, kOne = 45;
  const Power p = power_of(-at_most(at_least(x, kFar), kOne));
  if (!x.code->target().avx512) {  // second parts of tables, and estimates, are none too cheap
    const V value = one_of_more(p.power * whole_power_f64(p.index), p.minus_one);
    return x.code->rarely(!(x > kFar), {value}, [&] { return std::vector<V>{exp(x)}; })[0];
  }
  const V unit = x.code->scale_down(from(x, 1), p.n), power = p.power * unit, power_low = p.power_low * unit;
  const Wide first = exact_sum(power, from(x, 1));
  const V below = fma(power, p.high, first.hi), lost = fma(power, p.high, first.hi - below);
  const V low = fma(power, p.more, fma(power_low, p.high, power_low) + (first.lo + lost));
  const V value = quotient_of(from(x, 1), from(x, 0), below, low);
  return x.code->rarely(!(x > kFar), {value}, [&] { return std::vector<V>{exp(x)}; })[0];
}
// t / (t + 2), of t = e^2x - 1
V tanh_f64(V x) {
  const Sum t = less_one(at_most(abs(x), 20) * 2);
  const Wide more = exact_sum(t.high, from(x, 2));
  return copysign(quotient_of(t.high, t.low, more.hi, more.lo + t.low), x);
}
// Half of what e^x and e^-x are together, or apart: of t = e^x - 1 and t + 1. Far out e^x is alone.
template <bool Apart>
V hyperbolic_f64(V x) {
  constexpr double kFar = 20;
  const V size = abs(x);
  const Sum t = less_one(at_most(size, kFar));
  const Wide grown = exact_sum(t.high, from(x, 1));
  const V low = grown.lo + t.low;
  const Wide near = Apart ? exact_sum(t.high, quotient_of(t.high, t.low, grown.hi, low))
                          : exact_sum(grown.hi, quotient_of(from(x, 1), from(x, 0), grown.hi, low));
  const V sum = near.hi + (near.lo + (Apart ? t.low : low));
  const V value = x.code->rarely(size > kFar, {sum * 0.5}, [&] {
    return std::vector<V>{whole(power_of(at_most(size, exponents_of(x.type).most + 1)), -1)};
  })[0];
  return Apart ? copysign(value, x) : value;
}

}  // namespace

V fused_exp(V x) { return exp(x); }
V fused_expm1(V x) { return expm1_row(x); }
V fused_fall_of_two(V gap) {
  const DoubleDouble ln2 = exponents_of(gap.type).ln2;
  const V inside = at_most(gap, 1200), x = inside * -ln2.hi;  // nothing is left there
  const V lost = fma(inside, -ln2.lo, fma(inside, -ln2.hi, -x)), power = exp(x);
  return fma(power, lost, power);
}

void add_fused_powers(Spellings& t) {
  t.push_back({.name = "exp", .fused_f64 = spell<exp>});
  t.push_back({.name = "expm1", .fused_f32 = spell<expm1_row>, .fused_f64 = spell<expm1_row>});
  t.push_back({.name = "sigmoid", .fused_f64 = spell<sigmoid_f64>});
  t.push_back({.name = "tanh", .fused_f64 = spell<tanh_f64>});
  t.push_back({.name = "sinh", .fused_f64 = spell<hyperbolic_f64<true>>});
  t.push_back({.name = "cosh", .fused_f64 = spell<hyperbolic_f64<false>>});
}

}  // namespace lenz::native
