#include "oracle/asked_outputs.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/trial.h"

namespace lenz::oracle {
namespace {

std::string part(std::string_view text, const Asked& asked) {
  return print(*part_for(*parse_graph(std::string(text), op_table()), asked));
}

TEST(AskedOutputs, KeepWhatTheyAreMadeOf) {
  constexpr std::string_view kText =
      "graph @g(%x: f32[4]) {\n"
      "  %a = aten.sin(%x)\n"
      "  %b = aten.exp(%x)\n"
      "  %c = aten.relu(%b)\n"
      "  return %a, %c\n"
      "}\n";
  EXPECT_EQ(part(kText, {true, true, true}), kText);
  EXPECT_EQ(part(kText, {true, false, false}),
            "graph @g(%x: f32[4]) {\n"
            "  %a = aten.sin(%x)\n"
            "  return %a, none\n"
            "}\n");
}

// A write is needed where what it writes to is read afterwards, or is the caller's.
TEST(AskedOutputs, KeepWritesThatShow) {
  constexpr std::string_view kText =
      "graph @g(%x: f32[4] mut, %y: f32[4]) {\n"
      "  %a = aten.sin(%y)\n"
      "  %v = aten.view(%a, [2, 2])\n"
      "  %w = aten.relu_(%v)\n"
      "  %b = aten.exp(%y)\n"
      "  %c = aten.neg_(%b)\n"
      "  %d = aten.mul_(%x, 2.0)\n"
      "  return %a, %c\n"
      "}\n";
  const std::string first = part(kText, {true, false, true});
  EXPECT_NE(first.find("relu_"), std::string::npos) << first;
  EXPECT_NE(first.find("mul_"), std::string::npos) << first;
  EXPECT_EQ(first.find("neg_"), std::string::npos) << first;
  EXPECT_EQ(first.find("exp"), std::string::npos) << first;
}

TEST(AskedOutputs, KeepDrawsInTheirOrder) {
  const std::string left = part(
      "graph @g(%x: f32[4]) {\n"
      "  %a = aten.rand_like(%x)\n"
      "  %b = aten.rand_like(%x)\n"
      "  return %a, %b\n"
      "}\n",
      {false, true, false});
  EXPECT_NE(left.find("%a = aten.rand_like"), std::string::npos) << left;
}

// Two outputs, of which a program gives one bit for bit and the other one wrongly: the bounds of that one tell.
TEST(AskedOutputs, AreJudgedAsAllAre) {
  auto graph = parse_graph(
      "graph @g(%x: f32[64]) {\n"
      "  %a = aten.exp(%x)\n"
      "  %b = aten.sin(%x)\n"
      "  return %a, %b\n"
      "}\n",
      op_table());
  auto made = parse_graph(
      "graph @g(%x: f32[64]) {\n"
      "  %a = aten.exp(%x)\n"
      "  %b = aten.sin(%x)\n"
      "  %c = aten.mul(%b, 1.001)\n"
      "  return %a, %c\n"
      "}\n",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  InputSource inputs(*graph, {}, Values::ordinary, 3);
  Trial trial(*graph, boxed, inputs, {}, {});
  const auto mismatch = trial.out_of_bounds(trial.eager(*made));
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->what, "output 1");
  EXPECT_EQ(mismatch->rung, Rung::bound);
  EXPECT_TRUE(trial.by_the_reference);
  EXPECT_FALSE(trial.eager_beyond_bounds());
  EXPECT_FALSE(trial.out_of_bounds(trial.eager(*graph)));
  // What differs in other outputs afterwards is found as well.
  auto other = parse_graph(
      "graph @g(%x: f32[64]) {\n"
      "  %a = aten.exp(%x)\n"
      "  %c = aten.mul(%a, 1.001)\n"
      "  %b = aten.sin(%x)\n"
      "  return %c, %b\n"
      "}\n",
      op_table());
  const auto first = trial.out_of_bounds(trial.eager(*other));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->what, "output 0");
}

}  // namespace
}  // namespace lenz::oracle
