// What rounding alone makes of bounds: which way, how far, and where it does nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/scalar/double_double.h"
#include "oracle/bounds/judged_case.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {
namespace {

constexpr double kUlp = 0x1p-23;  // of f32, at one

TEST(Bounds, OfOneCertainSumIsWhatRoundingDoesToIt) {
  Judged j("graph @g(%x: f32[1], %y: f32[1]) { %z = aten.add(%x, %y) return %z }", {{1.0}, {0x1p-30}});
  EXPECT_EQ(j.values()[0], 1 + 0x1p-30);
  EXPECT_GE(j.errors()[0], 0x1p-30);
  EXPECT_LT(j.errors()[0], 0x1.001p-30);
  EXPECT_FALSE(j.verdict().mismatch);
  auto wrong = j.with(0, 0, static_cast<float>(1 + kUlp)).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bound);
  EXPECT_EQ(wrong->what, "output 0");
}

// Both parts of a complex number may be off by half a place, which is more than half a place of its size.
TEST(Bounds, OfComplexNumbersBothPartsRound) {
  const double off = 0.99 * 0x1p-23, part = 2 + off;
  Judged j(R"(graph @g(%x: f64[1], %y: f64[1]) {
    %z = aten.complex(%x, %y) %n = aten._to_copy(%z, dtype=c64) %w = aten._to_copy(%n, dtype=c128) return %w })",
           {{part}, {part}});
  EXPECT_GE(j.errors()[0], std::hypot(off, off));
  EXPECT_LE(j.errors()[0], 0x1.7p-23);
}

// Though float64 has no number for its modulus.
TEST(Bounds, OfComplexNumbersWhosePartsOverflowNothingIsKnown) {
  const double part = std::numeric_limits<double>::max();
  Judged j(R"(graph @g(%x: f64[1], %y: f64[1]) {
    %z = aten.complex(%x, %y) %n = aten._to_copy(%z, dtype=c64) return %n })",
           {{-part}, {part}});
  EXPECT_EQ(j.errors()[0], HUGE_VAL);
}

// In float64 too, of which the reference is one number: how far that lies from the exact one is known.
TEST(Bounds, OfOneCertainSumOrProductInFloat64IsWhatRoundingDoesToIt) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const double x = 1 + std::ldexp(static_cast<double>(random() >> 11), -53), y = 0.3 * x * x;
    Judged j(R"(graph @g(%x: f64[1], %y: f64[1]) {
      %s = aten.add(%x, %y) %p = aten.mul(%x, %y) %r = aten.rsub(%x, 7.0) return %s, %p, %r })",
             {{x}, {y}});
    const double rests[] = {dd::two_sum(x, y).lo, dd::two_product(x, y).lo, dd::two_sum(7, -x).lo};
    for (size_t i = 0; i < 3; ++i) {
      if (std::fabs(rests[i]) > 0.49 * last_place(Dtype::f64, j.values(i)[0]))
        continue;  // by two roundings it may be more
      EXPECT_GE(j.errors(i)[0], std::fabs(rests[i])) << i;
      EXPECT_LE(j.errors(i)[0], std::fabs(rests[i]) * (1 + 0x1p-40)) << i;
    }
  }
  Judged one("graph @g(%x: f64[1]) { %e = aten.exp(%x) %l = aten.log(%e) return %e, %l }", {{0.0}});
  EXPECT_LT(one.errors(0)[0], 0x1.01p-52);  // the function's own place: the reference is exact
  EXPECT_LT(one.errors(1)[0], 0x1.01p-52);
}

