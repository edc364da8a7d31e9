// Signs of zero: held where arithmetic gives them, open where it does not.
#include "oracle/bounds/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

TEST(Bounds, AZeroHasASignWhereItsRowPromisesOne) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %t = aten.neg(%x) %y = aten.flip(%t, [0]) %s = aten.sum(%y) %u = aten.clone(%y) %w = aten.relu_(%u)
    return %y, %s, %u
  })",
           {{0.0, 0.0}});
  EXPECT_FALSE(j.verdict().mismatch);
  auto wrong = j.with(0, 1, 0.0F).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bitwise);
  EXPECT_FALSE(j.with(0, 1, -0.0F).mismatch);
  EXPECT_FALSE(j.with(1, 0, 0.0F).mismatch);  // where a sum starts is nobody's promise
  EXPECT_FALSE(j.with(1, 0, -0.0F).mismatch);
  EXPECT_FALSE(j.with(2, 0, 0.0F).mismatch);
}

// Bounds look at the middles of intervals: of a zero that is certain that is the zero itself.
TEST(Bounds, AZeroBesideWhatIsRoundedKeepsItsSign) {
  Judged j("graph @g(%x: f64[2]) { %n = aten.to(%x, f32) %a = aten.atan2(%n, %n) return %a }", {{-0.0, 0.1}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_LT(j.errors()[0], 1e-6);
  EXPECT_TRUE(j.with(0, 0, 0.0).mismatch);
}

// Of a zero that is rounded from there, too.
TEST(Bounds, AFunctionOfALooseZeroIsLoose) {
  Judged j(R"(graph @g(%x: f32[2], %y: f32[2]) {
    %m = aten.maximum(%x, %y) %t = aten.tanh(%m) %n = aten.neg(%t)
    %p = aten.tanh(%x) %q = aten.neg(%p)
    return %n, %q
  })",
           {{0, 1}, {-0.0, 1}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_FALSE(j.reference.outputs[0].zeros_signed);
  EXPECT_TRUE(j.reference.outputs[1].zeros_signed);
}

// Which zero a maximum gives is nobody's promise, and so is what looks at its sign; a product's zero has one.
TEST(Bounds, WhatLooksAtALooseZeroIsOpenBothWays) {
  Judged j(R"(graph @g(%x: f32[3], %y: f32[3]) {
    %n = aten.neg(%x) %m = aten.maximum(%n, %y)
    %r = aten.reciprocal(%m) %s = aten.signbit(%m) %o = aten.ones_like(%m) %c = aten.copysign(%o, %m) %a = aten.atan2(%m, %x)
    %b = aten.view.dtype(%m, i32)
    %p = aten.mul(%x, 2.0) %q = aten.reciprocal(%p) %u = aten.signbit(%p)
    return %r, %s, %c, %a, %b, %q, %u
  })",
           {{0, -1, 1}, {0, -1, -1}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  for (size_t output : {0, 4}) EXPECT_TRUE(std::isinf(j.errors(output)[0])) << output;
  EXPECT_EQ(j.errors(1), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(j.errors(2), (std::vector<double>{2, 0, 0}));
  EXPECT_LT(j.errors(3)[0], 1e-40);  // of (+-0, +0): the result's sign alone
  EXPECT_EQ(j.errors(4)[1], 0);
  for (size_t output : {5, 6}) EXPECT_EQ(j.errors(output)[0], 0) << output;
  EXPECT_FALSE(j.with(0, 0, -INFINITY).mismatch);
  EXPECT_FALSE(j.with(2, 0, -1.0F).mismatch);
  EXPECT_TRUE(j.with(5, 0, -INFINITY).mismatch);
}

// Which zero is chosen by a number that may be above 0 or not is open, and so is its sign.
TEST(Bounds, AnOpenTruthChoosesBetweenZerosOfBothSigns) {
  Judged j(R"(graph @g(%x: f32[2], %y: f32[2], %z: f32[2]) {
    %s = aten.sinc(%x) %c = aten.gt(%s, 0) %w = aten.where(%c, %y, %z) %n = aten.neg(%w)
    %d = aten.gt(%x, 0) %v = aten.where(%d, %y, %z)
    return %n, %v
  })",
           {{3, 0.5}, {-0.0, -0.0}, {0, 0}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_FALSE(j.with(0, 0, 0.0F).mismatch);
  EXPECT_FALSE(j.with(0, 0, -0.0F).mismatch);
  EXPECT_TRUE(j.with(1, 0, 0.0F).mismatch);
}

// What the other sign gives is rounded as well: pi of f32 is no pi.
TEST(Bounds, WhatTheOtherZeroGivesIsRounded) {
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const std::string type = std::string(name(dtype)) + "[2]";
    Judged j("graph @g(%x: " + type + ", %y: " + type + ", %z: " + type +
                 ") { %m = aten.maximum(%x, %y) %a = aten.atan2(%z, %m) return %a }",
             {{-0.0, 0}, {0, -0.0}, {0, 0}});
    EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
    for (double error : j.errors()) {
      EXPECT_GE(error, round_to(dtype, std::numbers::pi)) << type;
      EXPECT_LT(error, 3.17) << type;
    }
  }
}

// Values alone are held to zeros' signs too, where these are promised.
TEST(Bounds, LooseZerosAreKnownWithoutErrors) {
  auto graph = parse_graph(R"(graph @g(%x: f32[4] init zeros, %y: f32[4] mut init zeros, %z: f32[4] init zeros) {
    %m = aten.neg(%x) %r = aten.relu(%m) %n = aten.neg(%r) %h = aten._to_copy(%n, dtype=f16) %w = aten.add_(%y, %r)
    %p = aten.mul(%z, 2.0)
    return %r, %n, %h, %w, %p
  })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  for (Widening widening : {Widening::values_only, Widening::bounds}) {
    Reference r = Referee(boxed, {}, widening).run(*graph, initial_inputs(*graph, boxed, {}));
    for (size_t output : {0, 1, 2}) EXPECT_FALSE(r.outputs[output].zeros_signed) << output;
    EXPECT_TRUE(r.outputs[4].zeros_signed);
  }
}

// Which of two zeros is picked, and where a sum starts, shows where a zero is negative; elsewhere zeros are positive.
TEST(Bounds, WhatHoldsNoNegativeZeroPicksAndAddsUpToNone) {
  const char* text = R"(graph @g(%x: f32[4], %none: f32[3, 0], %t: f32[0, 2]) {
    %r = aten.relu(%x) %c = aten.clamp(%x, 0, 1) %z = aten.zeros_like(%x) %m = aten.maximum(%z, %x)
    %s = aten.sum(%x) %n = aten.cumsum(%x, 0) %e = aten.sum(%none, [1]) %p = aten.mm(%none, %t)
    %a = aten.amax(%r, [0]) %y = aten.clone(%x) %w = aten.relu_(%y)
    return %r, %c, %m, %s, %n, %e, %p, %w
  })";
  const std::vector<std::pair<size_t, size_t>> zeros = {{0, 0}, {0, 1}, {1, 0}, {2, 1}, {3, 0},
                                                        {4, 3}, {5, 2}, {6, 5}, {7, 1}};
  for (auto [output, element] : zeros) {
    Judged j(text, {{0, -1, 3, -2}});
    EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
    EXPECT_TRUE(j.with(output, element, -0.0).mismatch) << output;
    EXPECT_FALSE(j.with(output, element, 0.0).mismatch) << output;
    if (output == 5 || output == 6) continue;  // there is nothing to be negative
    Judged either(text, {{-0.0, -0.0, -0.0, -0.0}});
    EXPECT_FALSE(either.verdict().mismatch) << either.verdict().mismatch->summary();
    EXPECT_FALSE(either.with(output, element, -0.0).mismatch) << output;
    EXPECT_FALSE(either.with(output, element, 0.0).mismatch) << output;
  }
}

