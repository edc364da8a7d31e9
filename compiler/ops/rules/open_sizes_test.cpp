// Sizes that only a run knows: what type rules make of them holds for every value, or is asserted, or is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Of a call that speaks of u, a number read from a tensor; `facts` ends the graph's own.
std::unique_ptr<Graph> graph_of(std::string_view call, std::string_view facts = "") {
  std::string text = "graph @g(%x: f32[8], %i: i64[]) " + std::string(facts) +
                     " {\n  %u: int u = aten._local_scalar_dense(%i)\n  %r = " + std::string(call) +
                     "\n  return %r\n}\n";
  auto graph = parse_graph(text, op_table());
  EXPECT_THAT(graph->assumptions.guards(), IsEmpty()) << text;
  EXPECT_THAT(verify(*graph), IsEmpty()) << text;
  // The text that it prints says all that it needs.
  auto again = parse_graph(print(*graph), op_table());
  EXPECT_EQ(print(*again), print(*graph));
  EXPECT_THAT(verify(*again), IsEmpty());
  return graph;
}

// Once with a number and once with u, whose value is that number: the types must be one.
void expect_type(std::string_view before, std::string_view after, int64_t u) {
  auto open = graph_of(std::string(before) + "%u" + std::string(after));
  auto plain = graph_of(std::string(before) + std::to_string(u) + std::string(after));
  const Type &got = open->type(open->outputs()[0].value()), &want = plain->type(plain->outputs()[0].value());
  auto value = [&](Dim d) { return evaluate(d, [&](const SymNode*) { return std::optional(u); }); };
  const std::string what = std::string(before) + std::to_string(u) + std::string(after) + ": " + to_string(got);
  ASSERT_EQ(got.rank(), want.rank()) << what;
  for (size_t d = 0; d < got.rank(); ++d) {
    EXPECT_EQ(value(got.sizes()[d]), want.sizes()[d].constant()) << what;
    EXPECT_EQ(value(got.strides()[d]), want.strides()[d].constant()) << what;
  }
  EXPECT_EQ(value(got.offset), want.offset.constant()) << what;
}

std::vector<std::string> facts_of(const Graph& graph) {
  std::vector<std::string> list;
  for (const auto& [symbol, range] : graph.assumptions.facts().ranges())
    list.push_back((range.low ? std::to_string(*range.low) : "") + ".." +
                   (range.high ? std::to_string(*range.high) : ""));
  for (const Cond& c : graph.assumptions.facts().conditions()) list.push_back(to_string(c));
  return list;
}

std::string refusal(std::string_view call, std::string_view facts = "") {
  try {
    graph_of(call, facts);
  } catch (const UserError& error) {
    return error.what();
  }
  return "it was taken";
}

// Of what only the run knows the size of, a slice may be counted from the end.
TEST(OpenSizes, ASliceFromTheEndIsRightForEverySize) {
  for (const char* call : {"aten.slice(%a, 0, -2)", "aten.slice(%a, 0, 0, -3)", "aten.slice(%a, 0, -5, -1, 2)"}) {
    auto of = [&](const std::string& size, const char* how) {
      return parse_graph(
          "graph @g(%x: f32[8], %i: i64[]) where u in 0..8 {\n  %u: int u = aten._local_scalar_dense(%i)\n"
          "  %a = aten.narrow(%x, 0, 0, " +
              size + ")\n  %r = " + how + "\n  return %r\n}\n",
          op_table());
    };
    auto with_u = of("%u", call);
    for (int64_t u = 0; u <= 8; ++u) {
      auto plain = of(std::to_string(u), call);
      const Type &got = with_u->type(with_u->outputs()[0].value()), &want = plain->type(plain->outputs()[0].value());
      auto value = [&](Dim d) { return evaluate(d, [&](const SymNode*) { return std::optional(u); }); };
      EXPECT_EQ(value(got.sizes()[0]), want.sizes()[0].constant()) << call << " of " << u;
      if (want.sizes()[0].constant() > 0) EXPECT_EQ(value(got.offset), want.offset.constant()) << call << " of " << u;
    }
  }
}

TEST(OpenSizes, ASliceIsRightForEveryPlace) {
  for (int64_t u : {-100, -9, -8, -7, -1, 0, 1, 3, 7, 8, 9, 100}) {
    expect_type("aten.slice(%x, 0, ", ")", u);
    expect_type("aten.slice(%x, 0, 0, ", ")", u);
    expect_type("aten.slice(%x, 0, 2, ", ", 3)", u);
    expect_type("aten.slice(%x, 0, ", ", 6, 2)", u);
    expect_type("aten.slice(%x, 0, -6, ", ")", u);
  }
  for (int64_t u : {-8, -3, 0, 5, 7}) expect_type("aten.select(%x, 0, ", ")", u);
  for (int64_t u : {-8, -3, 0, 5}) expect_type("aten.narrow(%x, 0, ", ", 3)", u);
}