// Each step of float64 is rounded, or kept as it is: whatever is chosen, results lie within the bounds, and come near.
TEST(Bounds, OfFloat64HoldWhateverIsRounded) {
  std::mt19937_64 random(9);
  double nearest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const double x = std::ldexp(static_cast<double>(random() >> 11), -51) + 0.25;
    const double y = std::ldexp(static_cast<double>(random() >> 11), -53) - 0.5;
    Judged j(R"(graph @g(%x: f64[1], %y: f64[1]) {
      %a = aten.rsub(%x, 7.0) %b = aten.add(%a, %x) %p = aten.mul(%b, %y) %q = aten.mul(%a, %a)
      %c = aten.sub(%p, %q) %d = aten.add(%c, %q) %e = aten.mul(%d, 0.37)
      return %b, %p, %c, %d, %e })",
             {{x}, {y}});
    EXPECT_FALSE(j.verdict().mismatch);
    for (int choice = 0; choice < 256; ++choice) {
      int at = 0;
      auto kept = [&](DoubleDouble v) { return (choice >> at++ & 1) != 0 ? v : DoubleDouble(v.hi); };
      const DoubleDouble a = kept(DoubleDouble(7) - DoubleDouble(x)), b = kept(a + DoubleDouble(x));
      const DoubleDouble p = kept(b * DoubleDouble(y)), q = kept(a * a), c = kept(p - q), d = kept(c + q);
      const DoubleDouble results[] = {b, p, c, d, kept(d * DoubleDouble(0.37))};
      for (size_t i = 0; i < 5; ++i) {
        const double error = j.errors(i)[0];
        for (const DoubleDouble& r : {results[i], DoubleDouble(results[i].hi)}) {
          const double off = std::fabs(static_cast<double>(r - DoubleDouble(j.values(i)[0])));
          ASSERT_LE(off, error * (1 + 0x1p-50)) << i;
          if (error > 0) nearest = std::max(nearest, off / error);
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.9);
}

// 7 - x may be kept as it is, and then x added to it is 7; or it is rounded, and only what that took away is missing.
TEST(Bounds, OfFloat64KnowWhichWayOperandsWereRounded) {
  const double x = 0.3;  // 7 - x is rounded up
  const double rest = dd::two_sum(7, -x).lo;
  Judged j(R"(graph @g(%x: f64[1]) { %a = aten.rsub(%x, 7.0) %b = aten.add(%a, %x) return %a, %b })", {{x}});
  EXPECT_EQ(j.values(1)[0], 7);
  EXPECT_LE(j.errors(1)[0], std::fabs(rest) * (1 + 0x1p-40));  // not twice
}

// A definition that is one sum has no other formula; nor has a sum that f32 holds anything to lose there.
TEST(Bounds, OfOneSumUnderAnotherNameAreThoseOfTheSum) {
  for (const char* dtype : {"bf16", "f16", "f32", "f64"}) {
    Judged j(std::string("graph @g(%x: ") + dtype + "[16] init uniform(1, 9, seed=3), %y: " + dtype + R"([16]
      init uniform(1, 9, seed=4)) { %s = aten.sub(%y, %x) %r = aten.rsub(%x, %y) return %s, %r })");
    EXPECT_EQ(j.errors(0), j.errors(1)) << dtype;
  }
  Judged held(R"(graph @g(%x: bf16[2]) { %s = aten.add(%x, 0.00390625) %w = aten._to_copy(%s, dtype=f64) return %w })",
              {{0.5, 1.0078125}});
  EXPECT_EQ(held.errors()[0], 0);
  EXPECT_NEAR(held.errors()[1], 0x1p-8, 0x1p-40);  // 1.01171875 lies half way, and is stored as 1.015625, or kept
  EXPECT_FALSE(held.with(0, 1, 1.01171875).mismatch);
  EXPECT_TRUE(held.with(0, 1, 1.0078125).mismatch);
}

// Of what is open the interval's ends are rounded.
TEST(Bounds, OfOneOpenSumIsHowFarRoundingTakesTheEnds) {
  auto error = [](double x) {
    return Judged("graph @g(%x: f32[1], %y: f32[1]) { %s = aten.add(%x, %y) %z = aten.add(%s, %x) return %z }",
                  {{x}, {0x1p-30}})
        .errors()[0];
  };
  EXPECT_GE(error(1), 0x1p-30);  // s is 1 or 1 + 2^-30, z may be kept so or be 2
  EXPECT_LT(error(1), 0x1.01p-29);
}

