#include "fuzz/properties/sizes.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

PlainFacts known() {
  const PlainSize s0{.op = PlainSize::symbol, .value = 0};
  PlainFacts facts{.low = {0, 0, 0}, .high = {40, 40, 40}, .conditions = {}, .points = {{7, 3, 2}, {22, 3, 2}}};
  facts.conditions.push_back({PlainCond::le, {.op = PlainSize::number, .value = 7}, s0});
  return facts;
}
PlainSize size(PlainSize::Op op, int64_t by) {
  return {.op = op,
          .a = std::make_shared<const PlainSize>(PlainSize{.op = PlainSize::symbol, .value = 0}),
          .b = std::make_shared<const PlainSize>(PlainSize{.op = PlainSize::number, .value = by})};
}

TEST(Sizes, DrawnOnesHold) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomChooser choose(seed);
    const WrongSizes wrong = wrong_sizes(choose);
    ASSERT_EQ(wrong.step, "") << "seed " << seed << ": " << wrong.text;
  }
}

TEST(Sizes, FactsOfEachKindAreDrawnWithSeveralPoints) {
  int twice = 0, beside = 0, extremes = 0, points = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser choose(seed);
    const PlainFacts facts = draw_facts(choose);
    int remainders = 0;
    for (const PlainCond& c : facts.conditions) {
      const bool rest = c.rel == PlainCond::eq && c.a.op == PlainSize::mod;
      remainders += rest && c.a.a->op == PlainSize::symbol;
      extremes += rest && (c.a.a->op == PlainSize::min || c.a.a->op == PlainSize::max);
      beside += c.rel == PlainCond::le && (c.a.op == PlainSize::number || c.b.op == PlainSize::number);
    }
    twice += remainders > 1;
    points += facts.points.size() > 3;
  }
  EXPECT_GT(twice, 30);
  EXPECT_GT(beside, 60);
  EXPECT_GT(extremes, 30);
  EXPECT_GT(points, 150);
}

TEST(Sizes, WhatIsWrongIsTold) {
  const PlainFacts facts = known();
  SymPool pool;
  const PlainSize rest = size(PlainSize::mod, 5);  // 2 at both points
  EXPECT_EQ(wrong_dim(facts, rest, Dim(2)), "");
  EXPECT_NE(wrong_dim(facts, rest, parse_dim("s0 % 15", pool)).find("7 instead of 2"), std::string::npos);
  EXPECT_EQ(wrong_range(facts, rest, {0, 4}), "");
  EXPECT_NE(wrong_range(facts, rest, {3, 4}), "");
  const PlainSize more = size(PlainSize::add, 1);  // 8 and 23
  EXPECT_EQ(wrong_congruence(facts, more, {15, 8}), "");
  EXPECT_NE(wrong_congruence(facts, more, {10, 8}), "");
  EXPECT_NE(wrong_congruence(facts, more, {0, 8}), "");
  const PlainCond cond{PlainCond::lt, more, {.op = PlainSize::number, .value = 20}};  // at the first alone
  EXPECT_EQ(wrong_truth(facts, cond, Truth::unknown), "");
  EXPECT_NE(wrong_truth(facts, cond, Truth::yes), "");
  EXPECT_NE(wrong_truth(facts, cond, Truth::no), "");
}

TEST(Sizes, FloorsOfNegativeNumbers) {
  EXPECT_EQ(size(PlainSize::floor_div, -3).at({7, 0, 0}), -3);
  EXPECT_EQ(size(PlainSize::mod, -3).at({7, 0, 0}), -2);
  EXPECT_EQ(size(PlainSize::mod, 0).at({7, 0, 0}), std::nullopt);
}

}  // namespace
}  // namespace lenz::fuzz
