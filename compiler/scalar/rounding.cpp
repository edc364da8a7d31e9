#include "compiler/scalar/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/base/error.h"

namespace lenz {

namespace {

struct FloatFormat {
  int precision;     // bits of the significand, with the implicit one
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest finite one
  double largest;
  bool has_infinity;
};

FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return {11, -14, 15, 65504.0, true};
    case Dtype::bf16: return {8, -126, 127, 0x1.fep127, true};
    case Dtype::f32:
    case Dtype::c64: return {24, -126, 127, 0x1.fffffep127, true};
    case Dtype::f64:
    case Dtype::c128: return {53, -1022, 1023, 0x1.fffffffffffffp1023, true};
    case Dtype::f8e4m3: return {4, -6, 8, 448.0, false};
    case Dtype::f8e5m2: return {3, -14, 15, 57344.0, true};
    default: internal_error("not a floating dtype", __FILE__, __LINE__);
  }
}

constexpr int kBias = 1023;

// x * 2^exponent, exactly: a product with a power of two that is normal is just that, and made sooner.
double scaled(double x, int exponent) {
  if (exponent <= -kBias || exponent > kBias) return std::ldexp(x, exponent);
  return x * std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << 52);
}

// Of a magnitude that is normal; below all formats' own for others, above them for what is not finite.
int exponent_of(double magnitude) { return static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52) - kBias; }

double quantum(const FloatFormat& f, double magnitude) {
  return scaled(1.0, std::clamp(exponent_of(magnitude), f.min_exponent, f.max_exponent) - (f.precision - 1));
}

constexpr uint64_t kPayload = (uint64_t{1} << 52) - 1;

// NaN payloads travel left-aligned in the double, so that bits survive the way there and back.
//
// The bits of a float narrower than f64, from a representable value.
uint64_t pack(const FloatFormat& f, int bits, double value) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (bits - 1) : 0;
  const int mantissa_bits = f.precision - 1, exponent_bits = bits - f.precision;
  const uint64_t exponent_ones = (uint64_t{1} << exponent_bits) - 1;
  if (std::isnan(value)) {
    if (!f.has_infinity) return sign | ((uint64_t{1} << (bits - 1)) - 1);
    uint64_t payload = (std::bit_cast<uint64_t>(value) & kPayload) >> (52 - mantissa_bits);
    if (payload == 0) payload = uint64_t{1} << (mantissa_bits - 1);
    return sign | (exponent_ones << mantissa_bits) | payload;
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | (exponent_ones << mantissa_bits);
  auto steps = static_cast<uint64_t>(magnitude / quantum(f, magnitude));
  if (exponent_of(magnitude) < f.min_exponent) return sign | steps;
  auto biased = static_cast<uint64_t>(exponent_of(magnitude) - f.min_exponent + 1);
  return sign | (biased << mantissa_bits) | (steps - (uint64_t{1} << mantissa_bits));
}

double unpack(const FloatFormat& f, int bits, uint64_t packed) {
  const int mantissa_bits = f.precision - 1, exponent_bits = bits - f.precision;
  const uint64_t mantissa = packed & ((uint64_t{1} << mantissa_bits) - 1);
  const uint64_t exponent_ones = (uint64_t{1} << exponent_bits) - 1, biased = (packed >> mantissa_bits) & exponent_ones;
  const double sign = ((packed >> (bits - 1)) & 1) != 0 ? -1.0 : 1.0;
  if (biased == exponent_ones) {
    if (f.has_infinity && mantissa == 0) return std::copysign(dd::kInfinity, sign);
    if (f.has_infinity) {
      constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
      return std::bit_cast<double>((packed >> (bits - 1)) << 63 | kExponent | mantissa << (52 - mantissa_bits));
    }
    if (mantissa == (uint64_t{1} << mantissa_bits) - 1) return std::copysign(dd::kNan, sign);
  }
  if (biased == 0) return sign * scaled(static_cast<double>(mantissa), f.min_exponent - mantissa_bits);
  return sign * scaled(static_cast<double>(mantissa | (uint64_t{1} << mantissa_bits)),
                       f.min_exponent - mantissa_bits + static_cast<int>(biased) - 1);
}

uint64_t float_bits(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return std::bit_cast<uint64_t>(value);
  // The machine rounds as round_to() does; NaNs' bits are carried below.
  if (dtype == Dtype::f32 && !std::isnan(value)) return std::bit_cast<uint32_t>(static_cast<float>(value));
  value = round_to(dtype, value);
  return pack(format_of(dtype), info(dtype).bits, value);
}
double float_from(Dtype dtype, uint64_t bits) {
  if (dtype == Dtype::f64) return std::bit_cast<double>(bits);
  if (dtype == Dtype::f32)
    if (const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits)); !std::isnan(value)) return value;
  return unpack(format_of(dtype), info(dtype).bits, bits);
}

}  // namespace

