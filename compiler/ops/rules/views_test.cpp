// What the checker against libtorch can't see of these rules: symbols, the guards that they cost, and who owns what.
#include "compiler/ops/rules/views.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::unique_ptr<Graph> graph_of(std::string_view inputs, std::string_view facts, std::string_view call) {
  std::string text = "graph @g(" + std::string(inputs) + ")" + (facts.empty() ? "" : " where " + std::string(facts)) +
                     " {\n  %r = " + std::string(call) + "\n  return %r\n}\n";
  return parse_graph(text, op_table());
}

std::string type_of(std::string_view inputs, std::string_view call, std::string_view facts = "") {
  auto graph = graph_of(inputs, facts, call);
  return to_string(graph->type(graph->outputs()[0].value()));
}

std::vector<std::string> guards(std::string_view inputs, std::string_view call, std::string_view facts = "") {
  auto graph = graph_of(inputs, facts, call);
  std::vector<std::string> list;
  for (const Cond& c : graph->assumptions.guards()) list.push_back(to_string(c));
  return list;
}

TEST(Views, OfAContiguousTensorNeedNoGuards) {
  constexpr std::string_view kInput = "%x: f32[s0, 768]", kFacts = "s0 in 1..4096";
  EXPECT_EQ(type_of(kInput, "aten.view(%x, [-1, 12, 64])", kFacts), "f32[s0, 12, 64]");
  EXPECT_TRUE(guards(kInput, "aten.view(%x, [-1, 12, 64])", kFacts).empty());
  EXPECT_EQ(type_of(kInput, "aten.flatten(%x)", kFacts), "f32[s0*768]");
  EXPECT_TRUE(guards(kInput, "aten.flatten(%x)", kFacts).empty());
}

TEST(Views, OfDimsThatDoNotMergeCopyOrRefuse) {
  constexpr std::string_view kInput = "%x: f32[4, 6] strides [1, 4]";
  EXPECT_THROW(type_of(kInput, "aten.view(%x, [24])"), UserError);
  auto graph = graph_of(kInput, "", "aten.reshape(%x, [24])");
  ValueId r = graph->outputs()[0].value();
  EXPECT_EQ(to_string(graph->type(r)), "f32[24]");
  EXPECT_EQ(graph->storage(r), r) << "a copy owns its storage";
}

TEST(Views, ReshapeAliasesWhereItCan) {
  auto graph = graph_of("%x: f32[4, 6]", "", "aten.reshape(%x, [8, 3])");
  EXPECT_EQ(graph->storage(graph->outputs()[0].value()), graph->inputs()[0].value);
}

TEST(Views, ASliceIsClampedByFactsWhereTheyDecide) {
  constexpr std::string_view kInput = "%x: f32[s0]";
  EXPECT_EQ(type_of(kInput, "aten.slice(%x, 0, 2, 9223372036854775807)", "s0 in 4..100"), "f32[s0 - 2] offset 2");
  EXPECT_TRUE(guards(kInput, "aten.slice(%x, 0, 2, 9223372036854775807)", "s0 in 4..100").empty());
  EXPECT_FALSE(guards(kInput, "aten.slice(%x, 0, 2, 9)", "s0 in 4..100").empty()) << "9 may lie past the end";
}

TEST(Views, ANumberOfPartsIsGuarded) {
  auto graph = graph_of("%x: f32[s0, 4]", "s0 in 2..64", "aten.split(%x, 16)");
  EXPECT_FALSE(graph->assumptions.guards().empty());
  auto fixed = graph_of("%x: f32[48, 4]", "", "aten.split(%x, 16)");
  EXPECT_EQ(to_string(fixed->type(fixed->outputs()[0].value())),
            "[f32[16, 4], f32[16, 4] offset 64, f32[16, 4] offset 128]");
}

TEST(Views, StridedOnesStayInsideTheOwnersStorage) {
  EXPECT_EQ(type_of("%x: f32[10]", "aten.as_strided(%x, [3, 2], [3, 1], 2)"), "f32[3, 2] strides [3, 1] offset 2");
  EXPECT_THROW(type_of("%x: f32[10]", "aten.as_strided(%x, [3, 2], [3, 1], 3)"), UserError);
  // The storage of a view is its base's: beyond the view, still inside.
  constexpr std::string_view kText =
      "graph @g(%x: f32[10]) {\n  %a = aten.slice(%x, 0, 0, 2)\n  %r = aten.as_strided(%a, [10], [1], 0)\n  return "
      "%r\n}\n";
  EXPECT_NO_THROW(parse_graph(kText, op_table()));
}

TEST(Views, ExpansionRepeatsOnlyOnes) {
  EXPECT_EQ(type_of("%x: f32[1, s0]", "aten.expand(%x, [5, -1])"), "f32[5, s0] strides [0, 1]");
  EXPECT_THROW(type_of("%x: f32[3]", "aten.expand(%x, [5])"), UserError);
}

TEST(Views, SizesAreValuesToo) {
  EXPECT_EQ(type_of("%x: f32[s0, 4] strides [8, 1] offset 3", "aten.sym_size(%x, -2)", "s0 in 2..9"), "int s0");
  EXPECT_EQ(type_of("%x: f32[s0, 4] strides [8, 1] offset 3", "aten.sym_stride(%x, 0)", "s0 in 2..9"), "int 8");
  EXPECT_EQ(type_of("%x: f32[s0, 4]", "aten.sym_numel(%x)", "s0 in 2..9"), "int s0*4");
}