// Another formula for a step of a definition computes in f32: what is stored between is rounded as any number is, and
// what a narrow dtype holds is off by no more than f32 is.
TEST(Bounds, StepsOfDefinitionsInNarrowDtypesAreRoundedToNearest) {
  auto error = [](const char* dtype, std::vector<double> x) {
    return Judged("graph @g(%x: f32[2]) { %y = aten._to_copy(%x, dtype=" + std::string(dtype) +
                      ") %t = aten.flip(%y, [0]) %z = aten.mse_loss(%y, %t) return %z }",
                  {std::move(x)})
        .errors()[0];
  };
  for (const char* dtype : {"bf16", "f16"})
    EXPECT_LT(error(dtype, {0, 4}), 0x1p-13) << dtype;  // every step is a whole number
  EXPECT_GT(error("bf16", {1, 0.0078125}), 0x1p-16);    // the square may be stored
}

// Eager's root may be off by a place of f32; what is narrower goes through it, and is rounded once.
TEST(Bounds, RootsOfNarrowNumbersAreRoundedToNearest) {
  auto error = [](const char* dtype, const char* of) {
    return Judged("graph @g(%x: f32[1]) { %y = aten._to_copy(%x, dtype=" + std::string(dtype) + ") %z = aten." + of +
                      "(%y) return %z }",
                  {{2.0}})
        .errors()[0];
  };
  const double half_place = 0x1p-8;  // of bf16, at the root of two
  EXPECT_LT(error("bf16", "sqrt"), half_place);
  EXPECT_GT(error("bf16", "sqrt"), 0.999 * std::fabs(std::sqrt(2.0) - 1.4140625));
  EXPECT_LT(error("f16", "sqrt"), half_place / 8);
  EXPECT_GT(error("f32", "sqrt"), 0x1p-24);
}

// Functions of narrow numbers are computed in f32, within their class there, and rounded once: the number next to the
// right one is wrong. Where eager stores steps in the narrow dtype it is not.
TEST(Bounds, FunctionsOfNarrowNumbersAreComputedInFloat) {
  auto next_is_wrong = [](const char* dtype, const char* of, double one, double next) {
    Judged j("graph @g(%x: f32[1]) { %y = aten._to_copy(%x, dtype=" + std::string(dtype) + ") %z = aten." + of +
                 "(%y) return %z }",
             {{one}});
    EXPECT_FALSE(j.verdict().mismatch) << dtype << " " << of;
    return j.with(0, 0, next).mismatch.has_value();
  };
  EXPECT_TRUE(next_is_wrong("bf16", "exp", 1, 2.734375));  // 2.71828, stored as 2.71875
  EXPECT_TRUE(next_is_wrong("f16", "exp", 1, 2.716796875));
  EXPECT_TRUE(next_is_wrong("bf16", "tanh", 1, 0.7578125));      // 0.761594, stored as 0.76171875
  EXPECT_FALSE(next_is_wrong("bf16", "logit", 0.25, -1.09375));  // -1.098612, stored as -1.1015625
}

// Where a row says that its steps are taken in f32, whatever they are stored in, nobody has lost what a narrow step
// that cancels would lose.
TEST(Bounds, StepsThatAreTakenInFloatAreNotRoundedBetween) {
  const std::pair<const char*, double> rows[] = {
      {"tanh_backward(%y, %y)", 0.99609375}, {"hardswish_backward(%y, %y)", -1.4921875}, {"elu(%y)", -0.0625}};
  for (const char* dtype : {"bf16", "f16"})
    for (const auto& [of, at] : rows) {
      Judged j("graph @g(%x: f32[1]) { %y = aten._to_copy(%x, dtype=" + std::string(dtype) + ") %z = aten." + of +
                   " return %z }",
               {{at}});
      EXPECT_FALSE(j.verdict().mismatch) << dtype << " " << of;
      const double value = j.values()[0];
      EXPECT_LT(j.errors()[0], std::fabs(value) * 0x1p-6) << dtype << " " << of;
      EXPECT_TRUE(j.with(0, 0, value * 1.02).mismatch) << dtype << " " << of;
    }
}

