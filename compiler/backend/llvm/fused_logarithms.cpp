// Logarithms of f64 where a fused multiply-add is an instruction: inverses of sixteen parts of a binade, which
// registers hold, leave so little to series that these are short and what they round away does not show.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// |a| >= |b| or a = 0: what the sum rounds away.
V lost_by(V sum, V a, V b) { return b - (sum - a); }

// The first parts of logarithms are multiples of this, so that sums of those and products with exponents are exact.
constexpr double kGrain = 0x1p-42;
DoubleDouble in_parts(DoubleDouble value) {
  const double high = std::nearbyint(value.hi / kGrain) * kGrain;
  return {high, static_cast<double>(value - DoubleDouble(high))};
}

// Of the sixteen parts of the numbers from some 0.7 to 1.4 one has 1 inside, a third of its width below the end: below
// 1 numbers are as dense again.
constexpr int64_t kOne = 0x3ff0000000000000, kPart = int64_t{1} << 48, kOnesPart = 9;
constexpr int64_t kFirst = kOne - kOnesPart * kPart - 0xaaaaaaaaaaaa;
double inverse_of_part(int i) {
  if (i == kOnesPart) return 1;
  const double first = std::bit_cast<double>(kFirst + i * kPart), end = std::bit_cast<double>(kFirst + (i + 1) * kPart);
  const double inverse = 2 / (first + end);
  // Beside that part logarithms are so small that it would show if fractions were rounded: by so few digits they are
  // not.
  return std::abs(i - kOnesPart) == 1 ? std::nearbyint(inverse * 64) / 64 : inverse;
}

// What one more in the exponent counts, a natural logarithm of 1, and the logarithms of what the inverses are of.
struct Base {
  DoubleDouble step, factor;
  HeldTable parts;
  Base(DoubleDouble (*log)(DoubleDouble), DoubleDouble factor)
      : step(in_parts(log(2))),
        factor(factor),
        parts(LaneType::f64, [&](int i) { return in_parts(-log(inverse_of_part(i))); }) {}
};
const Base& natural_base() {
  static const Base kBase(dd::log, 1);
  return kBase;
}