TEST(Joins, KeepChannelsLastOnlyIfAllAgree) {
  constexpr std::string_view kLast = "f32[2, 3, 4, 5] strides [60, 1, 15, 3]";
  std::string both = "%x: " + std::string(kLast) + ", %y: " + std::string(kLast);
  EXPECT_EQ(type_of(both, "aten.cat([%x, %y], 1)"), "f32[2, 6, 4, 5] strides [120, 1, 30, 6]");
  std::string mixed = "%x: " + std::string(kLast) + ", %y: f32[2, 3, 4, 5]";
  EXPECT_EQ(type_of(mixed, "aten.cat([%x, %y], 1)"), "f32[2, 6, 4, 5]");
  EXPECT_EQ(type_of("%x: f32[s0, 4], %y: f32[s1, 4]", "aten.cat([%x, %y])", "s0 in 2..9, s1 in 2..9"),
            "f32[s0 + s1, 4]");
}

TEST(Creation, LengthsOfRanges) {
  EXPECT_EQ(type_of("%x: f32[2]", "aten.arange(0, 10, 3)"), "i64[4]");
  EXPECT_EQ(type_of("%x: f32[2]", "aten.arange(1, 0, -0.25)"), "f32[4]");
  EXPECT_EQ(type_of("%x: f32[s0]", "aten.arange(s0)", "s0 in 2..9"), "i64[s0]");
  EXPECT_THROW(type_of("%x: f32[2]", "aten.arange(0, 1, 0)"), UserError);
  EXPECT_THROW(type_of("%x: f32[2]", "aten.full([2], 300, dtype=u8)"), UserError);
}

// Eager copies it into what the first one's dtype says, and negates the copy: no kernel does that to float8 and bools.
TEST(Views, ThatAreLazilyNegatedAreNoRowsOfWhatHasNoNegative) {
  const auto padded = [](const std::string& first, const std::string& view) {
    parse_graph("graph @g(%a: " + first + ", %x: f16[2, 6], %none: f16[0, 6]) {\n  %v = " + view +
                    "\n  %r = aten.pad_sequence([%a, %v])\n  return %r\n}\n",
                op_table());
  };
  for (const char* first : {"f8e4m3[3, 6]", "f8e5m2[3, 6]", "bool[3, 6]"}) {
    EXPECT_THROW(padded(first, "aten._neg_view(%x)"), UserError) << first;
    EXPECT_NO_THROW(padded(first, "aten.neg(%x)")) << first;
    EXPECT_NO_THROW(padded(first, "aten._neg_view(%none)")) << first;
  }
  EXPECT_NO_THROW(padded("u8[3, 6]", "aten._neg_view(%x)"));
}

// Eager's counts overflow, in i64; those of other dtypes are doubles'.
TEST(Creation, LengthsOfRangesOfHugeNumbers) {
  const auto range = [](const std::string& args) { return type_of("%x: f32[2]", "aten.arange(" + args + ")"); };
  const std::string least = "-9223372036854775808", most = "9223372036854775807";
  EXPECT_EQ(range("2, -7, step=" + least), "i64[0]");
  EXPECT_EQ(range("2, -7, step=" + least + ", dtype=i32"), "i32[1]");
  EXPECT_EQ(range("2, -7, step=" + least + ", dtype=f32"), "f32[1]");
  EXPECT_EQ(range("0, -1, step=" + least), "i64[1]");
  EXPECT_EQ(range(least + ", " + most + ", step=" + most), "i64[0]");
  EXPECT_EQ(range(least + ", " + most + ", step=" + most + ", dtype=i32"), "i32[2]");
  EXPECT_EQ(range("1152921504606846977, 1152921504606846976, step=2"), "i64[0]");  // equally great, as doubles
  EXPECT_THROW(range("1152921504606846977, 1152921504606846976"), UserError);
  EXPECT_THROW(range("5, " + most + ", step=4611686018427387904"), UserError);
  EXPECT_THROW(range("0, " + least + ", step=-1"), UserError);  // kills eager
  EXPECT_THROW(type_of("%x: f32[s0]", "aten.arange(s0, -7, step=" + least + ")", "s0 in 2..9"), Unsupported);
}

TEST(Views, ThatAreLazyAreClonedForKernels) {
  auto graph = parse_graph(
      "graph @g(%x: c128[2, 2]) {\n  %0 = aten.matrix_H(%x)\n  %1 = aten.slice(%0, start=1)\n"
      "  %2 = aten.exp(%1)\n  %3 = aten.add(%1, 1.0)\n  return %2, %3\n}\n",
      op_table());
  // The clone lies as a contiguous tensor does, but for the stride of its one row, which a number's dims don't hide.
  EXPECT_EQ(to_string(graph->type(graph->outputs()[0].value())), "c128[1, 2]");
  EXPECT_EQ(to_string(graph->type(graph->outputs()[1].value())), "c128[1, 2] strides [1, 1]");
  // Nothing conjugates real numbers.
  graph = parse_graph(
      "graph @g(%x: f32[2, 2, 2]) {\n  %0 = aten.mH(%x)\n  %1 = aten.swapaxes(%0, 1, 0)\n"
      "  %2 = aten.slice(%1, dim=1, start=1)\n  %3 = aten.slice(%2, dim=2, end=1)\n"
      "  %4 = aten.expand(%3, [2, 2, 1])\n  %5 = aten.add(%2, %4)\n  return %5\n}\n",
      op_table());
  EXPECT_EQ(to_string(graph->type(graph->outputs()[0].value())), "f32[2, 2, 2] strides [1, 2, 4]");
}

}  // namespace
}  // namespace lenz
