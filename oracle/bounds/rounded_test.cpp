#include "oracle/bounds/rounded.h"

#include <gtest/gtest.h>

#include "compiler/base/chooser.h"

namespace lenz::oracle {
namespace {

TEST(Rounded, AgreesWithTheScalarTablesRounding) {
  RandomChooser random(1);
  for (Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    for (int i = 0; i < 200000; ++i) {
      const int exponent = static_cast<int>(random.between(-160, 140));
      double v = std::ldexp(static_cast<double>(random.below(1 << 27)) / (1 << 26), exponent / (i % 3 + 1));
      if (i % 2) v = round_to(d, v) + 0.5 * last_place(d, v);  // ties
      if (i % 5 == 0) v = -v;
      const double expected = round_to(d, v), got = nearest(d, v);
      ASSERT_EQ(std::bit_cast<uint64_t>(expected), std::bit_cast<uint64_t>(got)) << name(d) << " " << v;
    }
}

TEST(Rounded, KeepsSpecialValues) {
  for (Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    EXPECT_TRUE(std::isnan(nearest(d, std::nan(""))));
    EXPECT_EQ(nearest(d, -HUGE_VAL), -HUGE_VAL);
    EXPECT_EQ(nearest(d, 1e300), HUGE_VAL);
    EXPECT_TRUE(std::signbit(nearest(d, -0.0)));
    EXPECT_TRUE(std::signbit(nearest(d, -1e-300)));
  }
}

}  // namespace
}  // namespace lenz::oracle
