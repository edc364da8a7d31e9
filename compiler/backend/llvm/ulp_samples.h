// Operands to try a row on: special values in every combination, every exponent, and the row's own domain. The same in
// every run. Thread-safety: pure functions.
#pragma once

#include <array>
#include <vector>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

std::vector<std::array<ScalarBits, 3>> sample_operands(const ScalarRow& row, Dtype compute, int64_t count);

}  // namespace lenz::native
