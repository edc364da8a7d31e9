#include "compiler/driver/program_set.h"
#include "compiler/loops/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  const Graph& graph = subject.graph();
  std::string beyond;
  ProgramSet programs(graph, subject.runner());
  for (const oracle::Binding& sizes : oracle::various_sizes({}, graph)) {
    oracle::InputSource source(graph, sizes, subject.setting().values, subject.setting().seed);
    if (source.hopeless()) continue;
    oracle::ExecuteOptions options;
    options.ambient_seed = subject.setting().seed;
    options.guard = true;
    oracle::Trial trial(graph, subject.boxed(), source, sizes, options);
    const loops::Program& program = programs.at(sizes.lookup());
    loops::require_valid(program, "the lowering");
    const oracle::Execution got = trial.on_loops(program);
    if (auto mismatch = wrong(trial, program, got)) {
      // Indices were given for the case's own sizes, and not every kernel of eager's looks whether they point beyond.
      if (mismatch->rung == oracle::Rung::ending && points_beyond(got)) {
        beyond = got.text;
        continue;
      }
      auto failure = subject.failed("rebound", *mismatch);
      failure->detail += "\n  at " + to_text(sizes, graph);
      return failure;
    }
  }
  if (!beyond.empty()) throw Unsupported("indices point beyond the dims at other sizes: " + beyond);
  return std::nullopt;
}
}  // namespace

Property rebound() {
  return {"rebound", "one program serves other sizes: 0, 1, primes, as near as the graph's facts allow", holds};
}

}  // namespace lenz::fuzz
