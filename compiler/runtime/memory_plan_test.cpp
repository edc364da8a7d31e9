#include "compiler/runtime/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::runtime {
namespace {

loops::Program kernels(std::string_view text) {
  loops::Program program = to_loops(*parse_graph(text, op_table()));
  return schedule::schedule(std::move(program), schedule::cpu_target("avx512", 1));
}

// What a plan promises: buffers in one slot are needed one after another, or the later one takes over the elements of
// the earlier one at the node in between.
void expect_apart(const MemoryPlan& plan, const loops::Program& program) {
  for (loops::BufferId a = 0; a < plan.places.size(); ++a)
    for (loops::BufferId b = 0; b < a; ++b) {
      const Place &p = plan.places[a], &q = plan.places[b];
      if (p.kind != Place::arena || q.kind != Place::arena || p.number != q.number) continue;
      const Place &early = p.first < q.first ? p : q, &late = p.first < q.first ? q : p;
      EXPECT_LE(early.last, late.first) << print(plan, program);
      EXPECT_NE(early.first, late.first) << print(plan, program);
    }
}

// Sorts of sorts, along rows and columns in turn: none of them becomes one kernel with another.
std::string sorted_often(std::string_view signature, int times) {
  std::string text = "graph @g(" + std::string(signature) + " {\n  %a0, %i0 = aten.sort(%x)\n";
  for (int i = 1; i < times; ++i)
    text += "  %a" + std::to_string(i) + ", %i" + std::to_string(i) + " = aten.sort(%a" + std::to_string(i - 1) + ", " +
            std::to_string(i % 2) + ")\n";
  return text + "  return %a" + std::to_string(times - 1) + "\n}";
}

TEST(MemoryPlan, AChainThroughPermutationsNeedsTwoPlaces) {
  loops::Program program = kernels(sorted_often("%x: f32[64, 64])", 12));
  MemoryPlan plan = plan_memory(program);
  expect_apart(plan, program);
  Dim once = 64 * 64 * 4;  // positions take two of them
  ASSERT_TRUE(plan.arena_bytes.is_constant());
  EXPECT_LE(plan.arena_bytes.constant(), 4 * once.constant()) << print(plan, program);
}

TEST(MemoryPlan, SizesThatAreOneExpressionShareAPlace) {
  loops::Program program = kernels(sorted_often("%x: f32[s0, s1]) where s0 in 2..1000, s1 in 2..1000", 8));
  MemoryPlan plan = plan_memory(program);
  expect_apart(plan, program);
  EXPECT_LE(plan.slots.size(), 3u) << print(plan, program);
}

TEST(MemoryPlan, OutputsAreTheCallers) {
  loops::Program program =
      kernels("graph @g(%x: f32[8]) {\n  %y = aten.exp(%x)\n  %z = aten.neg(%y)\n  return %y, %z\n}");
  MemoryPlan plan = plan_memory(program);
  EXPECT_EQ(plan.outputs.size(), 2u) << print(plan, program);
  EXPECT_TRUE(plan.arena_bytes.is(0)) << print(plan, program);
}

}  // namespace
}  // namespace lenz::runtime
