// The rules that no text can break, with the reason, broken from inside; what text can break is in corpus/errors.
#include "compiler/graph/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compiler/graph/test_ops.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {

struct GraphTestAccess {
  static Node& node(Graph& g, NodeId id) { return g.nodes_[id]; }
  static Value& value(Graph& g, ValueId v) { return g.values_[v]; }
  static NodeId& previous(Graph& g, NodeId id) { return g.previous_[id]; }
  static ValueId& storage(Graph& g, ValueId v) { return g.storage_[v]; }
  static std::vector<Arg>& outputs(Graph& g) { return g.outputs_; }
  static Arg& arg(Graph& g, NodeId id, size_t i) { return const_cast<Arg&>(g.nodes_[id].args[i]); }
};

namespace {

using Access = GraphTestAccess;

// Why no text breaks a rule; where one can try, what the parser says to it.
struct Untellable {
  int rule;
  std::string_view why, attempt, refusal;
};

const Untellable kUntellable[] = {
    {101, "nodes stand in the order of their statements, whatever that is", {}, {}},
    {102, "results are numbered in the order in which they stand before `=`", {}, {}},
    {103, "inputs are numbered as they are read", {}, {}},
    {104, "users are gathered from what mentions a value", {}, {}},
    {105, "a name can't be given twice", "graph @g(%x: f32[2]) { %x = aten.relu(%x) return %x }",
     "<text>:1:24: %x is defined twice"},
    {106, "what is left out is a default or refused", "graph @g(%x: f32[2]) { %a = aten.add(%x) return %a }",
     "<text>:1:29: no overload of `aten.add` takes these arguments"},
    {107, "what is mentioned must stand before", "graph @g(%x: f32[2]) { %a = aten.relu(%y) return %a }",
     "<text>:1:39: there is no value %y here"},
    {201, "an overload must take the arguments", "graph @g(%x: f32[2]) { %a = aten.relu(true) return %a }",
     "<text>:1:29: no overload of `aten.relu` takes these arguments"},
    {202, "a constant's elements are counted", "graph @g() { %c = lenz.constant(f32[3] [1.0, 2.0]) return %c }",
     "<text>:1:33: the shape has 3 elements, and 2 are given"},
    {301, "what is mentioned must stand before",
     "graph @g(%x: f32[2]) { %a = aten.relu(%b) %b = aten.relu(%x) return %a }",
     "<text>:1:39: %b is used before it is defined"},
    {401, "types are inferred, and annotations compared with them",
     "graph @g(%x: f32[2]) { %a: f32[3] = aten.relu(%x) return %a }", "<text>:1:28: %a is f32[2] here"},
    {402, "results are counted", "graph @g(%x: f32[2]) { %a, %b = aten.relu(%x) return %a }",
     "<text>:1:24: `aten.relu` has 1 results here, and 2 are named"},
    {403, "the parser adds the guards that type rules ask for", {}, {}},
    {501, "storage follows from the ops", {}, {}},
    {704, "guards are held against the facts", "graph @g(%x: f32[s0]) where s0 == 4 assuming s0 != 4 { return %x }",
     "<text>:1:46: this contradicts the facts"},
    {705, "a symbol's name is one word", "graph @g(%x: f32[two words]) { return %x }",
     "<text>:1:22: expected `,` or `]`, found `words`"},
    {801, "types are inferred through sub-graphs",
     "graph @g(%p: bool[], %x: f32[3]) { %r = lenz.cond(%p, @yes, @no, [%x]) return %r }"
     "graph @yes(%x: f32[2]) { return %x } graph @no(%x: f32[2]) { return %x }",
     "<text>:1:41: lenz.cond: operand 0 of @yes: sizes differ (needs 2 == 3)"},
};

struct Breakage {
  int rule;
  std::string_view text;
  void (*damage)(Graph&);
  std::string_view message;
};

NodeId first(Graph& g) { return g.first(); }
NodeId second(Graph& g) { return g.node(g.first()).next; }

constexpr std::string_view kChain =
    "graph @g(%x: f32[2], %z: f32[2]) { %a = test.relu(%x) %b = test.add(%a, %z) return %b }";
constexpr std::string_view kTwo = "graph @g(%x: f32[2]) { %v, %i = test.max(%x, 0) return %v, %i }";
constexpr std::string_view kSymbolic = "graph @g(%x: f32[s0], %y: f32[s1]) { %a = test.add(%x, %y) return %a }";
constexpr std::string_view kConstant = "graph @g() { %c = lenz.constant(f32[2] [1.0, 2.0]) return %c }";
constexpr std::string_view kChoice =
    "graph @g(%p: bool[], %x: f32[2]) { %r = test.choose(%p, @yes, @no, [%x]) return %r }"
    "graph @yes(%x: f32[2]) { return %x } graph @no(%x: f32[2]) { return %x }";

void set_constant(Graph& g, ConstantData data) {
  Arg a = g.context().data(std::move(data));
  g.set_args(first(g), {&a, 1});
}

const Breakage kBreakages[] = {
    {101, kChain, [](Graph& g) { Access::previous(g, second(g)) = kNone; }, "the list of nodes is broken at node 1"},
    {102, kChain, [](Graph& g) { Access::value(g, g.node(first(g)).result()).producer = second(g); },
     "result 0 of node 0 is broken"},
    {102, kTwo, [](Graph& g) { Access::value(g, g.node(first(g)).result(1)).index = 0; },
     "result 1 of node 0 is broken"},
    {103, kChain, [](Graph& g) { Access::value(g, g.inputs()[1].value).index = 0; }, "input 1 is broken"},
    {104, kChain, [](Graph& g) { Access::value(g, g.inputs()[0].value).users.clear(); },
     "the users of %x are not those that mention it"},
    {104, kChain, [](Graph& g) { Access::value(g, g.inputs()[0].value).users.push_back(kOutputs); },
     "the users of %x are not those that mention it"},
    {105, kChain, [](Graph& g) { g.set_name(g.node(first(g)).result(), g.context().intern("x")); },
     "two values are named %x"},
    {106, kChain, [](Graph& g) { Access::node(g, second(g)).arg_count = 2; },
     "test.add.Tensor has 3 parameters, node 1 2 arguments"},
    {107, kChain, [](Graph& g) { Access::arg(g, first(g), 0) = Arg::of_value(99); },
     "node 0 mentions a value that does not exist"},
    {107, kChoice, [](Graph& g) { Access::arg(g, first(g), 1) = Arg::of_graph(7); },
     "node 0 mentions a sub-graph that does not exist"},
    {201, kChain,
     [](Graph& g) {
       Arg args[] = {Arg::of_bool(true)};
       g.set_args(first(g), args);
     },
     "argument `self` of test.relu has the wrong kind"},
    {202, kConstant,
     [](Graph& g) {
       ConstantData data = *g.node(first(g)).args[0].data;
       data.bytes = std::make_shared<std::vector<std::byte>>(3);
       set_constant(g, data);
     },
     "the constant has 3 bytes, its type 8"},
    {202, kConstant,
     [](Graph& g) {
       ConstantData data = *g.node(first(g)).args[0].data;
       data.bytes = nullptr;
       set_constant(g, data);
     },
     "the constant has neither bytes nor a file and an entry's name"},
    {301, kChain, [](Graph& g) { g.move_before(second(g), first(g)); }, "%a is used before it is defined"},
    {401, kChain,
     [](Graph& g) {
       g.set_type(g.node(second(g)).result(), g.context().tensor(contiguous_tensor(Dtype::f32, DimVec{3})));
     },
     "%b is inferred as f32[2], not as f32[3]"},
    {401, kChain,
     [](Graph& g) { g.set_type(g.inputs()[1].value, g.context().tensor(contiguous_tensor(Dtype::f32, DimVec{3}))); },
     "test.add.Tensor: sizes differ (needs 2 == 3)"},
    {402, kTwo,
     [](Graph& g) {
       g.set_outputs({});
       Access::node(g, first(g)).result_count = 1;
     },
     "test.max.dim gives 2 results, not 1"},
    {403, kSymbolic, [](Graph& g) { g.assumptions.restart(); },
     "its type relies on s0 == s1, which is neither a fact nor a guard of the graph"},
    {501, kChain, [](Graph& g) { Access::storage(g, g.node(first(g)).result()) = g.inputs()[0].value; },
     "%a has the storage of %x, its op gives %a"},
    {704, kSymbolic,
     [](Graph& g) {
       Dim s0 = *g.context().syms.find_symbol("s0"), s1 = *g.context().syms.find_symbol("s1");
       g.assumptions.facts().add(lt(s0, s1));
     },
     "the facts refute the guard s0 == s1"},
    {705, "graph @g(%x: f32[2]) { return %x }",
     [](Graph& g) {
       DimVec sizes{g.context().syms.symbol("two words")};
       g.set_type(g.inputs()[0].value, g.context().tensor(contiguous_tensor(Dtype::f32, sizes)));
     },
     "a symbol is named `two words`"},
    {801, kChoice,
     [](Graph& g) {
       Graph& yes = *g.subgraphs[0];
       yes.set_type(yes.inputs()[0].value, g.context().tensor(contiguous_tensor(Dtype::f64, DimVec{2})));
     },
     "%r is inferred as f64[2], not as f32[2]"},
    {902, "graph @g(%x: f32[2]) { test.check(%x) return %x }", [](Graph& g) { g.level = Level::aten; },
     "test.check has an effect and takes no token"},
};

TEST(Verify, EveryRuleThatTextCantBreakIsBrokenFromInside) {
  std::set<int> covered;
  for (const Breakage& b : kBreakages) {
    auto graph = parse_graph(b.text, test::table());
    ASSERT_TRUE(verify(*graph).empty()) << b.rule << ": " << to_string(verify(*graph)[0]);
    b.damage(*graph);
    std::vector<Violation> violations = verify(*graph);
    ASSERT_FALSE(violations.empty()) << "G" << b.rule;
    for (const Violation& v : violations) EXPECT_EQ(v.rule, b.rule) << to_string(v);
    EXPECT_EQ(violations[0].message, b.message) << "G" << b.rule;
    covered.insert(b.rule);
  }
  for (const VerifyRule& rule : verify_rules())
    EXPECT_TRUE(!rule.remedy.empty() || covered.contains(rule.number)) << rule.number;
}

TEST(Verify, EveryRuleWithoutAFileHasItsReason) {
  std::set<int> told;
  for (const Untellable& u : kUntellable) {
    EXPECT_TRUE(told.insert(u.rule).second && verify_rule(u.rule).remedy.empty()) << u.rule;
    EXPECT_FALSE(u.why.empty());
    if (u.attempt.empty()) continue;
    try {
      parse_graph(u.attempt, op_table());
      ADD_FAILURE() << "G" << u.rule << ": this parses: " << u.attempt;
    } catch (const UserError& e) {
      const std::string all = e.what();
      EXPECT_EQ(all.substr(0, all.find('\n')), u.refusal) << "G" << u.rule;
    }
  }
  for (const VerifyRule& rule : verify_rules())
    EXPECT_EQ(rule.remedy.empty(), told.contains(rule.number)) << rule.number;
}

TEST(Verify, SaysWhereInTheGraph) {
  auto graph = parse_graph("graph @g(%x: f32[2]) { %a = test.relu_(%x) return %a }", test::table());
  auto violations = verify(*graph);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(
      to_string(violations[0]),
      "G503 write_to_input: this writes to the input %x, which is not marked `mut`\n    in @g: %a = test.relu_(%x)");
  graph->input(0).mutated = true;
  EXPECT_TRUE(verify(*graph).empty());
}

TEST(Verify, SaysWhereInTheText) {
  constexpr std::string_view text = "graph @g(%x: f32[2]) {\n  %a = test.relu_(%x)\n  return %a\n}\n";
  ParseOptions options;
  options.file = "f";
  auto graph = parse_graph(text, test::table(), options);
  std::vector<UserError> errors = verify_text(*graph, text, options);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_STREQ(errors[0].what(),
               "f:2:8: G503 write_to_input: this writes to the input %x, which is not marked `mut`\n"
               "  2 |   %a = test.relu_(%x)\n"
               "    |        ^~~~~~~~~~\n"
               "  help: mark the input `mut`, or write to a clone of it");
}

TEST(Verify, ASubGraphWritesThroughItsOperands) {
  constexpr std::string_view text =
      "graph @g(%p: bool[], %x: f32[2]) { %r = test.choose(%p, @yes, @no, [%x]) return %r }"
      "graph @yes(%x: f32[2] mut) { %y = test.relu_(%x) return %y } graph @no(%x: f32[2]) { return %x }";
  auto graph = parse_graph(text, test::table());
  auto violations = verify(*graph);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, 503);
  graph->input(1).mutated = true;
  EXPECT_TRUE(verify(*graph).empty());
}