// The sign that a zero takes is open only where what it comes from may have either.
TEST(Bounds, SignsOfZeroAreHeldWhereTheyAreDefinite) {
  Judged j(R"(graph @g(%x: f32[4], %z: f32[4]) {
    %r = aten.reciprocal(%x) %d = aten.div(%z, %x)
    %two = aten.mul(%x, 2.0) %c = aten.copysign(%z, %two)
    %w = aten.clamp_min(%x, 0.0) %t = aten.mul(%w, -1.0) %v = aten.maximum(%t, %z) %l = aten.copysign(%z, %v)
    %u = aten.add(%z, 1.0) %o = aten.rsqrt(%u) %e = aten.sub(%o, 1.0) %m = aten.mul(%e, 0.0)
    return %r, %d, %c, %l, %m
  })",
           {{INFINITY, -INFINITY, -INFINITY, INFINITY}, {0, 0, 0, 0}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  for (size_t output : {0, 1, 2}) {
    EXPECT_EQ(j.errors(output)[1], 0);
    EXPECT_TRUE(j.with(output, 1, 0.0F).mismatch) << output;
    EXPECT_FALSE(j.with(output, 1, -0.0F).mismatch) << output;
  }
  EXPECT_FALSE(j.with(3, 1, -0.0F).mismatch);  // of either of two zeros
  EXPECT_FALSE(j.with(3, 1, 0.0F).mismatch);
  EXPECT_FALSE(j.with(4, 1, -0.0F).mismatch);  // of what is nearly zero, and may be less
  EXPECT_FALSE(j.with(4, 1, 0.0F).mismatch);
}

TEST(Bounds, AbsoluteValuesAndSignsOfRealsAreExact) {
  Judged j("graph @g(%x: f32[2]) { %a = aten.abs(%x) %s = aten.sgn(%x) %f = aten.floor(%a) return %a, %s, %f }",
           {{-1.5, 2}});
  for (size_t output : {0, 1, 2}) EXPECT_EQ(j.errors(output), (std::vector<double>{0, 0}));
  auto wrong = j.with(0, 0, std::nextafter(1.5F, 2.0F)).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bitwise);
  Judged modulus("graph @g(%x: f32[2]) { %z = aten.complex(%x, %x) %a = aten.abs(%z) return %a }", {{-1.5, 2}});
  EXPECT_GT(modulus.errors()[0], 0);
}
// A NaN may have either sign, beside what is off by itself.
TEST(Bounds, SignsOfNanTurnWhatIsUncertain) {
  Judged j(R"(graph @g(%x: f32[1], %y: f32[1]) {
    %nan = aten.acos(%x)
    %sum = aten.add(%y, 1e-3)
    %two = aten.copysign(%sum, %nan)
    return %sum, %two
  })",
           {{2}, {0.1}});
  EXPECT_GT(j.errors(0)[0], 0);
  EXPECT_GE(j.errors(1)[0], 2 * 0.101 + j.errors(0)[0]);
}

}  // namespace
}  // namespace lenz::oracle
