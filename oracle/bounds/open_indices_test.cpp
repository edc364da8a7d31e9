// Open indices name what may stand in their place and nothing else; what is read by them is open there alone; what is
// rounded to whole numbers is one, whichever; an open decision gives what one of its branches gives.
#include "oracle/bounds/open_indices.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

// exp(1) thrice, and something less: each of the three may be the greatest.
constexpr std::string_view kRivals = R"(graph @g(%x: f32[5]) {
  %e = aten.exp(%x)
  %i = aten.argmax(%e)
  %v, %j = aten.max.dim(%e, 0)
  return %i, %v, %j
})";

TEST(OpenIndices, NameOnlyElementsThatMayStandThere) {
  const Judged j(kRivals, {{1, 0, 1, 0.5, 1}});
  EXPECT_FALSE(j.verdict().mismatch);
  for (size_t output : {size_t{0}, size_t{2}})
    for (double named : {-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0}) {
      Judged other(kRivals, {{1, 0, 1, 0.5, 1}});
      const bool right = named == 0 || named == 2 || named == 4;
      EXPECT_EQ(other.with(output, 0, named).mismatch.has_value(), !right) << output << ": " << named;
    }
}

TEST(OpenIndices, OfAnOrderNameEachElementOnce) {
  constexpr std::string_view text = R"(graph @g(%x: f32[2, 4]) {
    %e = aten.exp(%x)
    %v, %i = aten.sort(%e, 1, true)
    %w, %k = aten.topk(%e, 3, 1)
    return %v, %i, %w, %k
  })";
  const std::vector<double> x{1, 0, 1, 2, 0, 0, 0, 5};
  for (size_t output : {size_t{1}, size_t{3}}) {
    const size_t row = output == 1 ? 4 : 3;
    Judged swapped(text, {x});
    EXPECT_FALSE(swapped.verdict().mismatch);
    const std::vector<double> first = {3, 2, 0};
    for (size_t i = 0; i < first.size(); ++i) swapped.with(output, i, first[i]);
    EXPECT_FALSE(swapped.verdict().mismatch) << output;
    Judged twice(text, {x});
    for (size_t i : {size_t{1}, size_t{2}}) twice.with(output, i, 2);
    ASSERT_TRUE(twice.verdict().mismatch) << output;
    // What one row names says nothing of another, of which the order of all has named the 2 elsewhere.
    EXPECT_EQ(Judged(text, {x}).with(output, row + 1, 2).mismatch.has_value(), output == 1) << output;
    EXPECT_TRUE(Judged(text, {x}).with(output, 1, 1).mismatch) << output;
    EXPECT_TRUE(Judged(text, {x}).with(output, 1, 7).mismatch) << output;
  }
}

// What may overflow may stand anywhere, and what is NaN and may be otherwise too: the others move up and down.
TEST(OpenIndices, BesideANaNThatMayBeOtherwiseNameWhatMoves) {
  const Judged j(R"(graph @g(%x: f32[4], %c: f32[4]) {
    %s = aten.log_sigmoid(%x)
    %m = aten.minimum(%c, %s)
    %v, %i = aten.sort(%m, stable=false, dim=0, descending=true)
    return %v, %i
  })",
                 {{1, -3.4028234663852886e38, -1, 2}, {std::nan(""), 0, 0, 0}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
}

// Of equal numbers any may be named, and no other: that is judged. So long as it is sure that they are equal.
TEST(OpenIndices, ThatTiesAloneOpenAreJudged) {
  constexpr std::string_view text = R"(graph @g(%x: f32[6]) {
    %v, %i = aten.sort(%x) %w, %k = aten.topk(%x, 3) %m, %n = aten.mode(%x) return %i, %k, %n
  })";
  const std::vector<double> x{1, 0, 1, 1, 2, 0};
  Judged j(text, {x});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.verdict().shares.ambiguous, 0U);
  EXPECT_EQ(j.verdict().shares.elements, 10U);
  for (size_t output : {size_t{0}, size_t{1}}) {
    const size_t at = output == 0 ? 2 : 1;  // one of the three ones
    EXPECT_TRUE(Judged(text, {x}).with(output, at, 1).mismatch) << output;
    EXPECT_TRUE(Judged(text, {x}).with(output, at, 4).mismatch) << output;
    Judged twice(text, {x});
    for (size_t i : {at, at + 1}) twice.with(output, i, 2);
    EXPECT_TRUE(twice.verdict().mismatch) << output;
  }
  for (double named : {0.0, 2.0, 3.0}) EXPECT_FALSE(Judged(text, {x}).with(2, 0, named).mismatch) << named;
  EXPECT_TRUE(Judged(text, {x}).with(2, 0, 1).mismatch);
  constexpr std::string_view kUnsure = R"(graph @g(%x: f32[6], %one: f32[1]) {
    %e = aten.exp(%one) %a = aten.cat([%x, %e]) %v, %i = aten.sort(%a) return %i
  })";
  // Beside exp(1), which may be less, what is as great as it for f32 is no tie; two zeros are.
  Judged unsure(kUnsure, {{0, 0, 2.7182817459106445, 5, 6, 7}, {1}});
  EXPECT_FALSE(unsure.verdict().mismatch);
  EXPECT_EQ(unsure.verdict().shares.ambiguous, 2U);
}

