#include "oracle/controls/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/controls/variant.h"

namespace lenz::oracle::controls {

namespace {
// Records choices and what each was taken from.
class Recorder final : public Chooser {
 public:
  explicit Recorder(Chooser& inner) : inner_(inner) {}
  uint64_t below(uint64_t n) override {
    ranges.push_back(n);
    values.push_back(inner_.below(n));
    return values.back();
  }
  std::vector<uint64_t> values, ranges;

 private:
  Chooser& inner_;
};
}  // namespace

double deviation(double exact, double got) {
  if (exact == got || (std::isnan(exact) && std::isnan(got))) return 0;
  const double d = std::fabs(exact - got);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

void raise_to(std::vector<Elements>& worst, const std::vector<Elements>& exact, const std::vector<Elements>& got) {
  for (size_t i = 0; i < got.size(); ++i)
    for (size_t k = 0; k < got[i].size(); ++k) worst[i][k] = std::max(worst[i][k], deviation(exact[i][k], got[i][k]));
}

std::optional<FarElement> farthest(const std::vector<Elements>& exact, const std::vector<Elements>& bad,
                                   const std::vector<Elements>& worst) {
  std::optional<FarElement> found;
  for (size_t i = 0; i < bad.size(); ++i)
    for (size_t k = 0; k < bad[i].size(); ++k) {
      const double d = deviation(exact[i][k], bad[i][k]);
      if (d <= worst[i][k]) continue;
      const double ratio = d / worst[i][k];
      if (!found || ratio > found->ratio) found = {i, k, ratio};
    }
  return found;
}

void search_towards(const Plan& plan, const std::vector<Elements>& exact, const std::vector<Elements>& bad, int runs,
                    uint64_t seed, std::vector<Elements>& worst, const std::function<void()>& alive) {
  RandomChooser random(seed);
  std::vector<uint64_t> best, ranges;
  std::optional<FarElement> target;
  double reached = -1;  // by `best`, at the target
  for (int run = 0; run < runs; ++run) {
    const std::optional<FarElement> now = farthest(exact, bad, worst);
    if (!now) return;
    if (alive) alive();
    const bool same = target && now->result == target->result && now->element == target->element;
    // Every now and then from somewhere else: a climb ends on some hill.
    if (!same || run % 100 == 0) best.clear(), reached = -1;
    target = now;
    std::vector<uint64_t> choices = best;
    // Most choices have no hand in the target: so many are changed at once that a few of those that have are among
    // them.
    const uint64_t one_in = uint64_t{4} << (2 * random.below(5));
    for (size_t at = 0; at < choices.size(); ++at)
      if (random.below(one_in) == 0) choices[at] = random.below(ranges[at]);
    ReplayChooser replay(choices);
    Recorder recorder(best.empty() ? static_cast<Chooser&>(random) : replay);
    const std::vector<Elements> got = run_variant(plan, recorder);
    raise_to(worst, exact, got);
    const double d = deviation(exact[target->result][target->element], got[target->result][target->element]);
    if (d < reached) continue;
    reached = d;
    best = std::move(recorder.values);
    ranges = std::move(recorder.ranges);
  }
}

}  // namespace lenz::oracle::controls
