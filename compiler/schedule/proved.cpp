#include "compiler/schedule/proved.h"

#include "compiler/loops/clone.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/dead_results.h"

namespace lenz::schedule {

namespace {
// Each nest as it stands is a kernel of its own.
loops::Program apart(loops::Program program, const Target& target, const RealiseOptions& options) {
  drop_dead_results(program);
  Plan made = plan(program, target, {.nests = 1});
  return realise(std::move(program), made, options);
}
}  // namespace

std::string why_not_proved(const loops::Program& program) {
  const loops::ProgramVerdict verdict = loops::verify(program);
  return verdict.valid() ? "" : to_string(verdict.violations[0]);
}

Proved schedule_proved(const loops::Program& program, const Target& target, const RealiseOptions& options,
                       const std::function<std::string(const loops::Program&)>& why_not) {
  Proved made{schedule(loops::clone(program), target, options), {}};
  made.given_up = why_not(made.program);
  if (made.given_up.empty()) return made;
  made.program = apart(loops::clone(program), target, options);
  if (why_not(made.program).empty()) return made;
  made.program = apart(loops::clone(program), target, {.tiles = false});
  if (const std::string why = why_not(made.program); !why.empty())
    throw InternalError("a program breaks rules once its nests are kernels: " + why);
  return made;
}

}  // namespace lenz::schedule
