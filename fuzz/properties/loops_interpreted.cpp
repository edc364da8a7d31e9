#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  auto lowered = [&] { return subject.program(); };
  return failure_of(subject, {lowered, "the lowering", lowered},
                    [&](const loops::Program& program) -> std::optional<Failure> {
                      if (!subject.interprets(Subject::Form::lowered, program)) return std::nullopt;
                      oracle::Trial& trial = subject.trial();
                      if (auto mismatch = wrong(trial, program, trial.on_loops(program)))
                        return subject.failed("loops_interpreted", *mismatch);
                      return std::nullopt;
                    });
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
