#include "compiler/ops/lazily_read.h"

#include <gtest/gtest.h>

#include "compiler/graph/lazy_views.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

const Type& result_of(std::string_view text) {
  static std::vector<std::unique_ptr<Graph>> kept;
  kept.push_back(parse_graph(text, op_table()));
  const Graph& graph = *kept.back();
  return graph.type(graph.outputs()[0].value());
}

TEST(LazilyRead, OperandsThatAreReadAreSeenThroughViews) {
  RandomChooser choose(1);
  int seen = 0;
  for (int i = 0; i < 32; ++i) {
    DrawnCall call = draw_call(*op_table().find("aten.add_.Tensor"), op_table(), choose);
    const ValueId written = call.args[0].value();
    if (!read_lazily(call, choose)) continue;
    ++seen;
    EXPECT_EQ(call.args[0].value(), written);
    EXPECT_TRUE(laziness(*call.graph, call.args[1].value()).any());
  }
  EXPECT_GT(seen, 8);
}

TEST(LazilyRead, WhatReadsNoFloatsIsLeftAlone) {
  RandomChooser choose(1);
  DrawnCall call = draw_call(*op_table().find("aten.bitwise_not"), op_table(), choose);
  EXPECT_FALSE(read_lazily(call, choose));
}

// Eager hands a copy over, which is dense and begins at 0; but to views, and to what may be one.
TEST(LazilyRead, RulesSeeHowEagersCopiesLie) {
  auto of = [](std::string_view call) {
    return to_string(
        result_of("graph @g(%x: f32[3, 4] strides [8, 2] offset 1, %s: f32[3, 4]) {\n  %n = aten._neg_view(%x)\n"
                  "  %y = " +
                  std::string(call) + "\n  return %y\n}\n"));
  };
  EXPECT_EQ(of("aten.slice_scatter(%n, %s)"), "f32[3, 4]");
  EXPECT_EQ(of("aten.slice_scatter(%x, %s)"), "f32[3, 4] strides [8, 2] offset 1");
  EXPECT_EQ(of("aten.copy(%n, %s)"), "f32[3, 4]");
  EXPECT_EQ(of("aten.slice(%n)"), "f32[3, 4] strides [8, 2] offset 1");
  EXPECT_EQ(of("aten.dropout(%n, 0.5, false)"), "f32[3, 4] strides [8, 2] offset 1");
  EXPECT_EQ(of("aten.einsum(\"ij\", [%n])"), "f32[3, 4] strides [8, 2] offset 1");
}

// Parts that only schemas call fresh are views of the operand, and of one copy of it if that is read lazily.
TEST(LazilyRead, PartsThatAreSaidToBeFreshAreViewsOfACopy) {
  auto list_of = [](std::string_view operand) {
    return parse_graph(
        "graph @g(%x: f32[3, 4] strides [8, 2] offset 1) {\n  %n = aten._neg_view(%x)\n  %l = "
        "aten.unsafe_split(" +
            std::string(operand) + ", 2, 1)\n  %y = lenz.getitem(%l, 1)\n  return %y\n}\n",
        op_table());
  };
  for (const auto& [operand, type] :
       {std::pair{"%n", "f32[3, 2] strides [4, 1] offset 2"}, std::pair{"%x", "f32[3, 2] strides [8, 2] offset 5"}}) {
    const auto graph = list_of(operand);
    const ValueId part = graph->outputs()[0].value();
    EXPECT_EQ(to_string(graph->type(part)), type);
    EXPECT_EQ(graph->storage(part) == graph->inputs()[0].value, std::string_view(operand) == "%x");
    EXPECT_FALSE(laziness(*graph, part).any());
  }
}

// A conjugate's real part is no lazy view, and its imaginary part is a negative.
TEST(LazilyRead, PartsOfConjugates) {
  const auto graph = parse_graph(
      "graph @g(%x: c64[3]) {\n  %c = aten._conj(%x)\n  %r = aten.real(%c)\n  %i = aten.imag(%c)\n  return %r, %i\n}\n",
      op_table());
  EXPECT_FALSE(laziness(*graph, graph->outputs()[0].value()).any());
  EXPECT_EQ(laziness(*graph, graph->outputs()[1].value()), (Laziness{.conjugated = false, .negated = true}));
}

TEST(LazilyRead, WhatIsNegatedIsCopiedIntoNoBools) {
  const std::string head = "graph @g(%x: f32[3], %b: bool[3] mut) {\n  %n = aten._neg_view(%x)\n";
  EXPECT_THROW(result_of(head + "  %y = aten.copy_(%b, %n)\n  return %y\n}\n"), UserError);
  EXPECT_NO_THROW(result_of(head + "  %y = aten.copy_(%b, %x)\n  return %y\n}\n"));
}

}  // namespace
}  // namespace lenz
