// Bounds at the ends of what dtypes hold: integers of 64 bits, numbers below the normal ones, what may be no number.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

// erfinv is NaN beyond 1, and infinite there.
TEST(BoundsAtEnds, WhetherAnyIsTrueIsOpenWhereNaNMayBeANumber) {
  std::string_view text = R"(graph @g(%x: bf16[1]) {
    %near = aten.erfinv(%x)
    %beyond = aten.erfinv(%near)
    %s = aten.sigmoid(%beyond)
    %a = aten.any(%s)
    return %a
  })";
  EXPECT_EQ(Judged(text, {{-0.84375}}).errors()[0], 1);
  EXPECT_EQ(Judged(text, {{-1}}).errors()[0], 0);    // an infinity, and then NaN for certain
  EXPECT_EQ(Judged(text, {{0.25}}).errors()[0], 0);  // a number that is not zero
}

// Eager's i0 takes an exponential that overflows where i0 does not: beyond 88.7, which e^4.49 - 1 may be where 4.49 is
// stored in bfloat16, and e^4.4 - 1 not.
TEST(BoundsAtEnds, KernelsThatOverflowForWhatAnOperandMayBe) {
  auto judged = [](const std::string& number) {
    return Judged(
        "graph @g(%x: bf16[1]) { %m = aten.mul(%x, " + number + ") %e = aten.expm1(%m) %y = aten.i0(%e) return %y }",
        {{1}}, Widening::bounds_of_eager);
  };
  EXPECT_FALSE(judged("4.49").with(0, 0, INFINITY).mismatch);
  EXPECT_TRUE(judged("4.4").with(0, 0, INFINITY).mismatch);
}

// The inverse of a root of 1 is a number about 1, of which an integer may be one off.
std::string about(const std::string& step) {
  return "graph @g(%x: f32[1]) { %e = aten.rsqrt(%x) %n = aten.to(%e, i64) " + step + " return %y }";
}

TEST(BoundsAtEnds, IntegersOf64BitsAreToldApart) {
  auto sum = [](const std::string& number) {
    return Judged(about("%k = lenz.constant(i64[1] [626]) %c = lenz.constant(i64[1] [" + number +
                        "]) %p = aten.mul(%n, %k) %y = aten.add(%p, %c)"),
                  {{1}});
  };
  Judged right = sum("9223372036854498705");
  EXPECT_NEAR(right.errors()[0], 626, 1e-3);
  EXPECT_FALSE(right.verdict().mismatch);
  right.eager = sum("9223372036854499331").eager;  // 626 more, which doubles say are 1,024
  EXPECT_FALSE(right.verdict().mismatch);
  right.eager = sum("9223372036854499332").eager;
  EXPECT_TRUE(right.verdict().mismatch);
}

TEST(BoundsAtEnds, BeyondTheIntegersThatDoublesSayNothingIsKnown) {
  auto greatest = [](const std::string& number) {
    return Judged(about("%c = lenz.constant(i64[1] [" + number + "]) %p = aten.add(%n, %c) %y = aten.amax(%p)"), {{1}});
  };
  EXPECT_TRUE(std::isinf(greatest("-9223372036854775806").errors()[0]));
  EXPECT_EQ(greatest("-4611686018427387904").errors()[0], 2);  // of a bound a little above 1
}

// However uncertain what they are made of is, some numbers are never below zero.
TEST(BoundsAtEnds, WhatIsNeverNegativeEndsAtZero) {
  Judged j(R"(graph @g(%x: f32[2, 64] init uniform(1e8, 2e8, seed=1)) {
    %n = aten.neg(%x) %b = aten.cat([%x, %n], 1) %s = aten.sum(%b, [1])
    %r = aten.relu(%s) %a = aten.abs(%s) %q = aten.square(%s) %l = aten.neg(%a)
    return %r, %a, %q, %l
  })");
  EXPECT_FALSE(j.verdict().mismatch);
  for (size_t output = 0; output < 3; ++output) {
    EXPECT_GT(j.errors(output)[0], 1) << output;
    EXPECT_FALSE(j.with(output, 0, 1).mismatch) << output;
    EXPECT_FALSE(j.with(output, 0, 0).mismatch) << output;
    EXPECT_TRUE(j.with(output, 0, -1).mismatch) << output;
    j.with(output, 0, 0);
  }
  EXPECT_FALSE(j.with(3, 0, -1).mismatch);
}

