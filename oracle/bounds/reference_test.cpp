// The reference and its bounds, where a person can say what they must be; and the judge: what is right passes, what is
// wrong by more than any right answer can be does not.
#include "oracle/bounds/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

constexpr double kUlp = 0x1p-23;  // of f32, at one
// What may be infinite in its dtype may be NaN behind a difference, and no function's range bounds that.
TEST(Reference, WhatMayBeNanHasNoBound) {
  Judged j(R"(graph @g(%x: f32[600]) {
    %big = aten.exp(%x)
    %apart = aten.sub(%big, %big)
    %y = aten.erf(%apart)
    return %y
  })",
           {std::vector<double>(600, 88.72284)});
  EXPECT_TRUE(std::isinf(j.errors()[0]));
  EXPECT_FALSE(j.with(0, 7, std::nanf("")).mismatch);
}

// Nobody promises which sign a NaN has.
TEST(Reference, SignsOfNanAreOpen) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %nan = aten.acos(%x)
    %bit = aten.signbit(%nan)
    %two = aten.copysign(%x, %nan)
    return %bit, %two
  })",
           {{2, 0.5}});
  EXPECT_EQ(j.errors(0), (std::vector<double>{1, 0}));
  EXPECT_EQ(j.errors(1), (std::vector<double>{4, 0}));
}

// A slice's elements carry their own errors wherever the slice's storage is read again.
TEST(Reference, ErrorsStayWithTheElementsOfASlice) {
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(i);
  Judged whole(R"(graph @g(%x: f32[3, 4]) {
    %y = aten.exp(%x)
    return %y
  })",
               {x});
  Judged slice(R"(graph @g(%x: f32[3, 4]) {
    %y = aten.exp(%x)
    %row = aten.select(%y, 0, 1)
    %again = lenz.restride(%row, [1])
    return %again
  })",
               {x});
  std::vector<double> all = whole.errors();
  EXPECT_EQ(slice.errors(), std::vector<double>(all.begin() + 4, all.begin() + 8));
  EXPECT_FALSE(slice.verdict().mismatch);
}

// Kernels differ in whether they multiply the zeros around an image: 0 * inf is NaN. Inside, inf is inf.
TEST(Reference, InfiniteWeightsThatMeetPaddingAreOpen) {
  std::vector<double> weight(9, 1.0);
  weight[0] = HUGE_VAL;
  Judged j(R"(graph @g(%x: f32[2, 1, 4, 4], %w: f32[1, 1, 3, 3]) {
    %y = aten.conv2d(%x, %w, none, [1, 1], [1, 1])
    return %y
  })",
           {std::vector<double>(32, 1.0), weight});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_TRUE(std::isinf(j.errors()[0]));  // the corner: the infinite weight lies outside
  EXPECT_EQ(j.errors()[5], 0);
  EXPECT_FALSE(j.with(0, 0, 4).mismatch);
  EXPECT_FALSE(j.with(0, 0, NAN).mismatch);
  EXPECT_TRUE(j.with(0, 5, 4).mismatch);
}

// Conversions and writes round, and would leave errors behind.
TEST(Bounds, NumbersAmongTheResultsAreJudged) {
  Judged j("graph @g(%x: f32[2]) { %s = aten.sum(%x) %n: float = aten._local_scalar_dense(%s) return %n }",
           {{1.0, 0x1p-30}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.verdict().shares.elements, 1U);
  j.eager.outputs[0] = real_number(1 + 8 * kUlp);
  ASSERT_TRUE(j.verdict().mismatch);
  EXPECT_EQ(j.verdict().mismatch->rung, Rung::bound);
  Judged whole("graph @g(%x: i64[1]) { %n: int = aten._local_scalar_dense(%x) return %n }");
  EXPECT_FALSE(whole.verdict().mismatch);
  whole.eager.outputs[0] = number(integer_of(whole.eager.outputs[0]) + 1);
  ASSERT_TRUE(whole.verdict().mismatch);
  EXPECT_EQ(whole.verdict().mismatch->rung, Rung::bitwise);
  Judged truth("graph @g(%x: bool[1]) { %n: bool = aten._local_scalar_dense(%x) return %n }");
  EXPECT_FALSE(truth.verdict().mismatch);
  truth.eager.outputs[0] = truth_value(!truth_of(truth.eager.outputs[0]));
  EXPECT_TRUE(truth.verdict().mismatch);
}

TEST(Bounds, ValuesAloneCarryNoErrors) {
  auto graph = parse_graph(R"(graph @g(%x: f32[4], %h: f16[4] mut) {
    %e = aten.exp(%x) %c = aten._to_copy(%e, dtype=bf16) %s = aten.add_(%h, %e) %o = aten.exp(%x, out=%c)
    return %e, %o, %s
  })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  auto errors = [&](Widening widening) {
    Reference r = Referee(boxed, {}, widening).run(*graph, initial_inputs(*graph, boxed, {}));
    EXPECT_EQ(r.ending, Ending::finished) << r.text;
    size_t count = 0;
    for (const auto* planes : {&r.outputs, &r.inputs})
      for (const Bounded& b : *planes) count += (b.error != nullptr) + (b.ambiguous != nullptr);
    return count;
  };
  EXPECT_GE(errors(Widening::bounds), 4u);
  EXPECT_EQ(errors(Widening::values_only), 0u);
}

