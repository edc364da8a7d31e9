// Passes with one fault each, as a person might write them: the check finds every one, names the rung and the rewrite.
#include "oracle/graph_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/expand_node.h"
#include "oracle/commands.h"

namespace lenz::oracle {
namespace {

// Hands every user of a node's result the node's first operand, where `skips` says so.
template <bool (*Skips)(const Graph&, const Node&)>
void skip(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (!Skips(graph, node) || !context.allow("skip")) return;
    graph.replace_uses(node.result(), node.args[0].value());
  });
}
bool copies(const Graph& g, const Node& node) { return node.op->copies.has(g.type(node.result()).dtype); }
bool negates(const Graph&, const Node& node) { return node.op->has(Trait::involution); }
bool is_zero(const Graph& g, const Node& node) {  // x + 0 for floats: wrong of -0 alone
  return is_floating(g.type(node.result()).dtype) && node.arg_count > 1 && node.args[1].kind == ArgKind::integer &&
         node.args[1].i == 0;
}

// Moves what reads behind what writes.
void late_reads(Graph& graph, PassContext& context) {
  NodeId first = graph.first();
  if (context.allow("move")) graph.move_before(first, kNone);
}

GraphReport check_with(void (*run)(Graph&, PassContext&), std::string_view text, int seeds = 3) {
  const PipelineLine line[] = {{{.name = "faulty", .contract = "", .levels = kEveryLevel, .run = run}, "a test's"}};
  auto graph = parse_graph(text, op_table());
  GraphCheckOptions options;
  options.lines = line;
  options.seeds = seeds;
  return check_graph(*graph, options);
}

TEST(GraphCheck, FindsAWrongElement) {
  GraphReport r = check_with(skip<negates>, R"(graph @g(%x: f32[2, 3]) {
    %a = aten.neg(%x)
    %b = aten.neg(%a)
    %c = aten.neg(%b)
    %r = aten.sin(%c)
    return %r
  })");
  ASSERT_EQ(r.findings.size(), 2u);  // of the pass, and of all
  EXPECT_EQ(r.findings[0].path, "faulty");
  EXPECT_EQ(r.findings[0].mismatch.rung, Rung::bitwise);
  EXPECT_EQ(r.findings[0].mismatch.wrong, 6u);
  EXPECT_TRUE(r.findings[0].mismatch.ulps.has_value());
  EXPECT_THAT(r.findings[0].mismatch.summary(), testing::HasSubstr("output 0 at [0, 0]: expected"));
}

TEST(GraphCheck, FindsAnAliasThatWasNotThere) {
  GraphReport r = check_with(skip<copies>, "graph @g(%x: f32[4]) {\n  %r = aten.clone(%x)\n  return %r\n}\n");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].mismatch.rung, Rung::aliasing);
  EXPECT_EQ(r.findings[0].selection, "all:1");
}

TEST(GraphCheck, FindsAnInputThatIsWrongAfterwards) {
  GraphReport r = check_with(skip<copies>, R"(graph @g(%x: f32[4] mut) {
    %c = aten.clone(%x)
    %w = aten.add_(%c, 1.0)
    return %w
  })");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_NE(r.findings[0].mismatch.rung, Rung::ending);
}

TEST(GraphCheck, FindsAReadThatMovedAcrossAWrite) {
  GraphReport r = check_with(late_reads, R"(graph @g(%x: f32[4] mut) {
    %a = aten.sin(%x)
    %w = aten.add_(%x, 1.0)
    return %a
  })");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].mismatch.rung, Rung::bitwise);
  EXPECT_EQ(r.findings[0].mismatch.what, "output 0");
}

TEST(GraphCheck, TellsZerosApart) {
  constexpr std::string_view kText = R"(graph @g(%x: f32[4] init zeros) {
    %n = aten.neg(%x)
    %r = aten.add(%n, 0)
    return %r
  })";
  GraphReport r = check_with(skip<is_zero>, kText);
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].mismatch.expected, "0");
  EXPECT_EQ(r.findings[0].mismatch.got, "-0");
}

TEST(GraphCheck, NamesTheFirstRewriteThatIsWrong) {
  std::string text = "graph @g(%x: f64[3]) {\n  %0 = aten.abs(%x)\n";
  for (int i = 1; i <= 9; ++i)  // copies may go, but for the one that an output needs
    text += "  %" + std::to_string(i) + " = aten.clone(%" + std::to_string(i - 1) + ")\n";
  GraphReport r = check_with(skip<copies>, text + "  return %0, %9\n}\n");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].selection, "all:9");
}

