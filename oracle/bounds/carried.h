// Numbers in a wider dtype and back. Internal to oracle/bounds; includes libtorch. Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

namespace lenz::oracle {

// A contiguous copy in another dtype: as libtorch converts it, and of NaNs every bit that there is room for, which
// conversions make quiet, and some drop. Whoever has moved floats and looks at their bits sees those.
at::Tensor carried(const at::Tensor& given, at::ScalarType to);

}  // namespace lenz::oracle
