// Integers of more digits than float64 has, on their way to dtypes that have fewer: cut off towards zero, with an odd
// last digit where anything was lost. What rounds that rounds the integer itself, once.
// Internal to oracle/bounds. Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include "compiler/base/dtype.h"

namespace lenz::oracle {

double with_odd_end(int64_t v);  // a number of float64 stays
// An integer tensor as one of float64, if its integers are on their way to that dtype and need it; else itself.
at::Tensor with_odd_ends(const at::Tensor& value, Dtype to);

}  // namespace lenz::oracle