TEST(GraphCheck, SizesVaryWithTheSeed) {
  GraphReport r = check_with(skip<negates>, R"(graph @g(%x: f32[s0, 3]) where s0 in 2..40 {
    %r = aten.neg(%x)
    %s = aten.sin(%r)
    return %s
  })");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_THAT(r.findings[0].sizes, testing::StartsWith("s0="));
}

TEST(GraphCheck, RightPassesAgree) {
  for (std::string_view text : {"graph @g(%x: f32[4]) {\n  %r = aten.clone(%x)\n  return %r\n}\n",
                                "graph @g(%x: f32[2] mut) {\n  %r = aten.add_(%x, %x)\n  return %r\n}\n"}) {
    GraphReport r = check_with([](Graph&, PassContext&) {}, text);
    EXPECT_TRUE(r.findings.empty()) << r.findings[0].mismatch.summary();
    EXPECT_EQ(r.runs, 9u);
  }
}

TEST(GraphCheck, MachineCodeSeesEveryKindOfValues) {
  auto graph =
      parse_graph("graph @g(%x: f32[8, 4], %w: f32[4, 8]) {\n  %m = aten.mm(%x, %w)\n  return %m\n}\n", op_table());
  GraphCheckOptions options;
  options.lines = pipeline();
  options.loops = options.kernels = true;
  options.seeds = 3;
  GraphReport r = check_graph(*graph, options);
  EXPECT_TRUE(r.findings.empty());
  EXPECT_EQ(r.exact, 1u);
  EXPECT_EQ(r.on_kernels, 3u);  // ordinary, special and exact ones
}

TEST(GraphCheck, WhatEagerRefusesIsNoFinding) {
  GraphReport r = check_with([](Graph&, PassContext&) {}, R"(graph @g(%x: f32[4], %i: i64[2] init integers(9, 12)) {
    %r = aten.index_select(%x, 0, %i)
    return %r
  })");
  EXPECT_TRUE(r.findings.empty());
  EXPECT_EQ(r.refused, r.seeds);
}

// For float8 eager has no kernel that turns rows round, which the row's exception says no meaning asks for.
TEST(GraphCheck, WhatEagerAloneLacksAKernelForIsHeldToTheReference) {
  auto graph = parse_graph("graph @g(%x: f8e5m2[6]) { %y = aten.flip(%x, [0]) return %y }", op_table());
  GraphCheckOptions options;
  options.lines = pipeline();
  options.loops = options.kernels = true;
  options.seeds = 3;
  const GraphReport r = check_graph(*graph, options);
  EXPECT_TRUE(r.findings.empty()) << r.findings[0].mismatch.summary();
  EXPECT_EQ(r.refused, 3u);
  EXPECT_EQ(r.unasked, 3u);
  EXPECT_EQ(r.unasked_of, "aten.flip");
}

// Whoever computes nothing may leave out what nobody needs, and nothing else.
TEST(GraphCheck, AnErrorThatNobodyNeedsMayBeDropped) {
  auto drop_unused = [](Graph& graph, PassContext& context) {
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      if (graph.value(node.result()).users.empty() && context.allow("drop")) graph.erase(id);
    });
  };
  GraphReport unused = check_with(drop_unused, R"(graph @g(%x: f32[4], %i: i64[2] init integers(9, 12)) {
    %r = aten.index_select(%x, 0, %i)
    %s = aten.sin(%x)
    return %s
  })");
  EXPECT_TRUE(unused.findings.empty()) << unused.findings[0].mismatch.summary();
  EXPECT_EQ(unused.needless, unused.seeds);
  EXPECT_EQ(unused.refused, 0u);

  // The write is what raises, and the caller sees it.
  GraphReport written = check_with(drop_unused, R"(graph @g(%x: f32[4] mut, %i: i64[2] init integers(9, 12)) {
    %w = aten.index_fill_(%x, 0, %i, 1)
    %s = aten.sin(%i)
    return %s
  })");
  EXPECT_FALSE(written.findings.empty());
  EXPECT_EQ(written.refused, written.seeds);
}

// Of a list, though a call makes all of it: each element is made for itself.
TEST(GraphCheck, AnErrorOfOneElementOfAListMayBeDropped) {
  auto drop_first = [](Graph& graph, PassContext& context) {
    const NodeId raises = graph.first(), list = graph.last();
    if (!context.allow("drop") || !expand_elements(graph, list)) return;
    const NodeId alone = graph.value(graph.node(raises).result()).users[0];
    graph.erase(alone);
    graph.erase(raises);
  };
  GraphReport report = check_with(drop_first, R"(graph @g(%x: f32[4], %i: i64[2] init integers(9, 12)) {
    %r = aten.index_select(%x, 0, %i)
    %c = aten.clone(%x)
    aten._foreach_tanh_([%r, %c])
    return %c
  })");
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].mismatch.summary();
  EXPECT_EQ(report.needless, report.seeds);
}

