#include "fuzz/campaign.h"

#include <gtest/gtest.h>

#include "fuzz/property.h"

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

TEST(Campaign, SaysThatTooManyProofsAreMissing) {
  auto lacks = [](uint64_t cases, uint64_t lacking) {
    CampaignSummary summary;
    summary.cases = cases;
    if (lacking > 0) summary.why_not[std::string(kLacksProofs)] = lacking;
    return lacks_too_many_proofs(summary);
  };
  EXPECT_FALSE(lacks(100'000, 50));
  EXPECT_TRUE(lacks(100'000, 51));
  EXPECT_FALSE(lacks(100, 2));  // too few to tell
  EXPECT_TRUE(lacks(100, 3));
  EXPECT_FALSE(lacks(100'000, 0));
}

}  // namespace
}  // namespace lenz::fuzz
