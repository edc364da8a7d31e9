#include "fuzz/properties/index_spaces.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

TEST(IndexSpaces, DrawnOnesHoldAndThereIsSomethingToHold) {
  constexpr uint64_t kSpaces = 3000;
  IndexCounts counts;
  for (uint64_t seed = 0; seed < kSpaces; ++seed) {
    RandomChooser choose(seed);
    const WrongIndex wrong = wrong_index(choose, counts);
    ASSERT_EQ(wrong.step, "") << "seed " << seed << ": " << wrong.text;
  }
  EXPECT_GT(counts.inside, kSpaces / 10);
  EXPECT_GT(counts.linear, kSpaces / 3);
  EXPECT_GT(counts.merged, kSpaces / 10);
  EXPECT_GT(counts.injective, kSpaces / 6);
  EXPECT_GT(counts.covered, kSpaces / 20);
  EXPECT_GT(counts.counted, kSpaces / 2);
  EXPECT_GT(counts.apart, kSpaces / 20);
}

}  // namespace
}  // namespace lenz::fuzz