// Half of a place of bfloat16 below its normal numbers is zero there, and none where it is kept in f32.
TEST(BoundsAtEnds, ZerosThatTheDefinitionOfADrawRoundsToAreOpen) {
  const Judged j(R"(graph @g(%x: bf16[3], %n: bf16[3] mut) {
    %y = aten.rrelu_with_noise(%x, %n)
    return %y
  })",
                 {{-9.183549615799121e-41, 0, 1}, {1, 1, 1}});
  EXPECT_GT(j.errors()[0], 2e-41);
  EXPECT_EQ(j.errors()[1], 0);
}

// Behind noise, which sums in another order make, weights are no measure of what it may be: zeros would do as well. The
// noise itself is held to what cancels.
TEST(BoundsAtEnds, WhatHoldsNobodyIsWeak) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1000], %w: f32[4, 4] init uniform(1, 2, seed=1)) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t) %d = aten.sub(%s, %u)
    %e = aten.expand(%d, [4, 4]) %m = aten.mm(%e, %w) %n = aten.neg(%d) %v = aten.reshape(%n, [1, 1])
    return %d, %m, %v
  })";
  const Judgement v = Judged(text).verdict();
  EXPECT_FALSE(v.mismatch);
  EXPECT_EQ(v.shares.open, 1U);
  EXPECT_EQ(v.shares.ambiguous, 16U);
}

// Which branch is open: one side of what is right is a rounding, the other one reaches the other branch. Beside that
// the rounding is kept whole.
TEST(BoundsAtEnds, AShortSideIsNotLostBesideALongOne) {
  constexpr std::string_view text = R"(graph @g(%x: f32[512] init uniform(-0.03125, 0.03125, seed=1)) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t) %d = aten.sub(%s, %u)
    %c = aten.le(%d, 1.0) %o = aten.le(%d, 1e-09) %q = aten.mul(%x, %x)
    %k = aten.full([512], 0.25, dtype=f32) %w = aten.where(%o, %q, %k) %v = aten.where(%o, %k, %q) return %w, %v, %c
  })";
  const Judged j(text);
  const Judgement v = j.verdict();
  EXPECT_FALSE(v.mismatch) << v.mismatch->summary();
  EXPECT_EQ(v.shares.open, 2U);
}

// Of operands that are certain a NaN is as certain, also where another operand would have hidden it.
TEST(BoundsAtEnds, WhatIsNoNumberOfCertainOperandsIsNone) {
  Judged j("graph @g(%x: f32[2], %y: f32[2]) { %h = aten.hypot(%x, %y) %l = aten.logaddexp(%x, %y) return %h, %l }",
           {{NAN, NAN}, {NAN, INFINITY}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.verdict().shares.ambiguous, 0U);
  EXPECT_TRUE(j.with(0, 0, 0.37).mismatch);
}

// An index among equal elements may be any of them, and a power by one of those wraps.
TEST(BoundsAtEnds, PowersThatMayWrapAreOpen) {
  Judged j(R"(graph @g(%x: f32[4]) {
    %v, %i = aten.kthvalue(%x, 1, dim=0)
    %b = aten.full([], 1099511627776) %t = aten.full([], 2)
    %p = aten.pow(%b, %i) %q = aten.pow(%t, %i)
    return %p, %q
  })",
           {{1, 1, 1, 1}});
  EXPECT_EQ(j.errors(0)[0], HUGE_VAL);
  EXPECT_LE(j.errors(1)[0], 8);
}

// A random op that draws nothing is what its definition says: who fuses keeps it wider, and what overflows is no
// infinity for them.
TEST(BoundsAtEnds, WhatDrawsNothingIsJudgedByItsDefinition) {
  for (const std::string_view op : {"aten.rrelu(%x, 1.0, 1.5)", "aten.leaky_relu(%x, 1.25)"}) {
    Judged overflow("graph @g(%x: f16[2]) { %y = " + std::string(op) + " %z = aten.isinf(%y) return %z }",
                    {{-60000, -3}});
    EXPECT_FALSE(overflow.with(0, 0, 0).mismatch) << op;
    EXPECT_FALSE(overflow.with(0, 0, 1).mismatch) << op;
    EXPECT_TRUE(overflow.with(0, 1, 1).mismatch) << op;
  }
  Judged by_steps(  // whose definition has a random step that draws nothing either
      "graph @g(%x: f16[2], %n: f16[2]) { %y, %m = aten.rrelu_with_noise_functional(%x, %n, upper=4) "
      "%z = aten.isinf(%y) return %z }",
      {{-60000, -3}, {1, 1}});
  EXPECT_FALSE(by_steps.with(0, 0, 0).mismatch);
  EXPECT_FALSE(by_steps.with(0, 0, 1).mismatch);
  EXPECT_TRUE(by_steps.with(0, 1, 1).mismatch);
  Judged written("graph @g(%x: f16[2] mut) { %y = aten.rrelu_(%x) %z = aten.isinf(%y) return %z }", {{-60000, -3}});
  EXPECT_FALSE(written.verdict().mismatch);
}

