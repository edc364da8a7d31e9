// Level core is closed: whatever a row's generated calls become there is an op that says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
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

// Who stays at level aten, and why.
constexpr std::string_view kStays[] = {
    "aten._foreach_addcmul.Tensor",  // op name: its numbers stand in a tensor that only the run sees
    "aten._foreach_addcdiv.Tensor",  // op name: as above
};

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
  EXPECT_THAT(stay, testing::UnorderedElementsAreArray(kStays));
}

}  // namespace
}  // namespace lenz
