#include "compiler/scalar/double_double.h"

#include <algorithm>

namespace lenz::dd {

#if defined(__x86_64__) && !defined(__FMA__)
const bool kHasFusedMultiplyAdd = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("fma") != 0;
}();
#endif

namespace {

constexpr double kTiny = 0x1p-120;  // below, x stands for sin x, log(1 + x), ... to every bit

bool is_whole(double x) { return std::nearbyint(x) == x; }
bool is_odd(double x) { return std::fabs(x) < 0x1p53 && std::fmod(x, 2.0) != 0; }

// 1/n and 1/n!, for series that would divide by them term after term.
struct Reciprocals {
  static constexpr int kCount = 90;
  DoubleDouble of[kCount], of_factorial[kCount];
};
const Reciprocals& reciprocals() {
  static const Reciprocals all = [] {
    Reciprocals r;
    DoubleDouble factorial = 1;
    r.of_factorial[0] = 1;
    for (int n = 1; n < Reciprocals::kCount; ++n) {
      factorial = factorial * DoubleDouble(n);
      r.of[n] = DoubleDouble(1) / DoubleDouble(n);
      r.of_factorial[n] = DoubleDouble(1) / factorial;
    }
    return r;
  }();
  return all;
}

// `sum` and power ratio^(k+1) weight(k) for all k < count. Each term is less than half of the one before it, so that
// those whose rounding errors as doubles are nothing beside the sum are doubles.
template <class Weight>
DoubleDouble add_terms(DoubleDouble sum, DoubleDouble power, DoubleDouble ratio, int count, Weight weight) {
  constexpr double kAsDoubles = 0x1p-58, kNothing = 0x1p-110;
  int k = 0;
  for (; k < count; ++k) {
    power = power * ratio;
    const DoubleDouble term = power * weight(k);
    sum = sum + term;
    if (std::fabs(term.hi) <= std::fabs(sum.hi) * kAsDoubles) break;
  }
  double rest = 0;
  for (double p = power.hi; ++k < count;) {
    p *= ratio.hi;
    const double term = p * weight(k).hi;
    rest += term;
    if (std::fabs(term) <= std::fabs(sum.hi) * kNothing) break;
  }
  return sum + DoubleDouble(rest);
}

// Sums x^first/first! + x^(first+step)/(first+step)! + ..., with the sign alternating if step is 2 and alternate is
// set.
DoubleDouble power_series(DoubleDouble x, int first, int step, bool alternate) {
  constexpr int kLast = 80;
  const DoubleDouble* weights = reciprocals().of_factorial;
  const DoubleDouble begin = first == 0 ? DoubleDouble(1) : x, ratio = step == 1 ? x : x * x;
  return add_terms(begin, begin, alternate ? -ratio : ratio, (kLast - first) / step - 1,
                   [&](int k) { return weights[first + step * (k + 1)]; });
}

// log((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 + ...), for |s| <= 0.2
DoubleDouble two_atanh(DoubleDouble s) {
  const DoubleDouble* weights = reciprocals().of;
  return scale(add_terms(s, s, s * s, 43, [&](int k) { return weights[2 * k + 3]; }), 1);
}

// exp(r) - 1 for |r| <= 0.36, to full relative precision: a Taylor series of r/16, then four doublings by
// (1 + u)^2 - 1 = 2u + u^2, in which nothing cancels.
DoubleDouble expm1_small(DoubleDouble r) {
  if (std::fabs(r.hi) < kTiny) return r;
  DoubleDouble u = power_series(scale(r, -4), 1, 1, false);
  for (int i = 0; i < 4; ++i) u = scale(u, 1) + u * u;
  return u;
}

struct Reduced {
  int quadrant;        // mod 4
  DoubleDouble angle;  // in [-1/2, 1/2], in quarter turns
};

// 2/pi, 1344 bits: enough for the largest double.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull,
    0xa9e391615ee61b08ull};
constexpr int kWindow = 5;  // limbs of 2/pi that matter for one double