TEST(OpenSizes, WhatMustHoldIsAsserted) {
  EXPECT_THAT(facts_of(*graph_of("aten.select(%x, 0, %u)")), ElementsAre("-8..7"));
  EXPECT_THAT(facts_of(*graph_of("aten.narrow(%x, 0, 0, %u)")), ElementsAre("0..8"));
  EXPECT_THAT(facts_of(*graph_of("aten.as_strided(%x, [%u], [1])")), ElementsAre("0..", "u*4 <= 32"));
  EXPECT_THAT(facts_of(*graph_of("aten.zeros([%u])")), ElementsAre("0.."));
  EXPECT_THAT(facts_of(*graph_of("aten.view(%x, [-1, %u])")), ElementsAre("0..", "8 % u == 0", "u != 0"));
  EXPECT_THAT(facts_of(*graph_of("aten.unfold(%x, 0, %u, 1)")), ElementsAre("0..8"));
}

TEST(OpenSizes, WhatWouldDecideATypeIsRefusedUnlessAFactTells) {
  EXPECT_THAT(refusal("aten.view(%x, [%u])"), HasSubstr("whether u == -1 decides"));
  EXPECT_THAT(refusal("aten.split(%x, %u)"), HasSubstr("only the run knows it"));
  EXPECT_EQ(to_string(graph_of("aten.view(%x, [%u])", "where u in 0..")->type(2)), "int u");
  EXPECT_THAT(refusal("aten.view(%x, [%u])"), HasSubstr("say which behind the graph's `where`"));
}

TEST(OpenSizes, WhatWasSupposedOnTheWayToARefusalIsNoGuard) {
  auto graph = graph_of("aten.narrow(%x, 0, 0, %u)");
  const Arg at[] = {graph->outputs()[0], Arg::of_int(0)};
  const Resolved squeeze = resolve(*graph, "aten.squeeze", at, {});
  EXPECT_THROW(graph->append(*squeeze.op, squeeze.args), UserError);
  EXPECT_THAT(graph->assumptions.guards(), IsEmpty());
}

TEST(OpenSizes, ARefusalSaysTheConditionAsShortAsFactsAllow) {
  const std::string call = "aten.slice(%x, 0, 0, %u)\n  %o = aten.zeros([8])\n  aten._foreach_neg([%r], out=[%o])";
  EXPECT_THAT(refusal(call, "where u in 0.."), HasSubstr("whether 8 == min(8, u) decides"));
  EXPECT_EQ(refusal(call, "where u in 0.., 8 == min(8, u)"), "it was taken");
}

TEST(OpenSizes, WhatEagerResizesIsNotAsserted) {
  const std::string part = "aten.slice(%x, 0, 0, %u)\n  %o = aten.zeros([8])\n  ";
  EXPECT_THAT(refusal(part + "aten._foreach_neg([%r], out=[%o])"), HasSubstr("whether 8 == min("));
  EXPECT_THAT(refusal(part + "%b = aten.zeros([0])\n  %p, %q = aten.log_sigmoid_forward(%r, output=%o, buffer=%b)"),
              HasSubstr("whether 8 == min("));
  auto padded = graph_of(
      "aten.unsqueeze(%x, 0)\n  %o = aten.zeros([1, 9])\n"
      "  %p = aten.replication_pad1d(%r, [0, %u], out=%o)");
  EXPECT_THAT(facts_of(*padded), Not(Contains("9 != u + 8")));
}

TEST(OpenSizes, LayoutsOfEverySizeNeedNothing) {
  for (std::string_view call : {"aten.sin(%z)", "aten.add(%z, 1)", "aten.clone(%z)", "aten.sum(%z)", "aten.neg(%z)"}) {
    const std::string text =
        "graph @g(%x: bool[8]) {\n  %z = aten.nonzero(%x)\n  %r = " + std::string(call) + "\n  return %r\n}\n";
    auto graph = parse_graph(text, op_table());
    EXPECT_THAT(graph->assumptions.guards(), IsEmpty()) << text;
    EXPECT_THAT(graph->assumptions.facts().conditions(), IsEmpty()) << text;
  }
}

TEST(OpenSizes, AGuardOnOneIsReadAsAnAssertion) {
  auto graph = graph_of("aten.zeros([%u])", "assuming u != 1, u >= 0");
  EXPECT_THAT(facts_of(*graph), ElementsAre("0..", "u != 1"));
}

}  // namespace
}  // namespace lenz
