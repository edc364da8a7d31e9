#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  auto graph = subject.graph().clone();
  const RunStatistics statistics = run_passes(*graph, pipeline(), subject.runner());
  for (const PassRun& run : statistics.runs)
    if (run.changed) subject.features.insert("pass " + std::string(run.pass));
  if (statistics.rewrites == 0) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = subject.wrong(trial.eager(*graph))) return subject.failed("all_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property all_passes() {
  return {"all_passes", "the graph behind the whole pipeline gives in eager what the bounds allow", holds};
}

}  // namespace lenz::fuzz
