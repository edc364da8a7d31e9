// An op that is one scalar primitive names a row of the scalar table.
#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"
#include "compiler/scalar/scalar.h"

namespace lenz {
namespace {

TEST(OpTable, scalar_primitives_are_rows) {
  int named = 0;
  for (const auto& op : op_table().rows()) {
    if (op->scalar.empty()) continue;
    ++named;
    EXPECT_NE(find_scalar(op->scalar), nullptr) << op->full_name << " names " << op->scalar;
  }
  EXPECT_GT(named, 100);
}

}  // namespace
}  // namespace lenz
