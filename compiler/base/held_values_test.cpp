#include "compiler/base/held_values.h"

#include <gtest/gtest.h>

namespace lenz {
namespace {

TEST(HeldValues, OfAnotherDtype) {
  EXPECT_TRUE(holds_values(Dtype::f32, Dtype::bf16) && holds_values(Dtype::f32, Dtype::f16));
  EXPECT_FALSE(holds_values(Dtype::f16, Dtype::bf16) || holds_values(Dtype::bf16, Dtype::f16));
  EXPECT_FALSE(holds_values(Dtype::i32, Dtype::f32) || holds_values(Dtype::f32, Dtype::i32));
  EXPECT_TRUE(holds_values(Dtype::f32, Dtype::i16) && holds_values(Dtype::f64, Dtype::i32));
  EXPECT_FALSE(holds_values(Dtype::c64, Dtype::f64) || holds_values(Dtype::f64, Dtype::c128));
  EXPECT_TRUE(holds_values(Dtype::c128, Dtype::f64) && holds_values(Dtype::c64, Dtype::bf16));
}

TEST(HeldValues, EachHoldsItsOwnAndTruths) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto d = static_cast<Dtype>(i);
    EXPECT_TRUE(holds_values(d, d) && holds_values(d, Dtype::b8)) << name(d);
  }
}

}  // namespace
}  // namespace lenz
