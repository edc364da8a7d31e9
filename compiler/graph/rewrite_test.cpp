// Rules are found and applied as their text says, and nothing is rewritten that somebody could notice.
#include "compiler/graph/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using testing::HasSubstr;

struct Outcome {
  std::string text;
  RewriteReport report;
};

Outcome rewritten(std::string_view rules, std::string_view graph, const RewriteOptions& options = {}) {
  auto g = parse_graph(graph, op_table());
  RewriteReport report = rewrite(*g, RuleSet::parse(rules, op_table()), options);
  return {print(*g), report};
}

std::string spelled(std::string_view graph) { return print(*parse_graph(graph, op_table())); }

std::string error_of(std::string_view rules) {
  try {
    RuleSet::parse(rules, op_table());
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

constexpr std::string_view kInvolution = R"(
  rule involution {
    %a = ?f(%x)
    %b = ?f(%a)
    where ?f is involution
    shared %a
    replace %b with %x
  })";

TEST(Rewrite, OpHolesMatchByTrait) {
  auto out = rewritten(kInvolution, R"(graph @g(%x: f32[4]) {
    %a = aten.neg(%x)
    %b = aten.neg(%a)
    %s = aten.sin(%b)
    return %s
  })");
  EXPECT_EQ(out.text, spelled("graph @g(%x: f32[4]) { %s = aten.sin(%x) return %s }"));
  EXPECT_EQ(out.report.applied, 1u);
  EXPECT_EQ(out.report.stop, RewriteReport::fixpoint);
}

TEST(Rewrite, LongChainsCollapse) {
  std::string text = "graph @g(%x: f32[4]) {\n  %0 = aten.sin(%x)\n";
  for (int i = 1; i <= 7; ++i) text += "  %" + std::to_string(i) + " = aten.neg(%" + std::to_string(i - 1) + ")\n";
  auto out = rewritten(kInvolution, text + "  return %7\n}");
  auto g = parse_graph(out.text, op_table());
  EXPECT_EQ(g->node_count(), 2u) << out.text;
}

TEST(Rewrite, SharedValuesNeedTheWord) {
  constexpr std::string_view graph = R"(graph @g(%x: f32[4]) {
    %a = aten.neg(%x)
    %b = aten.neg(%a)
    %c = aten.sin(%b)
    return %a, %c
  })";
  EXPECT_EQ(rewritten(kInvolution, graph).report.applied, 1u);
  std::string strict(kInvolution);
  strict.erase(strict.find("shared %a"), 9);
  EXPECT_EQ(rewritten(strict, graph).report.applied, 0u);
}

TEST(Rewrite, AnOutputDoesNotStartToAliasAnInput) {
  auto out = rewritten(kInvolution, "graph @g(%x: f32[4]) { %a = aten.neg(%x) %b = aten.neg(%a) return %b }");
  EXPECT_EQ(out.report.applied, 0u);
  EXPECT_EQ(out.report.rules[0].refused[static_cast<size_t>(Refusal::aliasing)], 1u);
}

TEST(Rewrite, WhatWouldBeRewrittenIsLeftAsItIs) {
  auto would = [](std::string_view text) {
    const RuleSet rules = RuleSet::parse(kInvolution, op_table());
    auto graph = parse_graph(text, op_table());
    const std::string before = print(*graph);
    NodeId last = kNone;
    graph->for_each_node([&](NodeId id) { last = graph->node(id).op->full_name == "aten.neg" ? id : last; });
    const bool is = would_rewrite(*graph, rules, rules.rules()[0], last);
    EXPECT_EQ(print(*graph), before);
    return is;
  };
  EXPECT_TRUE(would("graph @g(%x: f32[4]) { %a = aten.neg(%x) %b = aten.neg(%a) %c = aten.sin(%b) return %c }"));
  EXPECT_FALSE(would("graph @g(%x: f32[4]) { %a = aten.neg(%x) %b = aten.neg(%a) return %b }"));  // would alias
  EXPECT_FALSE(would("graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.neg(%a) return %b }"));  // does not match
}

