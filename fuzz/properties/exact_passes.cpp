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
  constexpr oracle::Values kOthers[] = {oracle::Values::special};
  return failure_with_values(subject, "exact_passes", kOthers, [&](oracle::Trial& other) {
    return oracle::Rewritten(other).differs(*passed.exact, other.eager(*passed.exact));
  });
}
}  // namespace

Property exact_passes() {
  return {"exact_passes", "the passes up to the first that may round change no bit of what eager gives", holds};
}

}  // namespace lenz::fuzz
