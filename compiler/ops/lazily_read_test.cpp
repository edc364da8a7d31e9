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
  int seen = 0, read_alone = 0;
  for (int i = 0; i < 64; ++i) {
    DrawnCall call = draw_call(*op_table().find("aten.add_.Tensor"), op_table(), choose);
    if (!read_lazily(call, choose)) continue;
    ++seen;
    const bool read = laziness(*call.graph, call.args[1].value()).any();
    const bool written = laziness(*call.graph, call.args[0].value()).any();
    EXPECT_TRUE(read || written);
    read_alone += read && !written;
  }
  EXPECT_GT(seen, 16);
  EXPECT_GT(read_alone, seen / 2);  // most writes are to what lies as it is seen
  EXPECT_LT(read_alone, seen);
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

// What is strung together of other ops sees operands as they lie, and its steps are handed copies of what they see.
TEST(LazilyRead, StepsOfDefinitionsSeeOperandsAsTheyLie) {
  auto of = [](std::string_view operand, std::string_view call) {
    return to_string(result_of("graph @g(%x: " + std::string(operand) +
                               ") {\n  %n = aten._neg_view(%x)\n  %y = " + std::string(call) + "\n  return %y\n}\n"));
  };
  const std::string_view odd_one = "f32[5, 9, 1, 3] strides [27, 3, 5, 1]";
  EXPECT_EQ(of(odd_one, "aten.diff(%n, 1, 0)"), "f32[4, 9, 1, 3]");
  EXPECT_EQ(of(odd_one, "aten.trapezoid.dx(%n, dim=0)"), "f32[9, 1, 3]");
  // Channels last are the copy's alone, or the operand's alone.
  const std::string_view gaps = "f32[2, 2, 2, 2, 16] strides [128, 1, 32, 16, 2]";
  EXPECT_EQ(of(gaps, "aten.adaptive_avg_pool3d(%n, [1, 1, 1])"), "f32[2, 2, 1, 1, 1]");
  EXPECT_EQ(of(gaps, "aten._adaptive_avg_pool3d(%n, [1, 1, 1])"), "f32[2, 2, 1, 1, 1]");
  EXPECT_EQ(of("f32[3, 3, 3, 4] strides [36, 1, 4, 1]", "aten.rms_norm(%n, [3, 4])"), "f32[3, 3, 3, 4]");
}

// A kernel is handed the copy, and what it says is of that.
TEST(LazilyRead, KernelsThatAreDefinedByOthersSeeCopies) {
  EXPECT_EQ(to_string(result_of("graph @g(%x: f32[3, 1, 3] strides [9, 4, 1], %m: bool[3, 1, 3] strides [9, 4, 1]) {\n"
                                "  %n = aten._neg_view(%x)\n"
                                "  %y = aten.native_dropout_backward(%n, %m, 2.0)\n  return %y\n}\n")),
            "f32[3, 1, 3]");
}

// Eager writes to a copy of what is read lazily, which it copies back: of one tensor, the first result.
TEST(LazilyRead, WhatIsWrittenLazilyIsTheFirstResult) {
  auto of = [](std::string_view call) {
    return to_string(result_of(
        "graph @g(%x: f32[2, 3, 4, 5] strides [60, 1, 15, 3], %o: f32[0] mut, %p: f32[0] mut, %v: f32[3] mut) "
        "{\n  %l = aten._neg_view(%o)\n  %w = aten._neg_view(%v)\n  " +
        std::string(call) + "\n  return %y\n}\n"));
  };
  EXPECT_EQ(of("%y = aten.exp(%x, out=%o)"), "f32[2, 3, 4, 5] strides [60, 1, 15, 3]");
  EXPECT_EQ(of("%y = aten.exp(%x, out=%l)"), "f32[2, 3, 4, 5]");
  EXPECT_NO_THROW(of("%y, %z = aten.aminmax.out(%x, min=%l, max=%p)"));
  EXPECT_THROW(of("%y, %z = aten.aminmax.out(%x, min=%p, max=%l)"), UserError);
  EXPECT_THROW(of("aten._foreach_neg_([%w]) %y = aten.neg(%v)"), UserError);
  EXPECT_NO_THROW(of("%y = aten.neg_(%w)"));
  // Nothing says that statistics are written to, so that eager's copy of them is lost.
  EXPECT_THROW(of("%y = aten.batch_norm(%x, none, none, %w, %v, true, 0.1, 0.1, false)"), Unsupported);
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