TEST(Rewrite, ReadsDoNotMoveAcrossWrites) {
  auto out = rewritten(kInvolution, R"(graph @g(%x: f32[4] mut) {
    %a = aten.neg(%x)
    %w = aten.neg_(%x)
    %b = aten.neg(%a)
    %c = aten.sin(%b)
    return %c
  })");
  EXPECT_EQ(out.report.applied, 0u);
  EXPECT_GE(out.report.rules[0].refused[static_cast<size_t>(Refusal::written)], 1u);
}

TEST(Rewrite, CommutativeOpsMatchBothWays) {
  constexpr std::string_view rules = R"(
    rule product_of_negative { %n = aten.neg(%x) %p = aten.mul(%y, %n) shared %n
      replace %p { %q = aten.mul.Tensor(%y, %x) %r = aten.neg(%q) return %r } })";
  for (std::string_view call : {"aten.mul(%n, %y)", "aten.mul(%y, %n)"}) {
    auto out = rewritten(
        rules, "graph @g(%x: f32[4], %y: f32[4]) { %n = aten.neg(%x) %p = " + std::string(call) + " return %p }");
    EXPECT_EQ(out.text,
              spelled("graph @g(%x: f32[4], %y: f32[4]) { %0 = aten.mul(%y, %x) %p = aten.neg(%0) return %p }"))
        << call;
  }
}

TEST(Rewrite, AHoleThatStandsTwiceMatchesOneThing) {
  constexpr std::string_view rules = "rule square { %p = aten.mul(%x, %x) replace %p { %n = aten.sin(%x) return %n } }";
  EXPECT_EQ(rewritten(rules, "graph @g(%x: f32[4], %y: f32[4]) { %p = aten.mul(%x, %y) return %p }").report.applied,
            0u);
  EXPECT_EQ(rewritten(rules, "graph @g(%x: f32[4]) { %p = aten.mul(%x, %x) return %p }").report.applied, 1u);
}

TEST(Rewrite, DimsCountModuloTheRank) {
  constexpr std::string_view rules = R"(
    rule last { %s = aten.sum.dim_IntList(%x, [-1], true) replace %s { %n = aten.amax(%x, [-1], true) return %n } })";
  for (std::string_view dim : {"-1", "2"})
    EXPECT_EQ(
        rewritten(rules, "graph @g(%x: f32[4, 5, 6]) { %s = aten.sum(%x, [" + std::string(dim) + "], true) return %s }")
            .report.applied,
        1u);
  EXPECT_EQ(rewritten(rules, "graph @g(%x: f32[4, 5, 6]) { %s = aten.sum(%x, [1], true) return %s }").report.applied,
            0u);
}

TEST(Rewrite, TypesBindSizes) {
  constexpr std::string_view rules = R"(
    rule square_matrix { %x: floats[..., $n, $n] %s = aten.sin(%x) where $n > 2
      replace %s { %c = aten.cos(%x) return %c } })";
  auto applied = [&](std::string_view type) {
    return rewritten(rules, "graph @g(%x: " + std::string(type) + ") { %s = aten.sin(%x) return %s }").report.applied;
  };
  EXPECT_EQ(applied("f32[7, 3, 3]"), 1u);
  EXPECT_EQ(applied("f16[3, 3]"), 1u);
  EXPECT_EQ(applied("f32[3, 4]"), 0u);
  EXPECT_EQ(applied("f32[2, 2]"), 0u);
  EXPECT_EQ(applied("f32[3]"), 0u);
  EXPECT_EQ(applied("i32[3, 3]"), 0u);
}