TEST(OpenIndices, OfARunningMaximumCountNoLaterElement) {
  constexpr std::string_view text = R"(graph @g(%x: f32[4]) {
    %e = aten.exp(%x) %v, %i = aten.cummax(%e, 0) return %v, %i
  })";
  Judged j(text, {{1, 1, 0, 1}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(1, 2, 0).mismatch);
  EXPECT_TRUE(j.with(1, 2, 3).mismatch);
  EXPECT_TRUE(Judged(text, {{1, 1, 0, 1}}).with(1, 3, 2).mismatch);
}

TEST(OpenIndices, OfWindowsStayInThem) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1, 2, 4]) {
    %e = aten.exp(%x) %w = aten.unsqueeze(%e, 2)
    %v, %i = aten.max_pool2d_with_indices(%w, [1, 2], [1, 2]) return %v, %i
  })";
  const std::vector<double> x{1, 1, 3, 2, 0, 4, 4, 4};
  Judged j(text, {x});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(1, 0, 1).mismatch);
  EXPECT_TRUE(j.with(1, 0, 3).mismatch);
  EXPECT_TRUE(Judged(text, {x}).with(1, 2, 4).mismatch);
}

// Three by three in six by six, every second element, beyond the edge too: what lies between is not looked at.
TEST(OpenIndices, OfWindowsNameWhatTheseLookAt) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1, 4, 6]) {
    %e = aten.exp(%x)
    %v, %i = aten.max_pool2d_with_indices(%e, [2, 2], [2, 2], [1, 0], [2, 2])
    %w, %k = aten.adaptive_max_pool2d(%e, [2, 3])
    return %i, %k
  })";
  const std::vector<double> all_alike(24, 1);
  Judged j(text, {all_alike});
  EXPECT_FALSE(j.verdict().mismatch);
  // The first window has the elements 6 and 8 of rows -1 and 1; the first adaptive one 0, 1, 6, 7.
  for (double named = 0; named < 24; ++named) {
    EXPECT_EQ(Judged(text, {all_alike}).with(0, 0, named).mismatch.has_value(), named != 6 && named != 8) << named;
    const bool looked_at = named == 0 || named == 1 || named == 6 || named == 7;
    EXPECT_EQ(Judged(text, {all_alike}).with(1, 0, named).mismatch.has_value(), !looked_at) << named;
  }
}

TEST(OpenIndices, OfWindowsWithoutRivalsAreCertain) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1, 1, 8]) {
    %e = aten.exp(%x) %v, %i = aten.max_pool2d_with_indices(%e, [1, 2], [1, 2]) return %i
  })";
  // One window of four has two that are alike.
  const Judgement v = Judged(text, {{0, 1, 2, 2, 3, 4, 5, 4}}).verdict();
  EXPECT_FALSE(v.mismatch);
  EXPECT_EQ(v.shares.ambiguous, 1U);
}

TEST(OpenIndices, KeepWhatTheyMayNameWhereTheyAreMoved) {
  constexpr std::string_view text = R"(graph @g(%x: f32[2, 3]) {
    %e = aten.exp(%x) %i = aten.argmax(%e, 1) %f = aten.flip(%i, [0]) %c = aten.cat([%f, %i]) %p = aten.add(%i, 10)
    return %c, %p
  })";
  const std::vector<double> x{1, 0, 1, 0, 2, 2};
  for (const auto& [output, element, named, right] :
       std::vector<std::tuple<size_t, size_t, double, bool>>{{0, 0, 2, true},
                                                             {0, 0, 0, false},
                                                             {0, 1, 2, true},
                                                             {0, 1, 1, false},
                                                             {0, 3, 2, true},
                                                             {1, 0, 12, true},
                                                             {1, 0, 14, false}})
    EXPECT_EQ(Judged(text, {x}).with(output, element, named).mismatch.has_value(), !right) << element << ": " << named;
}

TEST(OpenIndices, WhatIsReadByOneIsOpenThereAlone) {
  constexpr std::string_view text = R"(graph @g(%x: f32[2, 3], %t: f32[3, 2]) {
    %e = aten.exp(%x) %i = aten.argmax(%e, 1)
    %y = aten.index_select(%t, 0, %i) %z = aten.embedding(%t, %i) %w = aten.index.Tensor(%t, [%i])
    return %y, %z, %w
  })";
  const std::vector<double> x{1, 0, 1, 0, 0, 5}, t{1, 2, 30, 40, 5, 7};
  for (size_t output = 0; output < 3; ++output) {
    Judged j(text, {x, t});
    EXPECT_FALSE(j.verdict().mismatch);
    EXPECT_EQ(j.errors(output), (std::vector<double>{4, 5, 0, 0})) << output;
    EXPECT_FALSE(j.with(output, 0, 5).mismatch) << output;
    EXPECT_TRUE(j.with(output, 0, 30).mismatch) << output;
    EXPECT_TRUE(Judged(text, {x, t}).with(output, 2, 6).mismatch) << output;
  }
}

