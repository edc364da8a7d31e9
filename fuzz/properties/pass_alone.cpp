// What a pass promises it promises of any graph at its levels, not of what the pipeline leaves to it alone.
#include <algorithm>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/base/hash.h"
#include "fuzz/properties/list.h"
#include "oracle/graph_check.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

namespace {
// Each pass once where there is little to look at, which costs no more than some of them on a large graph.
std::vector<const PipelineLine*> asked_of(const Graph& graph, uint64_t seed) {
  constexpr size_t kFewNodes = 12, kOfMany = 8;
  std::vector<const PipelineLine*> lines;
  if (graph.node_count() <= kFewNodes) {
    for (const PipelineLine& line : pipeline())
      if (std::ranges::none_of(lines, [&](const PipelineLine* l) { return l->pass.name == line.pass.name; }))
        lines.push_back(&line);
  } else {
    RandomChooser choose(combine(seed, 0xA10));
    for (size_t i = 0; i < kOfMany; ++i) lines.push_back(&choose.pick(pipeline()));
  }
  std::erase_if(lines, [&](const PipelineLine* line) { return !line->pass.levels.has(graph.level); });
  return lines;
}

std::optional<Failure> holds(Subject& subject) {
  for (const PipelineLine* asked : asked_of(subject.graph(), subject.setting().seed)) {
    const PipelineLine& line = *asked;
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