TEST(Verify, ReportsAHundredViolationsAtMost) {
  std::string text = "graph @g(";
  for (int i = 0; i < 300; ++i) text += (i ? ", %x" : "%x") + std::to_string(i) + ": f32[1] strides [-1]";
  auto graph = parse_graph(text + ") { return %x0 }", test::table());
  EXPECT_EQ(verify(*graph).size(), 100u);
}

// corpus/errors has one input for all.
TEST(Verify, WhatACopyAtTheEndTakesLiesInNoMemoryThatOneWrites) {
  auto graph = parse_graph(
      "graph @g(%x: f32[4] alias a mut, %w: f32[4] alias a, %z: f32[4] mut, %y: f32[4]) level aten {"
      "  %c = aten.copy_(%x, %y) %d = aten.copy_(%z, %w) return %z }",
      op_table());
  auto violations = verify(*graph);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, 606);
}

TEST(Verify, AWriteAsksForAStrideThatKeepsElementsApart) {
  auto graph = parse_graph("graph @g(%x: f32[4] strides [s1] mut, %q: f32[s1]) { %y = aten.add_(%x, 1.0) return %y }",
                           op_table());
  ASSERT_EQ(graph->assumptions.guards().size(), 1u);
  EXPECT_EQ(to_string(graph->assumptions.guards()[0]), "s1 != 0");
}

