// The vector unit by itself.
// Thread-safety: pure.
#pragma once

#include "compiler/runtime/thread_pool.h"

namespace lenz::bench {

// Fused multiplications and additions of f32 in registers for about this long on all threads: operations in a second,
// two for each.
double peak_operations(runtime::Pool& pool, double seconds);

}  // namespace lenz::bench
