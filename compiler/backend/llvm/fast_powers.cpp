#include "compiler/backend/llvm/fast_powers.h"

namespace lenz::native {

V sigmoid_by(PowerOf power_of, double none_below, double far_below, V x) {
  // e / (1 + e), or 1 / (1 + e): the power rounded as it is, what the sum and the division round away put back.
  const V exponent = -abs(x), below = x < 0;
  // So far out 1 + e is 1, and on the left e is all there is. Numbers below the normal ones take processors a hundred
  // times as long: e is not computed on the right, and stays out of the division, whose rests would be such.
  const V far = exponent < far_below, none = exponent < select(below, from(x, none_below), far_below);
  const Power p = power_of(select(none, 0, exponent));
  auto quotient_of = [&](V power, auto&& low, auto&& number_low) {
    const V e = select(far, 0, power), d = e + 1, d_low = low((from(x, 1) - d) + e);
    const V number = select(below, e, 1), inverse = from(x, 1) / d, quotient = number * inverse;
    const V rest = fma(-quotient, d_low, number_low(fma(-quotient, d, number)));
    return select(far & below, select(none, 0, power), fma(rest, inverse, quotient));
  };
  auto as_it_is = [](V v) { return v; };
  if (x.code->target().fma) return quotient_of(x.code->scale(p.minus_one + p.low + 1, p.n), as_it_is, as_it_is);
  // Rounded products leave no place for what the power rounds away: it is brought to where it is below the last place.
  const V sum = p.one_more(), high = sum + p.lost();
  const V e_low = x.code->scale(select(far, 0, p.lost() - (high - sum)), p.n);
  return quotient_of(
      x.code->scale(high, p.n), [&](V v) { return v + e_low; }, [&](V v) { return v + select(below, e_low, 0); });
}

V tanh_by(PowerOf power_of, std::span<const double> near_terms, double far_from, V x) {
  const V size = abs(x), some = for_powers(size), square = some * some;
  const V near = fma(some * square, polynomial(square, near_terms), size);
  // 1 - 2 / (e^2x + 1), with the digits that the division and the sum round away.
  const V twice = size + size;
  const Power p = power_of(select(from(x, far_from) < twice, far_from, twice));
  LaneCode& code = *x.code;
  const V unit = code.scale(from(x, 1), p.n);
  const V sum = p.one_more(), e = sum + p.lost(), below = p.lost() - (e - sum);
  const V grown = e * unit, denominator = grown + 1;  // grown >= 3: the sum's error by the shorter way
  const V low = (from(x, 1) - (denominator - grown)) + below * unit;
  const V t = from(x, 2) / denominator;
  const V rest = fma(-low, t, fma(-denominator, t, 2));
  const V correction = rest * t * 0.5;
  const V difference = from(x, 1) - t, lost = (from(x, 1) - difference) - t;
  const V far = difference + (lost - correction);
  const V result = copysign(select(size < 0.55, near, far), x);
  return select(is_nan(x), x, result);
}

}  // namespace lenz::native
