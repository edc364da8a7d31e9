// What may overflow on the way, and what comes of it: nothing beyond the end that it has.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

struct Way {
  const char* step;  // from %m, 66,000, which is an infinity in f16 or kept wider, to %y
  std::vector<double> right, wrong;
};

TEST(KeptEnds, WhatMayOverflowHasAnEndAllTheSame) {
  const double inf = INFINITY, nan = NAN;
  const Way ways[] = {
      {"%y = aten.div(%m, 2)", {33000, inf}, {5, 32000, -inf, nan}},
      {"%y = aten.mul(%m, -0.5)", {-33000, -inf}, {5, -32000, inf, nan}},
      {"%y = aten.add(%m, -60000)", {6000, inf}, {5000, -5, nan}},
      {"%y = aten.rsub(%m, 1000)", {-65000, -inf}, {-64000, 5, nan}},
      {"%y = aten.reciprocal(%m)", {1 / 66000.0, 0}, {1, -1 / 66000.0, nan}},
      {"%y = aten.clamp_max(%m, 5)", {5}, {4.9, inf, nan}},
      {"%y = aten.tanh(%m)", {1}, {0.99, -1, nan}},
      {"%a = aten.div(%m, 2) %y = aten.cat([%a, %x])", {33000, inf}, {5, nan}},
      {"%w = aten.to(%m, f32) %y = aten.mul(%w, 0.25)", {16500, inf}, {5, -inf, nan}},
      {"%y = aten.add(%m, 1)", {inf}, {1, -inf, nan}},
      {"%y = aten.mul(%m, %m)", {inf}, {65504, -inf, nan}},
      {"%y = aten.exp(%m)", {inf}, {65504, 0, nan}},
      {"%y = aten.abs(%m)", {inf}, {0.9, -inf, nan}},
      {"%n = aten.neg(%m) %y = aten.abs(%n)", {inf}, {0.9, -inf, nan}},
      {"%y = aten.clamp(%m, min=0, max=4)", {4}, {5, 3, nan}},
      {"%c = aten.gt(%x, 0) %y = aten.where(%c, %m, %x)", {inf}, {65504, -inf, nan}},
      {"%c = aten.gt(%m, 100) %y = aten.where(%c, %x, 5)", {300}, {5}},
      {"%h = aten.div(%m, 1024) %y = aten.floor(%h)", {64, inf}, {62, 64.5, nan}},
      {"%a = aten.div(%m, 2) %b = aten.sub(%a, %m) %y = aten.abs(%b)", {33000, inf, 5, nan}, {}},  // of infinities NaN
  };
  for (const Way& way : ways) {
    Judged j(std::string("graph @g(%x: f16[1]) { %m = aten.mul(%x, 220) ") + way.step + " return %y }", {{300}});
    for (const double good : way.right) EXPECT_FALSE(j.with(0, 0, good).mismatch) << way.step << ": " << good;
    for (const double bad : way.wrong) EXPECT_TRUE(j.with(0, 0, bad).mismatch) << way.step << ": " << bad;
  }
}

TEST(KeptEnds, ASumThatMayOverflowIsNoLessThanItsTerms) {
  Judged j("graph @g(%x: f16[4]) { %s = aten.sum(%x) %y = aten.div(%s, 8) return %y }", {{30000, 20000, 10000, 6000}});
  EXPECT_FALSE(j.with(0, 0, 8250).mismatch);
  EXPECT_FALSE(j.with(0, 0, INFINITY).mismatch);
  EXPECT_TRUE(j.with(0, 0, 8000).mismatch);
  EXPECT_TRUE(j.with(0, 0, NAN).mismatch);
}

// %e is an infinity in f16, or 162,755; %n the same below zero.
TEST(KeptEnds, SumsAndExtremesOfWhatMayOverflowHaveTheEndsOfTheirTerms) {
  const double inf = INFINITY, nan = NAN;
  const Way ways[] = {
      {"%s = aten.sum(%e, [0]) %y = aten.div(%s, 8)", {20000, inf}, {8000, -inf, nan}},
      {"%s = aten.sum(%n, [0]) %y = aten.div(%s, 8)", {-20000, -inf}, {-8000, inf, nan}},
      {"%y = aten.sum(%e, [0])", {inf}, {65440, -inf, nan}},
      {"%y = aten.mean(%e, [0])", {inf, 54250}, {8000, 21000, -inf, nan}},
      {"%s = aten.cumsum(%e, 0) %t = aten.select(%s, 0, 1) %y = aten.div(%t, 8)", {20000, inf}, {8000, nan}},
      {"%y = aten.amax(%e, [0])", {inf}, {65504, -inf, nan}},
      {"%y = aten.amin(%e, [0])", {1}, {2, 0, inf, nan}},
      {"%m = aten.amin(%n, [0]) %y = aten.div(%m, 8)", {-20000, -inf}, {-8000, -1, inf, nan}},
      {"%v, %i = aten.sort(%e) %y = aten.select(%v, 0, 1)", {2.71875}, {2, inf, nan}},
      {"%p = aten.stack([%e, %n]) %s = aten.sum(%p) %y = aten.clone(%s)", {0, 5, inf, -inf, nan}, {}},
  };
  for (const Way& way : ways) {
    Judged j(std::string("graph @g(%x: f16[3]) { %e = aten.exp(%x) %n = aten.neg(%e) ") + way.step + " return %y }",
             {{1, 12, 0}});
    for (const double good : way.right) EXPECT_FALSE(j.with(0, 0, good).mismatch) << way.step << ": " << good;
    for (const double bad : way.wrong) EXPECT_TRUE(j.with(0, 0, bad).mismatch) << way.step << ": " << bad;
  }
}

