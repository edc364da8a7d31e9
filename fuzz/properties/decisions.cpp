// What the compiler decides about things that never change, held to what it decided when baseline.txt was written: a
// rewrite that no longer fires and a plan that moves more give right results, which nobody else complains of. Each of
// the first cases asks for a part of them, so that a campaign has asked for all before long.
#include "fuzz/decisions/fixed.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  const std::optional<uint64_t> number = subject.setting().number;
  const std::optional<uint64_t> part = number ? part_of_decisions(*number) : std::nullopt;
  if (!part) return std::nullopt;
  for (const Fixed* fixed : things_of(*part)) {
    const auto known = baseline().find(fixed->name);
    if (known == baseline().end()) continue;  // newer than the baseline: ci/decisions says so
    const Drift found = drift(*fixed, known->second, fixed->facts());
    if (!found.stage.empty()) return Failure{"decisions", found.stage, found.symptom, found.text};
  }
  return std::nullopt;
}
}  // namespace

Property decisions() {
  return {.name = "decisions",
          .contract = "of fixed graphs, rows and refusals it decides, makes and says what the baseline has",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
