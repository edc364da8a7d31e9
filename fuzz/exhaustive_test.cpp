#include <gtest/gtest.h>

#include <set>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "fuzz/exhaustive.h"

namespace lenz::fuzz {
namespace {

TEST(SmallGraphs, AreAllThereAreAndEachIsThereOnce) {
  // A graph of one op without choices of its own: one input of either shape.
  EXPECT_EQ(SmallGraphs({.ops = {"sin"}, .most = 1}).count(), 2u);
  // Of two: the second reads the first, the input (twice), or another input of either shape.
  EXPECT_EQ(SmallGraphs({.ops = {"sin"}, .most = 2}).count(), 2u + 2u * 4u);
  EXPECT_EQ(SmallGraphs({.ops = {"sin"}, .most = 1, .dtypes = {Dtype::f32, Dtype::f64}}).count(), 4u);
}

TEST(SmallGraphs, AreValidAndTheSameEachTime) {
  const SmallGraphs graphs({.ops = {"add.Tensor", "sum.dim_IntList", "t", "relu_"}, .most = 2});
  ASSERT_GT(graphs.count(), 100u);
  std::set<std::string> texts;
  std::set<std::string> ops;
  for (uint64_t i = 0; i < graphs.count(); ++i) {
    const Case c = graphs.at(i);
    ASSERT_TRUE(verify(*c.graph).empty()) << print(*c.graph);
    texts.insert(print(*c.graph));
    c.graph->for_each_node([&](NodeId id) { ops.insert(c.graph->node(id).op->schema.packet); });
  }
  EXPECT_EQ(texts.size(), graphs.count());
  EXPECT_EQ(ops, (std::set<std::string>{"add", "sum", "t", "relu_"}));
  EXPECT_EQ(graphs.at(17).text(),
            SmallGraphs({.ops = {"add.Tensor", "sum.dim_IntList", "t", "relu_"}, .most = 2}).at(17).text());
}

TEST(SmallGraphs, RefuseWhatHasNoEnd) {
  EXPECT_THROW(SmallGraphs({.ops = {"nothing"}}), UserError);
  EXPECT_THROW(SmallGraphs({.ops = {"add", "sum", "max"}, .most = 3, .breadth = 8, .most_graphs = 500}), UserError);
}

}  // namespace
}  // namespace lenz::fuzz
