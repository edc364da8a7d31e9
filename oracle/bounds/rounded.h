// Rounding to a storage dtype, fast: what the perturbing executor does most, and the bounds for every certain result.
// It agrees with compiler/scalar/rounding.h (rounded_test.cpp holds it to that). Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/scalar/rounding.h"

namespace lenz::oracle {

// A format of `precision` bits, its smallest normal number 2^lowest, the largest finite one `largest`.
inline double nearest_of(int precision, int lowest, double largest, double v) {
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const int exponent = std::max(static_cast<int>(bits >> 52 & 0x7ff) - 1023, lowest);
  if (exponent == 1024) return v;
  // Adding 1.5 * 2^52 quanta leaves no bits below a quantum.
  const double magic = std::bit_cast<double>(static_cast<uint64_t>(exponent - precision + 1 + 52 + 1023) << 52) * 1.5;
  const double r = (v + magic) - magic;
  if (std::fabs(r) > largest) return std::copysign(std::numeric_limits<double>::infinity(), v);
  return r == 0 ? std::copysign(0.0, v) : r;
}

// From here on a number is stored as an infinity; of float64, which has no room for that, its largest number.
inline double overflow_threshold(Dtype d) {
  const double largest = largest_finite(d);
  return d == Dtype::f64 ? largest : largest + last_place(d, largest) / 2;
}

inline double nearest(Dtype d, double v) {
  switch (d) {
    case Dtype::f64: return v;
    case Dtype::f32: return static_cast<double>(static_cast<float>(v));
    case Dtype::f16: return nearest_of(11, -14, 65504.0, v);
    case Dtype::bf16: return nearest_of(8, -126, 0x1.fep127, v);
    case Dtype::f8e4m3:
    case Dtype::f8e5m2: return round_to(d, v);
    default: return v;
  }
}

}  // namespace lenz::oracle
