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

}  // namespace
}  // namespace lenz::oracle