// corpus/errors has two nodes that make one.
TEST(Verify, SizesThatOnlyARunKnowsHaveSymbolsOfTheirOwn) {
  auto rules = [](const std::string& text) {
    std::set<int> found;
    for (const Violation& v : verify(*parse_graph(text, op_table()))) found.insert(v.rule);
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(rules("graph @g(%x: i64[n]) where n in 1..9 { %b: i64[n] = aten.bincount(%x) return %b }"),
              ElementsAre(703));
  EXPECT_THAT(rules("graph @g(%x: f32[n], %m: bool[n]) where n in 1..9 {"
                    "  %b: f32[n] = aten.masked_select(%x, %m) %c = aten.add(%b, %x) return %c }"),
              ElementsAre(703));
  EXPECT_THAT(rules("graph @g(%x: f32[n]) { %i: i64[n, 1] strides [1, n] = aten.nonzero(%x) return %i }"),
              ElementsAre(703));
  EXPECT_THAT(rules("graph @g(%x: i64[8]) { %a: i64[n] = aten.bincount(%x) %b: i64[n] = aten.bincount(%a) return %b }"),
              ElementsAre(703));
  EXPECT_THAT(rules("graph @g(%x: f32[n, 3]) { %i: i64[u, 2] strides [1, u] = aten.nonzero(%x) return %i }"),
              ElementsAre());
}

// corpus/errors has one of these.
TEST(Verify, InitialisersGiveValuesOfTheDtype) {
  auto refused = [](const std::string& input) {
    auto graph = parse_graph("graph @g(%x: " + input + ") { return %x }", op_table());
    std::vector<Violation> found = verify(*graph);
    return found.empty() ? std::string() : found[0].message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(refused("f32[3] init uniform(nan, 1)"), HasSubstr("must be finite"));
  EXPECT_THAT(refused("f32[3] init normal(0, -1)"), HasSubstr("the deviation -1 is negative"));
  EXPECT_THAT(refused("i8[3] init integers(0, 128)"), HasSubstr("values that i8 has not"));
  EXPECT_THAT(refused("u8[3] init integers(-1, 3)"), HasSubstr("values that u8 has not"));
  EXPECT_THAT(refused("i64[3] init integers(0, 9223372036854775808)"), HasSubstr("values that i64 has not"));
  EXPECT_THAT(refused("f16[3] init uniform(0, 70000)"), HasSubstr("values that f16 has not"));
  EXPECT_THAT(refused("i64[3] init integers(3, 2)"), HasSubstr("nothing lies from 3 to 2"));
  EXPECT_THAT(refused("i64[3] init integers(0.5, 2)"), HasSubstr("whole numbers"));
  EXPECT_THAT(refused("f32[3] init permutation(seed=1)"), HasSubstr("of integers"));
  EXPECT_THAT(refused("i8[129] init permutation(seed=1)"), HasSubstr("129 numbers"));
  EXPECT_THAT(refused("bool[3] init uniform(0, 1)"), HasSubstr("integers(0, 1)"));
  for (const char* input : {"bool[3] init integers(0, 1)", "i64[3] init integers(-9223372036854775808, 7)",
                            "i8[128] init permutation(seed=1)", "f16[2] init normal(0, 0)", "u8[] init ones"})
    EXPECT_EQ(refused(input), "") << input;
}

}  // namespace
}  // namespace lenz