// x * 2/pi mod 4 for a finite double: only the bits of 2/pi whose product with x falls below 4 are multiplied.
Reduced reduce(double x) {
  if (std::fabs(x) <= 0.5) return {0, DoubleDouble(x) / kHalfPi};
  int exponent;
  double fraction = std::frexp(std::fabs(x), &exponent);
  auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  exponent -= 53;  // |x| = mantissa * 2^exponent
  const int first = std::max(0, exponent - 2) / 64;
  const int shift = exponent - 64 * first;
  __extension__ using Wide = unsigned __int128;
  uint64_t product[kWindow + 1];  // product[0] is the integer part, before the shift
  uint64_t carry = 0;
  for (int i = kWindow - 1; i >= 0; --i) {
    Wide t = static_cast<Wide>(kTwoOverPi[first + i]) * mantissa + carry;
    product[i + 1] = static_cast<uint64_t>(t);
    carry = static_cast<uint64_t>(t >> 64);
  }
  product[0] = carry;
  // The bit of weight 2^k of the shifted product is bit (63 - ...) of the array; 64 bits of it from weight 2^top down.
  auto word = [&](int i) { return i >= 0 && i <= kWindow ? product[i] : 0; };
  auto bits_from = [&](int top) {
    const int position = 63 - (top - shift);  // counted from the array's highest bit
    const int at = position >> 6, within = position & 63;
    return within == 0 ? word(at) : word(at) << within | word(at + 1) >> (64 - within);
  };
  uint64_t words[4];
  words[0] = bits_from(1);  // two integer bits, 62 fraction bits
  for (int i = 1; i < 4; ++i) words[i] = bits_from(1 - 64 * i);
  int quadrant = static_cast<int>(words[0] >> 62);
  bool round_up = ((words[0] >> 61) & 1) != 0;
  words[0] &= (uint64_t{1} << 62) - 1;
  if (round_up) {  // fraction - 1, as a negated magnitude
    for (uint64_t& word : words) word = ~word;
    words[0] &= (uint64_t{1} << 62) - 1;
    quadrant += 1;
  }
  DoubleDouble angle = 0;
  for (int i = 3; i >= 0; --i) {  // each word in halves, so that it converts exactly
    angle = angle + DoubleDouble(std::ldexp(static_cast<double>(words[i] & 0xffffffffu), -62 - 64 * i));
    angle = angle + DoubleDouble(std::ldexp(static_cast<double>(words[i] >> 32), -30 - 64 * i));
  }
  if (round_up) angle = -angle;
  if (x < 0) return {-quadrant & 3, -angle};
  return {quadrant & 3, angle};
}

Reduced reduce(DoubleDouble x) {
  Reduced a = reduce(x.hi), b = reduce(x.lo);
  DoubleDouble angle = a.angle + b.angle;
  int quadrant = a.quadrant + b.quadrant;
  if (angle.hi > 0.5) angle = angle - DoubleDouble(1), quadrant += 1;
  if (angle.hi < -0.5) angle = angle + DoubleDouble(1), quadrant -= 1;
  return {quadrant & 3, angle};
}

DoubleDouble sin_turned(DoubleDouble quarter_turns, int quadrant) {
  DoubleDouble r = quarter_turns * kHalfPi;
  DoubleDouble y = (quadrant & 1) != 0 ? power_series(r, 0, 2, true) : r.hi == 0 ? r : power_series(r, 1, 2, true);
  return (quadrant & 2) != 0 ? -y : y;
}

Reduced reduce_pi(DoubleDouble x) {                                  // x half turns
  DoubleDouble turns = scale(x, 1) - scale(floor(scale(x, -1)), 2);  // quarter turns in [0, 4)
  DoubleDouble whole = round_half_even(turns);
  return {std::isfinite(whole.hi) ? static_cast<int>(whole.hi) & 3 : 0, turns - whole};
}

}  // namespace

DoubleDouble floor(DoubleDouble x) {
  double high = std::floor(x.hi);
  if (high != x.hi || x.lo == 0) return high;
  return finish(fast_two_sum(high, std::floor(x.lo)));
}
DoubleDouble ceil(DoubleDouble x) { return -floor(-x); }
DoubleDouble trunc(DoubleDouble x) { return sign_bit(x) ? ceil(x) : floor(x); }

DoubleDouble round_half_even(DoubleDouble x) {
  if (!is_finite(x) || x.hi == 0) return x;
  DoubleDouble below = floor(x), rest = x - below;
  DoubleDouble result = rest.hi < 0.5 || (rest.hi == 0.5 && rest.lo < 0)   ? below
                        : rest.hi > 0.5 || (rest.hi == 0.5 && rest.lo > 0) ? below + DoubleDouble(1)
                        : is_odd(below.lo != 0 ? below.lo : below.hi)      ? below + DoubleDouble(1)
                                                                           : below;
  return result.hi == 0 ? DoubleDouble(std::copysign(0.0, x.hi)) : result;
}