// Below the normal numbers a step of a polynomial rounds by half the least one.
TEST(Bounds, StepsOfPolynomialsOfSubnormalsRoundToTheLeastNumber) {
  Judged j("graph @g(%x: f32[1], %n: f32[1]) { %y = aten.special_legendre_polynomial_p(%x, %n) return %y }",
           {{0x1p-149}, {3.0}});  // minus one and a half of them
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, -0x1p-149).mismatch);
  EXPECT_FALSE(j.with(0, 0, -0x1p-148).mismatch);
  EXPECT_TRUE(j.with(0, 0, 0x1p-140).mismatch);
}

// A number that a dtype can't hold is what stands there, or what it becomes: one way alone, for all that read it.
TEST(Bounds, NumbersAreOffTheWayThatTheyAreRounded) {
  // In bf16 0.1 is 0.10009765625: no product is less than with 0.1, rounded.
  Judged j(R"(graph @g(%x: f32[1]) {
    %y = aten._to_copy(%x, dtype=bf16)
    %w = aten.mul(%y, 0.1)
    %z = aten._to_copy(%w, dtype=f32)
    return %z
  })",
           {{96.0}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, 96 * 0.10009765625).mismatch);
  EXPECT_FALSE(j.with(0, 0, 9.625).mismatch);  // 9.609375, in bf16
  EXPECT_TRUE(j.with(0, 0, 9.59).mismatch);    // as far the other way
  EXPECT_TRUE(j.with(0, 0, 9.5625).mismatch);
}

// By a scatter that multiplies too: of bf16 -70000 is -70144.
TEST(Bounds, ANumberThatIsScatteredIsOneOfTheDtype) {
  Judged j(R"(graph @g(%x: bf16[1], %i: i64[1]) {
    %y = aten.scatter.value_reduce(%x, 0, %i, -70000.0, reduce="multiply")
    return %y
  })",
           {{1.2890625}, {0.0}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, -90624).mismatch);  // eager's; the product is -90234
  EXPECT_TRUE(j.with(0, 0, -92160).mismatch);
}

// What is allowed more than half a place may go past the end where the exact number does not.
TEST(Bounds, OfFunctionsNextToTheEndOfTheirDtypeAreOpen) {
  auto error = [](double x) {
    return Judged("graph @g(%x: bf16[1]) { %z = aten.xlogy(%x, 3) return %z }", {{x}}).errors()[0];
  };
  EXPECT_TRUE(std::isinf(error(0x1.d0p127)));  // eager's own is an infinity
  EXPECT_FALSE(std::isinf(error(0x1.b0p127)));
  auto added = [](double x) {
    return Judged("graph @g(%x: f32[1], %y: f32[1]) { %z = aten.add(%x, %y) return %z }", {{x}, {x}}).errors()[0];
  };
  EXPECT_FALSE(std::isinf(added(0x1.fffffep126)));  // rounded to nearest: the largest number
  auto length = [](double re, double im) {
    return Judged("graph @g(%x: f32[1], %y: f32[1]) { %z = aten.complex(%x, %y) %a = aten.abs(%z) return %a }",
                  {{re}, {im}})
        .errors()[0];
  };
  EXPECT_TRUE(std::isinf(length(2.752942002356635e38, -2.0001293378304098e38)));  // a fifth of a place below the end
  EXPECT_FALSE(std::isinf(length(2.7e38, -2.0e38)));
}

