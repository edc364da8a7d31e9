#include "compiler/graph/float_bits.h"

#include <bit>
#include <cmath>

#include "compiler/base/error.h"

namespace lenz {

namespace {
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t top() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }  // the sign
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return {5, 10, true};
    case Dtype::bf16: return {8, 7, true};
    case Dtype::f8e4m3: return {4, 3, false};  // all ones is NaN; the rest of the highest exponent is finite
    case Dtype::f8e5m2: return {5, 2, true};
    default: internal_error("no narrow floating dtype", __FILE__, __LINE__);
  }
}
}  // namespace

double float_value(Dtype dtype, uint64_t bits) {
  if (dtype == Dtype::f64) return std::bit_cast<double>(bits);
  if (dtype == Dtype::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  Format f = format_of(dtype);
  uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  auto exponent = static_cast<int>((bits >> f.mantissa_bits) & ((uint64_t{1} << f.exponent_bits) - 1));
  double sign = bits & f.top() ? -1.0 : 1.0;
  bool highest = exponent == (1 << f.exponent_bits) - 1;
  if (highest && f.has_infinity) return mantissa ? std::nan("") : sign * HUGE_VAL;
  if (highest && mantissa == (uint64_t{1} << f.mantissa_bits) - 1) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - f.bias() - f.mantissa_bits);
  auto significand = static_cast<double>(mantissa | uint64_t{1} << f.mantissa_bits);
  return sign * std::ldexp(significand, exponent - f.bias() - f.mantissa_bits);
}

uint64_t float_bits(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return std::bit_cast<uint64_t>(std::isnan(value) ? std::nan("") : value);
  if (dtype == Dtype::f32)
    return std::bit_cast<uint32_t>(std::isnan(value) ? std::nanf("") : static_cast<float>(value));
  Format f = format_of(dtype);
  uint64_t sign = std::signbit(value) ? f.top() : 0;
  uint64_t infinity = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  if (std::isnan(value)) return f.has_infinity ? infinity | uint64_t{1} << (f.mantissa_bits - 1) : f.top() - 1;
  // Magnitudes and their bits are in the same order: in units of the last place the value is an integer once rounded,
  // and a carry into the exponent is right.
  double magnitude = std::fabs(value);
  uint64_t beyond = f.has_infinity ? infinity : f.top() - 1;  // infinity, or NaN where there is none
  if (std::isinf(value)) return sign | beyond;
  int exponent = magnitude == 0 ? 1 - f.bias() : std::max(std::ilogb(magnitude), 1 - f.bias());
  if (exponent > f.bias() + 1) return sign | beyond;
  auto steps = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  uint64_t bits = (static_cast<uint64_t>(exponent + f.bias() - 1) << f.mantissa_bits) + steps;
  return sign | std::min(bits, beyond);
}

}  // namespace lenz
