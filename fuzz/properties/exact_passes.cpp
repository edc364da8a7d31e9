#include "fuzz/properties/list.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
// Where the whole pipeline leaves every bit as it was, so do its first passes.
std::optional<oracle::Mismatch> differs(Subject& subject, oracle::Trial& trial) {
  const Subject::Passed& passed = subject.passed();
  const oracle::Execution& whole = subject.eager_passed(trial);
  if (subject.passed_keeps_bits(trial)) return std::nullopt;
  const bool rest_changed = Subject::any_changed(std::span(passed.runs).subspan(passed.exact_runs.size()));
  return oracle::Rewritten(trial).differs(*passed.exact, rest_changed ? trial.eager(*passed.exact) : whole);
}

std::optional<Failure> holds(Subject& subject) {
  if (!Subject::any_changed(subject.passed().exact_runs)) return std::nullopt;
  if (auto mismatch = differs(subject, subject.trial())) return subject.failed("exact_passes", *mismatch);
  const oracle::Values others[] = {another_kind(subject.setting())};  // which all_passes asks of too
  return failure_with_values(subject, "exact_passes", others,
                             [&](oracle::Trial& other) { return differs(subject, other); });
}
}  // namespace

Property exact_passes() {
  return {"exact_passes", "the passes up to the first that may round change no bit of what eager gives", holds};
}

}  // namespace lenz::fuzz