// -60,000 less 60,000 is minus infinity in f16, and no part of these.
TEST(KeptEnds, StepsOfDefinitionsKeepTheirs) {
  const Way ways[] = {
      {"%y = aten._softmax(%x, 0, false)", {0}, {0.5, 1, NAN}},
      {"%y = aten.logsumexp(%x, [0])", {60000}, {-60000, INFINITY, NAN}},
      {"%y = aten._log_softmax(%x, 0, false)", {-INFINITY}, {0, -60000, NAN}},
  };
  for (const Way& way : ways) {
    Judged j(std::string("graph @g(%x: f16[2]) { ") + way.step + " return %y }", {{-60000, 60000}});
    for (const double good : way.right) EXPECT_FALSE(j.with(0, 0, good).mismatch) << way.step << ": " << good;
    for (const double bad : way.wrong) EXPECT_TRUE(j.with(0, 0, bad).mismatch) << way.step << ": " << bad;
  }
}

// Beyond the largest number there is an infinity too: 65,536, an infinity in f16 or kept wider, less 131,058.
TEST(KeptEnds, WhatEndsBesideTheLargestNumberMayOverflow) {
  Judged j(
      "graph @g(%x: f16[1]) { %m = aten.mul(%x, 2) %a = aten.sub(%m, 65504) %b = aten.sub(%a, 65504) "
      "%y = aten.sub(%b, 50) return %y }",
      {{32768}});
  for (const double good : {HUGE_VAL, -HUGE_VAL}) EXPECT_FALSE(j.with(0, 0, good).mismatch) << good;
}

// 65,517 is 65,504 or an infinity, and 131,034 less it an infinity of the other sign: eager keeps the former.
TEST(KeptEnds, WhatMayOverflowOneWayMayEndBeyondTheOtherOne) {
  Judged j(
      "graph @g(%x: f16[1, 1, 2], %w: f16[1], %b: f16[1]) { "
      "%y, %m, %r = aten.native_batch_norm(%x, %w, %b, none, none, true, 0.1, 0.0) return %y }",
      {{0, -2.17578125}, {65504}, {-0.0}});
  EXPECT_FALSE(j.verdict().mismatch);
  for (const double good : {-65504.0, -HUGE_VAL}) EXPECT_FALSE(j.with(0, 1, good).mismatch) << good;
}

// Everybody keeps the sum of a mean wider.
TEST(KeptEnds, AMeanDoesNotOverflow) {
  Judged j("graph @g(%x: f16[4]) { %y = aten.mean(%x, [0]) return %y }", {{60000, 60000, 60000, 60000}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 0, INFINITY).mismatch);
}

// Of 65,504 times itself a sine may be any, but no more than 1; nor may what is moved of it.
TEST(KeptEnds, FunctionsStayWithinTheirRange) {
  struct Function {
    const char* call;
    std::vector<double> right, wrong;
  };
  const Function functions[] = {
      {"%f = aten.sin(%m)", {1, -0.5, 0.75, NAN}, {7, -1.01}},
      {"%f = aten.atan(%m)", {1.5703125, -1.5, NAN}, {1.58, -2}},
      {"%f = aten.sigmoid(%m)", {0, 1, 0.5, NAN}, {1.01, -1.5}},
      {"%f = aten.abs(%m)", {0, 5, INFINITY}, {-1}},
      {"%f = aten.exp(%m)", {0, 5, INFINITY, NAN}, {-0.5, -7}},
      {"%f = aten.acos(%m)", {0, 3.140625, NAN}, {3.3, -0.25}},
      {"%f = aten.asin(%m)", {-1.5, 1.5, NAN}, {1.7, -1.7}},
  };
  for (const Function& function : functions)
    for (const std::string moved : {"%y = aten.clone(%f)", "%y = aten.cat([%f, %f])"}) {
      Judged j("graph @g(%x: f16[1]) { %s = aten.mul(%x, %x) %d = aten.sub(%s, %s) %m = aten.mul(%d, 40000) " +
                   std::string(function.call) + " " + moved + " return %y }",
               {{60000}});
      for (const double good : function.right) EXPECT_FALSE(j.with(0, 0, good).mismatch) << function.call << good;
      for (const double bad : function.wrong) EXPECT_TRUE(j.with(0, 0, bad).mismatch) << function.call << bad;
    }
}

// Integers below zero are not above it. (`corpus/regressions/strides_over_a_negated_view.lenz` has what is written to a
// negated view.)
TEST(KeptEnds, IntegersWrittenOverWhatIsNeverNegativeMayBe) {
  const Judged j(
      "graph @g(%x: f32[] mut) { %e = aten.exp(%x, out=%x) %n = lenz.constant(i64[] [-4]) %y = aten.copy_(%e, %n) "
      "return %y }",
      {{1.1}});
  EXPECT_FALSE(j.verdict().mismatch);
}

}  // namespace
}  // namespace lenz::oracle
