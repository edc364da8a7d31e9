#include "oracle/host_processor.h"

#include "compiler/ops/eager_processor.h"

namespace lenz::oracle {

bool has_slow_products() {
#if defined(__x86_64__)
  static const bool slow = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
  return slow;
#else
  return false;
#endif
}

DtypeSet slowly_multiplied() {
  const EagerProcessor eager = eager_processor();
  DtypeSet slow;
  if (!eager.computes_in_bf16) slow = slow | DtypeSet::of(Dtype::bf16);
  if (!eager.computes_in_half) slow = slow | DtypeSet::of(Dtype::f16);
  return slow;
}

void describe_host(RunnerOptions& options) {
  options.attention_in_steps = has_slow_products();
  // libtorch's attention, and the look at what it made of rows that see nothing, take 15 to 50 microseconds to begin;
  // beside the steps of 8 heads of 180 keys that is nothing yet.
  options.few_scores = 1 << 20;
  options.slow_products = slowly_multiplied();
}

}  // namespace lenz::oracle