TEST(Bounds, MovementAndSelectionStayExact) {
  Judged j(R"(graph @g(%x: f32[2, 3]) {
    %t = aten.t(%x) %c = aten.cat([%t, %t], 1) %m = aten.amax(%c, [0]) %r = aten.relu(%m)
    return %c, %r
  })");
  EXPECT_EQ(j.reference.outputs[0].error, nullptr);
  EXPECT_EQ(j.reference.outputs[1].error, nullptr);
  auto wrong = j.with(0, 3, std::nextafter(static_cast<float>(j.values()[3]), 9.0f)).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bitwise);
  EXPECT_EQ(wrong->at, (std::vector<int64_t>{0, 3}));
}

TEST(Bounds, ErrorsSeenThroughAViewAreThoseWrittenThroughAnother) {
  Judged j(R"(graph @g(%x: f32[2, 2]) {
    %y = aten.clone(%x) %row = aten.select(%y, 0, 1) %w = aten.exp_(%row) %t = aten.t(%y)
    return %t
  })",
           {{1, 2, 3, 4}});
  EXPECT_EQ(j.errors()[0], 0);  // y[0, 0]
  EXPECT_GT(j.errors()[1], 0);  // y[1, 0]
  EXPECT_EQ(j.errors()[2], 0);
  EXPECT_GT(j.errors()[3], 0);
  EXPECT_FALSE(j.verdict().mismatch);
}

// What a complex dtype holds, part by part, is exact in it: numbers among them.
TEST(Bounds, NumbersThatAComplexDtypeHoldsAreExactThere) {
  Judged j(R"(graph @g(%x: f32[3], %d: c128[2] init uniform(3, 3, seed=1)) {
    %z = aten.complex(%x, %x) %p = aten.pow.Tensor_Scalar(%z, 2) %q = aten.pow.Tensor_Scalar(%z, 0.1)
    %n = aten._to_copy(%x, dtype=c64) %r = aten.real(%d) %w = aten.complex(%r, %r) %c = aten._to_copy(%w, dtype=c64)
    %t = aten.mul(%w, 0.1) %i = aten._to_copy(%t, dtype=c64)
    return %p, %q, %n, %c, %i })",
           {{1.5, -0.75, 3}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  for (double e : j.errors(0)) EXPECT_LT(e, 2e-3);
  for (double e : j.errors(1)) EXPECT_LT(e, 1e-4);  // 0.1 is rounded
  for (double e : j.errors(2)) EXPECT_EQ(e, 0);
  for (double e : j.errors(4)) EXPECT_GT(e, 0);
}

// The ends are numbers of the dtype, what lies between them is none: nobody says which bin the last element is in.
TEST(Bounds, BinsOfARangeBeyondTheDtypeAreOpen) {
  constexpr std::string_view text = "graph @g(%x: f32[3]) { %h = aten.histc(%x, bins=6) return %h }";
  Judged far(text, {{-2e38, 1, 3e38}});
  EXPECT_FALSE(far.verdict().mismatch) << far.verdict().mismatch->summary();
  EXPECT_TRUE(std::isinf(far.errors()[0]));
  Judged multiple(text, {{0, 1, 3e38}});
  EXPECT_FALSE(multiple.verdict().mismatch) << multiple.verdict().mismatch->summary();
  for (double e : Judged(text, {{-2, 1.1, 3}}).errors()) EXPECT_LT(e, 1e-6);
}

