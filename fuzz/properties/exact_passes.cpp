#include "fuzz/properties/list.h"
#include "oracle/graph_check.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  auto graph = subject.graph().clone();
  auto lines = oracle::exact_lines(subject.graph(), pipeline());
  if (run_passes(*graph, lines, subject.runner()).rewrites == 0) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  // A definition may ask the generator in another order than its op.
  const oracle::Execution got = trial.eager(*graph);
  auto mismatch = oracle::draws(subject.graph()) ? trial.differs_outside(got) : trial.differs(got);
  if (mismatch) return subject.failed("exact_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property exact_passes() {
  return {"exact_passes", "the passes up to the first that may round change no bit of what eager gives", holds};
}

}  // namespace lenz::fuzz