// However whole the numbers, eager takes the difference of both ends first.
// Eager rounds to f32 first, and then to even where that lies halfway: among subnormals too.
TEST(Bounds, TwoRoundingsMayExceedHalfOfTheLeastNumber) {
  const double x = -2.6971102264901486e-05, half = 0x1p-25;
  const Judged j("graph @g(%x: f64[1]) { %y = aten._to_copy(%x, dtype=f16) return %y }", {{x}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_GT(j.errors()[0], half);
  EXPECT_LT(j.errors()[0], half * 1.01);
}

TEST(Bounds, OfEvenlySpacedNumbersAreOpenWhereTheEndsAreTooFarApart) {
  const char* text = "graph @g(%x: f16[], %y: f16[]) { %z = aten.linspace(%x, %y, 5, dtype=f16) return %z }";
  EXPECT_TRUE(std::isinf(Judged(text, {{32000}, {-48000}}).errors()[0]));  // NaN
  EXPECT_EQ(Judged(text, {{32000}, {-32000}}).errors()[0], 0);
}

// exp(b log a): places of the exponent are many of the power.
TEST(Bounds, OfComplexPowersGrowWithTheirExponents) {
  auto error = [](const char* exponent) {
    return Judged("graph @g(%x: f32[1], %y: f32[1]) { %a = aten.complex(%x, %y) %z = aten.pow(%a, " +
                      std::string(exponent) + ") return %z }",
                  {{0.6}, {0.8}})
        .errors()[0];
  };
  EXPECT_LT(error("5.0"), 0x1p-12);
  EXPECT_GT(error("5000.0"), 5000 * 0.9 * 0x1p-23);
  EXPECT_LT(error("5000.0"), 5000 * 8 * 0x1p-23);
}

// How steep the sine is where it is asked, not how steep it gets.
TEST(Bounds, OfASineIsItsSlopeThere) {
  auto error = [](double x) {
    return Judged("graph @g(%x: f32[1]) { %y = aten.mul(%x, 1.25) %z = aten.sin(%y) return %z }", {{x}}).errors()[0];
  };
  const double turning = error(1.2566370614), steep = error(100.5309649149);  // at a quarter turn, and after 20 turns
  EXPECT_LT(turning, 2 * kUlp);
  EXPECT_GT(steep, 16 * kUlp);
}

// What compilers make of a power of a small whole exponent: products, each rounded.
TEST(Bounds, APowerMayBeTakenForProducts) {
  auto power = [](const std::string& of) {
    return Judged("graph @g(%x: f32[1]) { %z = aten.pow(%x, " + of + ") return %z }", {{1.2345}});
  };
  const double thirteenth = 15.46, seventh = 0.2288;
  EXPECT_GT(power("13").errors()[0], 12 * 0x1p-24 * thirteenth);
  EXPECT_LT(power("13").errors()[0], 20 * 0x1p-24 * thirteenth);
  EXPECT_GT(power("-7").errors()[0], 7 * 0x1p-24 * seventh);
  EXPECT_LT(power("13.5").errors()[0], 2.1 * 0x1p-19);  // no products: two places
  EXPECT_LT(power("40").errors()[0], 2.1 * 0x1p-11);    // too many
}

TEST(Bounds, APowerOfTwoRoundsNothing) {
  auto error = [](const char* by, double x) {
    return Judged("graph @g(%x: f32[1]) { %z = aten." + std::string(by) + " return %z }", {{x}}).errors()[0];
  };
  EXPECT_EQ(error("mul(%x, 0.25)", 1.5), 0);
  EXPECT_EQ(error("div(%x, 8)", 1.5), 0);
  EXPECT_GT(error("mul(%x, 0.3)", 1.5), 0);
}

TEST(Bounds, ANarrowerRangeRoundsTooWhateverTheDigits) {
  // Below float16's smallest normal number its steps are of 2^-24: those of bfloat16 go on.
  Judged j(R"(graph @g(%x: bf16[1] init ones) {
    %s = aten.mul(%x, 3.904104232788086e-06) %h = aten._to_copy(%s, dtype=f16) %f = aten._to_copy(%h, dtype=f32)
    return %f
  })");
  EXPECT_GE(j.errors()[0], 0x1p-25);
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, InPlaceInANarrowerDtypeRoundsToIt) {
  Judged j(R"(graph @g(%x: f32[1] mut, %y: f64[1] init ones) { %z = aten.add_(%x, %y) return %z })", {{0x1p-30}});
  EXPECT_GE(j.errors()[0], 0x1p-30);
  EXPECT_FALSE(j.verdict().mismatch);
}

// Each of eager's threads keeps its part of a sum in the result's own dtype; nobody else may.
TEST(Bounds, EagersThreadsRoundTheirPartsOfASum) {
  constexpr size_t kMany = 65536;
  auto halves = [&](Widening widening, std::string_view dtype, size_t many = kMany) {
    std::vector<double> x(many, 0x1p-8);
    std::fill(x.begin() + static_cast<int64_t>(many / 2), x.end(), -0x1p-8);
    x[0] = 3;
    const std::string type = std::string(dtype) + "[" + std::to_string(many) + "]";
    return Judged("graph @g(%x: " + type + ") { %s = aten.sum(%x) return %s }", {x}, widening);
  };
  EXPECT_FALSE(halves(Widening::bounds_of_eager, "f16").with(0, 0, 3).mismatch);  // of 2.99609375, on two threads
  EXPECT_TRUE(halves(Widening::bounds_of_eager, "f16").with(0, 0, 3.5).mismatch);
  EXPECT_TRUE(halves(Widening::bounds, "f16").with(0, 0, 3).mismatch);
  EXPECT_TRUE(halves(Widening::bounds_of_eager, "f32").with(0, 0, 3).mismatch);
  EXPECT_TRUE(halves(Widening::bounds_of_eager, "f16", 1024).with(0, 0, 3).mismatch);
}

// What is certain is rounded one way, or kept as it is.
TEST(Lean, OfOneCertainSumIsWhereRoundingTakesIt) {
  for (const double way : {1.0, -1.0}) {
    Judged j("graph @g(%x: bf16[1], %y: bf16[1]) { %z = aten.add(%x, %y) return %z }", {{way}, {way * 0x1.8p-8}});
    const double near = way, far = way * (1 + 0x1p-7);
    EXPECT_FALSE(j.with(0, 0, far).mismatch);
    EXPECT_TRUE(j.with(0, 0, near).mismatch) << "rounded the wrong way";
  }
}

// Many numbers that are rounded the same way can't be off the other way together.
TEST(Lean, OfSumsIsThatOfTheirTerms) {
  Judged j(R"(graph @g(%x: bf16[64], %y: bf16[64]) {
    %z = aten.add(%x, %y)
    %neg = aten.neg(%z)
    %s = aten.sum(%neg, dtype=f32)
    return %s
  })",
           {std::vector<double>(64, 1.0), std::vector<double>(64, 0x1.8p-8)});
  const double exact = -64 * (1 + 0x1.8p-8), off = 64 * 0x1p-9;
  EXPECT_FALSE(j.with(0, 0, exact - off).mismatch);
  EXPECT_TRUE(j.with(0, 0, exact + off).mismatch);
}

