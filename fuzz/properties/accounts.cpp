// Plans are asked what they cost: joining nests saves, or nobody should join them, and memory is enough, and is shared.
// All is counted anew from the loops, not taken from who decided.
#include "compiler/loops/clone.h"
#include "compiler/schedule/realise.h"
#include "fuzz/decisions/facts.h"
#include "fuzz/properties/list.h"
#include "fuzz/properties/shared_memory.h"

namespace lenz::fuzz {

namespace {
std::string numbers(double fused, double apart) {
  return std::to_string(static_cast<int64_t>(fused)) + ", apart " + std::to_string(static_cast<int64_t>(apart));
}

std::optional<Failure> holds(Subject& subject) {
  const schedule::Target target = subject.loops_target();
  loops::Program prepared = subject.program();
  schedule::prepare(prepared, target);
  auto made = [&](const schedule::FusionLimits& limits) {
    // Without tiles: what is left over at their ends would have to be counted point by point.
    return schedule::realise(loops::clone(prepared), schedule::plan(prepared, target, limits), {.tiles = false});
  };
  const loops::Program joined = made({});
  const Costs fused = costs_of(joined, subject.sizes()), apart = costs_of(made({.nests = 1}), subject.sizes());
  auto failure = [](const char* stage, const char* what, const std::string& detail) {
    return Failure{"accounts", stage, what, detail};
  };
  if (fused.kernels > apart.kernels)
    return failure("scheduling", "more kernels", "kernels: " + numbers(double(fused.kernels), double(apart.kernels)));
  if (fused.moved > apart.moved)
    return failure("scheduling", "moves more", "bytes that kernels move: " + numbers(fused.moved, apart.moved));
  const runtime::MemoryPlan plan = runtime::plan_memory(joined);
  const Memory memory = memory_of(plan, subject.sizes());
  if (memory.arena < memory.peak || memory.arena > memory.all)
    return failure("memory", memory.arena < memory.peak ? "too little" : "more than without sharing",
                   "an arena of " + std::to_string(memory.arena) + " bytes for " + std::to_string(memory.peak) +
                       " at one time, " + std::to_string(memory.all) + " in all");
  if (const std::string why = overwritten(joined, plan, subject.sizes()); !why.empty())
    return failure("memory", "overwritten", why + "\n" + runtime::print(plan, joined));
  return std::nullopt;
}
}  // namespace

Property accounts() {
  return {.name = "accounts",
          .contract =
              "joined nests are no more kernels and move no more than apart; memory is enough, and no more than all",
          .holds = holds,
          .lowers = true};
}

}  // namespace lenz::fuzz
