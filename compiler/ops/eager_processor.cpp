#include "compiler/ops/eager_processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

namespace lenz {

namespace {
bool bit(uint32_t word, int at) { return (word >> at & 1) != 0; }
}  // namespace

EagerProcessor eager_processor_of(const ProcessorWords& words, bool wide) {
  // AVX-512 of servers (DQ, BW, VL), or the vectors of 32 bytes that multiply small integers and widen bf16, which
  // compilers have no name for yet.
  constexpr int kDq = 17, kBw = 30, kVl = 31, kTilesOfBf16 = 22, kHalf = 23, kVnni = 4, kVnniOfBytes = 4, kConvert = 5;
  const bool servers = wide && bit(words.ebx, kDq) && bit(words.ebx, kBw) && bit(words.ebx, kVl);
  const bool narrow =
      bit(words.second_eax, kVnni) && bit(words.second_edx, kVnniOfBytes) && bit(words.second_edx, kConvert);
  return {.computes_in_half = wide && bit(words.edx, kHalf),
          .computes_in_bf16 = servers || narrow,
          .has_tiles = bit(words.edx, kTilesOfBf16)};
}

namespace {
EagerProcessor processor_here() {
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7;
  ProcessorWords words;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(kFeatures, 0, &a, &b, &c, &d)) words.ebx = b, words.edx = d;
  if (__get_cpuid_count(kFeatures, 1, &a, &b, &c, &d)) words.second_eax = a, words.second_edx = d;
  return eager_processor_of(words, __builtin_cpu_supports("avx512f") != 0);
#else
  return {};
#endif
}

std::atomic<EagerProcessor>& current() {
  static std::atomic<EagerProcessor> processor{processor_here()};
  return processor;
}
}  // namespace

EagerProcessor eager_processor() { return current().load(std::memory_order_relaxed); }

InPlaceOfEagersProcessor::InPlaceOfEagersProcessor(EagerProcessor processor) : before_(current().exchange(processor)) {}

InPlaceOfEagersProcessor::~InPlaceOfEagersProcessor() { current().store(before_); }

}  // namespace lenz