// 3214.7 is kept as it is, or 3214; the whole number next to it is no number of the dtype.
TEST(Lean, OfWholeNumbersThatAreNoneOfTheDtype) {
  Judged j(R"(graph @g(%x: f16[1]) {
    %thousands = aten.mul(%x, 1000)
    %whole = aten.round(%thousands)
    return %whole
  })",
           {{0x1.9b8p+1}});  // 3.21484375
  EXPECT_FALSE(j.with(0, 0, 3214).mismatch);
  EXPECT_FALSE(j.with(0, 0, 3216).mismatch);
  EXPECT_TRUE(j.with(0, 0, 3210).mismatch);
}

// Of a number that is known it is known what f32 makes of it, before it is rounded to less.
TEST(Lean, OfCertainNumbersKnowsWhatIsKeptInFloat) {
  const double x = 1 + 0x1p-20 + 0x1p-30;  // kept as it is, 1 + 2^-20 or 1
  Judged j(R"(graph @g(%x: f64[1]) {
    %narrow = aten._to_copy(%x, dtype=bf16)
    %wide = aten._to_copy(%narrow, dtype=f64)
    %greater = aten.gt(%narrow, %x)
    return %wide, %greater
  })",
           {{x}});
  EXPECT_FALSE(j.with(0, 0, 1).mismatch);
  EXPECT_FALSE(j.with(0, 0, x).mismatch);
  EXPECT_TRUE(j.with(0, 0, x + 0x1p-25).mismatch);
  EXPECT_EQ(j.errors(1)[0], 0);  // it is not greater, whatever is kept
}

