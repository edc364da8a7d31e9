// Results that eager adds up wider than it stores them, and quotients by what was computed, are held to that.
#include <gtest/gtest.h>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

const std::vector<double> kOnes(40, 1);

TEST(WiderSums, ATermThatIsMissingFromAContractionShows) {
  Judged product("graph @g(%x: bf16[2, 20], %y: bf16[20, 2]) { %z = aten.tensordot(%x, %y, [1], [0]) return %z }",
                 {kOnes, kOnes}, Widening::bounds_of_eager);
  EXPECT_TRUE(product.with(0, 0, 19).mismatch);
  EXPECT_FALSE(product.with(0, 0, 20).mismatch);
}

TEST(WiderSums, ProductsOfASingleResultAreStored) {
  std::vector<double> third(4, 1 / 3.0);
  Judged product(
      "graph @g(%x: f16[2, 2, 1], %y: f16[2, 1, 2]) { %z = aten.tensordot(%x, %y, [0, 1], [2, 0]) return %z }",
      {third, third}, Widening::bounds_of_eager);
  EXPECT_GT(product.errors()[0], 0x1p-12);
}

TEST(WiderSums, ATermThatIsMissingFromAPoolOfAnImageShows) {
  const std::string image = "graph @g(%x: bf16[1, 1, 10, 4]) { %z = aten.adaptive_avg_pool2d(%x, [2, 1]) return %z }";
  Judged mean(image, {kOnes}, Widening::bounds_of_eager);
  EXPECT_TRUE(mean.with(0, 0, 0.94921875).mismatch);
  EXPECT_FALSE(mean.with(0, 0, 1).mismatch);
}

TEST(WiderSums, AQuotientByACountIsHeldToItsOwn) {
  Judged loss(R"(graph @g(%g: f32[], %x: f32[8, 5], %t: i64[8]) {
    %y, %w = aten.nll_loss_forward(%x, %t, none, 1, -100)
    %b = aten.nll_loss_backward(%g, %x, %t, none, 1, -100, %w)
    return %b
  })",
              {{1}, kOnes, {0, 1, 2, 3, 4, 0, 1, 2}}, Widening::bounds_of_eager);
  EXPECT_LT(loss.errors()[0], 1e-6);
  EXPECT_TRUE(loss.with(0, 0, -1.0 / 7).mismatch);
}

// What counts rows is whole, and as many as that a narrow dtype holds, whatever adds them up.
TEST(WiderSums, RowsOfALossAreCounted) {
  Judged loss(
      "graph @g(%x: bf16[64, 4], %t: i64[64] init integers(0, 3, seed=1)) {\n  %y, %w = "
      "aten.nll_loss_forward(%x, %t, none, 1, -100)\n  return %y, %w\n}",
      {std::vector<double>(256, -1)}, Widening::bounds_of_eager);
  EXPECT_FALSE(loss.verdict().mismatch);
  EXPECT_TRUE(loss.with(1, 0, 63).mismatch);
  EXPECT_TRUE(loss.with(0, 0, 64.0 / 63).mismatch) << "both sums are whole";
}

TEST(WiderSums, AQuotientByWhatMayBeZeroIsOpen) {
  Judged loss(R"(graph @g(%g: f32[], %x: f32[8, 5], %t: i64[8], %v: f32[1]) {
    %s = aten.sin(%v) %z = aten.sub(%s, %s) %w = aten.reshape(%z, [])
    %b = aten.nll_loss_backward(%g, %x, %t, none, 1, -100, %w)
    return %b
  })",
              {{1}, kOnes, {0, 1, 2, 3, 4, 0, 1, 2}, {0.5}}, Widening::bounds_of_eager);
  EXPECT_TRUE(std::isinf(loss.errors()[0]));
}

}  // namespace
}  // namespace lenz::oracle
