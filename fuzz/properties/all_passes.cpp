#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  const Subject::Passed& passed = subject.passed();
  for (const PassRun& run : passed.runs) {
    if (run.changed) subject.features.insert("pass " + std::string(run.pass));
    for (const auto& [what, times] : run.counters) subject.features.insert("rule " + what);
  }
  if (!Subject::any_changed(passed.runs)) return std::nullopt;
  if (auto mismatch = subject.wrong(*passed.whole)) return subject.failed("all_passes", *mismatch);
  return std::nullopt;
}
}  // namespace

Property all_passes() {
  return {"all_passes", "the graph behind the whole pipeline gives in eager what the bounds allow", holds};
}

}  // namespace lenz::fuzz
