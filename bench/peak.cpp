#include "bench/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace lenz::bench {

namespace {
constexpr int kChains = 12;  // more than an instruction's latency times how many of them begin at once
constexpr int64_t kTurns = 20'000;

// What chains do in turns: all of them one thing, or every other one another.
enum class Mix : uint8_t { fused, additions, with_products, with_comparisons };

struct Unit {
  float (*run)(int64_t turns, Mix mix);
  double lanes;
};

using Vector512 [[gnu::vector_size(64)]] = float;
using Vector256 [[gnu::vector_size(32)]] = float;

// A function for each unit: what a function may use does not pass on to templates and lambdas inside it. A chain's next
// value hangs on its last one. `c * factor + term` in one expression is one instruction where there is one.
#define LENZ_REPEAT(EVEN, ODD)             \
  for (int64_t t = 0; t < turns; ++t)      \
    for (int k = 0; k < kChains; k += 2) { \
      auto& c = chains[k];                 \
      auto& d = chains[k + 1];             \
      c = (EVEN), d = (ODD);               \
    }
// NOLINTBEGIN(bugprone-macro-parentheses): types and attributes stand in none
#define LENZ_CHAINS(NAME, TARGET, VECTOR, FIRST)                                        \
  TARGET float NAME(int64_t turns, Mix mix) {                                           \
    VECTOR chains[kChains];                                                             \
    const VECTOR factor = VECTOR{} + 0.999F, term = VECTOR{} + 0.001F;                  \
    for (VECTOR & c : chains) c = VECTOR{} + static_cast<float>(turns);                 \
    switch (mix) {                                                                      \
      case Mix::fused: LENZ_REPEAT(c* factor + term, d * factor + term) break;          \
      case Mix::additions: LENZ_REPEAT(c + term, d + term) break;                       \
      case Mix::with_products: LENZ_REPEAT(c + term, d * factor) break;                 \
      case Mix::with_comparisons: LENZ_REPEAT(c + term, d > factor ? d : factor) break; \
    }                                                                                   \
    VECTOR sum = chains[0];                                                             \
    for (const VECTOR& c : chains) sum = sum + c;                                       \
    return FIRST;                                                                       \
  }
// NOLINTEND(bugprone-macro-parentheses)
LENZ_CHAINS(run_plain, , float, sum)
#if defined(__x86_64__)
LENZ_CHAINS(run512, __attribute__((target("avx512f"))), Vector512, sum[0])
LENZ_CHAINS(run256, __attribute__((target("avx2,fma"))), Vector256, sum[0])
#endif

Unit unit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {run512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {run256, 8};
#endif
  return {run_plain, 1};
}

// Instructions a second, of all lanes and threads.
double rate(runtime::Pool& pool, double seconds, Mix mix) {
  using Clock = std::chrono::steady_clock;
  const Unit vector = unit();
  std::atomic<float> seen = 0;
  auto part = [&](int64_t, int) { seen.store(vector.run(kTurns, mix), std::memory_order_relaxed); };
  double best = 1e9;
  const auto start = Clock::now();
  do {
    const auto began = Clock::now();
    pool.run(pool.workers(), runtime::Work::of(part));
    best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  return vector.lanes * kChains * static_cast<double>(kTurns) * pool.workers() / best;
}
}  // namespace

Peak peak_operations(runtime::Pool& pool, double seconds) {
  Peak peak{.fused = 2 * rate(pool, seconds, Mix::fused)};
  for (Mix mix : {Mix::additions, Mix::with_products, Mix::with_comparisons})
    peak.simple = std::max(peak.simple, rate(pool, seconds, mix));
  return peak;
}

}  // namespace lenz::bench
