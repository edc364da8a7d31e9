#include "compiler/backend/llvm/wide.h"

#include <cmath>

namespace lenz::native {

namespace {
constexpr LaneType kDouble = LaneType::f64;

V zero(V like) { return from(like, 0); }
Wide of_double(V x) { return {x, {}}; }
}  // namespace

Wide renormalised(V hi, V lo) {
  const V s = hi + lo;
  return {s, lo - (s - hi)};
}
Wide exact_sum(V a, V b) {
  const V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
Wide exact_product(V a, V b) {
  const V p = a * b;
  if (a.code->target().fma) return {p, fma(a, b, -p)};
  // Without a fused instruction: halves of 26 bits, whose products are exact (Dekker).
  auto high = [](V x) { return as_float(bits(x) & ~((int64_t{1} << 27) - 1)); };
  const V ah = high(a), al = a - ah, bh = high(b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

Wide widen(V x) {
  if (x.type == LaneType::f32) return of_double(convert(x, kDouble));
  return {x, zero(x)};
}
V narrow(Wide x, LaneType type) {
  if (x.is_double()) return convert(x.hi, type);
  return convert(select(is_finite(x.hi), x.hi + x.lo, x.hi), type);
}
Wide constant(Wide like, DoubleDouble value) {
  if (like.is_double()) return of_double(from(like.hi, static_cast<double>(value)));
  return {from(like.hi, value.hi), from(like.hi, value.lo)};
}
Wide wide_of(Wide like, V x) { return like.is_double() ? of_double(x) : Wide{x, zero(x)}; }

Wide operator-(Wide a) { return a.is_double() ? of_double(-a.hi) : Wide{-a.hi, -a.lo}; }
Wide operator+(Wide a, Wide b) {
  if (a.is_double()) return of_double(a.hi + b.hi);
  const Wide s = exact_sum(a.hi, b.hi), t = exact_sum(a.lo, b.lo);
  const Wide u = renormalised(s.hi, s.lo + t.hi);
  return renormalised(u.hi, u.lo + t.lo);
}
Wide operator-(Wide a, Wide b) { return a + -b; }
Wide operator*(Wide a, Wide b) {
  if (a.is_double()) return of_double(a.hi * b.hi);
  const Wide p = exact_product(a.hi, b.hi);
  return renormalised(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi));
}
Wide operator/(Wide a, Wide b) {
  if (a.is_double()) return of_double(a.hi / b.hi);
  const V first = a.hi / b.hi;
  const Wide rest = a - Wide{first, zero(first)} * b;
  return renormalised(first, rest.hi / b.hi);
}
Wide operator+(Wide a, double b) {
  if (a.is_double()) return of_double(a.hi + b);
  const Wide s = exact_sum(a.hi, from(a.hi, b));
  return renormalised(s.hi, s.lo + a.lo);
}
Wide operator-(Wide a, double b) { return a + -b; }
Wide operator*(Wide a, double b) { return a.is_double() ? of_double(a.hi * b) : Wide{a.hi * b, a.lo * b}; }
Wide sqrt(Wide a) {
  const V root = sqrt(a.hi);
  if (a.is_double()) return of_double(root);
  const Wide rest = a - exact_product(root, root);
  return renormalised(root, select(root > 0.0, rest.hi / (root + root), 0.0));
}
Wide select(V condition, Wide yes, Wide no) {
  if (yes.is_double() || no.is_double()) return of_double(select(condition, yes.hi, no.hi));
  return {select(condition, yes.hi, no.hi), select(condition, yes.lo, no.lo)};
}
Wide abs(Wide a) {
  if (a.is_double()) return of_double(abs(a.hi));
  return select(a.hi < 0.0, -a, a);
}

Wide polynomial(Wide x, std::span<const DoubleDouble> coefficients, int exact) {
  std::vector<double> narrow_part;
  const size_t wide_terms = x.is_double() ? 0 : static_cast<size_t>(exact);
  for (size_t i = wide_terms; i < coefficients.size(); ++i) narrow_part.push_back(static_cast<double>(coefficients[i]));
  Wide sum = wide_of(x, polynomial(x.hi, narrow_part));
  for (size_t i = wide_terms; i-- > 0;) sum = sum * x + constant(x, coefficients[i]);
  return sum;
}

std::vector<DoubleDouble> series(bool for_double, int double_terms, int wide_terms, DoubleDouble (*term)(int)) {
  std::vector<DoubleDouble> terms;
  for (int i = 0; i < (for_double ? double_terms : wide_terms); ++i) terms.push_back(term(i));
  return terms;
}

std::vector<double> parts_of(DoubleDouble value, int bits, int count) {
  std::vector<double> parts;
  for (int i = 0; i + 1 < count; ++i) {
    int exponent = 0;
    std::frexp(value.hi, &exponent);
    const double unit = std::ldexp(1.0, exponent - bits);
    parts.push_back(std::trunc(value.hi / unit) * unit);
    value = value - DoubleDouble(parts.back());
  }
  parts.push_back(static_cast<double>(value));
  return parts;
}

// ---------------------------------------------------------------------------------------------------------------------
// Exponentials

namespace {

// x - n * (parts[0] + parts[1] + ...), for an n whose products with all parts but the last are exact.
Wide minus_multiple(Wide x, V n, std::span<const double> parts) {
  if (x.is_double()) {
    V r = x.hi;
    for (double part : parts) r = fma(n, -part, r);
    return of_double(r);
  }
  for (double part : parts) x = x + Wide{n * -part, zero(n)};
  return x;
}

DoubleDouble inverse_factorial(int n) {
  DoubleDouble f = 1;
  for (int i = 2; i <= n; ++i) f = f * DoubleDouble(i);
  return DoubleDouble(1) / f;
}

}  // namespace

Exponential exponential(Wide x) {
  const V n = round_even(x.hi * 1.4426950408889634);
  const Wide r = minus_multiple(x, n, parts_of(dd::kLn2, 36, x.is_double() ? 2 : 3));
  const auto terms = series(x.is_double(), 12, 18, [](int i) { return inverse_factorial(i + 1); });
  return {r * polynomial(r, terms, 5), n};
}

Wide expm1(Wide x) {
  const Exponential e = exponential(x);
  const V power = e.n.code->scale(from(e.n, 1), e.n);
  const Wide scaled = e.minus_one.is_double() ? of_double(e.minus_one.hi * power)
                                              : Wide{e.minus_one.hi * power, e.minus_one.lo * power};
  // Of a power beyond 2^53 or below 2^-53 the one is lost in part: both terms are kept.
  return scaled + (x.is_double() ? of_double(power - 1.0) : exact_sum(power, from(power, -1)));
}

namespace {
// (e^x and e^-x) / 2^n / 2, the second times 2^n once more for the sum's sake.
Wide hyperbolic(Wide x, V& n, double sign) {
  const Exponential e = exponential(x);
  const Wide one = constant(x, 1), grown = e.minus_one + 1.0, shrunk = one / grown;
  const V power = n.code->scale(from(e.n, 1), select(e.n > 300.0, -600.0, e.n * -2.0));
  const Wide small = x.is_double() ? of_double(shrunk.hi * power) : Wide{shrunk.hi * power, shrunk.lo * power};
  n = e.n - 1.0;
  if (sign > 0) return grown + small;
  // Without cancellation where neither is far from one.
  return select(e.n == 0.0, e.minus_one + e.minus_one / grown, grown - small);
}
}  // namespace

Wide sinh_over(Wide x, V& n) {
  n = x.hi;
  return hyperbolic(x, n, -1);
}
Wide cosh_over(Wide x, V& n) {
  n = x.hi;
  return hyperbolic(x, n, 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Logarithms

Logarithm split_logarithm(Wide x) {
  LaneCode& code = *x.hi.code;
  V value = x.hi, offset = zero(value);
  if (!x.is_double()) {  // an f64 may be subnormal
    const V tiny = value < 0x1p-1000;
    value = select(tiny, value * 0x1p60, value);
    offset = select(tiny, from(value, -60), offset);
  }
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const V word = bits(value), k = (word - kRootHalf) >> 52;
  const V fraction = as_float(word - (k << 52)) - 1.0;
  // The shift is small: exact as a float by way of the mantissa of a large number.
  const V number = as_float((k + 0x4338000000000000)) - 0x1.8p52;
  if (x.is_double()) return {number, of_double(fraction)};
  const V exponent = number + offset;
  const V unit = code.scale(from(value, 1), -exponent);  // beyond f64 where x is subnormal, and has no low part
  const V low = select(abs(exponent) < 1000.0, x.lo * unit, 0.0);
  return {exponent, exact_sum(fraction, low)};
}

Wide log1p_fraction(Wide f) {
  const Wide s = f / (f + 2.0), square = s * s;
  const auto terms = series(f.is_double(), 9, 14, [](int i) { return DoubleDouble(2) / DoubleDouble(2 * i + 1); });
  return s * polynomial(square, terms, 4);
}

Wide value_of(Logarithm l) {
  return log1p_fraction(l.fraction) - minus_multiple(constant(l.fraction, 0), l.k, parts_of(dd::kLn2, 36, 3));
}

Wide log(Wide x) { return value_of(split_logarithm(x)); }

Wide log1p(Wide x) {
  Logarithm l = split_logarithm(x + 1.0);
  l.fraction = select(l.k == 0.0, x, l.fraction);
  return value_of(l);
}

// ---------------------------------------------------------------------------------------------------------------------
// Angles

namespace {

// 2 / pi in chunks of 24 bits, the first just below the point: enough for the largest double.
std::vector<double> two_over_pi_chunks() {
  // By long division of 2^k by pi's own digits, worked out with whole numbers: pi from Machin's formula.
  constexpr int kWords = 48 + 10, kChunk = 24;
  using Digits = std::vector<int64_t>;  // of base 2^24, the first before the point
  constexpr int64_t kBase = int64_t{1} << kChunk;
  auto divide = [&](const Digits& a, int64_t d) {
    Digits q(a.size());
    int64_t rest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      rest = rest * kBase + a[i];
      q[i] = rest / d;
      rest %= d;
    }
    return q;
  };
  auto add = [&](Digits& a, const Digits& b, int64_t sign) {
    int64_t carry = 0;
    for (size_t i = a.size(); i-- > 0;) {
      const int64_t sum = a[i] + sign * b[i] + carry;
      a[i] = i == 0 ? sum : ((sum % kBase) + kBase) % kBase;
      carry = (sum - a[i]) / kBase;
    }
  };
  auto arc = [&](int64_t factor, int64_t x) {  // factor * atan(1 / x)
    Digits power(kWords), sum(kWords);
    power[0] = factor;
    power = divide(power, x);
    for (int64_t k = 0; k < 24 * kWords; ++k) {
      add(sum, divide(power, 2 * k + 1), k % 2 == 0 ? 1 : -1);
      power = divide(divide(power, x), x);
    }
    return sum;
  };
  Digits half_pi = arc(8, 5);
  add(half_pi, arc(2, 239), -1);
  // 1 / half_pi, a digit at a time: the remainder times the base, by trial.
  std::vector<double> chunks;
  Digits rest(kWords);
  rest[0] = 1;
  const double divisor = static_cast<double>(half_pi[0]) + static_cast<double>(half_pi[1]) / kBase +
                         static_cast<double>(half_pi[2]) / kBase / kBase;
  for (int i = 0; i < 48; ++i) {
    rest[0] = rest[0] * kBase + rest[1];  // below 1.6 times the base
    for (size_t k = 1; k + 1 < rest.size(); ++k) rest[k] = rest[k + 1];
    rest.back() = 0;
    const double head = static_cast<double>(rest[0]) + static_cast<double>(rest[1]) / kBase +
                        static_cast<double>(rest[2]) / kBase / kBase;
    auto digit = static_cast<int64_t>(head / divisor);
    Digits product(kWords);
    int64_t carry = 0;
    for (size_t k = product.size(); k-- > 0;) {
      const int64_t sum = half_pi[k] * digit + carry;
      product[k] = k == 0 ? sum : sum % kBase;
      carry = sum / kBase;
    }
    add(rest, product, -1);
    chunks.push_back(static_cast<double>(digit));
  }
  return chunks;
}

// Of |x| beyond what parts of pi/2 serve: x * 2 / pi modulo 4 from the chunks that matter for its exponent.
Quadrant large_quadrant(V x) {
  static const std::vector<double> kChunks = two_over_pi_chunks();
  LaneCode& code = *x.code;
  const V exponent = (lshr(bits(x), 52) & 0x7ff) - 1023;
  V skip = code.binary(Binary::div, exponent - 79, code.integer(LaneType::i64, 24));
  skip = select(skip > 0, skip, 0);
  const V scaled = x * as_float((1023 - skip * 24) << 52);
  const V high = as_float(bits(scaled) & ~((int64_t{1} << 27) - 1)), low = scaled - high;
  Wide sum{zero(x), zero(x)};
  for (int i = 0; i < 9; ++i) {
    const V chunk = code.look_up(kChunks, kDouble, convert(skip + i, LaneType::i32)) * std::ldexp(1.0, -24 * (i + 1));
    for (V part : {high, low}) {
      const V product = part * chunk, turned = product - round_even(product * 0.25) * 4.0;  // both exact
      sum = sum + Wide{turned, zero(x)};
    }
  }
  const V n = round_even(sum.hi);
  const Wide rest = Wide{sum.hi - n, zero(x)} + Wide{sum.lo, zero(x)};
  return {bits(n + 0x1.8p52), rest * Wide{from(x, dd::kHalfPi.hi), from(x, dd::kHalfPi.lo)}};
}

}  // namespace

Quadrant far_quadrant(V x) {
  const auto parts = x.code->by_lane("large_angle", x, [](V one) {
    const Quadrant far = large_quadrant(one);
    return std::vector<V>{far.number, far.angle.hi, far.angle.lo};
  });
  return {parts[0], {parts[1], parts[2]}};
}

Quadrant quadrant(V x) {
  const V n = round_even(x * 0.6366197723675814);
  const auto parts = parts_of(dd::kHalfPi, 32, 4);
  const Wide near = minus_multiple({x, zero(x)}, n, parts);
  const V number = bits(n + 0x1.8p52);
  const V large = abs(x) > 0x1p19;
  const auto all = x.code->rarely(large, {number, near.hi, near.lo}, [&] {
    const Quadrant far = far_quadrant(select(large, x, 0.0));
    return std::vector<V>{far.number, far.angle.hi, far.angle.lo};
  });
  return {all[0], {all[1], all[2]}};
}

Wide sin_of(Wide r) {
  const auto terms = series(r.is_double(), 8, 13, [](int i) {
    const DoubleDouble term = inverse_factorial(2 * i + 1);
    return i % 2 == 0 ? term : -term;
  });
  return r * polynomial(r * r, terms, 4);
}
Wide cos_of(Wide r) {
  const auto terms = series(r.is_double(), 8, 13, [](int i) {
    const DoubleDouble term = inverse_factorial(2 * i);
    return i % 2 == 0 ? term : -term;
  });
  return polynomial(r * r, terms, 4);
}

SinCos sin_cos(Wide like, Quadrant at) {
  const Wide angle = like.is_double() ? of_double(at.angle.hi) : at.angle;
  const Wide s = sin_of(angle), c = cos_of(angle);
  const V odd = (at.number & 1) != 0, flip_sin = (at.number & 2) != 0, flip_cos = ((at.number + 1) & 2) != 0;
  const Wide sine = select(odd, c, s), cosine = select(odd, s, c);
  return {select(flip_sin, -sine, sine), select(flip_cos, -cosine, cosine)};
}

Wide atan2_positive(Wide y, Wide x) {
  constexpr int kSteps = 8;
  static const std::vector<DoubleDouble> kArcs = [] {
    std::vector<DoubleDouble> arcs;
    for (int i = 0; i <= kSteps; ++i) arcs.push_back(dd::atan(DoubleDouble(i) / DoubleDouble(kSteps)));
    return arcs;
  }();
  LaneCode& code = *y.hi.code;
  const V swapped = y.hi > x.hi;
  const Wide a = select(swapped, x, y), b = select(swapped, y, x);
  const V step = round_even(a.hi / b.hi * double{kSteps});
  const Wide c = wide_of(y, step * (1.0 / kSteps));
  const Wide z = (a - b * c) / (b + a * c);
  const auto terms = series(y.is_double(), 6, 9, [](int i) {
    const DoubleDouble term = DoubleDouble(1) / DoubleDouble(2 * i + 1);
    return i % 2 == 0 ? term : -term;
  });
  std::vector<double> high, low;
  for (DoubleDouble arc : kArcs) high.push_back(arc.hi), low.push_back(arc.lo);
  const V index = convert(step, LaneType::i32);
  Wide arc{code.look_up(high, kDouble, index), {}};
  if (!y.is_double()) arc.lo = code.look_up(low, kDouble, index);
  const Wide angle = arc + z * polynomial(z * z, terms, 3);
  return select(swapped, constant(y, dd::kHalfPi) - angle, angle);
}

}  // namespace lenz::native
