// Arithmetic of about 106 bits: an unevaluated sum of two doubles, |lo| <= half an ulp of hi. It is the reference that
// float64 results are judged by, and the arithmetic in which the special functions are written.
//
// Accuracy (tested against quadruple precision): + - * / sqrt 104 bits; the elementary functions 100 bits, except pow
// 94 bits (the exponent multiplies the logarithm's error). The range is a double's: below 2^-969 the low part
// underflows and the precision falls towards a double's. Infinities and NaN live in hi, with lo = 0.
//
// Needs the IEEE rounding mode "to nearest" and no value-changing compiler flags (-ffast-math).
// Thread-safety: values and pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lenz {

struct DoubleDouble {
  double hi = 0, lo = 0;
  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double value) : hi(value) {}  // NOLINT: a double is a double-double
  constexpr DoubleDouble(int value) : hi(value) {}     // NOLINT
  constexpr DoubleDouble(double high, double low) : hi(high), lo(low) {}
  explicit operator double() const { return lo == 0 ? hi : hi + lo; }  // keeps the sign of -0
};

namespace dd {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline constexpr DoubleDouble kPi{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
inline constexpr DoubleDouble kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
inline constexpr DoubleDouble kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
inline constexpr DoubleDouble kLn10{0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53};
inline constexpr DoubleDouble kSqrtPi{0x1.c5bf891b4ef6bp+0, -0x1.618f13eb7ca89p-54};
inline constexpr DoubleDouble kSqrt2{0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54};
inline constexpr DoubleDouble kHalfLog2Pi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
inline constexpr DoubleDouble kEulerGamma{0x1.2788cfc6fb619p-1, -0x1.6cb90701fbfabp-58};

// a + b exactly, as a sum of a double and its rounding error.
inline DoubleDouble two_sum(double a, double b) {
  double s = a + b;
  double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
inline DoubleDouble fast_two_sum(double a, double b) {  // |a| >= |b|
  double s = a + b;
  return {s, b - (s - a)};
}
// a * b + c, rounded once. What is compiled for machines that may lack the instruction asks libm for it, by a call for
// each product of a series: so it stands here for those that have it.
#if defined(__x86_64__) && !defined(__FMA__)
extern const bool kHasFusedMultiplyAdd;  // false before it is known
inline double fused(double a, double b, double c) {
  if (!kHasFusedMultiplyAdd) return std::fma(a, b, c);
  asm("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
#else
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
#endif
inline DoubleDouble two_product(double a, double b) {
  double p = a * b;
  return {p, fused(a, b, -p)};
}
// Keeps infinities and NaN in hi alone: their "rounding errors" are NaN.
inline DoubleDouble finish(DoubleDouble x) {
  if (!std::isfinite(x.hi)) return {x.hi, 0.0};
  return x;
}

inline bool is_nan(DoubleDouble x) { return std::isnan(x.hi); }
inline bool is_inf(DoubleDouble x) { return std::isinf(x.hi); }
inline bool is_finite(DoubleDouble x) { return std::isfinite(x.hi); }
inline bool sign_bit(DoubleDouble x) { return std::signbit(x.hi); }

}  // namespace dd

inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble s = dd::two_sum(a.hi, b.hi);
  if (!std::isfinite(s.hi)) return {s.hi, 0.0};
  DoubleDouble t = dd::two_sum(a.lo, b.lo);
  if (s.hi == 0 && t.hi == 0) return {s.hi, 0.0};  // keeps -0 + -0
  s = dd::fast_two_sum(s.hi, s.lo + t.hi);
  return dd::finish(dd::fast_two_sum(s.hi, s.lo + t.lo));
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  DoubleDouble p = dd::two_product(a.hi, b.hi);
  if (!std::isfinite(p.hi) || p.hi == 0) return {p.hi, 0.0};
  return dd::finish(dd::fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi)));
}

// Three quotient digits of 53 bits; the third only corrects the rounding of the second, so that its residual is a
// double. a.hi - q1 b.hi is nearly a rounding error of the product: the difference of the high parts is exact.
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  double q1 = a.hi / b.hi;
  if (!std::isfinite(q1) || !std::isfinite(b.hi) || q1 == 0) return {q1, 0.0};
  if (std::fabs(a.hi) > 0x1p1000) {  // the products below must not overflow
    DoubleDouble q = DoubleDouble(a.hi * 0x1p-64, a.lo * 0x1p-64) / b;
    return dd::finish({q.hi * 0x1p64, q.lo * 0x1p64});
  }
  DoubleDouble p = dd::two_product(q1, b.hi);
  DoubleDouble r = dd::two_sum(a.hi - p.hi, -p.lo);
  r = dd::fast_two_sum(r.hi, r.lo + dd::fused(-q1, b.lo, a.lo));
  double q2 = r.hi / b.hi;
  p = dd::two_product(q2, b.hi);
  double q3 = (((r.hi - p.hi) - p.lo) + dd::fused(-q2, b.lo, r.lo)) / b.hi;
  DoubleDouble q = dd::fast_two_sum(q1, q2);
  return dd::finish(dd::fast_two_sum(q.hi, q.lo + q3));
}

