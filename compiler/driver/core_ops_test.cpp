// Level core is closed: whatever a row's generated calls become there is an op that says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

TEST(CoreOps, HoldWhatEveryRowBecomes) {
  size_t reached = 0;
  for (const auto& row : op_table().rows()) {
    if (!row->generate) continue;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      RandomChooser chooser(seed);
      std::unique_ptr<Graph> graph;
      try {
        graph = to_level(*generate_call(*row, op_table(), chooser), Level::core);
      } catch (const Unsupported&) {
        continue;
      }
      ++reached;
      graph->for_each_node([&](NodeId id) {
        const OpDef& op = *graph->node(id).op;
        EXPECT_TRUE(stands_at_core(op)) << op.full_name << " of " << row->full_name;
      });
    }
  }
  EXPECT_GT(reached, 4000u);
}

TEST(CoreOps, HoldEveryFunctionalRow) {
  size_t rows = 0;
  std::vector<std::string> stay;
  for (const auto& row : op_table().rows()) {
    if (!row->generate || row->variant != VariantKind::functional) continue;
    ++rows;
    RandomChooser chooser(7);
    try {
      to_level(*generate_call(*row, op_table(), chooser), Level::core);
    } catch (const Unsupported&) {
      stay.push_back(row->full_name);
    }
  }
  EXPECT_GT(rows, 800u);
  EXPECT_THAT(stay, testing::IsEmpty());
}

std::unique_ptr<Graph> at_an_open_size(const std::string& call) {
  return parse_graph(R"(graph @g(%x: f32[6, 4], %m: bool[6, 4], %n: bool[6]) {
                          %y: f32[u0] = aten.masked_select(%x, %m)
                          %i: i64[u1, 1] strides [1, u1] = aten.nonzero(%n)
                          %f = aten.select(%i, 1, 0)
                          %w = aten.index_select(%x, 0, %f)
                          %z = )" +
                         call + "\n return %z }",
                     op_table());
}

// A norm's definition asks for a mean where its variance does, too.
TEST(CoreOps, AreWhatIsEqualOnce) {
  const auto given = parse_graph(
      "graph @g(%x: f32[2, 8, 4, 4], %w: f32[8], %b: f32[8]) { %y = aten.group_norm(%x, 2, %w, %b) return %y }",
      op_table());
  size_t sums = 0;
  const auto graph = to_level(*given, Level::core);
  graph->for_each_node([&](NodeId id) { sums += graph->node(id).op->full_name == "aten.sum.dim_IntList"; });
  EXPECT_EQ(sums, 2u);
}

TEST(CoreOps, OfSizesThatOnlyTheRunKnows) {
  for (const char* call : {"aten.softmax(%y, 0)", "aten.log_softmax(%y, 0)", "aten.logsumexp(%y, [0])", "aten.var(%y)",
                           "aten.std(%y)", "aten._safe_softmax(%y, 0)", "aten.group_norm(%w, 2)"})
    EXPECT_EQ(to_level(*at_an_open_size(call), Level::core)->level, Level::core) << call;
}

TEST(CoreOps, WhoStaysIsNamedWithTheReason) {
  try {
    to_level(*at_an_open_size("aten.histc(%w, 4)"), Level::core);
    FAIL() << "a histogram asks whether there is an element";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("stays at level aten; aten.histc of %z: a size: whether u1*4 == 0"));
  }
}

}  // namespace
}  // namespace lenz
