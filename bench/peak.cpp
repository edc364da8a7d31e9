#include "bench/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lenz::bench {

namespace {
constexpr int kChains = 12;  // more than an instruction's latency times how many of them begin at once
constexpr int64_t kTurns = 20'000;

struct Unit {
  float (*run)(int64_t turns);
  double lanes;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float run512(int64_t turns) {
  __m512 chains[kChains];
  const __m512 factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(0.001F);
  for (__m512& c : chains) c = _mm512_set1_ps(static_cast<float>(turns));
  for (int64_t t = 0; t < turns; ++t)
    for (__m512& c : chains) c = _mm512_fmadd_ps(c, factor, term);
  __m512 sum = chains[0];
  for (const __m512& c : chains) sum = _mm512_add_ps(sum, c);
  return _mm512_reduce_add_ps(sum);
}
__attribute__((target("avx2,fma"))) float run256(int64_t turns) {
  __m256 chains[kChains];
  const __m256 factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(0.001F);
  for (__m256& c : chains) c = _mm256_set1_ps(static_cast<float>(turns));
  for (int64_t t = 0; t < turns; ++t)
    for (__m256& c : chains) c = _mm256_fmadd_ps(c, factor, term);
  __m256 sum = chains[0];
  for (const __m256& c : chains) sum = _mm256_add_ps(sum, c);
  return _mm_cvtss_f32(_mm256_castps256_ps128(sum));
}
#endif

float run_plain(int64_t turns) {
  float chains[kChains];
  std::fill_n(chains, kChains, static_cast<float>(turns));
  for (int64_t t = 0; t < turns; ++t)
    for (float& c : chains) c = c * 0.999F + 0.001F;
  float sum = 0;
  for (float c : chains) sum += c;
  return sum;
}

Unit unit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {run512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {run256, 8};
#endif
  return {run_plain, 1};
}
}  // namespace

double peak_operations(runtime::Pool& pool, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Unit vector = unit();
  std::atomic<float> seen = 0;
  auto part = [&](int64_t, int) { seen.store(vector.run(kTurns), std::memory_order_relaxed); };
  double best = 1e9;
  const auto start = Clock::now();
  do {
    const auto began = Clock::now();
    pool.run(pool.workers(), runtime::Work::of(part));
    best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  return 2.0 * vector.lanes * kChains * static_cast<double>(kTurns) * pool.workers() / best;
}

}  // namespace lenz::bench
