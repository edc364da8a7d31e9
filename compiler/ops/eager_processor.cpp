#include "compiler/ops/eager_processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

namespace lenz {

namespace {
// AVX-512 of servers, or the vectors of 32 bytes that multiply small integers and widen bf16 (which compilers have no
// name for yet).
bool has_bf16() {
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return true;
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7, kSecond = 1, kVnni = 1u << 4, kVnniOfBytes = 1u << 4, kConvert = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kFeatures, kSecond, &a, &b, &c, &d) && (a & kVnni) && (d & kVnniOfBytes) && (d & kConvert);
#else
  return false;
#endif
}

bool has_tiles() {
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7, kTilesOfBf16 = 1u << 22;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) && (d & kTilesOfBf16);
#else
  return false;
#endif
}

std::atomic<EagerProcessor>& current() {
  static std::atomic<EagerProcessor> processor{{.computes_in_half = __builtin_cpu_supports("avx512fp16") != 0,
                                                .computes_in_bf16 = has_bf16(),
                                                .has_tiles = has_tiles()}};
  return processor;
}
}  // namespace

EagerProcessor eager_processor() { return current().load(std::memory_order_relaxed); }

InPlaceOfEagersProcessor::InPlaceOfEagersProcessor(EagerProcessor processor) : before_(current().exchange(processor)) {}

InPlaceOfEagersProcessor::~InPlaceOfEagersProcessor() { current().store(before_); }

}  // namespace lenz