// One element has no deviation from itself: over one less than its number that is NaN, whatever it is.
TEST(Bounds, VariancesOfOneElementAreNaNForCertain) {
  for (std::string_view op : {"var", "std"}) {
    Judged j("graph @g(%x: f32[1, 4]) { %v = aten." + std::string(op) + ".correction(%x, [0]) return %v }",
             {{1.1, 0, -2.3, 3}});
    EXPECT_EQ(j.errors(), (std::vector<double>{0, 0, 0, 0})) << op;
    EXPECT_FALSE(j.verdict().mismatch) << op;
  }
}

// What is added with no weight is not looked at, but for a factor that it is too.
TEST(Bounds, AddendsOfNoWeightAreIgnored) {
  Judged j(
      "graph @g(%x: f32[2, 2], %y: f32[2, 2]) { %e = aten.empty([2, 2]) %m = aten.addmm(%e, %x, %y, beta=0) "
      "%n = aten.addmm(%x, %x, %y, beta=0) return %m, %n }",
      {{1, 2, 3, 4}, {5, 6, 7, 8}});
  EXPECT_EQ(j.errors(0), j.errors(1));
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.verdict().shares.ambiguous, 0U);
}

TEST(Bounds, WhatOverflowsForCertainIsCertain) {
  for (std::string_view dtype : {"f16", "f8e5m2", "f8e4m3"}) {
    Judged j("graph @g(%x: f32[4]) { %y = aten.to(%x, " + std::string(dtype) + ") return %y }", {{1e6, -1e7, 1, 0}});
    EXPECT_FALSE(j.verdict().mismatch) << dtype;
    EXPECT_EQ(j.verdict().shares.ambiguous, 0U) << dtype;
  }
}

// Of equal elements mode may name any; one that stands alone has one place.
TEST(Bounds, ThePlaceOfAModeIsOpenAmongEqualElements) {
  std::string_view text = "graph @g(%x: f32[4]) { %v, %i = aten.mode(%x) return %v, %i }";
  EXPECT_EQ(Judged(text, {{3, 1, 4, 2}}).errors(1)[0], 0);
  EXPECT_EQ(Judged(text, {{3, 1, 3, 2}}).errors(1)[0], 2);
}

TEST(Bounds, OfLogarithmsOfSumsGrowWithTheTermsBefore) {
  Judged j("graph @g(%x: f32[16]) { %y = aten.logcumsumexp(%x, 0) return %y }", {std::vector<double>(16, 1.0)});
  EXPECT_LT(j.errors()[0], 12 * kUlp);
  EXPECT_LT(j.errors()[15], 16 * 14 * kUlp);
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, OfAdaptiveWindowsCountTheirPlaces) {
  Judged j("graph @g(%x: f32[1, 1, 9, 9] init ones) { %y = aten._adaptive_avg_pool2d(%x, [3, 3]) return %y }");
  EXPECT_LT(j.errors()[0], 8 * kUlp);
  EXPECT_FALSE(j.verdict().mismatch);
}

// No degree below zero has anything, degree zero is one; a root has the roundings of the terms that cancel, 4 x^3 and 3
// x.
TEST(Bounds, OfPolynomialsGrowWithTheirTerms) {
  Judged j(R"(graph @g(%x: f32[3]) {
    %a = aten.special_chebyshev_polynomial_t.n_scalar(%x, -1.5) %b = aten.special_hermite_polynomial_h.n_scalar(%x, 0)
    %c = aten.special_chebyshev_polynomial_t.n_scalar(%x, 3) %d = aten.special_chebyshev_polynomial_u.n_scalar(%x, 30)
    return %a, %b, %c, %d
  })",
           {{3, 0.8660254, -0.5}});
  EXPECT_FALSE(j.verdict().mismatch);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(j.errors(0)[i] + j.errors(1)[i], 0);
  EXPECT_LT(j.errors(2)[1], 32 * 3 * 8 * kUlp);
  EXPECT_LT(j.errors(3)[2], 0.02);
}

// An integer that may be one less may make another quotient, which is cut.
TEST(Bounds, OfAveragesOfIntegersAreWhole) {
  Judged j(R"(graph @g(%x: f32[1, 1, 2]) {
    %y = aten.exp(%x) %z = aten.to(%y, i64) %a = aten.avg_pool1d(%z, [2])
    return %a
  })",
           {{1.0986122886681098, 1.0986122886681098}});
  EXPECT_GE(j.errors()[0], 1);
  EXPECT_FALSE(j.verdict().mismatch);
}