TEST(Rewrite, AlternativesAreRulesOfTheirOwn) {
  constexpr std::string_view rules = R"(
    rule either_way {
      either { %a = aten.sin(%x) } or { %a = aten.cos(%x) where size(%x, 0) == 4 }
      %b = aten.neg(%a)
      replace %b { %t = aten.tan(%x) return %t }
    })";
  RuleSet set = RuleSet::parse(rules, op_table());
  ASSERT_EQ(set.rules().size(), 2u);
  EXPECT_EQ(set.rules()[1].name, "either_way/2");
  EXPECT_EQ(rewritten(rules, "graph @g(%x: f32[4]) { %a = aten.cos(%x) %b = aten.neg(%a) return %b }").report.applied,
            1u);
  EXPECT_EQ(rewritten(rules, "graph @g(%x: f32[5]) { %a = aten.cos(%x) %b = aten.neg(%a) return %b }").report.applied,
            0u);
}

TEST(Rewrite, NodesThatOnlyShareAnOperandAreFound) {
  constexpr std::string_view rules = R"(
    rule pair { %s = aten.sin(%x) %c = aten.cos(%x)
      replace %s, %c { %a = aten.tan(%x) %b = aten.tanh(%x) return %a, %b } })";
  auto out = rewritten(
      rules, R"(graph @g(%x: f32[4]) { %c = aten.cos(%x) %s = aten.sin(%x) %p = aten.mul(%s, %c) return %p })");
  EXPECT_EQ(out.report.applied, 1u) << out.text;
  // A user of the one before the other is there: the pair has no place.
  out = rewritten(
      rules,
      R"(graph @g(%x: f32[4]) { %c = aten.cos(%x) %n = aten.neg(%c) %s = aten.sin(%x) %p = aten.mul(%s, %n) return %p })");
  EXPECT_EQ(out.report.applied, 0u) << out.text;
  EXPECT_GE(out.report.rules[0].refused[static_cast<size_t>(Refusal::order)], 1u);
}

TEST(Rewrite, AnotherTypeIsRefused) {
  auto out = rewritten("rule wrong { %s = aten.sin(%x) replace %s { %n = aten.sum(%x) return %n } }",
                       "graph @g(%x: f32[4]) { %s = aten.sin(%x) return %s }");
  EXPECT_EQ(out.report.applied, 0u);
  EXPECT_EQ(out.report.rules[0].refused[static_cast<size_t>(Refusal::type)], 1u);
  EXPECT_EQ(out.text, spelled("graph @g(%x: f32[4]) { %s = aten.sin(%x) return %s }"));
}

TEST(Rewrite, RulesThatUndoEachOtherAreNamed) {
  auto out = rewritten(R"(
    rule there { %a = aten.sin(%x) replace %a { %b = aten.cos(%x) return %b } }
    rule back { %a = aten.cos(%x) replace %a { %b = aten.sin(%x) return %b } })",
                       "graph @g(%x: f32[4]) { %s = aten.sin(%x) return %s }");
  EXPECT_EQ(out.report.stop, RewriteReport::cycle);
  EXPECT_THAT(out.report.why, HasSubstr("there"));
  EXPECT_THAT(out.report.why, HasSubstr("back"));
  EXPECT_NO_THROW(parse_graph(out.text, op_table()));
}

TEST(Rewrite, RulesThatGrowForEverStopAtTheBudget) {
  auto out = rewritten("rule grow { %a = aten.sin(%x) replace %a { %b = aten.neg(%x) %c = aten.sin(%b) return %c } }",
                       "graph @g(%x: f32[4]) { %s = aten.sin(%x) return %s }", {.allow = {}, .budget = 50});
  EXPECT_EQ(out.report.stop, RewriteReport::budget);
  EXPECT_EQ(out.report.applied, 50u);
  EXPECT_THAT(out.report.why, HasSubstr("grow"));
}

TEST(Rewrite, TheCallerMayForbidOneRewrite) {
  size_t asked = 0;
  RewriteOptions only_second;
  only_second.allow = [&](const Rule&, const Match&) { return ++asked == 2; };
  auto out = rewritten("rule change { %a = aten.sin(%x) replace %a { %b = aten.cos(%x) return %b } }",
                       "graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.sin(%a) %c = aten.sin(%b) return %c }",
                       only_second);
  EXPECT_EQ(out.report.applied, 1u);
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(out.text,
            spelled("graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.cos(%a) %c = aten.sin(%b) return %c }"));
}

