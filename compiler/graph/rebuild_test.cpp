#include "compiler/graph/rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// Sizes by the names of symbols.
SymValues sizes(std::map<std::string, int64_t, std::less<>> values) {
  return [values = std::move(values)](const SymNode* s) -> std::optional<int64_t> {
    auto at = values.find(symbol_name(s));
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

TEST(Specialised, SizesThatAGuardExcludesGetTypesOfTheirOwn) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, 4], %y: f32[s1, 4]) where s0 in 1..9 { %a = aten.add(%x, %y) return %a }", op_table());
  ASSERT_EQ(print(*graph),
            "graph @g(%x: f32[s0, 4], %y: f32[s1, 4]) where s0 in 1..9 assuming s0 != 1, s1 != 1, s0 == s1 {\n"
            "  %a = aten.add(%x, %y)\n  return %a\n}\n");
  EXPECT_EQ(specialised(*graph, sizes({{"s0", 3}, {"s1", 3}})), nullptr);
  auto one = specialised(*graph, sizes({{"s0", 1}, {"s1", 5}}));
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(to_string(one->type(one->outputs()[0].value())), "f32[s1, 4]");
  EXPECT_EQ(print(*one),
            "graph @g(%x: f32[s0, 4], %y: f32[s1, 4]) where s0 in 1..9, s0 == 1 assuming s0 != s1 {\n"
            "  %a = aten.add(%x, %y)\n  return %a\n}\n");
  EXPECT_TRUE(verify(*one).empty());
  auto both = specialised(*graph, sizes({{"s0", 1}, {"s1", 1}}));
  ASSERT_NE(both, nullptr);
  EXPECT_TRUE(verify(*both).empty());
  EXPECT_TRUE(both->assumptions.guards().empty());
}

TEST(Specialised, InSubGraphsToo) {
  auto graph = parse_graph(
      "graph @g(%p: bool[], %x: f32[s0, 4], %y: f32[s1, 4]) {\n"
      "  %r = lenz.cond(%p, @yes, @no, [%x, %y])\n  return %r\n}\n"
      "graph @yes(%x: f32[s0, 4], %y: f32[s1, 4]) {\n  %a = aten.mul(%x, %y) %s = aten.sum(%a) return %s\n}\n"
      "graph @no(%x: f32[s0, 4], %y: f32[s1, 4]) {\n  %s = aten.sum(%y) return %s\n}\n",
      op_table());
  ASSERT_TRUE(verify(*graph).empty());
  ASSERT_FALSE(graph->subgraphs[0]->assumptions.guards().empty());
  auto one = specialised(*graph, sizes({{"s0", 1}, {"s1", 5}}));
  ASSERT_NE(one, nullptr);
  EXPECT_TRUE(verify(*one).empty()) << to_string(verify(*one)[0]);
  const Graph& yes = *one->subgraphs[0];
  EXPECT_EQ(to_string(yes.type(yes.node(yes.first()).result())), "f32[s1, 4]");
}

// Of nothing a rule knows what otherwise the run alone does: what speaks of it behind that has the number.
TEST(Specialised, SizesOfTheRunThatAreNumbersThere) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0], %r: i64[s0]) where s0 in 0..30 {\n"
      "  %a: f32[u0] = aten.repeat_interleave.self_Tensor(%x, %r)\n"
      "  %z = aten.zeros([u0, 3])\n  return %z, %a\n}\n",
      op_table());
  auto none = specialised(*graph, sizes({{"s0", 0}}));
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(verify(*none).empty()) << to_string(verify(*none)[0]);
  EXPECT_EQ(to_string(none->type(none->outputs()[0].value())), "f32[0, 3]");
  EXPECT_EQ(print(*none).find("u0"), std::string::npos) << print(*none);
}

// A size that only the run knows is as open as it was where another node, of other arguments, has a number instead.
TEST(Rebuilt, SizesOfTheRunThatAreSaidNoMore) {
  auto graph = parse_graph(
      "graph @g(%x: i32[3]) {\n"
      "  %a: i64[u0, 1] strides [1, u0] = aten.nonzero(%x)\n  %n = aten.sym_size(%a, 0)\n"
      "  %z = aten.new_zeros(%x, [%n])\n  return %a, %z\n}\n",
      op_table());
  auto made = rebuilt(*graph, {.argument = [](const Arg& a, const ParamType&) {
    return a.kind == ArgKind::integer && a.dim().is(0) ? Arg::of_dim(1) : a;
  }});
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(to_string(made->type(made->outputs()[1].value())), "i32[1]");
  EXPECT_TRUE(structurally_equal(*made, *parse_graph(print(*made), op_table()))) << print(*made);
}

// A sub-graph's s0 is what it is called with.
TEST(Specialised, InSubGraphsByTheirOwnSymbols) {
  auto graph = parse_graph(
      "graph @g(%p: bool[], %x: f32[s0, 4]) {\n"
      "  %t = aten.cat([%x, %x])\n  %r = lenz.cond(%p, @yes, @no, [%t])\n  return %r\n}\n"
      "graph @yes(%x: f32[s0, 4]) assuming s0 != 1 {\n  return %x\n}\n"
      "graph @no(%x: f32[s0, 4]) {\n  return %x\n}\n",
      op_table());
  EXPECT_EQ(specialised(*graph, sizes({{"s0", 1}})), nullptr);
}

void expect_refused(std::string_view text, std::map<std::string, int64_t, std::less<>> values, const std::string& why) {
  auto graph = parse_graph(text, op_table());
  try {
    specialised(*graph, sizes(std::move(values)));
    FAIL() << print(*graph);
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), why);
  }
}

TEST(Specialised, WhatARuleRefusesSaysWhichAssumptionItNeeds) {
  expect_refused("graph @g(%x: f32[s0], %y: f32[s1]) { %a = aten.add(%x, %y) return %a }", {{"s0", 3}, {"s1", 4}},
                 "@g: %a = aten.add(%x, %y): these sizes break s0 == s1, and without that, aten.add.Tensor: sizes "
                 "don't broadcast (needs s0 == s1)\n  help: give sizes for which that holds");
  expect_refused("graph @g(%x: f32[s0]) { %a = aten.narrow(%x, 0, 0, 5) return %a }", {{"s0", 3}},
                 "@g: %a = aten.narrow(%x, 0, 0, 5): these sizes break 5 <= s0, and without that, aten.narrow: start + "
                 "length is out of range (needs 5 <= s0)\n  help: give sizes for which that holds");
}

}  // namespace
}  // namespace lenz
