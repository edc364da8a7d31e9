#include "fuzz/properties/rows_alone.h"

#include <gtest/gtest.h>

#include "fuzz/properties/drawn_calls.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {
namespace {

// A definition that is wrong in one mode of one row, which few graphs have.
TEST(RowsAlone, AreHeldToEager) {
  OpDef wrong = *op_table().find("aten.l1_loss");
  wrong.decompose = op_table().find("aten.mse_loss")->decompose;
  ASSERT_FALSE(wrong.decompose.empty());
  const OpDef* const rows[] = {&wrong};
  const auto failure = call_that_fails(rows, {}, {}, 16);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->property, "rows_alone");
  EXPECT_NE(failure->symptom.find("aten.l1_loss"), std::string::npos) << failure->key();
  EXPECT_NE(failure->detail.find("aten.l1_loss.default("), std::string::npos) << failure->detail;
}

TEST(RowsAlone, HoldAsTheyAre) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Setting setting;
    setting.seed = seed;
    const auto failure = call_that_fails(rows_that_are_drawn(), setting, {}, 16);
    EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
  }
}

}  // namespace
}  // namespace lenz::fuzz
