#include "compiler/ops/wants.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

SmallVec<OperandWant, 2> wants_of_last(const Graph& graph) {
  const Node& node = graph.node(graph.last());
  return wants_of(graph, *node.op, node.arguments());
}

SmallVec<OperandWant, 2> wants_of_text(std::string_view text) {
  return wants_of_last(*parse_graph("graph @g(" + std::string(text) + " return %r }", op_table()));
}

TEST(Wants, BoundsAreSizes) {
  auto wants = wants_of_text("%x: f32[3, 40], %i: i64[5]) { %r = aten.index_select(%x, -1, %i)");
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].kind, OperandWant::below);
  EXPECT_EQ(wants[0].bound, Dim(40));
  EXPECT_EQ(wants_of_text("%x: f32[3, 40], %i: i64[5]) { %r = aten.take(%x, %i)")[0].bound, Dim(120));
  EXPECT_EQ(wants_of_text("%x: f32[], %i: i64[]) { %r = aten.gather(%x, 0, %i)")[0].bound, Dim(1));
  EXPECT_EQ(wants_of_text("%x: f32[3, 4], %i: i64[5]) { %r = aten.take_along_dim(%x, %i)")[0].bound, Dim(12));
  EXPECT_EQ(wants_of_text("%x: i64[3]) { %r = aten.one_hot(%x)")[0].kind, OperandWant::natural);
}

TEST(Wants, EachOfAListIndexesItsDim) {
  auto wants = wants_of_text("%x: f32[3, 4, 5, 6], %m: bool[4, 5], %i: i64[2]) { %r = aten.index(%x, [none, %m, %i])");
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].bound, Dim(6));
}

TEST(Wants, RangesAndOrder) {
  auto wants = wants_of_text("%x: f32[4], %v: f32[4], %s: i64[4]) { %r = aten.searchsorted(%x, %v, sorter=%s)");
  ASSERT_EQ(wants.size(), 3u);
  EXPECT_EQ(wants[0].kind, OperandWant::sorted);
  EXPECT_EQ(wants[1].bound, Dim(4));
  wants = wants_of_text("%x: f32[4]) { %r = aten.bernoulli(%x)");
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].low, 0);
  EXPECT_EQ(wants[0].high, 1);
}

// What rows want of indices is what their generators make: texts are read for every row, in-place and out= ones too.
TEST(Wants, GeneratorsMeetThem) {
  size_t checked = 0;
  for (const auto& op : op_table().rows()) {
    if (op->wants.empty()) continue;
    ASSERT_TRUE(op->generate) << op->full_name;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      RandomChooser choose(seed);
      auto graph = generate_call(*op, op_table(), choose);
      if (!graph) continue;
      for (const OperandWant& want : wants_of_last(*graph)) {
        const Value& value = graph->value(want.value);
        if (value.producer != kNone || want.kind != OperandWant::below || want.bound == Dim(0)) continue;
        const Initialiser& init = graph->inputs()[value.index].init;
        ++checked;
        EXPECT_EQ(init.kind, Initialiser::integers) << op->full_name;
        EXPECT_LT(init.high, static_cast<double>(want.bound.constant())) << print(*graph);
      }
    }
  }
  EXPECT_GT(checked, 500u);
}

}  // namespace
}  // namespace lenz
