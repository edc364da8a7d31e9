#include "compiler/driver/program_set.h"
#include "compiler/loops/points.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
constexpr double kMost = 1 << 18;  // points: a few open sizes multiply to more than an interpreter does in minutes

std::optional<Failure> holds(Subject& subject) {
  ProgramSet programs(subject.graph(), subject.runner()),
      for_users(subject.graph(), subject.runner(), {.proved = true});
  return failure_at_sizes(subject, "rebound", oracle::various_sizes({}, subject.graph()),
                          [&](oracle::Trial& trial, const oracle::Binding& sizes) {
                            const loops::Program* program = &programs.at(sizes.lookup());
                            if (!subject.proved(*program, "the lowering")) program = &for_users.at(sizes.lookup());
                            if (loops::points(*program, sizes.lookup()) > kMost) return RunAtSizes{};
                            return RunAtSizes{program, trial.on_loops(*program)};
                          });
}
}  // namespace

Property rebound() {
  return {.name = "rebound",
          .contract = "one program serves other sizes: 0, 1, primes, as near as the graph's facts allow",
          .holds = holds,
          .lowers = true};
}

}  // namespace lenz::fuzz
