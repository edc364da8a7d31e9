// Guards that calls add to a graph: those of what is there, and what types become by them.
#include <gtest/gtest.h>

#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

TEST(Guards, WhatIsTriedAndRefusedLeavesNone) {
  const auto graph = parse_graph("graph @g(%x: f32[s0, 3, 4], %y: f32[s1, 5, 6]) { return %x }", op_table());
  const OpDef& product = *op_table().find("aten.bmm");
  const std::vector<Arg> args{Arg::of_value(graph->inputs()[0].value), Arg::of_value(graph->inputs()[1].value)};
  EXPECT_FALSE(graph->try_append(product, args));
  EXPECT_TRUE(graph->assumptions.guards().empty());
  // An exception says under which guards it was.
  EXPECT_THROW(graph->append(product, args), UserError);
  EXPECT_FALSE(graph->assumptions.guards().empty());
}

// A text has its guards before all nodes: types are the same when a rule comes to rely on them last.
TEST(Guards, TypesAreThoseOfTheText) {
  const auto graph = parse_graph(R"(graph @g(%x: bf16[0, s0, s1], %w: bf16[s0, 3, s2]) where s0 == 3 {
      %y = aten.conv1d(%x, %w, padding="same", dilation=[s2])
      return %y
    })",
                                 op_table());
  EXPECT_FALSE(graph->assumptions.guards().empty());
  std::string why;
  EXPECT_TRUE(structurally_equal(*parse_graph(print(*graph), op_table()), *graph, &why)) << why;
}

}  // namespace
}  // namespace lenz
