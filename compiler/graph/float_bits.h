// Elements of constants as they stand in memory.
// Thread-safety: pure functions.
#pragma once

#include "compiler/scalar/rounding.h"

namespace lenz {

// The bits of the nearest value of a real floating dtype, ties to even; the usual quiet NaN for a NaN.
inline uint64_t float_bits(Dtype dtype, double value) {
  return to_bits(dtype, ScalarValue(value != value ? dd::kNan : value))[0];
}
inline double float_value(Dtype dtype, uint64_t bits) { return from_bits(dtype, {bits, 0}).real(); }  // exact

}  // namespace lenz
