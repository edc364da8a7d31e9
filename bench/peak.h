// The vector unit by itself.
// Thread-safety: pure.
#pragma once

#include "compiler/runtime/thread_pool.h"

namespace lenz::bench {

// What its instructions do in a second, of f32 in registers on all threads; each is measured for about so long.
struct Peak {
  double fused = 0;   // multiplications with additions in one instruction, two for each
  double simple = 0;  // additions, multiplications, comparisons, in the mixture that goes best
};
Peak peak_operations(runtime::Pool& pool, double seconds);

}  // namespace lenz::bench
