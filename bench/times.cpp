#include "bench/times.h"

#include <algorithm>

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

}  // namespace lenz::bench
