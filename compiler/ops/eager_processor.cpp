#include "compiler/ops/eager_processor.h"

#include <atomic>

namespace lenz {

namespace {
std::atomic<EagerProcessor>& current() {
  static std::atomic<EagerProcessor> processor{{.computes_in_half = __builtin_cpu_supports("avx512fp16") != 0}};
  return processor;
}
}  // namespace

EagerProcessor eager_processor() { return current().load(std::memory_order_relaxed); }

InPlaceOfEagersProcessor::InPlaceOfEagersProcessor(EagerProcessor processor) : before_(current().exchange(processor)) {}

InPlaceOfEagersProcessor::~InPlaceOfEagersProcessor() { current().store(before_); }

}  // namespace lenz
