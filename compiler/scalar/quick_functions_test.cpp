// What is computed in doubles is the reference's value, to far more places than an f32 has.
#include "compiler/scalar/quick_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/scalar/special_functions.h"

namespace lenz {
namespace {

struct Range {
  double low, high;  // drawn by the logarithm
};

void compare(double (*quick)(double, double), DoubleDouble (*exact)(DoubleDouble, DoubleDouble), Range a, Range b,
             bool whole, double most_left_open) {
  std::mt19937_64 engine(7);
  auto drawn = [&](Range r) {
    return std::exp(std::uniform_real_distribution<double>(std::log(r.low), std::log(r.high))(engine));
  };
  constexpr int kDraws = 3000;
  int open = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = whole ? std::round(drawn(a)) : drawn(a), y = i % 3 == 0 ? x * drawn({0.8, 1.25}) : drawn(b);
    const double got = quick(x, y);
    if (std::isnan(got)) {
      ++open;
      continue;
    }
    const DoubleDouble wanted = exact(x, y);
    if (std::fabs(wanted.hi) < 1e-280 || std::isinf(got)) {  // and there f32 has no number either
      EXPECT_TRUE(std::fabs(got) < 1e-270 || (std::isinf(got) && std::fabs(wanted.hi) > 1e300)) << x << ", " << y;
      continue;
    }
    EXPECT_LE(std::fabs((DoubleDouble(got) - wanted).hi), 0x1p-34 * std::fabs(wanted.hi)) << x << ", " << y;
  }
  EXPECT_LE(open, most_left_open * kDraws);
}

DoubleDouble polygamma(DoubleDouble n, DoubleDouble x) { return dd::polygamma(static_cast<int64_t>(n.hi), x); }

TEST(QuickFunctions, AreTheReferences) {
  compare(quick::igamma, dd::igamma, {0.1, 200}, {0.01, 1000}, false, 0.02);
  compare(quick::igammac, dd::igammac, {0.1, 200}, {0.01, 1000}, false, 0.2);
  compare(quick::zeta, dd::zeta, {1.0001, 60}, {1e-3, 1e3}, false, 0);
  compare(quick::polygamma, polygamma, {1, 20}, {1e-3, 1e3}, true, 0);
}

TEST(QuickFunctions, AreTheReferencesFarOut) {
  compare(quick::igamma, dd::igamma, {1e-6, 3e6}, {1e-20, 1e8}, false, 0.1);
  compare(quick::igammac, dd::igammac, {1e-6, 3e6}, {1e-20, 1e8}, false, 0.6);
  compare(quick::zeta, dd::zeta, {1 + 1e-9, 3000}, {1e-20, 1e20}, false, 0);
  compare(quick::polygamma, polygamma, {1, 100}, {1e-20, 1e20}, true, 0);
}

TEST(QuickFunctions, LeaveToTheReferenceWhatHasNoNumber) {
  EXPECT_TRUE(std::isnan(quick::igamma(-1, 2)) && std::isnan(quick::igamma(2, INFINITY)));
  EXPECT_TRUE(std::isnan(quick::zeta(1, 2)) && std::isnan(quick::zeta(2, -1)) && std::isnan(quick::zeta(NAN, 1)));
  EXPECT_TRUE(std::isnan(quick::polygamma(0, 2)) && std::isnan(quick::polygamma(1000, 2)));
}

}  // namespace
}  // namespace lenz
