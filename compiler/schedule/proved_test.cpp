// Programs that are scheduled less where nothing proves what scheduling made.
#include "compiler/schedule/proved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::schedule {
namespace {

using testing::HasSubstr;
using testing::Not;

// Proofs are not found for the first programs that are asked about.
Proved scheduled(const loops::Program& program, int refused) {
  return schedule_proved(program, cpu_target("avx512", 2), {}, [&](const loops::Program& made) {
    return refused-- > 0 ? "no proof is found" : why_not_proved(made);
  });
}

loops::Program two_nests() {
  return to_loops(
      *parse_graph("graph @g(%x: f32[s0, 300]) {\n  %y = aten.sin(%x)\n  %z = aten.sum(%y, dim=[1])\n"
                   "  %w = aten.cos(%z)\n  return %w\n}\n",
                   op_table()));
}

size_t kernels(const loops::Program& program) {
  size_t count = 0;
  loops::for_each_node(program.body,
                       [&](const loops::Node& n) { count += std::holds_alternative<loops::Kernel>(n.is); });
  return count;
}

TEST(ProvedSchedule, LessIsDoneWhereNoProofIsFound) {
  const loops::Program program = two_nests();
  const Proved all = scheduled(program, 0), apart = scheduled(program, 1), plain = scheduled(program, 2);
  EXPECT_EQ(all.given_up, "");
  EXPECT_EQ(kernels(all.program), 1u);
  EXPECT_EQ(apart.given_up, "no proof is found");
  EXPECT_EQ(kernels(apart.program), 3u);
  EXPECT_THAT(loops::print(apart.program), HasSubstr("lanes"));
  EXPECT_EQ(kernels(plain.program), 3u);
  EXPECT_THAT(loops::print(plain.program), Not(HasSubstr("lanes")));
  for (const Proved* made : {&all, &apart, &plain}) EXPECT_EQ(why_not_proved(made->program), "");
  EXPECT_THROW(scheduled(program, 3), InternalError);
}

TEST(ProvedSchedule, AProgramOnceMore) {
  loops::Program program =
      to_loops(*parse_graph("graph @g(%p: bool[], %x: f32[4]) {\n  %r = lenz.cond(%p, @a, @b, [%x])\n  return %r\n}\n"
                            "graph @a(%a: f32[4]) {\n  %b = aten.sin(%a)\n  return %b\n}\n"
                            "graph @b(%a: f32[4]) {\n  %b = aten.cos(%a)\n  return %b\n}\n",
                            op_table()));
  const loops::Program copy = loops::clone(program);
  const std::string text = loops::print(program);
  EXPECT_EQ(loops::print(copy), text);
  program.body.nodes.clear();
  EXPECT_EQ(loops::print(copy), text);
}

}  // namespace
}  // namespace lenz::schedule
