// The sort node in native code: lines along one dim, always stable, NaN greater than everything; or the first few in
// order, or those at some places of the order. Thread-safety: pure functions.
#pragma once

#include <span>

#include "compiler/loops/tensor.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::runtime {

// `values` and `indices` may be absent, and shorter than keys. Values lie beside keys, not on them. With places, which
// are inside the lines, results have one element for each.
void sort_lines(const loops::Tensor& keys, loops::Tensor values, loops::Tensor indices, uint32_t dim, bool descending,
                Pool& pool, std::span<const int64_t> places = {});

}  // namespace lenz::runtime
