// One program serves all sizes that a graph allows: every dynamic graph of the corpus at a hundred random sizes.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/graph_check.h"
#include "oracle/trial.h"

namespace lenz::oracle {
namespace {

constexpr uint64_t kSizes = 100;
constexpr size_t kSmall = 20;          // nodes: their values are judged at every size,
constexpr uint64_t kSizesOfLarge = 2;  // those of larger ones at so many

std::vector<std::filesystem::path> dynamic_graphs() {
  std::vector<std::filesystem::path> all;
  for (const char* folder : {"seeds", "models", "regressions"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LENZ_SOURCE_DIR) / "corpus" / folder)) {
      if (entry.path().extension() != ".lenz") continue;
      if (various_sizes({}, *read_valid_graph(entry.path(), op_table())).size() > 1) all.push_back(entry.path());
    }
  std::ranges::sort(all);
  return all;
}

TEST(Rebinding, AHundredSizesNeedAtMostTwoPrograms) {
  size_t graphs = 0, judged = 0;
  for (const auto& path : dynamic_graphs()) {
    SCOPED_TRACE(path.filename());
    auto graph = read_valid_graph(path, op_table());
    ProgramSet programs(*graph);
    Boxed boxed(DeviceKind::cpu);
    std::set<std::string> sizes;
    ++graphs;
    for (uint64_t seed = 1; seed <= kSizes; ++seed) {
      Binding binding;
      complete(binding, *graph, seed);
      check_facts(binding, *graph);
      const loops::Program& program = programs.at(binding.lookup());
      bool fresh = sizes.insert(to_text(binding, *graph)).second;
      if (!fresh || (graph->node_count() > kSmall && seed > kSizesOfLarge)) continue;
      InputSource inputs(*graph, binding, Values::ordinary, seed);
      ExecuteOptions options;
      options.ambient_seed = seed;
      Trial trial(*graph, boxed, inputs, binding, options);
      auto mismatch = trial.out_of_bounds(trial.on_loops(program), how_run(program));
      EXPECT_FALSE(mismatch.has_value()) << to_text(binding, *graph) << ": " << mismatch->summary();
      ++judged;
    }
    EXPECT_LE(programs.size(), 2u);
    std::printf("%s: %zu sizes, %zu program(s)\n", path.filename().c_str(), sizes.size(), programs.size());
  }
  EXPECT_GE(graphs, 8u);
  EXPECT_GE(judged, 300u);
}

// Sizes that break what the way to the program assumed get a program that assumes the contrary.
TEST(Rebinding, AGuardThatDoesNotHoldAsksForAnotherProgram) {
  auto graph = read_valid_graph(std::string(LENZ_SOURCE_DIR) + "/corpus/seeds/dynamic_shapes.lenz", op_table());
  ProgramSet programs(*graph);
  auto at = [&](const char* sizes) {
    Binding binding = parse_binding(sizes, *graph);
    complete(binding, *graph);
    return &programs.at(binding.lookup());
  };
  const loops::Program* usual = at("s0=8,s2=3,s3=5");
  EXPECT_EQ(at("s0=12,s2=7,s3=2"), usual);
  EXPECT_NE(at("s0=4,s2=3,s3=5"), usual);
  EXPECT_EQ(at("s0=16,s2=9,s3=4"), usual);
  EXPECT_EQ(programs.size(), 2u);
}

TEST(Rebinding, SizesAreTriedAtTheirEndsAndBetween) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, s1], %y: f32[s2]) where s1 in 3..8, s2 % 4 == 0 {\n"
      "  return %x, %y\n}\n",
      op_table());
  std::vector<Binding> all = various_sizes({}, *graph);
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(to_text(all[0], *graph), "s0=0,s1=3,s2=0");
  EXPECT_EQ(to_text(all[1], *graph), "s0=1,s1=3,s2=4");
  for (const Binding& b : all) check_facts(b, *graph);
}

// `lenz check` does so too, with values.
TEST(Rebinding, ACheckRunsTheLoopsAtOtherSizes) {
  auto graph = parse_graph("graph @g(%x: f32[s0, s1]) {\n  %a = aten.sum(%x, dim=[1])\n  return %a\n}\n", op_table());
  GraphCheckOptions options;
  options.loops = options.rebind = true;
  GraphReport report = check_graph(*graph, options);
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].mismatch.summary();
  EXPECT_GE(report.rebound, 4u);
  EXPECT_EQ(report.programs, 1u);
}

