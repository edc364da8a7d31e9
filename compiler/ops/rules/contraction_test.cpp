// Shapes that eager gives where the shapes of operands alone would say others.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::unique_ptr<Graph> added(std::string_view inputs, std::string_view more = "") {
  return parse_graph(
      "graph @g(" + std::string(inputs) + ") { %y = aten.addmv(%x, %m, %v" + std::string(more) + ") return %y }",
      op_table());
}

std::string type(const Graph& graph) { return to_string(graph.type(graph.outputs()[0].value())); }

TEST(Contraction, OfAMatrixWithoutElementsAddmvGivesSelfAsItIs) {
  EXPECT_EQ(type(*added("%x: i64[1], %m: i64[0, 3], %v: i64[3]")), "i64[1]");
  EXPECT_EQ(type(*added("%x: f32[1], %m: f32[3, 0], %v: f32[0]")), "f32[1]");
  EXPECT_EQ(type(*added("%x: f32[], %m: f32[3, 0], %v: f32[0]")), "f32[]");
  EXPECT_EQ(type(*added("%x: f32[1], %m: f32[3, 0], %v: f32[0]", ", beta=0")), "f32[3]");
  EXPECT_EQ(type(*added("%x: f32[1], %m: f32[3, 2], %v: f32[2]")), "f32[3]");
  EXPECT_THROW(parse_graph("graph @g(%x: f32[1] mut, %m: f32[3, 0], %v: f32[0]) {"
                           "  %y = aten.addmv_(%x, %m, %v) return %y }",
                           op_table()),
               UserError);
}

TEST(Contraction, AddmvAsksOfSizesOnlyWhereSelfWouldBeExpanded) {
  auto asks = [](const Graph& graph) {
    return std::ranges::count_if(graph.assumptions.guards(),
                                 [](const Cond& guard) { return to_string(guard).ends_with("!= 0"); });
  };
  EXPECT_EQ(asks(*added("%x: f32[n], %m: f32[n, k], %v: f32[k]")), 0);
  auto expanded = added("%x: f32[1], %m: f32[n, k], %v: f32[k]");
  EXPECT_EQ(type(*expanded), "f32[n]");
  EXPECT_EQ(asks(*expanded), 2);
}

// What would be a convolution of two dims is refused to who asks for one of another number.
TEST(Contraction, ConvolutionsHaveTheDimsOfTheirNames) {
  auto of = [](std::string_view op, std::string_view sizes) {
    return "graph @g(%x: f32[" + std::string(sizes) + "]) { %y = aten." + std::string(op) + "(%x, %x) return %y }";
  };
  EXPECT_EQ(type(*parse_graph(of("conv1d", "2, 2, 3"), op_table())), "f32[2, 2, 1]");
  for (const std::string_view op : {"conv1d", "conv_transpose1d", "conv3d"})
    EXPECT_THROW(parse_graph(of(op, "1, 1, 1, 1"), op_table()), UserError) << op;
}

// Of nothing eager asks no kernel, which is who refuses dilations of 0, and integers that are dilated.
TEST(Contraction, ConvolutionsOfNothingAreAskedLess) {
  auto of = [](std::string_view batch, std::string_view dtype, std::string_view dilation) {
    const std::string d(dtype);
    return "graph @g(%x: " + d + "[" + std::string(batch) + ", 2, 6, 5], %w: " + d +
           "[2, 1, 3, 1]) { %y = aten.convolution(%x, %w, none, [1, 2], [0, 0], " + std::string(dilation) +
           ", false, [0, 0], 2) return %y }";
  };
  EXPECT_EQ(type(*parse_graph(of("0", "f32", "[0, 1]"), op_table())), "f32[0, 2, 6, 3]");
  EXPECT_EQ(type(*parse_graph(of("0", "i32", "[2, 1]"), op_table())), "i32[0, 2, 2, 3]");
  EXPECT_THROW(parse_graph(of("1", "f32", "[0, 1]"), op_table()), UserError);
  EXPECT_THROW(parse_graph(of("1", "i32", "[2, 1]"), op_table()), UserError);
  EXPECT_THROW(parse_graph(of("0", "f32", "[1, -1]"), op_table()), UserError);
}

}  // namespace
}  // namespace lenz
