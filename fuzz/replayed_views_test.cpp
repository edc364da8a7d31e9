// Cases that a campaign found, of views and of numbers that the run knows, and that no check of a graph alone shows.
#include <gtest/gtest.h>

#include "fuzz/reduce.h"

namespace lenz::fuzz {
namespace {

void expect_to_hold(const std::string& text) {
  const auto failure = failure_alone(parse_case(text), {});
  EXPECT_FALSE(failure) << failure->key() << failure->detail;
}

// What a copy looks at once more, in the same sizes and strides, is no look at the memory between elements.
TEST(ReplayedViews, ACopyOfPartsOfWhatHasGaps) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 target=generic
graph @fuzzed(%x0: c64[5, 4] strides [14, 1] offset 9 mut init uniform(-0.9375, 0.9375, seed=3297)) {
  %0 = aten.atanh_(%x0)
  %1 = aten.imag(%x0)
  %2 = aten.detach_copy(%1)
  return %2
}
)");
}

// Numbers that the run knows are factors of floats: as integers their products, and what is 0 less than they are, end.
TEST(ReplayedViews, FactorsOfTheGreatestIntegers) {
  expect_to_hold(R"(# fuzz: values=special seed=3411872765 target=generic
graph @fuzzed(%b0: f32[9] init uniform(-4.0, 4.0, seed=20565), %b1: i64[]) where u2_0 in -9223372036854775808.. {
  %0: int u2_0 = aten._local_scalar_dense(%b1)
  %1 = aten.elu(%b0, %0, %0)
  %2 = aten.hardshrink(%b0, %0)
  %3 = aten.hardshrink_backward(%b0, %b0, %0)
  %4 = aten.elu_backward(%b0, %0, %0, %0, false, %b0)
  return %1, %2, %3, %4
}
)");
}

}  // namespace
}  // namespace lenz::fuzz