// A window is summed before it is divided, also by more than it has places.
TEST(Bounds, OfWindowsWhoseSumOverflowsAreOpen) {
  Judged j(R"(graph @g(%x: f32[1, 1, 1, 3]) {
    %y = aten.avg_pool2d(%x, [1, 3], divisor_override=5) %z = aten.avg_pool2d(%x, [1, 1], divisor_override=5)
    return %y, %z
  })",
           {{-3e38, -2e38, 1e38}});
  EXPECT_TRUE(std::isinf(j.errors(0)[0]));
  EXPECT_LT(j.errors(1)[0], 1e32);
  EXPECT_FALSE(j.verdict().mismatch);
}

// What may overflow, or be no number, is not settled by being dropped.
TEST(Bounds, OfWhatIsDroppedAreOpenWhereItMayBeInfinite) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %s = aten.mul(%x, %x) %d = aten.sub(%s, %s) %y = aten.dropout(%d, 1.0, true) return %y
  })",
           {{3e19, 2}});
  EXPECT_TRUE(std::isinf(j.errors()[0]));
  EXPECT_EQ(j.errors()[1], 0);
}

// A sum of squares is nothing below zero, however far its error reaches.
TEST(Bounds, RootsOfWhatIsNeverNegativeAreBounded) {
  Judged j(R"(graph @g(%z: f32[1, 8] init zeros, %c: f32[1, 8], %t: f32[1, 8]) {
    %n = aten.linalg_vector_norm(%z, 2, [1]) %s = aten.norm.ScalarOpt_dim(%z, 2, [1]) %d = aten.std.correction(%c, [1])
    %r = aten.linalg_vector_norm(%t, 2, [1]) %p = aten.linalg_vector_norm(%t, 3, [1])
    return %n, %s, %d, %r, %p
  })",
           {{}, std::vector<double>(8, 0.7), std::vector<double>(8, 1e-30)});
  EXPECT_EQ(j.errors(0)[0], 0);
  EXPECT_EQ(j.errors(1)[0], 0);
  EXPECT_LT(j.errors(2)[0], 1e-6);
  EXPECT_LT(j.errors(3)[0], 1e-21);
  EXPECT_LT(j.errors(4)[0], 1e-13);
  EXPECT_FALSE(j.verdict().mismatch);
}

// What is written over, or taken from a number that is not, may be negative again.
TEST(Bounds, NeverNegativeEndsWithWhatIsWritten) {
  Judged j(R"(graph @g(%x: f32[600] init uniform(1, 2, seed=1)) {
    %e = aten.exp(%x) %d = aten.sub(%e, %e) %s = aten.mul(%d, %d)
    %a = aten.sqrt(%s) %w = aten.add_(%s, %d) %b = aten.sqrt(%w) %n = aten.neg(%s) %c = aten.sqrt(%n)
    return %a, %b, %c
  })");
  EXPECT_TRUE(std::isfinite(j.errors(0)[0]));
  EXPECT_TRUE(std::isinf(j.errors(1)[0]));
  EXPECT_TRUE(std::isinf(j.errors(2)[0]));
}

// What is written to a part, over what is not negative, says nothing of the rest.
TEST(Bounds, NeverNegativeIsNotWhatOnlyAPartIs) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %a = aten.exp(%x) %b = aten.mul(%a, %a) %c = aten.mul(%b, %b) %d = aten.mul(%c, %c) %f = aten.mul(%d, %d)
    %g = aten.mul(%f, %f) %e = aten.mul(%g, %g)
    %n = aten.neg(%e) %both = aten.cat([%e, %n])
    %s = aten.slice(%both, 0, 0, 2) %p = aten.abs(%e) %w = aten.copy_(%s, %p)
    %y = aten.atan(%both)
    return %y
  })",
           {{0.01, 0.02}});
  EXPECT_GT(j.errors()[2], 8 * kUlp);
  EXPECT_FALSE(j.with(0, 2, j.values()[2] - 6 * kUlp).mismatch);
  EXPECT_FALSE(j.with(0, 2, j.values()[2] + 6 * kUlp).mismatch);
}

