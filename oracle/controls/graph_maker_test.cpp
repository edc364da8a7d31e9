#include "oracle/controls/graph_maker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle::controls {
namespace {

bool reduces(const OpDef& op) {
  return op.has(Trait::reduction) || op.has(Trait::contraction) || op.has(Trait::scan) ||
         op.full_name == "aten.layer_norm";
}

TEST(GraphMaker, EveryGraphHasFanOutAReductionAndTheAskedNumberOfOps) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser choose(seed);
    auto graph = make_graph(choose, {.dtype = seed % 2 ? Dtype::bf16 : Dtype::f64});
    const std::string text = print(*graph);
    EXPECT_GE(graph->node_count(), 3u) << text;
    EXPECT_LE(graph->node_count(), 17u) << text;
    bool reduction = false, fan_out = false;
    graph->for_each_node([&](NodeId id) { reduction |= reduces(*graph->node(id).op); });
    for (ValueId v = 0; v < graph->value_count(); ++v) fan_out |= graph->value(v).users.size() > 1;
    EXPECT_TRUE(reduction && fan_out) << text;
    EXPECT_FALSE(graph->outputs().empty());
  }
}

TEST(GraphMaker, TextIsARepro) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomChooser one(seed), two(seed);
    const std::string text = print(*make_graph(one, {}));
    EXPECT_EQ(text, print(*make_graph(two, {})));
    auto read = parse_graph(text, op_table());
    verify(*read);
    EXPECT_EQ(print(*read), text);
  }
}

TEST(GraphMaker, EveryResultBecomesAnOutput) {
  RandomChooser choose(3);
  auto graph = make_graph(choose, {});
  EXPECT_EQ(with_every_result(*graph)->outputs().size(), graph->node_count());
}

}  // namespace
}  // namespace lenz::oracle::controls