TEST(Rewrite, ProvenanceIsTheUnionOfTheMatch) {
  auto g = parse_graph("graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.neg(%a) return %b }", op_table());
  rewrite(*g,
          RuleSet::parse("rule r { %a = aten.sin(%x) %b = aten.neg(%a) replace %b { %t = aten.tan(%x) return %t } }",
                         op_table()));
  std::vector<std::string> names;
  for (NameId n : g->context().origin_names(g->node(g->first()).origin)) names.emplace_back(g->context().name(n));
  EXPECT_THAT(names, testing::UnorderedElementsAre("a", "b"));
  EXPECT_EQ(g->value_name(g->node(g->first()).result()), "%b");
}

TEST(Rewrite, RestOfACallByName) {
  auto out = rewritten(R"(
    rule turned { %t = aten.neg(%x) %a = aten.sum.dim_IntList(%t, $d, ...)
      replace %a { %n = aten.sum.dim_IntList(%x, keepdim=false, ...) %m = aten.neg(%n) return %m } })",
                       R"(graph @g(%x: f32[4, 5]) {
    %t = aten.neg(%x)
    %a = aten.sum(%t, [1], dtype=f64)
    return %a
  })");
  EXPECT_EQ(out.text, spelled(R"(graph @g(%x: f32[4, 5]) {
    %0 = aten.sum(%x, [1], dtype=f64)
    %a = aten.neg(%0)
    return %a
  })"));
}

TEST(Rewrite, ComputedArgumentsAndRest) {
  auto out = rewritten(R"(
    rule swap { %t = aten.transpose.int(%x, $a, $b) where $a < $b let $s = $a + 0
      replace %t { %n = aten.transpose.int(%x, $b, $s) return %n } }
    rule fold { %a = ?f(%x, ...) %b = aten.neg(%a) where ?f in [aten.sum, aten.amax], dtype(%x) in floats
      replace %b { %m = aten.neg(%x) %n = ?f(%m, ...) return %n } })",
                       R"(graph @g(%x: f32[4, 5]) {
    %t = aten.transpose(%x, 0, 1)
    %a = aten.sum(%t, [1], true)
    %b = aten.neg(%a)
    return %b
  })");
  EXPECT_EQ(out.text, spelled(R"(graph @g(%x: f32[4, 5]) {
    %t = aten.transpose(%x, 1, 0)
    %0 = aten.neg(%t)
    %b = aten.sum(%0, [1], true)
    return %b
  })"));
}

TEST(RuleText, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(error_of("rule r { %a = aten.no_such_op(%x) replace %a with %x }"), HasSubstr("there is no op"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x, 1, 2) replace %a with %x }"), HasSubstr("no overload"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) }"), HasSubstr("what to replace"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) replace %x with %a }"), HasSubstr("not made by a node"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) replace %a with %y }"), HasSubstr("`%y` is not bound"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) where $q == 1 replace %a with %x }"), HasSubstr("does not bind"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) %b = aten.sin(%y) replace %a with %x }"),
              HasSubstr("hang together"));
  EXPECT_THAT(error_of("rule r { %a = aten.sin(%x) where nonsense(%x) replace %a with %x }"),
              HasSubstr("unknown function"));
  EXPECT_THAT(error_of("rule r {\n  %a = aten.sin(%x) !\n}"), HasSubstr("rules:2:"));
}

TEST(RuleText, ARuleKnowsWhetherItShrinks) {
  RuleSet set = RuleSet::parse(std::string(kInvolution) + R"(
    # Keeps its size.
    rule same_size { %a = aten.sin(%x) replace %a { %b = aten.cos(%x) return %b } })",
                               op_table());
  EXPECT_TRUE(set.find("involution")->shrinks);
  EXPECT_FALSE(set.find("same_size")->shrinks);
  EXPECT_EQ(set.find("same_size")->reason, "Keeps its size.");
}

}  // namespace
}  // namespace lenz