// Whoever computes a function gives its zeros, and ones at zero and far out, with their signs: what hangs on them is
// certain.
TEST(Bounds, ZerosAndOnesOfFunctionsAreExact) {
  Judged j(R"(graph @g(%x: f32[4]) {
    %a = aten.tanh(%x) %b = aten.log1p(%x) %c = aten.exp(%x) %d = aten.eq(%c, 1.0) %e = aten.reciprocal(%a)
    %l = aten.log(%c) %t = aten.mul(%x, 3.0) %r = aten.remainder(%t, 3.0) %w = aten.eq(%r, 0.0)
    return %a, %b, %d, %e, %l, %w
  })",
           {{0, -0.0, 2, INFINITY}});
  EXPECT_FALSE(j.verdict().mismatch);
  for (size_t output = 0; output < 6; ++output) EXPECT_EQ(j.errors(output)[0], 0) << output;
  EXPECT_EQ(j.errors(0)[3], 0);
  EXPECT_GT(j.errors(0)[2], 0);
  EXPECT_TRUE(j.with(0, 1, 0.0).mismatch);
  EXPECT_TRUE(j.with(1, 0, 1e-45).mismatch);
}

TEST(Bounds, AComparisonWithinReachIsAmbiguousAndOneOutOfReachIsNot) {
  // The inverse of a root of 1 may fall on either side of it.
  Judged j(R"(graph @g(%x: f32[4]) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %w = aten.where(%c, %e, 5.0) return %w })",
           {{1, 0.5, 0.25, 0.125}});
  EXPECT_GE(j.errors()[0], 4);
  EXPECT_LT(j.errors()[1], 1e-5);
  Judgement v = j.verdict();
  EXPECT_FALSE(v.mismatch);
  EXPECT_EQ(v.shares.ambiguous, 1u);
  EXPECT_TRUE(v.shares.weak());
}

TEST(Bounds, AnIndexAmongRivalsIsOpenAndAClearOneIsNot) {
  std::string_view text = "graph @g(%x: f32[3]) { %e = aten.exp(%x) %i = aten.argmax(%e) return %i }";
  Judged close(text, {{1, 1.00000012, -2}}), clear(text, {{1, 2, -2}});
  EXPECT_EQ(close.verdict().shares.ambiguous, 1u);
  EXPECT_EQ(clear.verdict().shares.ambiguous, 0u);
}

TEST(Bounds, OfAnOrderNobodyAskedToBeStableIndicesOfEqualElementsAreOpen) {
  auto errors = [](const char* stable) {
    return Judged(
        "graph @g(%x: f32[3]) { %v, %i = aten.sort.stable(%x, stable=" + std::string(stable) + ") return %v, %i }",
        {{1, 0, 1}});
  };
  EXPECT_EQ(errors("true").errors(1), (std::vector<double>{0, 0, 0}));
  for (const char* stable : {"false", "none"}) {
    EXPECT_EQ(errors(stable).errors(0), (std::vector<double>{0, 0, 0})) << stable;
    EXPECT_EQ(errors(stable).errors(1), (std::vector<double>{0, 2, 2})) << stable;
  }
}

// Zero lies inside the interval, not at its ends.
TEST(Bounds, WhetherAnyIsTrueIsOpenWhereAllMayBeZero) {
  std::string_view text = "graph @g(%x: f32[2]) { %s = aten.sigmoid(%x) %a = aten.any(%s) return %a }";
  EXPECT_EQ(Judged(text, {{-140, -150}}).errors()[0], 1);
  EXPECT_EQ(Judged(text, {{-140, 1}}).errors()[0], 0);
}

// A large number says of what hangs on it that an error is small, not of anything else.
TEST(Bounds, InputsThatAResultDoesNotHangOnSayNothingOfItsErrors) {
  auto weak = [](const std::string& other) {
    return Judged(
               "graph @g(%x: f32[1], %b: f32[1]) { %s = aten.add(%x, 1e8) %q = aten.mul(%s, %x)"
               " %p = aten.mul(%x, 1e8) %y = aten.sub(%q, %p) " +
                   other + "}",
               {{1.3}, {1e30}})
        .verdict()
        .shares.weak();
  };
  EXPECT_TRUE(weak("%c = aten.mul(%b, 1.0) return %y, %c"));
  EXPECT_FALSE(weak("%c = aten.mul(%b, 1.0) %z = aten.add(%y, %c) return %z"));
}

TEST(Bounds, WhatMayOverflowIsOpen) {
  Judged j("graph @g(%x: f16[1] init ones) { %y = aten.mul(%x, 65504) %z = aten.add(%y, 16) return %z }");
  EXPECT_TRUE(std::isinf(j.errors()[0]));
}

