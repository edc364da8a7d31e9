#include "compiler/schedule/dead_results.h"

#include <gtest/gtest.h>

#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::schedule {
namespace {

size_t nests_left(const char* shown) {
  loops::Program program = loops::parse_program(
      "loops @g {\n  input %x: f32[5] placed\n  input %i: i64[5] placed\n  temp %v: f32[5]\n  temp %w: f32[5]\n"
      "  temp %y: f32[5] placed\n"
      "  for i0 < 5 {\n    %0 = load %x[i0]\n    %1 = neg.f32 %0\n    store %v[i0] = %1\n  }\n"
      "  for i0 < 5 {\n    %0 = load %i[i0]\n    %1 = position %0 < 5 as p0\n    %2 = load %v[p0]\n"
      "    store %w[i0] = %2\n  }\n"
      "  for i0 < 5 {\n    %0 = load %x[i0]\n    store %y[i0] = %0\n  }\n  return " +
          std::string(shown) + "\n}\n",
      op_table());
  drop_dead_results(program);
  loops::require_valid(program, "the test");
  return program.body.nodes.size();
}

// What they alone read goes with them, and what they may raise.
TEST(DeadResults, WholeNestsGo) {
  EXPECT_EQ(nests_left("%y"), 1);
  EXPECT_EQ(nests_left("%y, %v"), 2);
  EXPECT_EQ(nests_left("%y, %w"), 3);
}

}  // namespace
}  // namespace lenz::schedule
