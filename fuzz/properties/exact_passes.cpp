#include "fuzz/properties/list.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  const Subject::Passed& passed = subject.passed();
  if (!Subject::any_changed(passed.exact_runs)) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = oracle::Rewritten(trial).differs(*passed.exact, trial.eager(*passed.exact)))
    return subject.failed("exact_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property exact_passes() {
  return {"exact_passes", "the passes up to the first that may round change no bit of what eager gives", holds};
}

}  // namespace lenz::fuzz