TEST(Rebinding, ACheckTriesSizesThatTheGraphAssumesNot) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]) {\n"
      "  %h = aten.linear(%x, %w, %b)\n  %z = aten.gelu(%h)\n  return %z\n}\n",
      op_table());
  ASSERT_FALSE(graph->assumptions.guards().empty());
  std::vector<std::string> tried;
  for (const Binding& b : sizes_beside_guards({}, *graph)) tried.push_back(to_text(b, *graph));
  EXPECT_EQ(tried, (std::vector<std::string>{"s0=0", "s0=1"}));
  GraphCheckOptions options;
  options.loops = options.rebind = true;
  GraphReport report = check_graph(*graph, options);
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].mismatch.summary();
  EXPECT_EQ(report.programs, 3u);
}

TEST(Rebinding, ExecutablesAreChosenBySizes) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]) { %h = aten.linear(%x, %w, %b) return %h }", op_table());
  ExecutableSet set(*graph, {}, {}, ShortSizes::open);
  auto at = [&](int64_t size) { return set.at([=](const SymNode*) { return std::optional(size); }); };
  auto usual = at(3), one = at(1);
  EXPECT_NE(usual, one);
  EXPECT_EQ(at(7), usual);
  EXPECT_EQ(at(1), one);
  EXPECT_EQ(set.built(), 2u);
}

// Sizes by name, those that are missing by what is known.
SymValues named(const Graph& graph, const char* sizes) {
  Binding binding = parse_binding(sizes, graph);
  complete(binding, graph);
  return [binding](const SymNode* s) { return binding.value(s); };
}

TEST(Rebinding, ShortSizesAreNumbersUntilTheyChange) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, s1], %y: f32[s2, s1]) where s2 == 2 * s0 {\n"
      "  %t = aten.t(%y)\n  %m = aten.mm(%x, %t)\n  return %m\n}\n",
      op_table());
  ExecutableSet set(*graph, {}, {});
  auto at = [&](const char* sizes) { return set.at(named(*graph, sizes)); };
  auto dims = [](const auto& executable) {
    std::string text;
    for (const loops::Buffer& b : executable->program().buffers)
      for (Dim d : b.type.sizes) text += to_string(d) + " ";
    return text;
  };
  const auto first = at("s0=1000,s1=3,s2=2000");
  EXPECT_EQ(dims(first).find("s1"), std::string::npos) << dims(first);
  EXPECT_NE(dims(first).find("s0"), std::string::npos) << "no short one: " << dims(first);
  EXPECT_EQ(at("s0=500,s1=3,s2=1000"), first);
  const auto other = at("s0=1000,s1=4,s2=2000");
  EXPECT_NE(other, first);
  EXPECT_NE(dims(other).find("s1"), std::string::npos) << dims(other);
  EXPECT_EQ(at("s0=1000,s1=5,s2=2000"), other) << "what has changed once stays open";
  EXPECT_EQ(at("s0=1000,s1=3,s2=2000"), first) << "what was built for it is better than what serves all";
  EXPECT_EQ(set.built(), 2u);
}

// That nothing is to be counted is known of no elements alone.
TEST(Rebinding, WhatOnlyOpenSizesGoWithLeavesThemOpen) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0]) {\n"
      "  %n: i64[u0, 1] strides [1, u0] = aten.nonzero(%x)\n  return %n, u0\n}\n",
      op_table());
  ExecutableSet set(*graph, {}, {});
  EXPECT_NO_THROW(set.at(named(*graph, "s0=0")));
}

TEST(Rebinding, FactsAndNumbersAmongTheInputsHoldForShortSizesToo) {
  auto graph = parse_graph(
      "graph @g(%x: f32[s0, s1], %n: int s1, %y: f32[s2]) where s2 <= s0 {\n"
      "  %z = aten.mul(%x, %n)\n  return %z, %y, s0 + s1\n}\n",
      op_table());
  const ClosedSizes found = short_sizes(*graph, named(*graph, "s0=8,s1=3,s2=4"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(symbol_name(found[0].first), "s0");
  EXPECT_EQ(symbol_name(found[1].first), "s2");
  const auto one = closed(*graph, {found[0]});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->assumptions.prove(le(Dim(found[1].first), 8)), Truth::yes);
  EXPECT_EQ(print(*one).find("s0"), std::string::npos) << print(*one);
  EXPECT_FALSE(closed(*graph, {{found[0].first, 8}, {found[1].first, 9}}));
}

}  // namespace
}  // namespace lenz::oracle
