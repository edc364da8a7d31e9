// Equal elements may stand in any order, each in one place of its own row.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/bounds/reference.h"
#include "oracle/draw_inputs.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

// Whether these may be the places of two columns of three equal elements each.
bool may_be(const std::vector<int64_t>& places) {
  const auto graph = parse_graph(
      "graph @g(%x: f32[3, 2] init zeros) {\n  %v, %i = aten.sort(%x, dim=0)\n  return %i\n}\n", op_table());
  Boxed boxed(DeviceKind::cpu);
  const auto inputs = [&] { return draw_inputs(*graph, boxed, {}, Values::ordinary, 1); };
  Execution got = Executor(boxed).run(*graph, inputs());
  got.outputs[0] = detached_copy(got.outputs[0]);
  std::vector<std::byte> bytes(places.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), places.data(), bytes.size());
  set_elements(got.outputs[0], bytes);
  return !judge(*graph, Referee(boxed).run(*graph, inputs()), got).mismatch;
}

TEST(Choices, APlaceIsNamedOnceInItsRow) {
  EXPECT_TRUE(may_be({0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(may_be({2, 0, 0, 1, 1, 2}));
  EXPECT_FALSE(may_be({0, 0, 0, 1, 2, 2}));
  EXPECT_FALSE(may_be({0, 1, 1, 2, 2, 1}));
  EXPECT_FALSE(may_be({0, 0, 1, 1, 3, 2}));
}

}  // namespace
}  // namespace lenz::oracle
