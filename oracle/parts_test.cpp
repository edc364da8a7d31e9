#include "oracle/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/controls/graph_maker.h"
#include "oracle/controls/written.h"
#include "oracle/deep_graph_test.h"
#include "oracle/draw_inputs.h"
#include "oracle/element_compare.h"
#include "oracle/graph_check.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

// One factor, somewhat off: less than what noise does to the end of it.
void a_factor_slightly_off(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.arg_count < 2 || node.args[1].kind != ArgKind::real || node.args[1].d != 0.37) return;
    if (!context.allow("factor")) return;
    SmallVec<Arg, 4> args(node.arguments());
    args[1] = Arg::of_real(0.37 * (1 + 0x1p-11));
    graph.set_args(id, args);
  });
}

GraphCheckOptions by_bounds() {
  GraphCheckOptions options;
  options.seeds = 1;
  options.bounds = options.core = options.parts = true;
  return options;
}

TEST(Parts, ADeepGraphIsHeldPartByPart) {
  const auto graph = parse_graph(deep_graph(12), op_table());
  const GraphReport report = check_graph(*graph, by_bounds());
  EXPECT_EQ(report.weak, 1u);
  EXPECT_GT(report.parts, 1u);
  EXPECT_THAT(report.weak_parts, testing::IsEmpty());
  EXPECT_THAT(report.findings, testing::IsEmpty());
  EXPECT_FALSE(report.hardly_judged());
  GraphCheckOptions whole = by_bounds();
  whole.parts = false;
  EXPECT_TRUE(check_graph(*graph, whole).hardly_judged());
}

TEST(Parts, WhatNoiseHidesInTheWholeAPartShows) {
  const auto graph = parse_graph(deep_graph(12), op_table());
  Pass slightly_off;
  slightly_off.name = "slightly_off";
  slightly_off.levels = kEveryLevel;
  slightly_off.rounds = true;
  slightly_off.run = a_factor_slightly_off;
  const PipelineLine lines[] = {{slightly_off, "", Stage::core}};
  GraphCheckOptions options = by_bounds();
  options.lines = lines;
  options.parts = false;
  EXPECT_THAT(check_graph(*graph, options).findings, testing::IsEmpty());
  options.parts = true;
  const GraphReport report = check_graph(*graph, options);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings[0].path, testing::HasSubstr("slightly_off"));
  EXPECT_EQ(report.findings[0].mismatch.rung, Rung::bound);
  EXPECT_THAT(report.findings[0].text, testing::HasSubstr("0.37"));
}

TEST(Parts, SavedOnesAreCheckedByThemselves) {
  const std::string folder = testing::TempDir() + "parts_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  GraphCheckOptions options = by_bounds();
  options.save_parts = folder;
  const GraphReport report = check_graph(*parse_graph(deep_graph(8), op_table()), options);
  ASSERT_GT(report.parts, 1u);
  for (size_t i = 0; i < report.parts; ++i) {
    const std::string file = folder + "/part" + std::to_string(i);
    const auto part = read_valid_graph(file + ".lenz", op_table());
    GraphCheckOptions again = by_bounds();
    again.given = [&](const Graph& graph, Boxed& boxed, Binding& binding) {
      return read_inputs(file + ".npz", graph, boxed, binding, 0, true);
    };
    const GraphReport r = check_graph(*part, again);
    EXPECT_EQ(r.bounded, 1u) << i;
    EXPECT_THAT(r.findings, testing::IsEmpty());
  }
  options.save_parts = folder + "/nowhere";
  EXPECT_THROW(check_graph(*parse_graph(deep_graph(8), op_table()), options), UserError);
  std::filesystem::remove_all(folder);
}

// A graph cut wherever it may be gives what it gives in one piece.
void expect_the_same_in_pieces(const Graph& graph, uint64_t seed) {
  Boxed boxed(DeviceKind::cpu);
  const Parting parting(graph);
  const std::vector<RunValue> inputs = draw_inputs(graph, boxed, {}, Values::ordinary, seed);
  std::vector<RunValue> own = laid_inputs(graph, inputs, {});
  const Execution whole = Executor(boxed).run(graph, inputs);
  ASSERT_EQ(whole.ending, Ending::finished) << whole.text;
  std::unordered_map<ValueId, RunValue> values;
  for (size_t first = 0; first < parting.nodes();) {
    size_t last = first + 1 + seed % 3;
    while (last < parting.nodes() && !parting.may_cut(last)) ++last;
    last = std::min(last, parting.nodes());
    const Part part = parting.part(first, last);
    verify(*part.graph);
    std::vector<RunValue> given = own;
    for (ValueId v : part.taken) given.push_back(values.at(v));
    const Execution piece = Executor(boxed).run(*part.graph, laid_inputs(*part.graph, given, {}));
    ASSERT_EQ(piece.ending, Ending::finished) << piece.text << print(*part.graph);
    for (size_t i = 0; i < own.size(); ++i) own[i] = piece.inputs[i];
    for (size_t i = 0; i < part.taken.size(); ++i) values[part.taken[i]] = piece.inputs[own.size() + i];
    for (size_t i = 0; i < part.given.size(); ++i) values[part.given[i]] = piece.outputs[i];
    first = last;
  }
  for (size_t i = 0; i < whole.outputs.size(); ++i) {
    const ValueId v = parting.whole().outputs()[i].value();
    if (parting.whole().value(v).producer == kNone) continue;
    EXPECT_FALSE(first_apart(whole.outputs[i], values.at(v), {})) << print(graph);
  }
  for (size_t i = 0; i < own.size(); ++i) EXPECT_FALSE(first_apart(whole.inputs[i], own[i], {})) << print(graph);
}

