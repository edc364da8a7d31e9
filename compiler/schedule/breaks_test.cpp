// Loops along what is rolled or padded are cut where coordinates turn, and give the same.
#include "compiler/schedule/breaks.h"

#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/plan.h"
#include "compiler/schedule/realise.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {
namespace {

std::string reading(std::string_view index, int64_t points, std::string_view condition = "") {
  const std::string masked = condition.empty()
                                 ? "    %3 = load %x[i0, " + std::string(index) + "]\n"
                                 : std::string(condition) + "    %3 = load %x[i0, " + std::string(index) + "] if %2\n";
  return "loops @moved {\n  input %x: f32[9, 64] placed\n  temp %y: f32[9, " + std::to_string(points) +
         "] placed\n  for i0 < 9, i1 < " + std::to_string(points) + " {\n" + masked +
         "    store %y[i0, i1] = %3\n  }\n  return %y\n}\n";
}

// Of how many loops the one kernel is made.
size_t parts_of(const std::string& text) {
  loops::Program program = loops::parse_program(text, op_table());
  loops::require_valid(program, "the test");
  loops::Tensor x(Dtype::f32, {9, 64});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i)));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results wanted = loops::interpret(program, inputs);
  const loops::Program made = schedule(std::move(program), cpu_target("avx2", 1));
  loops::require_valid(made, "the schedule");
  const loops::Results got = loops::interpret(made, inputs);
  for (int64_t i = 0; i < wanted.outputs[0].tensor.numel(); ++i)
    EXPECT_EQ(wanted.outputs[0].tensor.at(i).real(), got.outputs[0].tensor.at(i).real()) << i;
  size_t nests = 0;
  for_each_node(made.body,
                [&](const loops::Node& node) { nests += std::holds_alternative<loops::Nest>(node.is) ? 1 : 0; });
  return nests;
}

TEST(Breaks, WhereCoordinatesJumpOrTurn) {
  EXPECT_EQ(parts_of(reading("(i1 + 63) % 64", 64)), 2u);                                       // rolled
  EXPECT_EQ(parts_of(reading("(i1 + 40) % 64", 64)), 2u);                                       // in the middle
  EXPECT_EQ(parts_of(reading("min(126 - max(2 - i1, i1 - 2), max(2 - i1, i1 - 2))", 68)), 3u);  // reflected
  EXPECT_EQ(parts_of(reading("min(63, max(0, i1 - 2))", 68)), 3u);                              // as the ends are
}

TEST(Breaks, WhereConditionsBegin) {
  EXPECT_EQ(parts_of(reading("i1 - 3", 67, "    %0 = index[i1 - 3]\n    %1 = i64 0\n    %2 = le.i64 %1, %0\n")), 2u);
  // Another point for each row.
  EXPECT_EQ(parts_of(reading("i1", 64, "    %0 = index[i1]\n    %1 = index[i0]\n    %2 = le.i64 %1, %0\n")), 1u);
}

TEST(Breaks, NotManyAndNotForLittle) {
  EXPECT_EQ(parts_of(reading("i1//2", 64)), 1u);
  EXPECT_EQ(parts_of(reading("i1 % 8", 64)), 1u);
  EXPECT_EQ(parts_of(reading("(i1 + 3) % 16", 16)), 1u);
}

}  // namespace
}  // namespace lenz::schedule