TEST(Bounds, NaNAndInfinityStandWhereTheyMust) {
  Judged j(R"(graph @g(%x: f32[4]) { %l = aten.log(%x) %y = aten.add(%l, 1) return %y })", {{-1, 0, 1, INFINITY}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.errors()[0], 0);
  auto wrong = j.with(0, 0, 3).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::special);
  EXPECT_TRUE(
      Judged(R"(graph @g(%x: f32[4]) { %l = aten.log(%x) %y = aten.add(%l, 1) return %y })", {{-1, 0, 1, INFINITY}})
          .with(0, 3, -INFINITY)
          .mismatch);
}

// A weight that comes to nothing in storage, and would not in the reference: times an infinity it is NaN there.
TEST(Bounds, AnInfinityTimesWhatMayVanishIsOpen) {
  for (const char* product : {"aten.mm(%p, %w)", "aten.baddbmm(%p3, %p3, %w3, beta=0)"}) {
    Judged j(
        "graph @g(%x: f32[2, 2], %w: f32[2, 2]) { %p = aten._softmax(%x, 1, false) %p3 = aten.unsqueeze(%p, 0) "
        "%w3 = aten.unsqueeze(%w, 0) %y = " +
            std::string(product) + " return %y }",
        {{-200, 0, 1, 0}, {-INFINITY, 1, 2, 3}});
    EXPECT_FALSE(j.verdict().mismatch) << product << ": " << j.verdict().mismatch->summary();
    EXPECT_TRUE(std::isinf(j.errors()[0])) << product;
    EXPECT_TRUE(std::isfinite(j.errors()[1])) << product;
    EXPECT_EQ(j.errors()[2], 0) << product << ": this weight is some number";
    EXPECT_TRUE(j.with(0, 2, 1).mismatch) << product;
    EXPECT_TRUE(j.with(0, 2, NAN).mismatch) << product;
  }
}

