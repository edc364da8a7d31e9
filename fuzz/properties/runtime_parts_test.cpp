#include "fuzz/properties/runtime_parts.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

TEST(RuntimeParts, LinesAreSortedAsPlainly) {
  RandomChooser choose(61);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(wrongly_sorted(choose), "");
}

TEST(RuntimeParts, ThreadsDoWhatTheirCallerWould) {
  RandomChooser choose(62);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(wrongly_dealt(choose), "");
}

TEST(RuntimeParts, PointsAreComputedOnce) {
  RandomChooser choose(63);
  for (int i = 0; i < 400; ++i) ASSERT_EQ(wrongly_cut(choose), "");
}

TEST(RuntimeParts, TheMachineIsSeenAsItIs) { EXPECT_EQ(wrongly_seen_machine(), ""); }

TEST(RuntimeParts, ObjectsAreKept) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomChooser choose(seed);
    ASSERT_EQ(wrongly_kept(choose), "");
  }
}

}  // namespace
}  // namespace lenz::fuzz