DoubleDouble sqrt(DoubleDouble x) {
  if (!(x.hi > 0) || is_inf(x)) return std::sqrt(x.hi);
  if (x.hi < 0x1p-900) return scale(sqrt(scale(x, 200)), -100);  // keeps the residual's low part
  if (x.hi > 0x1p1000) return scale(sqrt(scale(x, -200)), 100);
  double y = std::sqrt(x.hi);
  DoubleDouble residual = x - two_product(y, y);
  DoubleDouble root = fast_two_sum(y, residual.hi / (2 * y));
  residual = x - root * root;
  return finish(fast_two_sum(root.hi, root.lo + residual.hi / (2 * y)));
}

DoubleDouble cbrt(DoubleDouble x) {
  if (!is_finite(x) || x.hi == 0) return std::cbrt(x.hi);
  int exponent;
  std::frexp(x.hi, &exponent);
  exponent -= exponent % 3;
  DoubleDouble m = scale(x, -exponent), y = std::cbrt(m.hi);
  for (int i = 0; i < 2; ++i) y = y - (y * y * y - m) / (DoubleDouble(3) * y * y);
  return scale(y, exponent / 3);
}

DoubleDouble hypot(DoubleDouble x, DoubleDouble y) {
  if (is_inf(x) || is_inf(y)) return kInfinity;
  x = abs(x), y = abs(y);
  if (x < y) std::swap(x, y);
  if (is_nan(x) || is_nan(y)) return kNan;
  if (x.hi == 0) return 0;
  int exponent;
  std::frexp(x.hi, &exponent);
  x = scale(x, -exponent), y = scale(y, -exponent);
  return scale(sqrt(x * x + y * y), exponent);
}

DoubleDouble power(DoubleDouble x, int n) {
  DoubleDouble result = 1;
  for (; n > 0; n >>= 1, x = x * x)
    if ((n & 1) != 0) result = result * x;
  return result;
}

DoubleDouble exp(DoubleDouble x) {
  if (!is_finite(x)) return std::exp(x.hi);
  if (x.hi > 710) return kInfinity;
  if (x.hi < -760) return 0;
  // k ln2 is subtracted in three parts: the first two products are exact for |k| < 2^12.
  double k = std::nearbyint(x.hi * 1.4426950408889634);
  DoubleDouble r = x - DoubleDouble(k * 0x1.62e42fefa2000p-1) - DoubleDouble(k * 0x1.9ef35793c6000p-41) -
                   two_product(k, 0x1.673007e5ed5e8p-81);
  DoubleDouble e = expm1_small(r) + DoubleDouble(1);
  return scale(scale(e, static_cast<int>(k) / 2), static_cast<int>(k) - static_cast<int>(k) / 2);
}

DoubleDouble expm1(DoubleDouble x) {
  if (!is_finite(x)) return std::expm1(x.hi);
  if (std::fabs(x.hi) < 0.35) return expm1_small(x);
  return exp(x) - DoubleDouble(1);
}

DoubleDouble exp2(DoubleDouble x) {
  if (!is_finite(x)) return std::exp2(x.hi);
  if (x.hi > 1025) return kInfinity;
  if (x.hi < -1090) return 0;
  double k = std::nearbyint(x.hi);
  DoubleDouble e = expm1_small((x - DoubleDouble(k)) * kLn2) + DoubleDouble(1);
  return scale(scale(e, static_cast<int>(k) / 2), static_cast<int>(k) - static_cast<int>(k) / 2);
}

DoubleDouble log(DoubleDouble x) {
  if (!(x.hi > 0) || is_inf(x)) return std::log(x.hi);
  if (x.hi > 0.7 && x.hi < 1.45) return two_atanh((x - DoubleDouble(1)) / (x + DoubleDouble(1)));
  int exponent;  // x = m 2^exponent; m in [0.7, 1.4)
  double m0 = std::frexp(x.hi, &exponent);
  if (m0 < 0.70710678) exponent -= 1;
  DoubleDouble m = scale(scale(x, -(exponent / 2)), -(exponent - exponent / 2));
  double k = exponent;
  DoubleDouble y = two_atanh((m - DoubleDouble(1)) / (m + DoubleDouble(1)));
  return DoubleDouble(k * 0x1.62e42fefa2000p-1) +
         (DoubleDouble(k * 0x1.9ef35793c6000p-41) + (two_product(k, 0x1.673007e5ed5e8p-81) + y));
}

