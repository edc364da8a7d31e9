// What pools refuse besides what their kernels would.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::string refused(std::string_view call) {
  try {
    parse_graph("graph @g(%x: f32[2, 2, 8, 8, 8]) {\n  %y, %i = aten." + std::string(call) + "\n  return %y\n}\n",
                op_table());
    return {};
  } catch (const UserError& error) {
    return error.message().substr(0, error.message().find('\n'));
  }
}

// A dilated kernel reaches further than it is large, and padding may not.
TEST(Spatial, PaddingIsAtMostHalfOfAKernelHoweverFarItReaches) {
  const std::string_view pool = "max_pool3d_with_indices(%x, [3, 3, 3], dilation=[2, 2, 2], padding=[0, 0, ";
  EXPECT_EQ(refused(std::string(pool) + "1])"), "");
  EXPECT_EQ(refused(std::string(pool) + "2])"),
            "aten.max_pool3d_with_indices: `padding` must be at most half of `kernel_size` (needs 4 <= 3)");
}

}  // namespace
}  // namespace lenz
