#include "compiler/graph/graph.h"

#include <gtest/gtest.h>

#include <array>

#include "compiler/graph/equal.h"
#include "compiler/graph/test_ops.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"

namespace lenz {
namespace {

// A chain, and beside each of its links a dead end that uses the link and one value that everybody uses.
struct Comb {
  std::unique_ptr<Graph> graph;
  std::vector<NodeId> teeth;
};
Comb comb(size_t links, size_t teeth) {
  std::string text = "graph @g(%x: f32[2], %hub: f32[2]) {\n", last = "%x";
  for (size_t i = 0; i < links; ++i) {
    std::string link = "%a" + std::to_string(i);
    text += link + " = test.relu(" + last + ")\n";
    if (i < teeth) text += "%t" + std::to_string(i) + " = test.add(" + link + ", %hub)\n";
    last = link;
  }
  Comb made{parse_graph(text + "return " + last + ", %hub\n}", test::table()), {}};
  made.graph->for_each_node([&](NodeId id) {
    if (made.graph->node(id).arg_count > 1) made.teeth.push_back(id);
  });
  return made;
}

// However many go, and in whatever order they are named, the rest stays what it was.
TEST(Graph, NodesAreErasedTogether) {
  const auto bare = comb(200, 0).graph;
  for (size_t teeth : {1, 5, 60, 200}) {
    for (bool backwards : {false, true}) {
      Comb c = comb(200, teeth);
      ASSERT_EQ(c.teeth.size(), teeth);
      if (backwards) std::reverse(c.teeth.begin(), c.teeth.end());
      c.graph->erase_all(c.teeth);
      std::string why;
      EXPECT_TRUE(structurally_equal(*c.graph, *bare, &why)) << why;
      EXPECT_TRUE(verify(*c.graph).empty());
      EXPECT_EQ(c.graph->node_count(), 200u);
      EXPECT_EQ(c.graph->value(c.graph->inputs()[1].value).users.size(), 1u);
      EXPECT_TRUE(c.graph->node(c.teeth[0]).erased);
      EXPECT_THROW(c.graph->erase_all(c.teeth), InternalError);
    }
  }
}

// A list belongs to the node that holds it: patching it touches no other, and takes no memory each time.
TEST(Graph, ListsArePatchedInPlace) {
  auto graph = parse_graph(
      "graph @g(%x: f32[2], %y: f32[2]) { %a = test.relu(%x) %b = test.cat([%a, %y, %a]) return %b }", test::table());
  const NodeId cat = graph->last();
  const Arg list = graph->node(cat).args[0];
  const NodeId twin = graph->append(*graph->node(cat).op, graph->node(cat).arguments());
  EXPECT_NE(graph->node(twin).args[0].values, list.values);
  const size_t before = graph->memory_bytes();
  const ValueId x = graph->inputs()[0].value, y = graph->inputs()[1].value, a = graph->node(graph->first()).result();
  graph->replace_uses(a, x);
  for (NodeId id : {cat, twin}) EXPECT_EQ(graph->node(id).args[0], graph->context().values(std::array{x, y, x}));
  for (int i = 0; i < 1000; ++i) graph->replace_uses(i % 2 ? a : x, i % 2 ? x : a);
  EXPECT_LT(graph->memory_bytes(), before + 1000);
}

// A message is one line, whatever a graph is called.
TEST(Graph, NamesAreSpelledAsInTexts) {
  EXPECT_EQ(parse_graph("graph @g() {\n  return\n}\n", test::table())->spelled_name(), "@g");
  EXPECT_EQ(parse_graph("graph @\"two\\nlines\"() {\n  return\n}\n", test::table())->spelled_name(),
            "@\"two\\nlines\"");
}

TEST(Graph, WhatARuleRefusesIsNotAppended) {
  auto graph = parse_graph("graph @g(%x: f32[2, 3], %y: f32[3, 2]) {\n  return %x\n}", test::table());
  const OpDef& add = *test::table().find("test.add.Tensor");
  const Arg x = Arg::of_value(graph->inputs()[0].value), y = Arg::of_value(graph->inputs()[1].value);
  EXPECT_THROW(graph->append(add, std::array{x, y}), UserError);
  EXPECT_FALSE(graph->try_append(add, std::array{x, y}));
  EXPECT_EQ(graph->node_count(), 0u);
  ASSERT_TRUE(graph->try_append(add, std::array{x, x}));
  EXPECT_EQ(graph->node_count(), 1u);
}

TEST(Graph, WhatIsUsedIsNotErased) {
  for (size_t teeth : {1, 200}) {
    Comb c = comb(200, teeth);
    c.teeth.push_back(c.graph->first());  // a link
    EXPECT_THROW(c.graph->erase_all(c.teeth), InternalError);
    Comb again = comb(200, teeth);
    again.teeth.push_back(again.teeth[0]);
    EXPECT_THROW(again.graph->erase_all(again.teeth), InternalError);
  }
}

}  // namespace
}  // namespace lenz
