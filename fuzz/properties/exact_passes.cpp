#include "fuzz/properties/list.h"
#include "oracle/graph_check.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  RunStatistics statistics;
  auto graph = subject.passed(oracle::exact_lines(subject.graph(), pipeline()), &statistics);
  if (statistics.rewrites == 0) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = oracle::Rewritten(trial).differs(*graph, trial.eager(*graph)))
    return subject.failed("exact_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property exact_passes() {
  return {"exact_passes", "the passes up to the first that may round change no bit of what eager gives", holds};
}

}  // namespace lenz::fuzz
