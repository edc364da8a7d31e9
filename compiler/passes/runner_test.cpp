// The runner finds passes that lie, and lets a failure be traced to one rewrite.
#include "compiler/passes/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using testing::HasSubstr;

std::unique_ptr<Graph> graph_of(std::string_view text) { return parse_graph(text, op_table()); }

PipelineLine line(std::string_view name, void (*run)(Graph&, PassContext&), LevelSet levels = kEveryLevel) {
  Pass pass;
  pass.name = name;
  pass.levels = levels;
  pass.run = run;
  return {pass, "for a test"};
}

void nothing(Graph&, PassContext& context) { context.allow("a rewrite that changes nothing"); }

// Every sine becomes a cosine.
void cosines(Graph& graph, PassContext& context) {
  static const RuleSet rules =
      RuleSet::parse("rule cosine { %a = aten.sin(%x) replace %a { %b = aten.cos(%x) return %b } }", op_table());
  context.apply(graph, rules);
}

void wrong_type(Graph& graph, PassContext&) {
  ValueId v = graph.node(graph.first()).result();
  graph.set_type(v, graph.context().tensor(contiguous_tensor(Dtype::f64, graph.type(v).sizes())));
}

void circles(Graph& graph, PassContext& context) {
  static const RuleSet rules = RuleSet::parse(R"(
      rule there { %a = aten.sin(%x) replace %a { %b = aten.cos(%x) return %b } }
      rule back { %a = aten.cos(%x) replace %a { %b = aten.sin(%x) return %b } })",
                                              op_table());
  context.apply(graph, rules);
}

constexpr std::string_view kThreeSines =
    "graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.sin(%a) %c = aten.sin(%b) return %c }";

