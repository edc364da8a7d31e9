// Storage: rounding a real number to a floating dtype, its last place, and the bits of any scalar.
// Thread-safety: pure functions. They need the rounding mode "to nearest".
#pragma once

#include <array>
#include <cstdint>

#include "compiler/base/dtype.h"
#include "compiler/scalar/double_double.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

// The nearest value of a floating dtype, ties to even, subnormals included. Beyond the largest finite value: infinity,
// once the value rounds past it; f8e4m3 has no infinity, so it gives NaN there and for infinities, as PyTorch does.
double round_to(Dtype dtype, double value);
double round_to(Dtype dtype, DoubleDouble value);  // one rounding of the whole, not of hi alone
std::complex<double> round_to(Dtype dtype, std::complex<double> value);

// The distance between neighbours of `dtype` at |value| (for a power of two: to the one above); the smallest subnormal
// at zero; that of the largest finite value from there on.
double last_place(Dtype dtype, double value);

double largest_finite(Dtype dtype);
double smallest_normal(Dtype dtype);
double smallest_subnormal(Dtype dtype);
// Towards `to`; both values of the dtype.
double next_after(Dtype dtype, double from, double to);

// A scalar as it stands in memory: two words, the second for the imaginary part of c128 alone.
using ScalarBits = std::array<uint64_t, 2>;
ScalarBits to_bits(Dtype dtype, const ScalarValue& value);  // rounds what is not representable
ScalarValue from_bits(Dtype dtype, ScalarBits bits);        // reads the low info(dtype).bits; never a double-double

int64_t wrap_to(Dtype integral, int64_t value);  // modulo 2^bits; b8: whether it is not zero

}  // namespace lenz
