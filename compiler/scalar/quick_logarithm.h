// Logarithm and exponential of 70 bits and more, at a small multiple of a double's cost: for quick functions whose
// exponents are differences of large numbers. Internal to them.
// Thread-safety: pure functions.
#pragma once

#include "compiler/scalar/double_double.h"

namespace lenz::quick {

// Sums and products that keep what is rounded away, without a word about infinities.
inline DoubleDouble plus(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = dd::two_sum(a.hi, b.hi);
  return dd::fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
inline DoubleDouble times(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = dd::two_product(a.hi, b.hi);
  return dd::fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline DoubleDouble over(DoubleDouble a, DoubleDouble b) {
  const double q = a.hi / b.hi;
  return dd::fast_two_sum(q, (dd::fused(-q, b.hi, a.hi) + dd::fused(-q, b.lo, a.lo)) / b.hi);
}

struct Sum {
  double high = 0, low = 0;
  void add(double x) {
    const DoubleDouble s = dd::two_sum(high, x);
    high = s.hi, low += s.lo;
  }
  double value() const { return high + low; }
};

// Of a normal x > 0, whose `lo` is what rounding left of it. To 2^-72 of the logarithm, or of 1 if that is more.
DoubleDouble log(DoubleDouble x);

// value 2^exponent
struct Scaled {
  DoubleDouble value;
  int exponent = 0;
};
Scaled exp(DoubleDouble x);          // |x| < 1000, to 2^-64
double rounded(Scaled x);            // once, if the result is normal
DoubleDouble expm1(DoubleDouble x);  // |x| < 700, to 2^-64 of it, or of 2^-8 if that is more

}  // namespace lenz::quick