DoubleDouble log1p(DoubleDouble x) {
  if (!(x.hi > -1) || is_inf(x)) {
    if (x.hi == -1 && x.lo > 0) return log(DoubleDouble(1) + x);
    return std::log1p(x.hi);
  }
  if (std::fabs(x.hi) < kTiny) return x;
  if (std::fabs(x.hi) < 0.3) return two_atanh(x / (DoubleDouble(2) + x));
  return log(DoubleDouble(1) + x);
}

DoubleDouble log2(DoubleDouble x) {
  if (!(x.hi > 0) || is_inf(x)) return std::log2(x.hi);
  int exponent;
  double m0 = std::frexp(x.hi, &exponent);
  if (m0 < 0.70710678) exponent -= 1;
  DoubleDouble m = scale(scale(x, -(exponent / 2)), -(exponent - exponent / 2));
  return DoubleDouble(exponent) + log(m) / kLn2;
}

DoubleDouble log10(DoubleDouble x) {
  if (!(x.hi > 0) || is_inf(x)) return std::log10(x.hi);
  return log(x) / kLn10;
}

DoubleDouble pow(DoubleDouble x, DoubleDouble y) {
  if (y.hi == 0 || x == DoubleDouble(1)) return 1;  // also of a signalling NaN, which is one for the double function
  const bool whole = is_whole(y.hi) && is_whole(y.lo);
  const bool odd = whole && (y.lo != 0 ? is_odd(y.lo) != is_odd(y.hi) : is_odd(y.hi));
  if (!is_finite(x) || !is_finite(y) || x.hi == 0) {
    // The signs and limits are the double function's; only whether y is odd or |x| is one could hide in a low part.
    double base = x.hi, exponent = y.lo == 0 ? y.hi : std::copysign(odd ? 3.0 : whole ? 2.0 : 0.5, y.hi);
    if (std::fabs(base) == 1 && x.lo != 0) base = std::copysign(1 + std::copysign(0.5, x.hi * x.lo), base);
    return std::pow(base, exponent);
  }
  if (x.hi < 0 && !whole) return kNan;
  // Some factors are soon multiplied, if that stays within the range; by logarithms the size of y costs more bits.
  constexpr double kFewFactors = 32, kRange = 900;
  const double factors = std::fabs(y.hi);
  const bool few = whole && y.lo == 0 && factors <= kFewFactors && factors * (std::abs(std::ilogb(x.hi)) + 1) < kRange;
  DoubleDouble magnitude = few ? power(abs(x), static_cast<int>(factors)) : exp(y * log(abs(x)));
  if (few && y.hi < 0) magnitude = DoubleDouble(1) / magnitude;
  return x.hi < 0 && odd ? -magnitude : magnitude;
}

DoubleDouble sin(DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  if (x.hi == 0) return x;
  if (std::fabs(x.hi) < 0.5) return power_series(x, 1, 2, true);
  Reduced r = reduce(x);
  return sin_turned(r.angle, r.quadrant);
}
DoubleDouble cos(DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  Reduced r = reduce(x);
  return sin_turned(r.angle, r.quadrant + 1);
}
DoubleDouble tan(DoubleDouble x) {
  if (x.hi == 0) return x;
  return sin(x) / cos(x);
}

DoubleDouble sin_pi(DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  if (x.hi == 0) return x;
  Reduced r = reduce_pi(x);
  return sin_turned(r.angle, r.quadrant);
}
DoubleDouble cos_pi(DoubleDouble x) {
  if (!is_finite(x)) return kNan;
  Reduced r = reduce_pi(x);
  return sin_turned(r.angle, r.quadrant + 1);
}

