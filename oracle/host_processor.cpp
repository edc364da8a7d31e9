#include "oracle/host_processor.h"

namespace lenz::oracle {

bool has_slow_products() {
#if defined(__x86_64__)
  static const bool slow = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
  return slow;
#else
  return false;
#endif
}

}  // namespace lenz::oracle
