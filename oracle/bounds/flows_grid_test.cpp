// What a grid of positions samples: bounds hold in every mode, whether steps are stored in a narrow dtype or kept wide,
// and are no wider than what lies near each position.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

// `steps`: the dtype that samples are computed in, `stored`: that of the result. Inputs hold numbers of bf16.
std::string sampled(const std::string& steps, const std::string& stored, const std::string& how) {
  return "graph @g(%x: bf16[1, 2, 6, 5] init uniform(-1, 1, seed=3), %p: bf16[1, 4, 5, 2] init uniform(-1.2, 1.2, "
         "seed=4)) { %a = aten.to(%x, dtype=" +
         steps + ") %q = aten.to(%p, dtype=" + steps + ") %g = aten.sin(%q) %y = aten.grid_sampler_2d(%a, %g, " + how +
         ") %r = aten.to(%y, dtype=" + stored + ") return %r }";
}

TEST(GridBounds, HoldInEveryMode) {
  for (const char* mode : {"0", "1", "2"})
    for (const char* padding : {"0", "1", "2"})
      for (const char* aligned : {"true", "false"})
        for (const char* dtype : {"bf16", "f16"}) {
          const std::string how = std::string(mode) + ", " + padding + ", " + aligned;
          Judged j(sampled(dtype, dtype, how));
          const auto wrong = j.verdict().mismatch;
          EXPECT_FALSE(wrong) << dtype << " " << how << ": " << wrong->summary();
          j.eager = Judged(sampled("f64", dtype, how)).eager;  // who keeps all steps wide is right too
          const auto wide = j.verdict().mismatch;
          EXPECT_FALSE(wide) << dtype << " " << how << ", wide: " << wide->summary();
        }
}

TEST(GridBounds, OfNarrowFloatsTellMuchOfAnImage) {
  for (const auto& [dtype, most] : {std::pair{"bf16", 0.45}, {"f16", 0.06}}) {
    const std::string of = dtype;
    Judged j("graph @g(%x: " + of + "[1, 2, 6, 6] init normal(0, 1, seed=1), %g: " + of +
             "[1, 5, 5, 2] init uniform(-0.8, 0.8, seed=2)) { %y = aten.grid_sampler_2d(%x, %g, 0, 0, false) return "
             "%y }");
    EXPECT_FALSE(j.verdict().mismatch);
    EXPECT_EQ(j.verdict().shares.ambiguous, 0U);
    const std::vector<double> errors = j.errors();
    double all = 0;
    for (double error : errors) all += error;
    EXPECT_LT(all / static_cast<double>(errors.size()), most);  // of numbers between -3 and 3
    for (size_t i = 0; i < errors.size(); ++i) j.with(0, i, 3.0);
    ASSERT_TRUE(j.verdict().mismatch);
    EXPECT_GT(j.verdict().mismatch->wrong * 10, j.verdict().mismatch->total * 9);
  }
}

// An infinity, or an error, is nothing to positions far from it.
TEST(GridBounds, KnowNothingOfWhatLiesFarAway) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1, 1, 1, 40], %g: f32[1, 1, 2, 2]) {
    %y = aten.grid_sampler_2d(%x, %g, 0, 0, false) return %y
  })";
  std::vector<double> x(40, 1.0);
  x[39] = HUGE_VAL;
  const Judged j(text, {x, {-0.9, 0, 0.975, 0}});
  EXPECT_LT(j.errors()[0], 1e-4);
  EXPECT_TRUE(std::isinf(j.errors()[1]));
}

}  // namespace
}  // namespace lenz::oracle
