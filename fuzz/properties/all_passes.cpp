#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  RunStatistics statistics;
  auto graph = subject.passed(pipeline(), &statistics);
  for (const PassRun& run : statistics.runs)
    if (run.changed) subject.features.insert("pass " + std::string(run.pass));
  if (statistics.rewrites == 0) return std::nullopt;
  if (auto mismatch = subject.wrong(*graph)) return subject.failed("all_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property all_passes() {
  return {"all_passes", "the graph behind the whole pipeline gives in eager what the bounds allow", holds};
}

}  // namespace lenz::fuzz
