// What is computed in doubles is the reference's value: to a few of its places, or to far more than an f32 has.
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

constexpr double kNarrow = 0x1p-34, kPlaces = 4 * 0x1p-53;

void compare(double (*quick)(double, double), DoubleDouble (*exact)(DoubleDouble, DoubleDouble), Range a, Range b,
             bool whole, double most_left_open, double most_off = kNarrow) {
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
    if (most_off < kNarrow && std::fabs(wanted.hi) < 0x1p-1022) {
      EXPECT_LE(std::fabs(got - wanted.hi), 0x1p-1072) << x << ", " << y;
      continue;
    }
    if (std::isinf(got) || (most_off == kNarrow && std::fabs(wanted.hi) < 1e-280)) {  // and there f32 has no number
      EXPECT_TRUE(std::fabs(got) < 1e-270 || (std::isinf(got) && std::fabs(wanted.hi) > 1e300)) << x << ", " << y;
      continue;
    }
    EXPECT_LE(std::fabs((DoubleDouble(got) - wanted).hi), most_off * std::fabs(wanted.hi)) << x << ", " << y;
  }
  EXPECT_LE(open, most_left_open * kDraws);
}

DoubleDouble polygamma(DoubleDouble n, DoubleDouble x) { return dd::polygamma(static_cast<int64_t>(n.hi), x); }

TEST(QuickFunctions, AreTheReferences) {
  compare(quick::igamma, dd::igamma, {0.1, 200}, {0.01, 1000}, false, 0.02);
  compare(quick::igammac, dd::igammac, {0.1, 200}, {0.01, 1000}, false, 0.2);
  compare(quick::igamma_f64, dd::igamma, {0.1, 200}, {0.01, 1000}, false, 0, kPlaces);
  compare(quick::igammac_f64, dd::igammac, {0.1, 200}, {0.01, 1000}, false, 0, kPlaces);
  compare(quick::zeta, dd::zeta, {1.0001, 60}, {1e-3, 1e3}, false, 0, kPlaces);
  compare(quick::polygamma, polygamma, {1, 20}, {1e-3, 1e3}, true, 0, 2 * kPlaces);
}

TEST(QuickFunctions, AreTheReferencesFarOut) {
  compare(quick::igamma, dd::igamma, {1e-6, 3e6}, {1e-20, 1e8}, false, 0.1);
  compare(quick::igammac, dd::igammac, {1e-6, 3e6}, {1e-20, 1e8}, false, 0.6);
  compare(quick::igamma_f64, dd::igamma, {1e-6, 1e5}, {1e-20, 1e8}, false, 0, kPlaces);
  compare(quick::igammac_f64, dd::igammac, {1e-6, 1e5}, {1e-20, 1e8}, false, 0, 2 * kPlaces);
  compare(quick::zeta, dd::zeta, {1 + 1e-9, 3000}, {1e-20, 1e20}, false, 0.4, kPlaces);
  compare(quick::polygamma, polygamma, {1, 100}, {1e-20, 1e20}, true, 0.3, 2 * kPlaces);
}

TEST(QuickFunctions, LeaveToTheReferenceWhatHasNoNumber) {
  EXPECT_TRUE(std::isnan(quick::igamma(-1, 2)) && std::isnan(quick::igamma(2, INFINITY)));
  EXPECT_TRUE(std::isnan(quick::igamma_f64(-1, 2)) && std::isnan(quick::igammac_f64(2, INFINITY)));
  EXPECT_TRUE(std::isnan(quick::zeta(1, 2)) && std::isnan(quick::zeta(2, -1)) && std::isnan(quick::zeta(NAN, 1)));
  EXPECT_TRUE(std::isnan(quick::polygamma(0, 2)) && std::isnan(quick::polygamma(1000, 2)));
}

}  // namespace
}  // namespace lenz
