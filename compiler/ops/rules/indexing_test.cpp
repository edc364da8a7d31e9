// What a mask takes only the run knows: what a rule assumes of it would fail some runs.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
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

}  // namespace
}  // namespace lenz
