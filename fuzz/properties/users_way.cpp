// The other properties take the shortest way to what they look at. Commands and callers go others to the same place:
// lowering and scheduling that look for proofs, and plans as texts.
#include "fuzz/properties/users_way.h"

#include "compiler/driver/program_set.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/schedule/proved.h"
#include "compiler/schedule/realise.h"

namespace lenz::fuzz {

std::string lost_in_plan(const loops::Program& prepared, const schedule::Plan& plan, const std::string& text) {
  try {
    const schedule::Plan again = schedule::parse_plan(text, "<plan>");
    if (schedule::print(again, prepared) != text) return "the plan that is read prints otherwise";
    if (std::string why = schedule::why_illegal(again, prepared); !why.empty())
      return "what is read is illegal: " + why;
    const std::string made = loops::print(schedule::realise(loops::clone(prepared), again));
    if (made != loops::print(schedule::realise(loops::clone(prepared), plan)))
      return "it makes other kernels once read";
  } catch (const UserError& error) {
    return std::string("the printed plan is refused: ") + error.what();
  }
  return {};
}

namespace {
Failure wrong(std::string stage, std::string symptom, std::string detail) {
  return {"users_way", std::move(stage), std::move(symptom), std::move(detail)};
}

std::optional<Failure> holds(Subject& subject) {
  const loops::Program lowered = subject.program();
  if (!subject.proved(lowered, "lowering")) return std::nullopt;  // users get another one then
  const std::string text = loops::print(lowered);
  const std::string for_users =
      loops::print(program_for(*subject.passed().whole, subject.sizes(), subject.runner(), {.proved = true}, {}));
  if (for_users != text) return wrong("lowering", "another program", "the proved lowering makes\n" + for_users);

  const schedule::Target target = subject.loops_target();
  loops::Program prepared = loops::clone(lowered);
  schedule::prepare(prepared, target);
  const schedule::Plan plan = schedule::plan(prepared, target);
  const std::string printed = schedule::print(plan, prepared);
  if (std::string lost = lost_in_plan(prepared, plan, printed); !lost.empty())
    return wrong("plan", "lost in text", lost + "\n" + printed);

  const loops::Program kernels = schedule::realise(std::move(prepared), plan);
  if (!subject.proved(kernels, "scheduling")) return std::nullopt;
  const schedule::Proved users = schedule::schedule_proved(lowered, target);
  if (!users.given_up.empty()) return wrong("scheduling", "given up", users.given_up);
  if (loops::print(users.program) != loops::print(kernels))
    return wrong("scheduling", "another program", "the proved scheduling makes\n" + loops::print(users.program));
  return std::nullopt;
}
}  // namespace

Property users_way() {
  return {.name = "users_way",
          .contract = "proved lowering and scheduling, and a plan that is printed and read, make the same program",
          .holds = holds,
          .lowers = true,
          .every = 6};
}

}  // namespace lenz::fuzz
