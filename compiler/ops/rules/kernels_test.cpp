// What type rules say where eager's kernels decide: how results lie, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::unique_ptr<Graph> graph_of(std::string_view inputs, std::string_view call) {
  return parse_graph("graph @g(" + std::string(inputs) + ") { %r = aten." + std::string(call) + " return %r }",
                     op_table());
}
std::string type(const Graph& graph) { return to_string(graph.type(graph.outputs()[0].value())); }
bool asks(const Graph& graph, std::string_view guard) {
  return std::ranges::any_of(graph.assumptions.guards(), [&](const Cond& c) { return to_string(c) == guard; });
}

TEST(Kernels, VolumesFollowChannelsLastWhereOneDnnTakesThem) {
  const std::string one = "%x: f32[1, 2, 9, 3, 8] strides [432, 1, 48, 16, 2], ",
                    two = "%x: f32[2, 2, 9, 3, 8] strides [432, 1, 48, 16, 2], ",
                    large = "%x: f32[1, 2, 99, 104, 8] strides [1647360, 1, 16640, 160, 20], ",
                    w = "%w: f32[2, 2, 2, 1, 2]";
  EXPECT_EQ(type(*graph_of(one + w, "conv3d(%x, %w)")), "f32[1, 2, 8, 3, 7]");
  EXPECT_EQ(type(*graph_of(two + w, "conv3d(%x, %w)")), "f32[2, 2, 8, 3, 7] strides [336, 1, 42, 14, 2]");
  EXPECT_EQ(type(*graph_of(large + w, "conv3d(%x, %w)")), "f32[1, 2, 98, 104, 7] strides [142688, 1, 1456, 14, 2]");
  EXPECT_EQ(type(*graph_of(one + "%w: f32[2, 1, 2, 1, 2]", "conv3d(%x, %w, groups=2)")),
            "f32[1, 2, 8, 3, 7] strides [336, 1, 42, 14, 2]");
  EXPECT_EQ(type(*graph_of(two + w, "conv_transpose3d(%x, %w, stride=[1], dilation=[2], output_padding=[1])")),
            "f32[2, 2, 12, 4, 11]");
}

TEST(Kernels, MeansOfChannelsLastAskWhetherOnePlaceIsLeft) {
  const std::string sizes = ", %o: f32[s0]";
  auto last = graph_of("%x: f32[3, 2, 8, 5] strides [80, 1, 10, 2]" + sizes, "adaptive_avg_pool2d(%x, [s0, 1])");
  EXPECT_TRUE(asks(*last, "s0 != 1")) << print(*last);
  auto plain = graph_of("%x: f32[3, 2, 8, 5]" + sizes, "adaptive_avg_pool2d(%x, [s0, 1])");
  EXPECT_FALSE(asks(*plain, "s0 != 1")) << print(*plain);
}

TEST(Kernels, OneDnnDescribesNoPlacesThatAreShared) {
  auto of = [](std::string_view gradient) {
    return graph_of("%g: f16[" + std::string(gradient) + ", %x: f16[2, 17]", "gelu_backward(%g, %x)");
  };
  for (const std::string_view shared : {"2, 17] strides [1, 1]", "2, 17] strides [16, 1]"})
    EXPECT_THROW(of(shared), UserError) << shared;
  for (const std::string_view fine : {"2, 17] strides [0, 1]", "2, 17] strides [1, 2]", "2, 17] strides [18, 1]"})
    EXPECT_NO_THROW(of(fine)) << fine;
}

TEST(Kernels, ClassNumbersHaveTheShapeOfTheirScores) {
  const std::string scores = "%x: f32[7, 31, 3, 1, 2], ";
  EXPECT_THROW(graph_of(scores + "%t: i64[7, 2, 1, 3]", "nll_loss_nd(%x, %t)"), UserError);
  auto open = graph_of("%x: f32[7, 31, s0, 1, s1], %t: i64[7, 3, 1, 2]", "nll_loss_nd(%x, %t)");
  EXPECT_TRUE(asks(*open, "3 == s0")) << print(*open);
}

TEST(Kernels, PowerSumsMayBeNarrower) {
  EXPECT_EQ(type(*graph_of("%x: bf16[3, 2]", "linalg__powsum(%x, dim=[1], dtype=f16)")), "f16[3]");
  EXPECT_THROW(graph_of("%x: bf16[3, 2]", "linalg_vector_norm(%x, dim=[1], dtype=f16)"), UserError);
}

}  // namespace
}  // namespace lenz
