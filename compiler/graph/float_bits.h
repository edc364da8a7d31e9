// Elements of constants as they stand in memory.
// Thread-safety: pure functions.
#pragma once

#include "compiler/base/dtype.h"

namespace lenz {

// The bits of the nearest value of a real floating dtype, ties to even; the usual quiet NaN for a NaN.
uint64_t float_bits(Dtype dtype, double value);
double float_value(Dtype dtype, uint64_t bits);  // exact; a NaN's payload is lost

}  // namespace lenz