// What eager stores in a narrow dtype is a number of that: none of 0.5976... may be kept wider either.
TEST(Lean, OfWhatIsStoredNarrowEndsHalfwayToTheNextNumber) {
  Judged j(R"(graph @g(%x: bf16[1]) {
    %root = aten.rsqrt(%x)
    %wide = aten._to_copy(%root, dtype=f32)
    return %wide
  })",
           {{2.71875}});  // 0.60648, two places of 0.00390625 either way
  EXPECT_FALSE(j.with(0, 0, 0.6015625).mismatch);
  EXPECT_FALSE(j.with(0, 0, 0.6).mismatch);
  EXPECT_TRUE(j.with(0, 0, 0.599).mismatch);
}

// Squares of what is off both ways are farther off above: (1.5 + e)^2 lies e^2 beyond 2.25 + 3 e, (1.5 - e)^2 e^2
// above.
TEST(Lean, OfProductsIsLessTowardsZero) {
  Judged j(R"(graph @g(%x: bf16[1]) {
    %root = aten.rsqrt(%x)
    %wide = aten._to_copy(%root, dtype=f32)
    %square = aten.mul(%wide, %wide)
    return %square
  })",
           {{2.71875}});
  const double below = j.values()[0] - 0.599609375 * 0.599609375;
  EXPECT_FALSE(j.with(0, 0, j.values()[0] - 0.999 * below).mismatch);
  EXPECT_TRUE(j.with(0, 0, j.values()[0] - 1.003 * below).mismatch);
}

TEST(Lean, EndsWithWhatIsWritten) {
  Judged j(R"(graph @g(%x: bf16[2], %y: bf16[2], %w: bf16[2]) {
    %z = aten.add(%x, %y)
    %half = aten.select(%z, 0, 0)
    %from = aten.select(%w, 0, 0)
    %u = aten.mul(%from, %from)
    %v = aten.copy_(%half, %u)
    return %z
  })",
           {{1, 1}, {0x1.8p-8, 0x1.8p-8}, {1 + 0x1p-7, 1}});
  const double square = 1 + 0x1p-6;  // and 2^-14, which rounding takes away
  EXPECT_FALSE(j.with(0, 0, square).mismatch);
  EXPECT_TRUE(j.with(0, 0, square + 0x1p-7).mismatch);
  Judged whole(R"(graph @g(%x: bf16[2], %y: bf16[2]) {
    %z = aten.add(%x, %y)
    %whole = aten.view(%z, [2, 1])
    %v = aten.mul_(%whole, %whole)
    return %z
  })",
               {{1, 1}, {0x1.8p-8, 0x1.8p-8}});
  EXPECT_FALSE(whole.verdict().mismatch);
}

// A conversion of a certain number gives one, also where a definition is all there is to it.
TEST(Bounds, TiesOfConversionsGoToEven) {
  Judged j("graph @g(%x: f32[1]) { %y = aten.to(%x, dtype=bf16) return %y }", {{1.00390625}});
  EXPECT_FALSE(j.with(0, 0, 1).mismatch);
  EXPECT_TRUE(j.with(0, 0, 1.0078125).mismatch);
}

TEST(Bounds, RootsOfFloat64AreRoundedOnce) {
  Judged j("graph @g(%x: f64[1]) { %y = aten.sqrt(%x) %z = aten.reciprocal(%x) return %y, %z }", {{3}});
  EXPECT_FALSE(j.verdict().mismatch);
  const double right = std::sqrt(3.0);
  EXPECT_TRUE(j.with(0, 0, std::nextafter(std::nextafter(right, 2), 2)).mismatch);
}

// Least numbers over small ones: how far off the quotient is, as a share of it, no product of both loses.
TEST(Bounds, QuotientsOfLeastNumbersAreAsFarOffAsTheirDivisors) {
  Judged j("graph @g(%x: f64[1], %least: f64[1]) { %y = aten.exp(%x) %q = aten.div(%least, %y) return %y, %q }",
           {{-355.0}, {5e-324}});
  EXPECT_GT(j.errors(0)[0], 0);
  EXPECT_GE(j.errors(1)[0] / j.values(1)[0], j.errors(0)[0] / j.values(0)[0]);
}