TEST(Parts, PiecesGiveWhatTheWholeGives) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomChooser choose(seed);
    const auto graph = controls::make_graph(choose, {});
    expect_the_same_in_pieces(*graph, seed);
    if (const auto written = controls::with_writes(*graph)) expect_the_same_in_pieces(*written, seed);
  }
}

TEST(Parts, NothingSharedIsCutApartBeforeItIsWrittenTo) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4, 3] mut, %i: i64[2]) {
    %a = aten.sin(%x) %t = aten.transpose(%a, 0, 1) %b = aten.add_(%a, 1.0) %c = aten.neg(%t)
    %v = aten.slice(%x, 0, 0, 2) %d = aten.mul_(%v, 2.0) %e = aten.exp(%x) %n = aten.nonzero(%c)
    %s = aten.sym_size(%n, 0) %z = aten.zeros([%s])
    return %c, %e, %z
  })",
                                 op_table());
  const Parting parting(*graph);
  const std::vector<bool> may{true, true, false, true, true, false, true, true, false, false, true};
  for (size_t at = 0; at <= parting.nodes(); ++at) EXPECT_EQ(parting.may_cut(at), may[at]) << at;
}

TEST(Parts, InputsHaveTheNamesOfWhatTheyStandFor) {
  const auto graph = parse_graph(R"(graph @g(%part0: f32[4]) {
    %h = aten.sin(%part0) %1 = aten.cos(%h) %part3 = aten.exp(%1) %c = aten.neg(%part3) return %c
  })",
                                 op_table());
  const Parting parting(*graph);
  for (size_t first = 0; first < parting.nodes(); ++first) verify(*parting.part(first, first + 1).graph);
  EXPECT_THAT(print(*parting.part(1, 2).graph), testing::HasSubstr("%h: f32[4]"));
}

TEST(Parts, ValuesThatAreNoNumbersTellNothing) {
  // Two seeds: of ordinary values bounds say nothing, of special ones NaN is certain. Inputs in one piece of memory are
  // in one part.
  auto text = deep_graph(12);
  text.replace(text.find("%x: f32[8, 64]"), 14, "%x: f32[8, 64] alias a, %y: f32[8, 64] alias a");
  GraphCheckOptions options = by_bounds();
  options.seeds = 2;
  const GraphReport report = check_graph(*parse_graph(text, op_table()), options);
  EXPECT_THAT(report.no_parts, testing::HasSubstr("share memory"));
  EXPECT_TRUE(report.hardly_judged());
}

TEST(Parts, WhereEagerDoesNotGetOnIsSaid) {
  const auto graph = parse_graph(deep_graph(3), op_table());
  Boxed boxed(DeviceKind::cpu);
  ExecuteOptions options;
  options.memory_limit = 64;
  PartsWalk walk(*graph, boxed, draw_inputs(*graph, boxed, {}, Values::ordinary, 1), {}, options);
  while (walk.next()) {
  }
  EXPECT_THAT(walk.stopped(), testing::HasSubstr("eager ended at"));
}

TEST(Parts, FactsOfWhatALaterNodeMakesStayBehind) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4]) where u0 in 1..4 {
    %a = aten.sin(%x) %u: f32[u0], %i: i64[0], %c: i64[0] = aten._unique2(%a) return %u
  })",
                                 op_table());
  const Parting parting(*graph);
  verify(*parting.part(0, 1).graph);
  EXPECT_THAT(print(*parting.part(1, 2).graph), testing::HasSubstr("u0 in 1..4"));
}

TEST(Parts, SizesAreAskedForAgain) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[s0, 3]) {
    %a = aten.sin(%x) %n = aten.sym_size(%a, 0) %b = aten.cos(%a) %c = aten.neg(%b) %z = aten.zeros([%n])
    return %c, %z
  })",
                                 op_table());
  const Parting parting(*graph);
  const Part behind = parting.part(3, parting.nodes());
  verify(*behind.graph);
  EXPECT_THAT(print(*behind.graph), testing::HasSubstr("aten.sym_size"));
  EXPECT_EQ(behind.taken.size(), 2u);  // what it reads, and what it takes the size of
}

}  // namespace
}  // namespace lenz::oracle
