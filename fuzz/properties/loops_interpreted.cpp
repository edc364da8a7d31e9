#include "compiler/loops/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  loops::Program program = subject.program();
  loops::require_valid(program, "the lowering");
  if (!subject.interprets(Subject::Form::lowered, program)) return std::nullopt;
  oracle::Trial& trial = subject.trial();
  if (auto mismatch = wrong(trial, program, trial.on_loops(program)))
    return subject.failed("loops_interpreted", *mismatch);
  return std::nullopt;
}
}  // namespace

Property loops_interpreted() {
  return {.name = "loops_interpreted",
          .contract = "the loops break no rule, and their interpreter gives what the bounds allow",
          .holds = holds,
          .lowers = true,
          .every = 4};
}

}  // namespace lenz::fuzz
