#include "fuzz/campaign.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

TEST(Campaign, SaysThatTooManyCasesAreLeftOut) {
  auto leaves_out = [](uint64_t cases, uint64_t not_covered) {
    CampaignSummary summary;
    summary.cases = cases;
    summary.not_covered = not_covered;
    return leaves_too_many_out(summary);
  };
  EXPECT_FALSE(leaves_out(1888, 14));  // as campaigns are
  EXPECT_TRUE(leaves_out(128, 71));    // of a compiler that writes no definitions out
  EXPECT_FALSE(leaves_out(8, 8));      // too few to tell
}

}  // namespace
}  // namespace lenz::fuzz