// Eager's float64 would count from there to zero.
TEST(Bounds, FarBelowZeroNobodyCounts) {
  const double far = -10.25 * 12345678.9, near = far - std::floor(far) - 4000;
  Judged j("graph @g(%x: f32[1]) { %f = aten.mul(%x, 12345678.9) %y = aten.polygamma(4, %f) return %y }", {{-10.25}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  Judged k("graph @g(%x: f64[1]) { %y = aten.polygamma(4, %x) return %y }", {{near}});
  EXPECT_NEAR(j.values()[0] / k.values()[0], 1, 1e-6) << "what is left of a sum over all integers";
  // Nor where eager's kernels are asked what they make of an element at the end of its dtype, each in vectors of it.
  Judged both("graph @g(%x: f64[2]) { %y = aten.polygamma(4, %x) return %y }", {{-1.5e7 - 0.25, 0}},
              Widening::bounds_of_eager);
  EXPECT_FALSE(both.verdict().mismatch) << both.verdict().mismatch->summary();
}

// Eager's kernels make of it what the processor does, or what the compiler took for granted.
TEST(Bounds, SumsOfWhatNoIntegerIs) {
  for (const char* call : {"aten.cumsum(%x, 0, dtype=i32)", "aten.sum(%x, dtype=i32)", "aten.prod(%x, dtype=i32)"}) {
    const std::string graph = "graph @g(%x: f32[3]) { %y = " + std::string(call) + " return %y }";
    for (const double none : {static_cast<double>(INFINITY), static_cast<double>(NAN), -3e9}) {
      Judged j(graph, {{1.5, none, 2.5}});
      EXPECT_FALSE(j.verdict().mismatch) << call << none;
      EXPECT_TRUE(std::isinf(j.errors()[0])) << call << none;
    }
    Judged whole(graph, {{1.5, -4.5, 2.5}});
    EXPECT_FALSE(whole.verdict().mismatch) << call;
    EXPECT_EQ(whole.errors()[0], 0) << call;
  }
}

// f8e4m3 has none.
TEST(Bounds, InfinitiesThatADtypeHasNot) {
  Judged j(
      "graph @g(%x: f32[3]) { %l = aten.erf(%x) %y = aten.to(%x, f8e4m3) %z = aten.to(%y, f32) return %z, %l, %x }",
      {{INFINITY, 2, -INFINITY}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_TRUE(j.with(0, 0, INFINITY).mismatch);
  EXPECT_TRUE(j.with(0, 2, 448).mismatch);
  EXPECT_TRUE(j.with(2, 0, NAN).mismatch) << "what was converted keeps its own";
}

// Whatever else is uncertain.
TEST(Bounds, WhatMeetsANaNIsNaN) {
  std::vector<double> x(40, 1.0);
  x[7] = NAN;
  for (const char* call :
       {"aten._softmax(%x, 1, false)", "aten._log_softmax(%x, 1, false)", "aten.logsumexp(%x, [1])",
        "aten.linalg_vector_norm(%x, 2, [1])", "aten.linalg_vector_norm(%x, 3, [1])", "aten.var(%x, [1])",
        "aten.sum(%p, [1])", "aten.mean(%p, [1])", "aten.mm(%p, %w)", "aten.prod(%p)", "aten.cumsum(%p, 1)"}) {
    Judged j(
        "graph @g(%x: f32[1, 40], %w: f32[40, 3]) { %p = aten.mul(%x, 1.3) %y = " + std::string(call) + " return %y }",
        {x, std::vector<double>(120, 0.0)});
    EXPECT_FALSE(j.verdict().mismatch) << call;
    const auto last = static_cast<size_t>(j.values().size() - 1);
    EXPECT_TRUE(std::isnan(j.values()[last])) << call;
    EXPECT_TRUE(j.with(0, last, 0).mismatch) << call;
  }
}

// It may be kept wider on the way, and must be an infinity where it is stored.
TEST(Bounds, WhatOverflowsForCertainIsStoredAsAnInfinity) {
  for (const char* graph : {"graph @g(%x: f16[1]) { %y = aten.add(%x, %x) return %y }",
                            "graph @g(%x: f16[1]) { %y = aten.exp(%x) return %y }",
                            "graph @g(%x: f16[1]) { %z = aten.mul_(%x, %x) return %x }",
                            "graph @g(%x: f16[1]) { %t = aten.expand(%x, [3]) %y = aten.sum(%t) return %y }"}) {
    Judged j(graph, {{40000}});
    EXPECT_FALSE(j.verdict().mismatch) << graph;
    for (const double bad : {0.0, -5.0, 65504.0, static_cast<double>(NAN), -static_cast<double>(INFINITY)})
      EXPECT_TRUE(j.with(0, 0, bad).mismatch) << graph << bad;
  }
  Judged maybe("graph @g(%x: f16[1], %y: f16[1]) { %z = aten.add(%x, %y) return %z }", {{65504}, {15}});
  EXPECT_FALSE(maybe.with(0, 0, 65504).mismatch);
  Judged kept("graph @g(%x: f16[1]) { %y = aten.add(%x, %x) %z = aten.mul(%y, 0.25) return %z }", {{40000}});
  EXPECT_FALSE(kept.with(0, 0, 20000).mismatch);  // computed in one go
  EXPECT_FALSE(kept.with(0, 0, INFINITY).mismatch);
}

// Of float64 too, which its reference can't hold: what a product makes with the sum behind it may be one step, and
// eager has another way than a definition's. A pole is no overflow.
TEST(Bounds, WhatFloat64HasNoRoomForIsOpenOnTheWay) {
  Judged j(R"(graph @g(%x: f64[1], %y: f64[1], %z: f64[1]) {
    %p = aten.mul(%x, %x) %d = aten.sub(%p, %y) %c = aten.cosine_similarity(%x, %x, dim=0)
    %r = aten.reciprocal(%z) %n = aten.softplus(%r) %l = aten.log(%z)
    return %p, %d, %c, %r, %n, %l
  })",
           {{1e200}, {INFINITY}, {0}});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_FALSE(j.with(1, 0, -INFINITY).mismatch);
  EXPECT_FALSE(j.with(2, 0, 0).mismatch);
  for (size_t output : {0, 3, 4, 5}) {
    const double right = output == 5 ? -INFINITY : INFINITY;
    EXPECT_TRUE(j.with(output, 0, 1).mismatch) << output;
    EXPECT_FALSE(j.with(output, 0, right).mismatch) << output;
  }
}

TEST(Bounds, AnOpenPredicateOpensWhatFollows) {
  Judged j(R"(graph @g(%x: f32[1]) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %p = aten.any(%c)
    %r = lenz.cond(%p, @yes, @no, [%x])
    return %r
  }
  graph @yes(%x: f32[1]) { %y = aten.add(%x, 1.0) return %y }
  graph @no(%x: f32[1]) { %y = aten.sub(%x, 1.0) return %y })",
           {{1}});
  EXPECT_TRUE(j.verdict().shares.weak());
}

