// What eager's kernels carry in f32, or in what their formulas do not leave the range of, is judged in narrow floats
// whose steps would overflow, or come to less than nothing, if a definition's were stored.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

TEST(WideKernels, OfNarrowFloatsWithLargeSquaresAreJudged) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* call : {"std.correction(%x, [1], correction=1)", "linalg_vector_norm(%x, 2, [1])",
                             "linalg_vector_norm(%x, 3, [1])", "cosine_similarity(%x, %y, 1)"}) {
      const std::string of = std::string(dtype) + "[5, 60] init normal(0, 100, seed=";
      const std::string text = "graph @g(%x: " + of + "1), %y: " + of + "2)) { %r = aten." + call + " return %r }";
      Judged j(text, {}, Widening::bounds_of_eager);
      const auto wrong = j.verdict().mismatch;
      EXPECT_FALSE(wrong) << text << wrong->summary();
      EXPECT_EQ(j.verdict().shares.ambiguous, 0U) << text;
      EXPECT_TRUE(j.with(0, 2, j.values()[2] + 0.1 * std::max(1.0, std::fabs(j.values()[2]))).mismatch) << text;
    }
}

// What a kernel is off by in f32 may take a number beyond the middle between two that can be stored.
TEST(WideKernels, WhatTheyAreOffByIsStoredToo) {
  Judged j(
      "graph @g(%x: f16[5, 33, 8] init uniform(-2.0, 2.0, seed=556262)) {\n"
      "  %c = aten.clamp(%x, min=-0.75, max=1.5) %s = aten.sin(%c) %q = aten.square(%s) %y = aten.erf(%q)\n"
      "  return %y\n}\n",
      {}, Widening::bounds_of_eager);
  const auto wrong = j.verdict().mismatch;
  EXPECT_FALSE(wrong) << wrong->summary();
  EXPECT_TRUE(j.with(0, 2, j.values()[2] * 1.01).mismatch);
}

// Along dims that lie behind each other they add up in f32; along others they store what they have so far.
TEST(WideKernels, SumsWithoutNaNStoreBetweenTheirSteps) {
  const std::string in_one = "graph @g(%x: bf16[4, 64] init uniform(0.5, 1.0)) { %y = aten.nansum(%x, [1]) return %y }";
  Judged j(in_one, {}, Widening::bounds_of_eager);
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 2, j.values()[2] * 0.98).mismatch);
  Judged apart(
      "graph @g(%x: bf16[8, 64, 64, 2] strides [12288, 192, 3, 2] init uniform(0.5, 1.5)) {"
      " %y = aten.nansum(%x, [1, 3, 0, 2]) return %y }",
      {}, Widening::bounds_of_eager);
  EXPECT_FALSE(apart.verdict().mismatch);
}

// Their accuracy is what the kernel has there, not what it has elsewhere.
TEST(WideKernels, AreHeldToWhatTheyAreWhereTheyAreBetter) {
  struct Function {
    const char* graph;
    double off;
  };
  for (const Function& f :
       {Function{"graph @g(%x: f32[1] init uniform(8.0, 9.0)) { %y = aten.special_airy_ai(%x) return %y }", 0.01},
        Function{"graph @g(%x: f16[1] init uniform(1.0, 9.0)) { %y = aten.special_i0e(%x) return %y }", 0.0075},
        Function{"graph @g(%a: f64[1] init uniform(1.0, 9.0), %x: f64[1] init uniform(1.0, 9.0)) "
                 "{ %y = aten.igamma(%a, %x) return %y }",
                 1e-9},
        Function{"graph @g(%a: f64[1] init uniform(1.0, 9.0), %x: f64[1] init uniform(1.0, 9.0)) "
                 "{ %y = aten.igammac(%a, %x) return %y }",
                 1e-9}}) {
    Judged j(f.graph, {}, Widening::bounds_of_eager);
    EXPECT_FALSE(j.verdict().mismatch) << f.graph;
    EXPECT_TRUE(j.with(0, 0, j.values()[0] * (1 + f.off)).mismatch) << f.graph;
  }
}

// Of a scatter each place counts what it is made of, not all that there is.
TEST(WideKernels, ScatteredMeansCountTheirOwnTerms) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* how : {"mean", "sum"}) {
      const std::string d = dtype;
      const std::string text = "graph @g(%z: " + d + "[5], %s: " + d +
                               "[100] init normal(2, 1, seed=1), %i: i64[100] init integers(0, 4, seed=2)) {"
                               " %y = aten.scatter_reduce.two(%z, 0, %i, %s, \"" +
                               how + "\") return %y }";
      Judged j(text);
      const auto wrong = j.verdict().mismatch;
      EXPECT_FALSE(wrong) << text << wrong->summary();
      EXPECT_EQ(j.verdict().shares.ambiguous, 0U) << text;
      EXPECT_TRUE(j.with(0, 3, 1.3 * j.values()[3]).mismatch) << text;
    }
}

// Of lists each element is made in its own dtype, which no operand need have.
TEST(WideKernels, OfListsAreJudgedByWhatAnElementIs) {
  Judged j(R"(graph @g(%x: f32[1] init uniform(0.5, 4.0, seed=21056), %i: i64[2] init zeros, %n: i64[1] init ones) {
    %p = aten.pow(%x, %x) %z = aten.to(%p, c128)
    %l = aten._foreach_div([%n, %i], [%n, %z]) %r = lenz.getitem(%l, 1)
    return %r
  })",
           {}, Widening::bounds_of_eager);
  EXPECT_FALSE(j.verdict().mismatch);
}

// What a batch is scaled and moved by nobody stores: far from zero that would cost more than what is left there.
TEST(WideKernels, BatchesAreScaledAndMovedInF32) {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string eight = std::string(dtype) + "[8] init uniform(";
    const std::string text = "graph @g(%x: " + std::string(dtype) +
                             "[4, 8, 3, 3] init uniform(100.0, 103.0), %w: " + eight + "0.5, 1.0), %b: " + eight +
                             "0.0, 1.0), %m: " + eight + "100.0, 103.0), %v: " + eight +
                             "0.5, 1.0)) {\n  %y, %a, %s = aten.native_batch_norm(%x, %w, %b, %m, %v, false, 0.1, "
                             "1e-05)\n  return %y\n}\n";
    Judged j(text, {}, Widening::bounds_of_eager);
    const auto wrong = j.verdict().mismatch;
    EXPECT_FALSE(wrong) << text << wrong->summary();
    EXPECT_TRUE(j.with(0, 2, j.values()[2] + 0.05).mismatch) << text;
  }
}

}  // namespace
}  // namespace lenz::oracle
