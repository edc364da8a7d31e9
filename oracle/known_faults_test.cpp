// What is known of eager's own faults is said of the calls that have them, and of no others.
#include "oracle/known_faults.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle {
namespace {

bool is_known(const std::string& weight, const std::string& groups) {
  auto graph = parse_graph("graph @g(%x: f32[1, 6, 4, 5], %w: f32" + weight +
                               ") {\n  %y = aten.conv2d(%x, %w, groups=" + groups + ")\n  return %y\n}",
                           op_table());
  return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; });
}

TEST(KnownFaults, GroupsOfAWeightWhoseSizesOfOneLieElsewhere) {
  EXPECT_TRUE(is_known("[6, 2, 3, 1] strides [6, 1, 2, 72]", "3"));
  EXPECT_FALSE(is_known("[6, 6, 3, 1] strides [18, 1, 6, 72]", "1"));  // one group
  EXPECT_FALSE(is_known("[6, 2, 3, 2] strides [12, 1, 4, 2]", "3"));   // no size of one
  EXPECT_FALSE(is_known("[6, 2, 3, 1]", "3"));                         // contiguous
}

}  // namespace
}  // namespace lenz::oracle