// x = 2^k (1 + fraction) / inverse, where 2^52 k = exponent
struct Parts {
  V exponent, part, inverse, fraction;
};
Parts parts_of(V x) {
  static const HeldTable kInverse(LaneType::f64, [](int i) { return DoubleDouble(inverse_of_part(i)); });
  const V beyond = bits(x) - kFirst, exponent = beyond & (~int64_t{0} << 52), part = beyond >> 48;
  const V inverse = kInverse.high(part);
  return {exponent, part, inverse, fma(as_float(bits(x) - exponent), inverse, -1)};
}
// 2^52 k as a float. Few machines have an instruction for that; elsewhere k by way of the mantissa of a large number.
V exponent_of(const Parts& x) {
  if (x.exponent.code->target().avx512) return convert(x.exponent, LaneType::f64);
  return (as_float((x.exponent >> 52) + 0x4338000000000000) - 0x1.8p52) * 0x1p52;
}
// `more`: what it is besides, over 2^k and times the inverse; `exponents`: added to k.
TwoParts logarithm_in_parts(const Parts& x, const Base& base, std::optional<V> more, std::optional<V> exponents) {
  static const std::vector<double> kTail = fit_doubles(
      [](DoubleDouble f) { return (dd::log1p(f) - f + f * f * DoubleDouble(0.5)) / (f * f * f); }, -0.0325, 0.0325, 7);
  const double factor = base.factor.hi;
  const bool natural = factor == 1;
  std::vector<double> tail = kTail;
  for (double& c : tail) c *= factor;
  V k = exponent_of(x);
  if (exponents) k = fma(*exponents, 0x1p52, k);
  const V f = x.fraction, first = natural ? f : f * factor;
  const V high = fma(k, base.step.hi * 0x1p-52, base.parts.high(x.part)), sum = high + first;
  V low = lost_by(sum, high, first);
  if (!natural) low = fma(f, base.factor.lo, fma(f, factor, -first)) + low;
  if (more) low = fma(-*more, f, *more) + low;
  low = fma(k, base.step.lo * 0x1p-52, base.parts.low(x.part)) + low;
  return {sum, fma(f * f, fma(f, polynomial(f, tail), -0.5 * factor), low)};
}
V logarithm_of(const Parts& x, const Base& base, std::optional<V> more = {}, std::optional<V> exponents = {}) {
  const TwoParts value = logarithm_in_parts(x, base, more, exponents);
  return value.high + value.low;
}
// Whether a number lies in [2^-1022, 2^1023): bits in a stretch.
V is_usual(V x) {
  constexpr int64_t kLeastNormal = int64_t{1} << 52;
  const V number = bits(x) - kLeastNormal;
  return x.code->compare(Compare::unsigned_lt, number, from(number, (int64_t{0x7fe} << 52) - kLeastNormal));
}
V any_logarithm_of(V x, const Base& base) {
  const V subnormal = x < 0x1p-1022;
  const V value =
      logarithm_of(parts_of(select(subnormal, x * 0x1p54, x)), base, {}, select(subnormal, from(x, -54), 0));
  const V special = select(x == 0, -kInfinity, select(x < 0, kNan, x));
  return select((x > 0) & (x < kInfinity), value, special);
}
V log_by(V x, const Base& base) {
  return x.code->instead(!is_usual(x), {logarithm_of(parts_of(x), base)},
                         [&] { return std::vector<V>{any_logarithm_of(x, base)}; })[0];
}
V log_e(V x) { return log_by(x, natural_base()); }
V log2(V x) {
  static const Base kBase(dd::log2, DoubleDouble(1) / dd::kLn2);
  return log_by(x, kBase);
}
V log10(V x) {
  static const Base kBase(dd::log10, DoubleDouble(1) / dd::kLn10);
  return log_by(x, kBase);
}
// Of x + rest.
V log1p_of(V x, std::optional<V> rest) {
  const V sum = x + 1, off = lost_by(sum, from(x, 1), x), lost = rest ? off + *rest : off;
  const Parts parts = parts_of(sum);
  const V more = lost * as_float(kOne - parts.exponent) * parts.inverse;
  const V value = copysign(logarithm_of(parts, natural_base(), more), x);  // of 0 too
  return x.code->instead(!is_usual(sum), {value}, [&] {
    return std::vector<V>{select(is_usual(sum), value, any_logarithm_of(sum, natural_base()))};
  })[0];
}
V log1p_f64(V x) { return log1p_of(x, {}); }
// The greater operand, and what the lesser adds: the logarithm of 1 + e^-gap.
template <bool Base2>
V logaddexp_f64(V a, V b) {
  const V gap = abs(a - b), power = Base2 ? fused_fall_of_two(gap) : fused_exp(-gap), more = log1p_f64(power);
  const V sum = Base2 ? fma(more, static_cast<double>(DoubleDouble(1) / dd::kLn2), larger(a, b)) : larger(a, b) + more;
  return select(is_nan(gap), a + b, sum);  // infinities of one sign too
}

V product_with(V x, V y, V logarithm) { return select(is_nan(y), y, select(x == 0, 0, x * logarithm)); }
V xlogy_f64(V x, V y) { return product_with(x, y, log_e(y)); }
V xlog1py_f64(V x, V y) { return product_with(x, y, log1p_f64(y)); }
V entr_f64(V x) { return select(x == 0, 0, select(x < 0, -kInfinity, -x * log_e(x))); }

// --- inverses of hyperbolic functions: logarithms of 1 + w, where w keeps what its rounding takes away

constexpr double kNothing = 0x1p-500;  // keeps what a root or quotient of 0 lacks from being NaN