double round_to(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return value;
  if (dtype == Dtype::f32 && !std::isnan(value)) return static_cast<float>(value);
  FloatFormat f = format_of(dtype);
  if (f.precision == 53 || std::isnan(value) || value == 0) return value;
  if (std::isinf(value)) return f.has_infinity ? value : std::copysign(dd::kNan, value);
  // Scaling by a power of two is exact: the quotient's bits below the point are what gets rounded. Values that scale
  // below the smallest double are far below half a quantum.
  double q = quantum(f, std::fabs(value));
  double rounded = std::nearbyint(value / q) * q;
  if (std::fabs(rounded) > f.largest) return std::copysign(f.has_infinity ? dd::kInfinity : dd::kNan, value);
  return rounded == 0 ? std::copysign(0.0, value) : rounded;
}

double round_to(Dtype dtype, DoubleDouble value) {
  if (format_of(dtype).precision == 53 || value.lo == 0 || !dd::is_finite(value)) return round_to(dtype, value.hi);
  // Round to odd first: a double whose last bit is one stands for "more than the bits show", so that the second
  // rounding, to at least two bits fewer, can't mistake it for a tie.
  double sticky = value.hi;
  if ((std::bit_cast<uint64_t>(sticky) & 1) == 0)
    sticky = std::nextafter(sticky, std::copysign(dd::kInfinity, value.lo));
  return round_to(dtype, sticky);
}

std::complex<double> round_to(Dtype dtype, std::complex<double> value) {
  return {round_to(dtype, value.real()), round_to(dtype, value.imag())};
}

double last_place(Dtype dtype, double value) {
  FloatFormat f = format_of(dtype);
  return quantum(f, std::isfinite(value) ? std::min(std::fabs(value), f.largest) : f.largest);
}

double largest_finite(Dtype dtype) { return format_of(dtype).largest; }
double smallest_normal(Dtype dtype) { return scaled(1.0, format_of(dtype).min_exponent); }
double smallest_subnormal(Dtype dtype) { return quantum(format_of(dtype), 0); }

double next_after(Dtype dtype, double from, double to) {
  if (std::isnan(from) || std::isnan(to)) return dd::kNan;
  if (from == to) return to;
  if (dtype == Dtype::f64) return std::nextafter(from, to);
  if (from == 0) return std::copysign(smallest_subnormal(dtype), to);
  if (std::isinf(from)) return std::copysign(largest_finite(dtype), from);
  const int bits = info(dtype).bits;
  const bool away = (from < to) == (from > 0);
  return unpack(format_of(dtype), bits, pack(format_of(dtype), bits, from) + (away ? 1 : uint64_t{0} - 1));
}

ScalarBits to_bits(Dtype dtype, const ScalarValue& value) {
  if (is_integral(dtype, true)) {
    const int bits = info(dtype).bits;
    auto word = static_cast<uint64_t>(wrap_to(dtype, value.integer()));
    return {bits == 64 ? word : word & ((uint64_t{1} << bits) - 1), 0};
  }
  if (dtype == Dtype::c128) {
    std::complex<double> z = value.complex();
    return {std::bit_cast<uint64_t>(z.real()), std::bit_cast<uint64_t>(z.imag())};
  }
  if (dtype == Dtype::c64) {
    std::complex<double> z = value.complex();
    return {float_bits(Dtype::f32, z.real()) | (float_bits(Dtype::f32, z.imag()) << 32), 0};
  }
  if (value.kind() == ScalarKind::double_double) return {float_bits(dtype, round_to(dtype, value.double_double())), 0};
  return {float_bits(dtype, value.real()), 0};
}

ScalarValue from_bits(Dtype dtype, ScalarBits bits) {
  if (is_integral(dtype, true)) return ScalarValue(wrap_to(dtype, static_cast<int64_t>(bits[0])));
  if (dtype == Dtype::c128)
    return ScalarValue(std::complex<double>(std::bit_cast<double>(bits[0]), std::bit_cast<double>(bits[1])));
  if (dtype == Dtype::c64)
    return ScalarValue(
        std::complex<double>(float_from(Dtype::f32, bits[0] & 0xffffffffu), float_from(Dtype::f32, bits[0] >> 32)));
  return ScalarValue(float_from(dtype, bits[0]));
}

int64_t wrap_to(Dtype integral, int64_t value) {
  switch (integral) {
    case Dtype::b8: return value != 0 ? 1 : 0;
    case Dtype::u8: return static_cast<uint8_t>(value);
    case Dtype::i8: return static_cast<int8_t>(value);
    case Dtype::i16: return static_cast<int16_t>(value);
    case Dtype::i32: return static_cast<int32_t>(value);
    case Dtype::i64: return value;
    default: internal_error("not an integral dtype", __FILE__, __LINE__);
  }
}

}  // namespace lenz