inline bool operator==(DoubleDouble a, DoubleDouble b) { return a.hi == b.hi && a.lo == b.lo; }
inline bool operator<(DoubleDouble a, DoubleDouble b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }
inline bool operator>(DoubleDouble a, DoubleDouble b) { return b < a; }
inline bool operator<=(DoubleDouble a, DoubleDouble b) { return a < b || a == b; }
inline bool operator>=(DoubleDouble a, DoubleDouble b) { return b < a || a == b; }

namespace dd {

inline DoubleDouble scale(DoubleDouble x, int exponent) {  // x * 2^exponent
  constexpr int kBias = 1023;
  if (exponent <= -kBias || exponent > kBias) return finish({std::ldexp(x.hi, exponent), std::ldexp(x.lo, exponent)});
  const auto power = std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << 52);  // which is normal
  return finish({x.hi * power, x.lo * power});
}
inline DoubleDouble abs(DoubleDouble x) { return std::signbit(x.hi) ? -x : x; }
DoubleDouble floor(DoubleDouble x);
DoubleDouble ceil(DoubleDouble x);
DoubleDouble trunc(DoubleDouble x);
DoubleDouble round_half_even(DoubleDouble x);

DoubleDouble sqrt(DoubleDouble x);
DoubleDouble cbrt(DoubleDouble x);
DoubleDouble hypot(DoubleDouble x, DoubleDouble y);

DoubleDouble exp(DoubleDouble x);
DoubleDouble expm1(DoubleDouble x);
DoubleDouble exp2(DoubleDouble x);
DoubleDouble log(DoubleDouble x);
DoubleDouble log1p(DoubleDouble x);
DoubleDouble log2(DoubleDouble x);
DoubleDouble log10(DoubleDouble x);
DoubleDouble pow(DoubleDouble x, DoubleDouble y);  // C99's special cases
DoubleDouble power(DoubleDouble x, int n);         // by squaring; n >= 0

DoubleDouble sin(DoubleDouble x);  // for every finite x, however large
DoubleDouble cos(DoubleDouble x);
DoubleDouble tan(DoubleDouble x);
DoubleDouble sin_pi(DoubleDouble x);  // sin(pi x)
DoubleDouble cos_pi(DoubleDouble x);
DoubleDouble asin(DoubleDouble x);
DoubleDouble acos(DoubleDouble x);
DoubleDouble atan(DoubleDouble x);
DoubleDouble atan2(DoubleDouble y, DoubleDouble x);

DoubleDouble sinh(DoubleDouble x);
DoubleDouble cosh(DoubleDouble x);
DoubleDouble tanh(DoubleDouble x);
DoubleDouble asinh(DoubleDouble x);
DoubleDouble acosh(DoubleDouble x);
DoubleDouble atanh(DoubleDouble x);

}  // namespace dd
}  // namespace lenz
