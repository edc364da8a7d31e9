#include "compiler/base/chooser.h"
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/loops/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// A few passes. Without one that takes a graph to the next level there are no loops, which is Unsupported.
std::string some_off(uint64_t seed) {
  RandomChooser choose(combine(seed, 0x0FF));
  std::string selection;
  const size_t count = 1 + choose.below(4);
  for (size_t i = 0; i < count; ++i)
    selection += (selection.empty() ? "-" : ",-") + std::string(choose.pick(pipeline()).pass.name);
  return selection;
}

std::optional<Failure> holds(Subject& subject) {
  RunnerOptions options = checked_options();
  const std::string off = some_off(subject.setting().seed);
  options.selection = PassSelection::parse(off, pipeline());
  loops::Program program = program_for(subject.graph(), subject.sizes(), options);
  loops::require_valid(program, "the lowering, without " + off);
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = wrong(trial, program, trial.on_loops(program))) {
    auto failure = subject.failed("passes_off", *mismatch);
    failure->detail += "\n  without: " + off;
    return failure;
  }
  return std::nullopt;
}
}  // namespace

Property passes_off() {
  return {"passes_off", "without a few of the passes, if there are loops without them, these give it too", holds};
}

}  // namespace lenz::fuzz
