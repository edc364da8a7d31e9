#include "bench/times.h"

#include <algorithm>
#include <chrono>

namespace lenz::bench {

namespace {
void lower(double& kept, double ms) {
  if (ms > 0 && (kept == 0 || ms < kept)) kept = ms;
}
}  // namespace

Times Times::of(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {1e3 * seconds.front(), 1e3 * seconds[seconds.size() / 2]};
}

void Times::keep_better(const Times& other) {
  lower(best, other.best);
  lower(median, other.median);
}

Times turn_of(double seconds, size_t least, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < least || since(start) < seconds) {
    const auto began = Clock::now();
    call();
    times.push_back(since(began));
  }
  return Times::of(std::move(times));
}

}  // namespace lenz::bench