TEST(Whole, WhatIsRoundedNearAStepIsOneOfBothNumbers) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1]) {
    %e = aten.rsqrt(%x) %h = aten.add(%e, 0.5)
    %f = aten.floor(%e) %c = aten.ceil(%e) %r = aten.round(%h) %t = aten.trunc(%e)
    %n = aten.mul(%f, -2.0) %b = aten.div(%f, 2.0)
    return %f, %c, %r, %t, %n, %b
  })";
  const auto right = [&](size_t output, double value) {
    return !Judged(text, {{1}}).with(output, 0, value).mismatch.has_value();
  };
  EXPECT_FALSE(Judged(text, {{1}}).verdict().mismatch);
  for (size_t floor : {size_t{0}, size_t{3}})
    for (const auto& [value, allowed] :
         std::vector<std::pair<double, bool>>{{0, true}, {1, true}, {0.5, false}, {2, false}})
      EXPECT_EQ(right(floor, value), allowed) << floor << ": " << value;
  for (const auto& [value, allowed] :
       std::vector<std::pair<double, bool>>{{1, true}, {2, true}, {1.5, false}, {3, false}, {0, false}})
    EXPECT_EQ(right(1, value), allowed) << value;
  for (const auto& [value, allowed] :
       std::vector<std::pair<double, bool>>{{1, true}, {2, true}, {1.5, false}, {3, false}, {0, false}})
    EXPECT_EQ(right(2, value), allowed) << value;
  EXPECT_FALSE(right(4, -0.5));
  EXPECT_TRUE(right(5, 0));
}

// What is written over with others may be no whole number; what is written to a part says nothing of the rest.
TEST(Whole, EndsWithWhatIsWritten) {
  constexpr std::string_view text = R"(graph @g(%x: f32[2], %p: f32[4]) {
    %e = aten.rsqrt(%x) %q = aten.rsqrt(%p) %s = aten.slice(%q, 0, 0, 2) %w = aten.floor_(%s)
    %g = aten.floor(%e) %h = aten.mul_(%g, %e)
    return %g, %q
  })";
  Judged j(text, {{1, 1}, {1, 1, 2.5, 0.3}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, 0.9999999).mismatch);
}

// Between two numbers of which an open condition takes one, and no farther; what is computed from them has those ends.
TEST(Branches, ReachNoFartherThanBoth) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1], %a: f32[1], %b: f32[1]) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %w = aten.where(%c, %a, %b) %s = aten.sign(%w) %q = aten.mul(%w, 1.5)
    return %w, %s, %q
  })";
  for (const auto& [a, b] : {std::pair(4.0, 8.0), std::pair(8.0, 4.0)}) {
    const auto right = [&](size_t output, double value) {
      return !Judged(text, {{1}, {a}, {b}}).with(output, 0, value).mismatch.has_value();
    };
    for (double w : {4.0, 8.0}) EXPECT_TRUE(right(0, w) && right(2, 1.5 * w)) << w;
    for (double w : {-1.0, 1.0, 3.9, 8.1, 11.0}) EXPECT_FALSE(right(0, w) || right(2, 1.5 * w)) << w;
    EXPECT_TRUE(right(1, 1));
    EXPECT_FALSE(right(1, 0) || right(1, -1));
  }
}

// One open decision says nothing of rows that it has no part in.
TEST(Branches, MarkTheRowsThatTheyHaveAPartIn) {
  Judged j(R"(graph @g(%x: f32[2, 3]) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %w = aten.where(%c, %e, 0.5)
    %m = aten.amax(%w, [1]) %s = aten.sum.dim_IntList(%w, [1]) %l = aten.amin(%w, [1])
    return %m, %s, %l
  })",
           {{1, 0.25, 0.04, 0.5, 0.25, 0.04}});
  const auto marked = [&](size_t output) {
    const std::vector<std::byte> marks = elements_of(j.reference.outputs[output].ambiguous);
    return std::vector<bool>{marks[0] != std::byte{}, marks[1] != std::byte{}};
  };
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.reference.outputs[0].ambiguous && (marked(0)[0] || marked(0)[1]));  // 5 is the greatest
  EXPECT_EQ(marked(1), (std::vector<bool>{true, false}));
  EXPECT_EQ(marked(2), (std::vector<bool>{true, false}));
}

// An overflow that is certain is said as what is stored.
TEST(Judge, SaysWhatAnOverflowIsStoredAs) {
  Judged j("graph @g(%x: f32[1]) { %y = aten.mul(%x, %x) return %y }", {{3e30}});
  const Judgement v = j.with(0, 0, 1);
  ASSERT_TRUE(v.mismatch);
  EXPECT_EQ(v.mismatch->summary().find("nan"), std::string::npos) << v.mismatch->summary();
  EXPECT_NE(v.mismatch->summary().find("expected inf"), std::string::npos) << v.mismatch->summary();
}

}  // namespace
}  // namespace lenz::oracle
