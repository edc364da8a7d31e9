// What a node writes to: its schema's word, and the row's where ATen's schema is silent.
#include "compiler/graph/alias.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// The names of what the graph's one node writes to.
std::string written(std::string_view statement) {
  std::string text = "graph @g(%x: f32[2, 3, 4], %w: f32[3], %b: f32[3], %m: f32[3] mut, %v: f32[3] mut) {\n " +
                     std::string(statement) + "\n return %x\n}";
  auto graph = parse_graph(text, op_table());
  const Node& node = graph->node(graph->last());
  std::string names;
  for_each_written(*graph, node, [&](ValueId v) { names += graph->value_name(v) + " "; });
  EXPECT_EQ(effects(*graph, node).writes, !names.empty()) << statement;
  AliasClasses classes(*graph);
  EXPECT_EQ(classes.is_written(graph->inputs()[3].value), names.find("%m") != names.npos) << statement;
  EXPECT_EQ(classes.any_writes(), !names.empty()) << statement;
  return names;
}

TEST(Writes, OfRunningStatisticsAreSeenThoughSchemasAreSilent) {
  std::string call = "aten.native_batch_norm(%x, %w, %b, ";
  EXPECT_EQ(written("%y, %s, %r = " + call + "%m, %v, true, 0.1, 1e-5)"), "%m %v ");
  EXPECT_EQ(written("%y, %s, %r = " + call + "%m, %v, false, 0.1, 1e-5)"), "");
  EXPECT_EQ(written("%y, %s, %r = " + call + "none, none, true, 0.1, 1e-5)"), "");
  call = "aten.batch_norm(%x, none, none, ";
  EXPECT_EQ(written("%y = " + call + "%m, %v, true, 0.1, 1e-5, false)"), "%m %v ");
  EXPECT_EQ(written("%y = " + call + "%m, %v, false, 0.1, 1e-5, false)"), "");
  call = "aten.instance_norm(%x, none, none, %m, %v, ";
  EXPECT_EQ(written("%y = " + call + "true, 0.1, 1e-5, false)"), "%m %v ");
  EXPECT_EQ(written("%y = " + call + "false, 0.1, 1e-5, false)"), "");
}

TEST(Writes, TheVerifierSeesThem) {
  constexpr std::string_view text =
      "graph @g(%x: f32[4, 3], %m: f32[3], %v: f32[3] mut) {"
      " %y = aten.batch_norm(%x, none, none, %m, %v, true, 0.1, 1e-5, false) return %y }";
  auto graph = parse_graph(text, op_table());
  auto violations = verify(*graph);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, 503);
  graph->input(1).mutated = true;
  EXPECT_TRUE(verify(*graph).empty());
  violations = verify(*graph, Level::aten);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, 601);
}

// Two attentions that drop weights are two draws; the others may be one.
TEST(Draws, OfAttentionWhereItDropsWeights) {
  auto draws = [](std::string_view call) {
    auto graph = parse_graph("graph @g(%x: f32[1, 2, 4, 8]) { %y = " + std::string(call) + " return %y }", op_table());
    return effects(*graph, graph->node(graph->last())).advances_random;
  };
  EXPECT_TRUE(draws("aten.scaled_dot_product_attention(%x, %x, %x, none, 0.5)"));
  EXPECT_FALSE(draws("aten.scaled_dot_product_attention(%x, %x, %x, none, 0.0)"));
  EXPECT_FALSE(draws("aten.scaled_dot_product_attention(%x, %x, %x)"));
  EXPECT_TRUE(draws("aten.dropout(%x, 0.5, true)"));
}

TEST(Writes, OfSchemasAreSeen) {
  EXPECT_EQ(written("%y = aten.add_(%m, 1.0)"), "%m ");
  EXPECT_EQ(written("%y = aten.add(%m, 1.0)"), "");
  EXPECT_EQ(written("%y, %s, %r = aten._native_batch_norm_legit(%x, %w, %b, %m, %v, true, 0.1, 1e-5)"), "%m %v ");
  EXPECT_EQ(
      written("%y, %s, %r, %n, %u = aten._native_batch_norm_legit_functional(%x, %w, %b, %m, %v, true, 0.1, 1e-5)"),
      "");
}

}  // namespace
}  // namespace lenz
