// What a mask takes only the run knows: what a rule assumes of it would fail some runs.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::unique_ptr<Graph> indexed(std::string_view inputs, std::string_view indices, std::string_view facts = "") {
  return parse_graph("graph @g(" + std::string(inputs) + ")" + (facts.empty() ? "" : " where " + std::string(facts)) +
                         " {\n  %r = aten.index(%x, " + std::string(indices) + ")\n  return %r\n}\n",
                     op_table());
}

std::string type(const Graph& graph) { return to_string(graph.type(graph.outputs()[0].value())); }

TEST(Indexing, ByAMaskAssumesNothingOfWhatItTakes) {
  auto rows = indexed("%x: f32[8, 4], %m: bool[8]", "[%m]");
  EXPECT_EQ(type(*rows), "f32[u2_0, 4]");
  EXPECT_TRUE(rows->assumptions.guards().empty());
  auto elements = indexed("%x: f32[8, 4], %m: bool[8, 4]", "[%m]");
  EXPECT_EQ(type(*elements), "f32[u2_0]");
  EXPECT_TRUE(elements->assumptions.guards().empty());
}

TEST(Indexing, ByAMaskKeepsTheGuardsOnOtherSizes) {
  auto rows = indexed("%x: f32[s0, s1], %m: bool[s0]", "[%m]", "s0 in 2..64, s1 in 1..64");
  for (const Cond& guard : rows->assumptions.guards())
    EXPECT_EQ(to_string(guard).find('u'), std::string::npos) << to_string(guard);
  EXPECT_FALSE(rows->assumptions.guards().empty());  // beside a dim of one element it is laid out otherwise
}

TEST(Indexing, ByAMaskIsLaidOutAsForManyWhereEagersLayoutHangsOnIt) {
  auto rows = indexed("%x: f32[8, 3, 1], %m: bool[8]", "[%m]");
  EXPECT_EQ(type(*rows), "f32[u2_0, 3, 1]");
  EXPECT_TRUE(rows->assumptions.guards().empty());
  EXPECT_TRUE(rows->assumptions.facts().conditions().empty());
}

// How much a mask takes is nobody's size where values are written: nothing may speak of it.
// Without a dim eager views both operands as vectors.
TEST(Indexing, TakingAlongNoDimNeedsVectors) {
  auto verdict = [](const std::string& self) {
    return parse_graph(
        "graph @g(%x: " + self + ", %i: i64[3, 4]) {\n  %r = aten.take_along_dim(%x, %i)\n  return %r\n}\n",
        op_table());
  };
  EXPECT_EQ(type(*verdict("f32[2, 31]")), "f32[12]");
  EXPECT_EQ(type(*verdict("f32[2, 31] strides [62, 2]")), "f32[12]");
  EXPECT_THROW(verdict("f32[2, 31] strides [1, 2]"), UserError);
}

TEST(Indexing, WritingByAMaskSaysNothingOfWhatItTakes) {
  auto graph = parse_graph(
      "graph @g(%x: f32[3, 4, 2], %m: bool[4]) {\n  %c: f32[3, u0, 2] = aten.index(%x, [none, %m])\n"
      "  %d = aten.mul(%c, 2)\n  %e = aten.index_put(%x, [none, %m], %d)\n  return %e\n}\n",
      op_table());
  EXPECT_EQ(graph->assumptions.facts().ranges().size() + graph->assumptions.facts().conditions().size(), 1u);
  EXPECT_TRUE(verify(*graph).empty()) << print(*graph);
}

TEST(Indexing, SomeOfSeveralResultsMayBeAnnotated) {
  auto graph =
      parse_graph("graph @g(%x: f32[4]) {\n  %a: f32[u], %b, %c = aten._unique2(%x)\n  return %a, %b\n}\n", op_table());
  EXPECT_EQ(type(*graph), "f32[u]");
  EXPECT_EQ(to_string(graph->type(graph->outputs()[1].value())), "i64[0]");
}

}  // namespace
}  // namespace lenz
