#include "fuzz/properties/list.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
std::optional<oracle::Mismatch> wrong_passed(Subject& subject, oracle::Trial& trial) {
  if (subject.passed_keeps_bits(trial)) return std::nullopt;
  return oracle::Rewritten(trial).out_of_bounds(*subject.passed().whole, subject.eager_passed(trial));
}

std::optional<Failure> holds(Subject& subject) {
  const Subject::Passed& passed = subject.passed();
  for (const PassRun& run : passed.runs) {
    if (run.changed) subject.features.insert("pass " + std::string(run.pass));
    for (const auto& [what, times] : run.counters) subject.features.insert("rule " + what);
  }
  if (!Subject::any_changed(passed.runs)) return std::nullopt;
  if (auto mismatch = wrong_passed(subject, subject.trial())) return subject.failed("all_passes", *mismatch);
  const oracle::Values other[] = {another_kind(subject.setting())};
  return failure_with_values(subject, "all_passes", other,
                             [&](oracle::Trial& trial) { return wrong_passed(subject, trial); });
}
}  // namespace

Property all_passes() {
  return {"all_passes", "the graph behind the whole pipeline gives in eager what the bounds allow", holds};
}

}  // namespace lenz::fuzz
