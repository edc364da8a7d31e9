#include "compiler/base/chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace lenz {
namespace {

TEST(Chooser, OneSeedIsOneSequenceForEver) {
  RandomChooser a(1), b(1), c(2);
  std::vector<uint64_t> first;
  for (int i = 0; i < 4; ++i) first.push_back(a.below(1000));
  for (uint64_t v : first) EXPECT_EQ(b.below(1000), v);
  std::vector<uint64_t> other;
  for (int i = 0; i < 4; ++i) other.push_back(c.below(1000));
  EXPECT_NE(first, other);
}

TEST(Chooser, RandomStaysInRangeAndReachesAll) {
  RandomChooser choose(7);
  std::map<uint64_t, int> seen;
  for (int i = 0; i < 6000; ++i) ++seen[choose.below(6)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [value, times] : seen) {
    EXPECT_LT(value, 6u);
    EXPECT_NEAR(times, 1000, 150);
  }
  for (int i = 0; i < 100; ++i) {
    int64_t v = choose.between(-3, 3);
    EXPECT_TRUE(-3 <= v && v <= 3);
  }
  EXPECT_EQ(choose.between(INT64_MIN, INT64_MIN), INT64_MIN);
  EXPECT_EQ(choose.below(1), 0u);
}

TEST(Chooser, HelpersFollowTheirWeights) {
  RandomChooser choose(3);
  int yes = 0, heavy = 0;
  const uint32_t weights[] = {1, 0, 3};
  for (int i = 0; i < 4000; ++i) {
    yes += choose.chance(1, 4);
    size_t w = choose.weighted(weights);
    EXPECT_NE(w, 1u);
    heavy += w == 2;
  }
  EXPECT_NEAR(yes, 1000, 150);
  EXPECT_NEAR(heavy, 3000, 150);
  EXPECT_FALSE(choose.chance(0, 5));
  EXPECT_TRUE(choose.chance(5, 5));
}

TEST(Chooser, BytesDriveChoicesAndEndInTheSimplest) {
  const uint8_t bytes[] = {5, 1, 2, 9};
  BytesChooser choose(bytes);
  EXPECT_EQ(choose.below(8), 5u);
  EXPECT_EQ(choose.below(1), 0u);  // no choice takes no byte
  EXPECT_EQ(choose.below(1000), 258u);
  EXPECT_FALSE(choose.exhausted());
  EXPECT_EQ(choose.below(4), 1u);  // 9 % 4
  EXPECT_TRUE(choose.exhausted());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(choose.below(100), 0u);
}

TEST(Chooser, RecordsReplay) {
  RandomChooser random(11);
  RecordingChooser recording(random);
  std::vector<int64_t> made;
  for (int i = 0; i < 20; ++i) made.push_back(recording.between(-i, i));
  ReplayChooser replay(recording.record());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(replay.between(-i, i), made[static_cast<size_t>(i)]);
  EXPECT_EQ(replay.below(50), 0u);               // past the end
  EXPECT_EQ(ReplayChooser({99}).below(10), 9u);  // clamped
}

TEST(Chooser, EnumerationVisitsEverySequenceOnce) {
  EnumeratingChooser choose;
  std::vector<std::vector<uint64_t>> seen;
  do {
    std::vector<uint64_t> path{choose.below(3)};
    for (uint64_t i = 0; i < path[0]; ++i) path.push_back(choose.below(2));  // later choices depend on earlier ones
    seen.push_back(path);
  } while (choose.next());
  EXPECT_EQ(seen.size(), 1u + 2u + 4u);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace lenz