TEST(GraphCheck, WhatIsLeftWithoutAnErrorIsStillCompared) {
  auto wrong = [](Graph& graph, PassContext& context) {
    graph.for_each_node([&](NodeId id) {
      const Node& node = graph.node(id);
      if (graph.value(node.result()).users.empty()) {
        if (context.allow("drop")) graph.erase(id);
      } else if (node.op->has(Trait::involution) && context.allow("skip")) {
        graph.replace_uses(node.result(), node.args[0].value());
      }
    });
  };
  GraphReport r = check_with(wrong, R"(graph @g(%x: f32[4], %i: i64[2] init integers(9, 12)) {
    %r = aten.index_select(%x, 0, %i)
    %s = aten.neg(%x)
    %t = aten.sin(%s)
    return %t
  })");
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].mismatch.rung, Rung::bitwise);
}

TEST(GraphCheck, MemoryHasALimit) {
  auto graph = parse_graph("graph @g(%x: f32[1024, 1024]) {\n  %r = aten.sin(%x)\n  return %r\n}\n", op_table());
  GraphCheckOptions options;
  options.memory_limit = 6 << 20;
  GraphReport r = check_graph(*graph, options);
  EXPECT_THAT(r.out_of_memory, testing::HasSubstr("aten.sin"));
}

TEST(GraphCheckCommand, OneBadFileDoesNotKeepTheOthersFromBeingChecked) {
  std::string good = testing::TempDir() + "graph_check_" + std::to_string(getpid()) + ".lenz";
  std::ofstream(good) << "graph @g(%x: f32[s0]) where s0 in 2..9 { %r = aten.neg(%x) return %r }";
  testing::internal::CaptureStdout();
  std::vector<std::string> args = {"--json", "/no/such/file.lenz", good};
  ExitCode code = graph_check_command(args);
  auto reports = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(code, ExitCode::bad_input);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_THAT(reports[0]["error"], testing::HasSubstr("can't open"));
  EXPECT_EQ(reports[1]["code"], 0);
}

// A few open elements make no graph weak, but nobody may take them for judged.
TEST(GraphCheckCommand, SaysHowManyElementsAreNotHeld) {
  std::string file = testing::TempDir() + "graph_check_open_" + std::to_string(getpid()) + ".lenz";
  std::ofstream(file) << R"(graph @g(%x: f32[100] init uniform(1, 2, seed=1)) {
    %k = aten.arange(100) %c = aten.eq(%k, 7) %t = aten.mul(%x, 0.3) %r = aten.div(%t, %t) %f = aten.floor(%r)
    %y = aten.where.self(%c, %f, %x) return %y
  })";
  testing::internal::CaptureStdout();
  std::vector<std::string> args = {file, "--seeds", "1"};
  EXPECT_EQ(graph_check_command(args), ExitCode::fine);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::HasSubstr("1 of 100 elements held to no better than 2^-6 of their value, 1 may be anything"));
}

TEST(GraphCheckCommand, EmptyTensorsAgree) {
  std::string file = testing::TempDir() + "graph_check_empty_" + std::to_string(getpid()) + ".lenz";
  std::ofstream(file) << R"(graph @g(%x: f32[0, 3], %y: f32[3]) {
    %a = aten.add(%x, %y) %s = aten.sum(%a, [0]) %m = aten.mul(%s, %y) return %a, %m
  })";
  testing::internal::CaptureStdout();
  std::vector<std::string> args = {file};
  EXPECT_EQ(graph_check_command(args), ExitCode::fine);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("agrees with eager"));
}

TEST(GraphCheck, JsonFitsItsSchema) {
  GraphReport report =
      check_with(skip<negates>, "graph @g(%x: f32[s0]) where s0 in 2..9 { %r = aten.neg(%x) return %r }");
  ASSERT_FALSE(report.findings.empty());
  nlohmann::json j = report.to_json();
  j["file"] = "g.lenz";
  j["code"] = 7;
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/graph_check.schema.json");
  auto violations = schema_violations(nlohmann::json::array({j}), nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
}

TEST(GraphCheck, TheReferenceReadsASubGraphsSizesOffWhatItIsCalledWith) {
  const std::string file = LENZ_SOURCE_DIR "/corpus/regressions/step_of_open_sizes.lenz";
  const auto graph = parse_graph(read_text(file, 1 << 20), op_table());
  GraphCheckOptions options;
  options.seeds = 1;
  options.bounds = true;
  EXPECT_TRUE(check_graph(*graph, options).findings.empty());
}

}  // namespace
}  // namespace lenz::oracle