TEST(Bounds, CancellationIsWideThereAndNowhereElse) {
  Judged j(R"(graph @g(%x: f32[2], %y: f32[2]) {
    %a = aten.exp(%x) %b = aten.exp(%y) %d = aten.sub(%a, %b) return %d
  })",
           {{1, 1}, {1.0000001, -3}});
  EXPECT_GT(j.errors()[0] / std::fabs(j.values()[0]), 0.1);
  EXPECT_LT(j.errors()[1] / std::fabs(j.values()[1]), 1e-6);
}

TEST(Bounds, ANumberReadFromASumIsOffByWhatTheSumIs) {
  Judged j(R"(graph @g(%x: f32[64] init uniform(1.0, 2.0, seed=1), %w: f32[2] init ones) {
    %s = aten.sum(%x) %n: float = aten._local_scalar_dense(%s)
    %q = aten.div(%w, %n) %a = aten.add(%w, %w, alpha=%n) %i = aten.div_(%w, %n) %f = aten.full([2], %n, dtype=f32)
    %ones = aten.ones_like(%x) %m = aten.amax(%ones) %c: float = aten._local_scalar_dense(%m) %e = aten.mul(%ones, %c)
    return %q, %a, %i, %f, %e
  })");
  for (size_t output : {0, 1, 2}) {
    EXPECT_GT(j.errors(output)[0] / j.values(output)[0], kUlp) << output;
    EXPECT_LT(j.errors(output)[0] / j.values(output)[0], 64 * kUlp) << output;
  }
  EXPECT_TRUE(std::isinf(j.errors(3)[0])) << "no rule asks how far a number is off";
  EXPECT_EQ(j.errors(4)[0], 0) << "a certain one";
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, NumbersInATensorThatAListIsComputedWithAreAsUncertain) {
  Judged j(R"(graph @g(%x: f32[4] init uniform(1.0, 2.0, seed=1), %y: f64[2] mut init ones) {
    %c = aten.cumsum(%x, 0) %n = aten.slice(%c, start=3) %f = aten.to(%n, f64)
    aten._foreach_addcdiv_([%y], [%y], [%y], %f)
    return %y
  })");
  EXPECT_GT(j.errors()[0], 0);
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, PartsOfComplexNumbersAreWrittenThroughAViewAsTheirDtype) {
  Judged j(R"(graph @g(%x: c64[2] mut init uniform(1.0, 2.0, seed=1), %s: f32[4] init uniform(1.0, 2.0, seed=2)) {
    %v = aten.view(%x, f32) %e = aten.exp(%s) %w = aten.copy_(%v, %e) %r = aten.view(%w, c64) %y = aten.real(%r)
    return %y
  })");
  EXPECT_NEAR(j.values()[0], std::exp(1.5), std::exp(1.0)) << "what was written";
  EXPECT_GT(j.errors()[0], 0);
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, AnExternIsTheSameKernelWhoeverCallsIt) {
  Judged j(
      R"graph(extern "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)"
  graph @g(%x: f32[4, 4] init normal(0.0, 1.0, seed=1)) {
    %u: f32[4, 4] strides [1, 4], %s: f32[4], %v: f32[4, 4] strides [1, 4] = aten._linalg_svd(%x, false, true)
    %big = aten.exp(%x)
    %u2: f32[4, 4] strides [1, 4], %s2: f32[4], %v2: f32[4, 4] strides [1, 4] = aten._linalg_svd(%big, false, true)
    return %s, %s2
  })graph");
  EXPECT_EQ(j.errors(0)[0], 0);
  EXPECT_TRUE(std::isinf(j.errors(1)[0])) << "of what is uncertain nothing is known";
  EXPECT_FALSE(j.verdict().mismatch);
}

// What eager loses beside a pole of its formula is no reference, also where another element is an infinity or none.
TEST(Bounds, FunctionsOfFloat64AreBetterThanEagersBesideInfinities) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  Judged j("graph @g(%x: f64[4]) { %y = aten.digamma(%x) return %y }", {{-13111.888583131904, kInfinite, 0.0, kNan}});
  EXPECT_EQ(j.values()[0], 0.8755871954561663);
  EXPECT_LT(j.errors()[0], 5e-15);
  EXPECT_EQ(j.values()[1], kInfinite);
}

}  // namespace
}  // namespace lenz::oracle