// Whoever leaves attention to the host has what its kernel gives beside a NaN; elsewhere nothing is excused.
TEST(BoundsAtEnds, WhatTheHostsAttentionLosesIsExcused) {
  std::string_view text =
      "graph @g(%q: f32[1, 2, 1, 2], %k: f32[1, 2, 1, 2]) {\n"
      "  %o, %s = aten._scaled_dot_product_flash_attention_for_cpu(%q, %k, %k) return %o }";
  Judged j(text, {{1, 1, 1, 1}, {NAN, 1, 2, 3}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 1, 0).mismatch);
  EXPECT_TRUE(j.with(0, 2, 2.5).mismatch);
  // Which number that is hangs on what it weighs, where that is the host's too: nothing beside a NaN is certain then.
  for (const char* operands : {"%q, %k, %v", "%q, %v, %k", "%v, %k, %k"}) {
    Judged again(
        "graph @g(%q: f32[1, 2, 1, 2], %k: f32[1, 2, 1, 2]) {\n"
        "  %v, %s = aten._scaled_dot_product_flash_attention_for_cpu(%q, %k, %k)\n"
        "  %o, %t = aten._scaled_dot_product_flash_attention_for_cpu(" +
            std::string(operands) + ") return %o, %t }",
        {{1, 1, 1, 1}, {NAN, 1, 2, 3}});
    EXPECT_FALSE(again.verdict().mismatch) << operands;
    for (const double other : {0.0, 17.0, static_cast<double>(NAN)})
      EXPECT_FALSE(again.with(0, 1, other).mismatch) << operands;
    EXPECT_FALSE(again.with(1, 0, 3).mismatch) << operands;
    EXPECT_TRUE(again.with(0, 2, 2.5).mismatch) << operands;
    EXPECT_TRUE(again.with(1, 1, NAN).mismatch) << operands;
  }
  // One of its kernels adds a mask to scores that the other does not look at.
  Judged masked(
      "graph @g(%q: f32[1, 1, 2, 2], %k: f32[1, 1, 2, 2]) {\n"
      "  %o = aten.scaled_dot_product_attention(%q, %k, %k, is_causal=true) return %o }",
      {{1, 1, 1, 1}, {1, 2, NAN, 3}});
  EXPECT_FALSE(masked.verdict().mismatch);
  EXPECT_FALSE(masked.with(0, 0, NAN).mismatch);
}

// However far beyond the dtype's end it lies, and whatever lies beside it that loses its last places.
TEST(BoundsAtEnds, ACastThatOverflowsForCertainIsAnInfinity) {
  for (const double far : {65520.0, 1e6, 1e30, 3.4e38}) {
    Judged cast("graph @g(%x: f32[3]) { %y = aten.to(%x, f16) return %y }", {{far, 2e-8, 1}},
                Widening::bounds_of_eager);
    EXPECT_FALSE(cast.verdict().mismatch) << far;
    for (const double other : std::initializer_list<double>{NAN, -INFINITY, 65504, 3})
      EXPECT_TRUE(cast.with(0, 0, other).mismatch) << far;
  }
}

// Also of what has overflowed for certain already, by any way, and whatever is computed of that.
TEST(BoundsAtEnds, WhatOverflowedIsBeyondTheEndWhereverItGoes) {
  const struct {
    const char* steps;
    double x;
    std::vector<double> wrong;
  } cases[] = {
      {"%a = aten.mul(%x, 3.0) %y = aten.to(%a, bf16)", -3e38, {INFINITY, 0, NAN, 1e10, -3e38}},
      {"%a = aten.exp(%x) %y = aten.to(%a, bf16)", 100, {-INFINITY, 0, NAN, 1.25, 3e38}},
      {"%a = aten.square(%x) %y = aten.to(%a, f16)", 3e38, {-INFINITY, 0, NAN, 65504}},
      {"%a = aten.exp(%x) %y = aten.to(%a, f8e5m2)", 700, {-INFINITY, 0, NAN, 57344}},
      {"%a = aten.exp(%x) %y = aten.to(%a, f8e4m3)", 700, {0, 1.25, 448}},
      {"%z = aten.mul(%x, 1.5) %a = aten.exp(%z) %y = aten.add(%a, 1.0)", 400, {0, NAN, 1.25, 3e38, -INFINITY}},
      {"%a = aten.exp(%x) %y = aten.sqrt(%a)", 200, {0, NAN, 1.25, 1e19}},
      {"%a = aten.square(%x) %y = aten.add(%a, 1.0)", 1e38, {0, NAN, 1e30, 3.38e38}},
      {"%a = aten.exp(%x) %y = aten.to(%a, f64)", 700, {0, NAN, 1.25, 3e38}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.steps);
    Judged judged("graph @g(%x: f32[3]) { " + std::string(c.steps) + " return %y }", {{1, c.x, 1}},
                  Widening::bounds_of_eager);
    EXPECT_FALSE(judged.verdict().mismatch);
    for (const double other : c.wrong) EXPECT_TRUE(judged.with(0, 1, other).mismatch) << other;
  }
  Judged doubles("graph @g(%x: f64[3]) { %a = aten.mul(%x, 3.0) %y = aten.to(%a, f32) return %y }", {{1, -1e308, 1}},
                 Widening::bounds_of_eager);
  EXPECT_FALSE(doubles.verdict().mismatch);
  for (const double other : std::initializer_list<double>{INFINITY, 0, NAN, -3e38})
    EXPECT_TRUE(doubles.with(0, 1, other).mismatch) << other;
}

