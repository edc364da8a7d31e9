// A coordinate that is made of a float takes no lanes from the floats beside it.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

loops::Program made_of(std::string_view text, const std::string& target = "avx512") {
  return schedule(to_loops(*parse_graph(text, op_table())), cpu_target(target, 1), {});
}

uint32_t lanes_of(std::string_view text, const std::string& target = "avx512") {
  const loops::Program made = made_of(text, target);
  uint32_t most = 0;
  loops::for_each_node(made.body, [&](const loops::Node& n) {
    if (const auto* nest = std::get_if<loops::Nest>(&n.is))
      for (const loops::Axis& a : nest->axes) most = std::max(most, a.lanes);
  });
  return most;
}

TEST(PlaceLanes, OfFloatsAreAsMany) {
  EXPECT_EQ(lanes_of("graph @g(%x: f32[2, 3, 20, 20], %g: f32[2, 20, 20, 2]) {\n"
                     "  %y = aten.grid_sampler(%x, %g, 0, 0, false)\n  return %y\n}"),
            16u);
  EXPECT_EQ(lanes_of("graph @g(%x: f32[40], %i: i64[200]) {\n  %y = aten.take(%x, %i)\n  return %y\n}"), 8u);
}

// What is worked out of coordinates alone, once for all rows, may be wider than what they look up.
TEST(PlaceLanes, OfWhatCoordinatesTellAreThoseOfElements) {
  const char* const resized =
      "graph @g(%x: f32[4, 16, 60, 62]) {\n"
      "  %y = aten.upsample_bilinear2d(%x, align_corners=false, scale_factors=[2.0, 2.0])\n  return %y\n}";
  EXPECT_EQ(lanes_of(resized), 16u);
  EXPECT_EQ(lanes_of(resized, "avx2"), 8u);
}

// Nor do strides stand in lanes for what positions tell: one is a gather as the other is.
TEST(PlaceLanes, GoAlongWhatPositionsTellRatherThanAlongStrides) {
  const loops::Program made = made_of(
      "graph @g(%x: f32[s0, s1, s2, s3]) {\n"
      "  %y = aten.upsample_bicubic2d(%x, align_corners=false, scale_factors=[2.0, 2.0])\n  return %y\n}");
  int nests = 0;
  loops::for_each_node(made.body, [&](const loops::Node& n) {
    const auto* nest = std::get_if<loops::Nest>(&n.is);
    if (nest == nullptr) return;
    ++nests;
    EXPECT_GT(nest->axes.back().lanes, 1u);
  });
  EXPECT_EQ(nests, 2);
}

}  // namespace
}  // namespace lenz::schedule