struct Rounded {
  V value, rest;
};
// b is not far below zero, and its inverse finite.
Rounded quotient(Rounded a, Rounded b) {
  const V q = a.value / b.value;
  return {q, (fma(-q, b.value, a.value) + (a.rest - q * b.rest)) * b.value.code->reciprocal_estimate(b.value)};
}
Rounded root(Rounded a) {
  const V r = sqrt(a.value);
  return {r, (fma(-r, r, a.value) + a.rest) * (r.code->reciprocal_estimate(r + kNothing) * 0.5)};
}
Rounded square(V x) {
  const V product = x * x;
  return {product, fma(x, x, -product)};
}
Rounded plus(Rounded greater, Rounded lesser) {
  const V sum = greater.value + lesser.value;
  return {sum, lost_by(sum, greater.value, lesser.value) + (greater.rest + lesser.rest)};
}
Rounded exact(V x) { return {x, from(x, 0)}; }

// Where values cancelled, what was rounded away may be much of them.
Rounded renewed(Rounded x) {
  const V sum = x.value + x.rest;
  return {sum, lost_by(sum, x.value, x.rest)};
}
constexpr double kTiny = 0x1p-28;  // below, an inverse is its operand to every digit

// Beyond squares: log 2x.
V unless_huge(V x, V value) {
  constexpr double kHuge = 0x1p500;
  return x.code->instead(x > kHuge, {value}, [&] {
    const V twice = logarithm_of(parts_of(x), natural_base(), {}, from(x, 1));
    return std::vector<V>{select(x > kHuge, select(is_finite(x), twice, x), value)};
  })[0];
}
V atanh_f64(V x) {  // of 2 x / (1 - x)
  const V size = abs(x);
  const Rounded w = quotient(exact(size + size), plus(exact(from(x, 1)), exact(-size)));
  return select(size < kTiny, x, copysign(log1p_of(w.value, w.rest), x) * 0.5);
}
V asinh_f64(V x) {  // of x + x^2 / (1 + sqrt(1 + x^2))
  const V size = abs(x), small = select(size > 0x1p500, 1, size);
  const Rounded one = exact(from(x, 1)), squared = square(small);
  const V below = from(x, 1) + squared.value, more = below - 1;  // whichever is greater
  const Rounded under{below, (squared.value - more) + (from(x, 1) - (below - more)) + squared.rest};
  const Rounded below_root = root(under);
  const Rounded w = plus(exact(small), quotient(squared, plus(below_root, one)));
  return select(size < kTiny, x, copysign(unless_huge(size, log1p_of(w.value, w.rest)), x));
}
V acosh_f64(V x) {  // of x - 1 + sqrt(x^2 - 1)
  const V some = select(x > 0x1p500, 1, x), minus = from(x, -1);
  const Rounded r = root(renewed(plus(square(some), exact(minus)))), w = plus(r, plus(exact(some), exact(minus)));
  return select(x < 1, kNan, unless_huge(x, log1p_of(w.value, w.rest)));
}

}  // namespace

V fused_log(V x) { return log_e(x); }
TwoParts fused_log_in_parts(V x) {
  const TwoParts value = logarithm_in_parts(parts_of(x), natural_base(), {}, {});
  const V sum = value.high + value.low;
  return {sum, lost_by(sum, value.high, value.low)};
}

void add_fused_logarithms(Spellings& t) {
  t.push_back({.name = "log", .fused_f64 = spell<log_e>});
  t.push_back({.name = "log2", .fused_f64 = spell<log2>});
  t.push_back({.name = "log10", .fused_f64 = spell<log10>});
  t.push_back({.name = "logaddexp", .fused_f64 = spell<logaddexp_f64<false>>});
  t.push_back({.name = "logaddexp2", .fused_f64 = spell<logaddexp_f64<true>>});
  t.push_back({.name = "log1p", .fused_f64 = spell<log1p_f64>});
  t.push_back({.name = "atanh", .fused_f64 = spell<atanh_f64>});
  t.push_back({.name = "asinh", .fused_f64 = spell<asinh_f64>});
  t.push_back({.name = "acosh", .fused_f64 = spell<acosh_f64>});
  t.push_back({.name = "xlogy", .fused_f64 = spell<xlogy_f64>});
  t.push_back({.name = "special_xlog1py", .fused_f64 = spell<xlog1py_f64>});
  t.push_back({.name = "special_entr", .fused_f64 = spell<entr_f64>});
}

}  // namespace lenz::native
