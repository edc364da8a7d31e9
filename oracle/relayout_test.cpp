#include "oracle/relayout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/compare.h"
#include "oracle/draw_inputs.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

constexpr std::string_view kText = R"(graph @g(%x: f32[2, 3, 4, 5], %w: f32[5, 5], %b: f32[5] mut) {
  %y = aten.matmul(%x, %w)
  %z = aten.add(%y, %b)
  %r = aten.reshape(%z, [6, 20])
  %i = aten.add_(%b, 1.0)
  %s = aten.sum(%r, [1])
  return %s, %r
})";

TEST(Relayout, ValuesStayAndTypesAreEagers) {
  auto graph = parse_graph(kText, op_table());
  Boxed boxed(DeviceKind::cpu);
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChooser choose(seed);
    Relayout other = with_other_layouts(*graph, choose);
    if (!other.graph) continue;
    EXPECT_TRUE(verify(*other.graph).empty());
    for (size_t at = other.what.find(' '); at != std::string::npos; at = other.what.find(" ", at + 1))
      kinds.insert(other.what.substr(at + 1, other.what.find(',', at) - at - 1));
    // The executor holds every result against the type that was inferred anew.
    Execution run = Executor(boxed).run(*other.graph, draw_inputs(*other.graph, boxed, {}, Values::ordinary, 1));
    ASSERT_EQ(run.ending, Ending::finished) << run.text << print(*other.graph);
    EXPECT_TRUE(other.graph->inputs()[2].mutated);
    for (const Dim& d : other.graph->type(other.graph->inputs()[2].value).strides()) EXPECT_NE(d, Dim(0));
    EXPECT_THAT(print(*other.graph), testing::HasSubstr("%z = aten.add(%y, %b)"));
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"permuted", "sliced", "channels_last", "expanded", "overlapping"}));
}

TEST(Relayout, ALayoutThatARuleRefusesIsLeftOut) {
  auto graph = parse_graph("graph @g(%x: f32[4, 6]) {\n  %r = aten.view(%x, [24])\n  return %r\n}\n", op_table());
  for (uint64_t seed = 0; seed < 30; ++seed) {
    RandomChooser choose(seed);
    Relayout other = with_other_layouts(*graph, choose);
    if (other.graph) {
      EXPECT_TRUE(verify(*other.graph).empty()) << other.what;
    }
  }
}

TEST(Relayout, TheCheckTriesOtherLayouts) {
  auto graph = parse_graph(kText, op_table());
  GraphCheckOptions options;
  options.layouts = true;
  options.seeds = 6;
  GraphReport report = check_graph(*graph, options);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_GT(report.relaid, 2u);
}

}  // namespace
}  // namespace lenz::oracle