// What is asked to be a float8 is one of its numbers, kept nowhere wider, and a NaN where it has no infinity.
TEST(BoundsAtEnds, WhatIsQuantisedIsRounded) {
  Judged there_and_back(R"(graph @g(%x: f32[6], %s: f32[]) {
    %q = aten.to(%x, f8e4m3) %b = aten.to(%q, f32) %y = aten.mul(%b, %s) return %y })",
                        {{700, -900, 1.1, 463, 465, 0.3}, {2}}, Widening::bounds_of_eager);
  EXPECT_FALSE(there_and_back.verdict().mismatch);
  EXPECT_EQ(there_and_back.verdict().shares.ambiguous, 0u);
  for (const auto& [element, value] : {std::pair{0, 896.0}, {0, 1400.0}, {1, 0.0}, {2, 2.2}, {4, 896.0}, {5, 0.6}})
    EXPECT_TRUE(there_and_back.with(0, static_cast<size_t>(element), value).mismatch) << element << " " << value;
  // What has errors of its own may be either of two neighbours.
  Judged open("graph @g(%x: f32[2]) { %e = aten.exp(%x) %y = aten.to(%e, f8e4m3) return %y }",
              {{0.06062462181643484, 0}}, Widening::bounds_of_eager);  // e^x = 1.0625, a tie
  EXPECT_FALSE(open.verdict().mismatch);
  EXPECT_FALSE(open.with(0, 0, 1.125).mismatch);
  EXPECT_FALSE(open.with(0, 0, 1).mismatch);
  EXPECT_TRUE(open.with(0, 0, 1.25).mismatch);
}

// Masks of the least number: a sum beyond it, by less than half a place, is rounded to it; and what overflowed on its
// way to the dtype of the scores leaves the others what they are.
TEST(BoundsAtEnds, MasksOfTheLeastNumberHideWhatTheyHide) {
  const double least = -3.4028234663852886e38;
  Judged cast(R"(graph @g(%x: f16[3], %mask: f32[3]) {
    %m = aten.to(%mask, f16) %s = aten.add(%x, %m) %y = aten.softmax(%s, 0) return %y })",
              {{1, 2, 3}, {0, 0, least}}, Widening::bounds_of_eager);
  Judged same("graph @g(%x: f16[3], %m: f16[3]) { %s = aten.add(%x, %m) %y = aten.softmax(%s, 0) return %y }",
              {{1, 2, -3}, {0, 0, -65504}}, Widening::bounds_of_eager);
  for (Judged* judged : {&cast, &same}) {
    EXPECT_FALSE(judged->verdict().mismatch);
    EXPECT_EQ(judged->verdict().shares.ambiguous, 0u);
    EXPECT_TRUE(judged->with(0, 2, 0.01).mismatch);
    EXPECT_TRUE(judged->with(0, 1, 0.8).mismatch);
  }
}

// What the lesser operand leaves of its own places is nothing beside the greater one.
TEST(BoundsAtEnds, SumsOfExponentialsAreAsGoodAsTheGreaterOne) {
  for (const char* op : {"aten.logaddexp", "aten.logaddexp2"})
    for (const double lesser : std::initializer_list<double>{-30, -1e6, -INFINITY}) {
      Judged sum("graph @g(%x: f32[1], %z: f32[1]) { %y = " + std::string(op) + "(%x, %z) return %y }",
                 {{1.5}, {lesser}});
      EXPECT_LE(sum.errors()[0], 4.5 * 0x1p-23) << op << " " << lesser;
      EXPECT_FALSE(sum.verdict().mismatch);
    }
}

}  // namespace
}  // namespace lenz::oracle
