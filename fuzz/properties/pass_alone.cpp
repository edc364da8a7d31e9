// What a pass promises it promises of any graph at its levels, not of what the pipeline leaves to it alone.
#include "compiler/base/chooser.h"
#include "compiler/base/hash.h"
#include "fuzz/properties/list.h"
#include "oracle/graph_check.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kPasses = 8;

std::optional<Failure> holds(Subject& subject) {
  RandomChooser choose(combine(subject.setting().seed, 0xA10));
  for (size_t i = 0; i < kPasses; ++i) {
    const PipelineLine& line = choose.pick(pipeline());
    if (!line.pass.levels.has(subject.graph().level)) continue;
    RunStatistics statistics;
    auto made = subject.passed({&line, 1}, &statistics);
    if (!Subject::any_changed(statistics.runs)) continue;
    oracle::Trial& trial = subject.trial();
    const bool exact = !oracle::exact_lines(subject.graph(), {&line, 1}).empty();
    const auto mismatch = exact ? oracle::Rewritten(trial).differs(*made, trial.eager(*made)) : subject.wrong(*made);
    if (!mismatch) continue;
    auto failure = subject.failed("pass_alone", *mismatch);
    failure->stage = line.pass.name;
    return failure;
  }
  return std::nullopt;
}
}  // namespace

Property pass_alone() {
  return {"pass_alone", "passes run alone on the graph as it is change no bit, or what the bounds allow if they round",
          holds};
}

}  // namespace lenz::fuzz
