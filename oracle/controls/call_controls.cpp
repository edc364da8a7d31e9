#include "oracle/controls/call_controls.h"

#include "compiler/base/hash.h"
#include "oracle/controls/search.h"
#include "oracle/controls/variant.h"

namespace lenz::oracle::controls {

CallControls control_call(const Graph& graph, Boxed& boxed, int variants, uint64_t seed,
                          std::span<const KnownFault> known) {
  CallControls found;
  std::optional<Subject> made;
  try {
    made = Subject::make(graph.clone(), boxed, Others::by_eager);
  } catch (const Unsupported& error) {
    found.uncovered = error.what();
    return found;
  }
  if (!made) {
    found.uncovered = "eager refuses";
    return found;
  }
  std::vector<Elements> worst = made->eager_deviations();
  for (int v = 0; v < variants; ++v) {
    RandomChooser random(combine(seed, static_cast<uint64_t>(v)));
    std::vector<std::string> choices;
    const std::vector<Elements> got = run_variant(made->plan(), random, {.said = &choices});
    ++found.runs;
    raise_to(worst, made->exact(), got);
    const Judgement j = made->judge_elements(got, Scope::every_result);
    if (!j.mismatch || !found.alarm.empty()) continue;
    found.alarm = "a legal variant is called wrong: " + j.mismatch->summary();
    for (const std::string& choice : choices) found.alarm += "\n      " + choice;
  }
  if (!found.alarm.empty()) found.known = known_in(known, *made->plan().graph, {}, {}) != nullptr;
  if (made->plan().perturbed && made->plan().longest <= kShortReduction)
    for (size_t i = 0; i < worst.size(); ++i)
      if (const double ratio = made->bound_over(worst[i], i); ratio > 0) found.tightness.add(ratio);
  return found;
}

}  // namespace lenz::oracle::controls
