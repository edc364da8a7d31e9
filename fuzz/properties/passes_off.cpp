#include "compiler/base/chooser.h"
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// Without these there are no loops.
bool takes_to_next_level(std::string_view pass) {
  Graph empty(std::make_shared<Context>(), op_table(), "empty");
  for (const Level from : {Level::torch, Level::aten}) {
    empty.level = from;
    PassContext context;
    find_pass(pass)->pass.run(empty, context);
    if (empty.level != from) return true;
  }
  return false;
}

// A few of the passes that did something: without others nothing changes. Nothing: there are none.
std::string some_off(std::span<const PassRun> runs, uint64_t seed) {
  std::vector<std::string_view> busy;
  for (const PassRun& run : runs)
    if (run.changed && !takes_to_next_level(run.pass)) busy.push_back(run.pass);
  if (busy.empty()) return {};
  RandomChooser choose(combine(seed, 0x0FF));
  std::string selection;
  const size_t count = 1 + choose.below(4);
  for (size_t i = 0; i < count; ++i) selection += (selection.empty() ? "-" : ",-") + std::string(choose.pick(busy));
  return selection;
}

std::optional<Failure> holds(Subject& subject) {
  RunnerOptions options = checked_options();
  const std::string off = some_off(subject.passed().runs, subject.setting().seed);
  if (off.empty()) return std::nullopt;
  options.selection = PassSelection::parse(off, pipeline());
  const std::string made_by = "the lowering, without " + off;
  auto lowered = [&] {
    return program_for(subject.graph(), subject.sizes(), options, {.proved = subject.lacks_proofs()});
  };
  return failure_of(subject, {lowered, made_by, lowered}, [&](const loops::Program& program) -> std::optional<Failure> {
    if (!subject.interprets(Subject::Form::passes_off, program)) return std::nullopt;
    oracle::Trial& trial = subject.trial();
    const auto mismatch = wrong(trial, program, trial.on_loops(program));
    if (!mismatch) return std::nullopt;
    auto failure = subject.failed("passes_off", *mismatch);
    failure->detail += "\n  without: " + off;
    failure->without = off;
    return failure;
  });
}

// The same of the graph itself, in eager: most rules that a pass undoes for another one are seen here, without loops.
std::optional<Failure> holds_as_graph(Subject& subject) {
  RunnerOptions options = subject.runner();
  const std::string off = some_off(subject.passed().runs, subject.setting().seed);
  if (off.empty()) return std::nullopt;
  options.selection = PassSelection::parse(off, pipeline());
  const auto made = passed_for(subject.graph(), subject.sizes(), pipeline(), options);
  const auto mismatch = subject.wrong(*made);
  if (!mismatch) return std::nullopt;
  auto failure = subject.failed("passes_left_out", *mismatch);
  failure->detail += "\n  without: " + off;
  failure->without = off;
  return failure;
}
}  // namespace

Property passes_left_out() {
  return {.name = "passes_left_out",
          .contract = "without a few of the passes the others leave a graph that gives in eager what the bounds allow",
          .holds = holds_as_graph,
          .every = 4};
}

Property passes_off() {
  return {.name = "passes_off",
          .contract = "without a few of the passes, if there are loops without them, these give it too",
          .holds = holds,
          .lowers = true,
          .every = 4};
}

}  // namespace lenz::fuzz