// A quarter of twice the least number is none of the dtype.
TEST(Bounds, SpacingsOfLeastNumbersAreRounded) {
  Judged j("graph @g(%x: f32[], %y: f32[]) { %z = aten.linspace(%x, %y, 5) return %z }", {{0x1p-149}, {-0x1p-149}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 2, 0x1p-149).mismatch);
  EXPECT_TRUE(j.with(0, 2, 0x1p-146).mismatch);
}

// A square that f32 has no room for may be zero, whose step is whatever is given for it.
TEST(Bounds, StepsOfWhatMayBeZeroMayBeNoNumber) {
  Judged j("graph @g(%x: f32[1], %v: f32[1]) { %m = aten.mul(%x, %x) %y = aten.heaviside(%m, %v) return %y }",
           {{1e-23}, {NAN}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, 1).mismatch);
}

TEST(Bounds, WhatOverflowsAFloat8IsNoNumberAfterwardsEither) {
  Judged j("graph @g(%x: f32[2]) { %a = aten._to_copy(%x, dtype=f8e4m3) %b = aten._to_copy(%a, dtype=f32) return %b }",
           {{1000, 2}}, Widening::bounds_of_eager);
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 1, NAN).mismatch);
}

// Nothing is below zero in the memory of a negated view of what is above it, and all of it in the view.
TEST(Bounds, ANegatedViewIsReadAsItIs) {
  Judged j("graph @g(%x: f32[2]) { %a = aten._neg_view(%x) %b = aten.silu(%a) return %b }", {{0.5, 1.3}});
  EXPECT_FALSE(j.verdict().mismatch);
}

// A normal number is drawn around the mean as the graph's dtype holds it, which others may hold at another place.
TEST(Bounds, OfNormalNumbersMeansAreStored) {
  Judged j("graph @g(%x: f16[2]) { %m = aten.mish(%x) %r = aten.normal(%m, std=1.0) return %m, %r }", {{1.3, 3.3}});
  for (size_t i = 0; i < 2; ++i) {
    const double mean = j.values()[i], stored = nearest(Dtype::f16, mean);
    EXPECT_GT(std::fabs(mean - stored), 0) << i;
    EXPECT_GE(j.errors(1)[i], j.errors()[i] + std::fabs(mean - stored)) << i;
  }
}

// What is moved beside another dtype is rounded to it, or has been kept: nothing farther is right.
TEST(Bounds, OfIntegersMovedBesideNarrowerFloats) {
  Judged j(R"(graph @g(%n: i32[1], %m: i64[2], %x: f32[1], %h: f16[1], %whole: f32[2]) {
    %a = aten.cat([%x, %n])
    %b = aten.sin(%a)
    %c = aten.cat([%m, %h])
    %d = aten.copy(%whole, %m)
    return %a, %b, %c, %d
  })",
           {{2147483647}, {70001, 2049}, {0.5}, {0.25}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.errors(0)[0], 0);
  EXPECT_NEAR(j.errors(0)[1], 1, 1e-9);
  EXPECT_LT(j.errors(1)[0], 0x1p-22);
  EXPECT_GE(j.errors(1)[1], std::sin(2147483647.0) - std::sin(2147483648.0));
  EXPECT_LT(j.errors(1)[1], 1 + 1e-6);
  EXPECT_EQ(j.errors(2)[0], HUGE_VAL);  // 70001 is none of float16
  EXPECT_NEAR(j.errors(2)[1], 1, 1e-9);
  EXPECT_EQ(j.errors(3), (std::vector<double>{0, 0}));
  EXPECT_FALSE(j.with(2, 0, HUGE_VAL).mismatch);
  EXPECT_TRUE(j.with(2, 0, 7).mismatch);
  EXPECT_TRUE(j.with(0, 1, 2147483520).mismatch);
}

}  // namespace
}  // namespace lenz::oracle
