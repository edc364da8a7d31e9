#include "compiler/graph/host_kernels.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// Whether hosts have a kernel for the last call of the graph.
bool left_to_hosts(const std::string& inputs, const std::string& call) {
  const auto graph =
      parse_graph("graph @g(" + inputs + ") { %a, %b, %c = aten.convolution_backward(" + call + ") return %a, %b, %c }",
                  op_table());
  bool has = false;
  graph->for_each_node([&](NodeId id) { has = has_host_kernel(*graph, graph->node(id)); });
  return has;
}

std::string call_of(const std::string& padding, const std::string& mask, const std::string& groups = "1") {
  return "%g, %x, %w, none, [1, 1], [" + padding + "], [1, 1], false, [0, 0], " + groups + ", " + mask;
}

// The definition makes a convolution by whole images of it: nine times as long for taps of seven by seven.
TEST(HostKernels, GradientsOfWeights) {
  const std::string all = "[true, true, false]", images = "%g: f32[2, 6, 16, 16], %x: f32[2, 4, 16, 16], ";
  const std::string three = images + "%w: f32[6, 4, 3, 3]";
  EXPECT_TRUE(left_to_hosts(three, call_of("1, 1", all)));
  EXPECT_FALSE(left_to_hosts(three, call_of("1, 1", "[true, false, false]"))) << "it is a convolution";
  EXPECT_TRUE(
      left_to_hosts("%g: f32[2, 4, 16, 16], %x: f32[2, 4, 16, 16], %w: f32[4, 1, 3, 3]", call_of("1, 1", all, "4")));
  const std::string of_halves = "%g: f16[2, 6, 16, 16], %x: f16[2, 4, 16, 16], %w: f16[6, 4, 3, 3]";
  EXPECT_FALSE(left_to_hosts(of_halves, call_of("1, 1", all)));
  EXPECT_FALSE(left_to_hosts("%g: f32[2, 6, 16, 16], %x: f32[2, 4, 16, 16], %w: f32[4, 6, 3, 3]",
                             "%g, %x, %w, none, [1, 1], [1, 1], [1, 1], true, [0, 0], 1, " + all));
}

// Of one tap they are products, one for each image, unless these are larger than the images.
TEST(HostKernels, GradientsOfWeightsOfOneTap) {
  const std::string all = "[true, true, false]";
  EXPECT_FALSE(
      left_to_hosts("%g: f32[2, 6, 16, 16], %x: f32[2, 4, 16, 16], %w: f32[6, 4, 1, 1]", call_of("0, 0", all)));
  EXPECT_TRUE(
      left_to_hosts("%g: bf16[2, 6, 16, 16], %x: bf16[2, 4, 16, 16], %w: bf16[6, 4, 1, 1]", call_of("0, 0", all)))
      << "whose sum would be one of rounded numbers";
  EXPECT_TRUE(
      left_to_hosts("%g: f32[2, 600, 4, 4], %x: f32[2, 400, 4, 4], %w: f32[600, 400, 1, 1]", call_of("0, 0", all)));
}

}  // namespace
}  // namespace lenz