std::string failure_of(const PipelineLine& one) {
  auto graph = graph_of(kThreeSines);
  try {
    run_passes(*graph, {&one, 1}, checked_options());
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

TEST(Runner, ChangedIsWhatTheHashSays) {
  auto graph = graph_of(kThreeSines);
  const PipelineLine lines[] = {line("nothing", nothing), line("cosines", cosines), line("cosines", cosines)};
  RunStatistics s = run_passes(*graph, lines, checked_options());
  ASSERT_EQ(s.runs.size(), 3u);
  EXPECT_FALSE(s.runs[0].changed);
  EXPECT_TRUE(s.runs[1].changed);
  EXPECT_EQ(s.runs[1].allowed, 3u);
  EXPECT_FALSE(s.runs[2].changed);
  EXPECT_EQ(s.rewrites, 4u);
}

TEST(Runner, APassThatBreaksTheGraphIsNamed) {
  EXPECT_THAT(failure_of(line("liar", wrong_type)), testing::AllOf(HasSubstr("liar"), HasSubstr("not valid")));
}

TEST(Runner, RulesThatRunInCirclesAreAnErrorOnlyIfStrict) {
  EXPECT_THAT(failure_of(line("dizzy", circles)), testing::AllOf(HasSubstr("dizzy"), HasSubstr("undo each other")));
  auto graph = graph_of(kThreeSines);
  const PipelineLine lines[] = {line("dizzy", circles)};
  EXPECT_THAT(run_passes(*graph, lines).runs[0].incomplete, HasSubstr("undo each other"));
}

TEST(Runner, LevelsAndSelectionSkip) {
  auto graph = graph_of(kThreeSines);
  const PipelineLine lines[] = {line("core_only", cosines, {Level::core}), line("cosines", cosines)};
  RunnerOptions options;
  options.selection = PassSelection::parse("-cosines", lines);
  RunStatistics s = run_passes(*graph, lines, options);
  EXPECT_EQ(s.runs[0].skipped, "not for this level");
  EXPECT_EQ(s.runs[1].skipped, "not selected");
  EXPECT_TRUE(structurally_equal(*graph, *graph_of(kThreeSines)));
}

std::string selected(std::string_view selection) {
  auto graph = graph_of(kThreeSines);
  const PipelineLine lines[] = {line("cosines", cosines), line("nothing", nothing)};
  RunnerOptions options;
  options.selection = PassSelection::parse(selection, lines);
  run_passes(*graph, lines, options);
  std::string ops;
  graph->for_each_node([&](NodeId id) { ops += graph->node(id).op->schema.packet[0]; });
  return ops;
}

TEST(Selection, DownToOneRewrite) {
  EXPECT_EQ(selected(""), "ccc");
  EXPECT_EQ(selected("cosines:2"), "ccs");
  EXPECT_EQ(selected("cosines:#2"), "scs");
  EXPECT_EQ(selected("cosines:0"), "sss");
  EXPECT_EQ(selected("all:1"), "css");
  EXPECT_EQ(selected("-all"), "sss");
  EXPECT_EQ(selected("-all,+cosines"), "ccc");
  EXPECT_EQ(selected("-@torch"), "sss");
  EXPECT_EQ(selected("-@core"), "ccc");
}

TEST(Selection, RefusesWhatItDoesNotKnow) {
  const PipelineLine lines[] = {line("cosines", cosines)};
  auto error = [&](std::string_view text) {
    try {
      PassSelection::parse(text, lines);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("cosine"), HasSubstr("did you mean `cosines`?"));
  EXPECT_THAT(error("cosines:many"), HasSubstr("bad number"));
  EXPECT_THAT(error("cosines:#0"), HasSubstr("they count from 1"));
  EXPECT_THAT(error("-@metal"), HasSubstr("no level"));
}

// A pass that runs another one counts its rewrites as its own, and who was refused one is told the other's name.
TEST(Selection, RewritesOfAPassWithinAnother) {
  auto outer = [](Graph& graph, PassContext& context) {
    nothing(graph, context);
    context.run_within(line("cosines", cosines).pass, graph);
    nothing(graph, context);
  };
  const PipelineLine lines[] = {line("outer", outer)};
  auto first_denied = [&](std::string_view selection) {
    auto graph = graph_of(kThreeSines);
    RunnerOptions options;
    options.selection = PassSelection::parse(selection, lines);
    return run_passes(*graph, lines, options).runs[0].first_denied;
  };
  EXPECT_EQ(first_denied("outer:0").within, "");
  EXPECT_EQ(first_denied("outer:1").within, "cosines");
  EXPECT_EQ(first_denied("outer:1").what, "cosine");
  EXPECT_EQ(first_denied("outer:4").within, "");
  EXPECT_EQ(first_denied("").what, "");
}

TEST(Runner, SubgraphsAreRunToo) {
  auto graph = graph_of(R"(
    graph @g(%x: f32[4], %p: bool[]) { %r = lenz.cond(%p, @yes, @no, [%x]) return %r }
    graph @yes(%a: f32[4]) { %r = aten.sin(%a) return %r }
    graph @no(%a: f32[4]) { %r = aten.sin(%a) return %r })");
  const PipelineLine lines[] = {line("cosines", cosines)};
  EXPECT_EQ(run_passes(*graph, lines, checked_options()).rewrites, 2u);
}

TEST(Runner, OnPassSeesBeforeAndAfter) {
  auto graph = graph_of(kThreeSines);
  std::string before, after;
  RunnerOptions options;
  options.on_pass = [&](const PassRun&, const Graph& b, const Graph& a) {
    before = print(b);
    after = print(a);
  };
  const PipelineLine lines[] = {line("cosines", cosines)};
  run_passes(*graph, lines, options);
  EXPECT_EQ(before, print(*graph_of(kThreeSines)));
  EXPECT_EQ(after, print(*graph));
}

TEST(Statistics, FitTheirSchema) {
  auto graph = graph_of(kThreeSines);
  std::vector<PipelineLine> lines(pipeline().begin(), pipeline().end());
  lines.push_back(line("dizzy", circles));
  auto json = to_json(run_passes(*graph, lines));
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/compiler/passes/pass_statistics.schema.json");
  auto schema = nlohmann::json::parse(file);
  EXPECT_EQ(schema_violations(json, schema), std::vector<std::string>());
  json["passes"][0].erase("changed");
  EXPECT_EQ(schema_violations(json, schema).size(), 1u);
}

TEST(Pipeline, NamesReasonsAndContracts) {
  for (const PipelineLine& l : pipeline()) {
    EXPECT_NE(l.pass.run, nullptr) << l.pass.name;
    EXPECT_FALSE(l.reason.empty()) << l.pass.name;
    EXPECT_EQ(std::count(l.pass.contract.begin(), l.pass.contract.end(), '\n'), 2) << l.pass.name << ": three lines";
    EXPECT_NE(l.pass.levels.bits, 0) << l.pass.name;
  }
}

// Thousands of views become one, which came from all of them: without a list of names at each step.
TEST(Runner, LongChainsTakeLinearMemory) {
  constexpr size_t kViews = 20'000;
  std::string text = "graph @g(%x: f32[2, 2]) {\n%v0 = aten.neg(%x)\n";
  for (size_t i = 1; i <= kViews; ++i)
    text += "%v" + std::to_string(i) + " = aten.transpose(%v" + std::to_string(i - 1) + ", 0, 1)\n";
  auto graph = parse_graph(text + "return %v" + std::to_string(kViews) + "\n}\n", op_table());
  size_t before = graph->memory_bytes();
  RunnerOptions unchecked;
  unchecked.verify = unchecked.check_text = false;
  run_passes(*graph, pipeline(), unchecked);
  EXPECT_EQ(graph->node_count(), 1u);
  EXPECT_LT(graph->memory_bytes(), before * 2);
  EXPECT_EQ(graph->context().origin_names(graph->node(graph->first()).origin).size(), kViews / 2);
}

}  // namespace
}  // namespace lenz
