// The sort node in native code: lines along one dim, always stable, NaN greater than everything; or the first few in
// order. Thread-safety: pure functions.
#pragma once

#include "compiler/loops/tensor.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::runtime {

// `values` and `indices` may be absent, and shorter than keys. Values lie beside keys, not on them.
void sort_lines(const loops::Tensor& keys, loops::Tensor values, loops::Tensor indices, uint32_t dim, bool descending,
                Pool& pool);

}  // namespace lenz::runtime