DoubleDouble atan(DoubleDouble x) {
  if (!is_finite(x)) return is_nan(x) ? x : x.hi > 0 ? kHalfPi : -kHalfPi;
  if (std::fabs(x.hi) < 0x1p-60) return x;
  if (std::fabs(x.hi) > 0x1p60) return (x.hi > 0 ? kHalfPi : -kHalfPi) - DoubleDouble(1) / x;
  // One step of the addition theorem from a double's answer: what is left is below 2^-50, so two terms of the series.
  DoubleDouble start = std::atan(x.hi), t = tan(start);
  DoubleDouble d = (x - t) / (DoubleDouble(1) + x * t);
  return start + (d - d * d * d / DoubleDouble(3));
}

DoubleDouble atan2(DoubleDouble y, DoubleDouble x) {
  if (is_nan(x) || is_nan(y)) return kNan;
  DoubleDouble angle;  // of (|x|, |y|), in [0, pi/2]
  if (is_inf(x) && is_inf(y)) {
    angle = scale(kHalfPi, -1);
  } else if (is_inf(y) || (x.hi == 0 && y.hi != 0)) {
    angle = kHalfPi;
  } else if (is_inf(x) || y.hi == 0) {
    angle = 0;
  } else {
    DoubleDouble ax = abs(x), ay = abs(y);
    if (ax.hi < 0x1p-500 && ay.hi < 0x1p-500)
      ax = scale(ax, 512), ay = scale(ay, 512);  // a quotient's rest is less yet
    angle = ay <= ax ? atan(ay / ax) : kHalfPi - atan(ax / ay);
  }
  if (sign_bit(x)) angle = kPi - angle;
  return sign_bit(y) ? -angle : angle;
}

DoubleDouble asin(DoubleDouble x) {
  if (!(std::fabs(x.hi) <= 1)) return kNan;
  if (x.hi == 0) return x;
  return atan2(x, sqrt((DoubleDouble(1) - x) * (DoubleDouble(1) + x)));
}
DoubleDouble acos(DoubleDouble x) {
  if (!(std::fabs(x.hi) <= 1)) return kNan;
  return atan2(sqrt((DoubleDouble(1) - x) * (DoubleDouble(1) + x)), x);
}

DoubleDouble sinh(DoubleDouble x) {
  if (!is_finite(x) || x.hi == 0) return x;
  if (std::fabs(x.hi) < 0.5) return power_series(x, 1, 2, false);
  DoubleDouble a = abs(x), e = exp(a.hi > 80 ? scale(a, -1) : a);  // the root overflows no sooner than the result
  DoubleDouble y = a.hi > 80 ? scale(e, -1) * e : scale(e - DoubleDouble(1) / e, -1);
  return sign_bit(x) ? -y : y;
}
DoubleDouble cosh(DoubleDouble x) {
  if (!is_finite(x)) return std::fabs(x.hi);
  DoubleDouble a = abs(x), e = exp(a.hi > 80 ? scale(a, -1) : a);
  return a.hi > 80 ? scale(e, -1) * e : scale(e + DoubleDouble(1) / e, -1);
}
DoubleDouble tanh(DoubleDouble x) {
  if (is_nan(x) || x.hi == 0) return x;
  if (std::fabs(x.hi) > 40) return std::copysign(1.0, x.hi);
  DoubleDouble u = expm1(scale(x, 1));
  return u / (u + DoubleDouble(2));
}

DoubleDouble asinh(DoubleDouble x) {
  if (!is_finite(x) || x.hi == 0) return x;
  DoubleDouble a = abs(x), square = a * a, y;
  if (a.hi > 0x1p500)
    y = log(a) + kLn2;
  else
    y = log1p(a + square / (DoubleDouble(1) + sqrt(DoubleDouble(1) + square)));
  return sign_bit(x) ? -y : y;
}
DoubleDouble acosh(DoubleDouble x) {
  if (!(x.hi >= 1)) return kNan;
  if (x.hi > 0x1p500) return log(x) + kLn2;
  DoubleDouble t = x - DoubleDouble(1);
  return log1p(t + sqrt(t * (t + DoubleDouble(2))));
}
DoubleDouble atanh(DoubleDouble x) {
  if (!(std::fabs(x.hi) <= 1) || x.hi == 0) return x.hi == 0 ? x : DoubleDouble(kNan);
  if (std::fabs(x.hi) == 1 && x.lo == 0) return std::copysign(kInfinity, x.hi);
  DoubleDouble a = abs(x), y = scale(log1p(scale(a, 1) / (DoubleDouble(1) - a)), -1);
  return sign_bit(x) ? -y : y;
}

}  // namespace lenz::dd
