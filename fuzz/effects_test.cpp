#include "fuzz/effects.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "fuzz/case.h"

namespace lenz::fuzz {
namespace {

// Numbers as they are written, values, and what has to hold, each token behind the one before.
TEST(Effects, AreOfEveryKindInOneChain) {
  size_t literals = 0, values = 0, conditions = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Graph graph(std::make_shared<Context>(), op_table(), "g");
    Growth growth;
    growth.graph = &graph;
    growth.add(graph.add_input("x", graph.context().tensor(contiguous_tensor(Dtype::f32, {}))));
    RandomChooser choose(seed);
    ValueId behind = kNone;
    for (int i = 0; i < 4; ++i) {
      add_effect(growth, choose);
      const Node& node = graph.node(graph.value(growth.token).producer);
      if (behind != kNone) EXPECT_EQ(node.args[0].value(), behind);
      behind = growth.token;
      conditions += node.op->full_name == "lenz.assert" && node.args[1].is_value();  // op name: what is counted
      for (const Arg& shown : node.args[2].kind == ArgKind::arg_list ? node.args[2].arg_list() : std::span<const Arg>())
        ++(shown.is_value() ? values : literals);
    }
    EXPECT_TRUE(verify(graph).empty()) << print(graph);
    const std::string text = print(graph);
    EXPECT_EQ(print(*parse_graph(text, op_table())), text);
  }
  EXPECT_GT(literals, 20);
  EXPECT_GT(values, 10);
  EXPECT_GT(conditions, 10);
}

TEST(Effects, AreInCasesAndInWhatTheirBranchesAndLoopsRun) {
  const Pool pool(op_table());
  size_t printing = 0, inside = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const Case c = draw_case(13, i, pool);
    const auto prints = [](const Graph& g) { return print(g).find("lenz.print(") != std::string::npos; };
    printing += prints(*c.graph);
    for (const auto& sub : c.graph->subgraphs) inside += prints(*sub);
  }
  EXPECT_GT(printing, 60);
  EXPECT_GT(inside, 3);
}

}  // namespace
}  // namespace lenz::fuzz
