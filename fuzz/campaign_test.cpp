#include "fuzz/campaign.h"

#include <gtest/gtest.h>

#include "fuzz/property.h"
#include "oracle/scratch.h"

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

// Eager divides the least integer by -1 here. Told apart also where nothing is looked into.
TEST(Campaign, WhatEagerDiesOfIsNotCountedAsFound) {
  const oracle::Scratch folder;
  CampaignOptions options;
  options.cases = 3;
  options.workers = 1;
  options.only = {find_property("exact_passes")};
  options.out = folder.path();
  options.progress = false;
  options.reductions = 0;
  options.cases_are = "written";
  options.source = [](uint64_t) {
    return parse_case(
        "graph @g() {\n"
        "  %a = aten.full([3], -9223372036854775808, dtype=i64)\n  %b = aten.full([3], 7, dtype=i64)\n"
        "  %y = aten.lcm(%a, %b)\n  return %y\n}\n");
  };
  const CampaignSummary summary = run_campaign(options);
  EXPECT_EQ(summary.cases, 3u);
  EXPECT_EQ(summary.held, 0u);  // each of them died
  EXPECT_EQ(summary.found, 0u);
  EXPECT_TRUE(summary.findings.empty());
}

}  // namespace
}  // namespace lenz::fuzz
