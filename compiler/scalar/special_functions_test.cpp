// The special functions against values of mpmath at 60 digits (special_functions_reference.py writes them), and their
// identities.
#include "compiler/scalar/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/scalar/scalar.h"

namespace lenz {
namespace {

struct Demand {
  double bits;      // of the error, relative to
  double absolute;  // max(|value|, absolute)
};

// Bits that every value of the table has to have: 93, but where a method loses some.
Demand demand_of(const std::string& row) {
  static const std::map<std::string, Demand> kLess = {
      // An alternating power series loses what its largest term exceeds the value by.
      {"special_bessel_j0", {70, 0.1}}, {"special_bessel_j1", {70, 0.1}}, {"special_bessel_y0", {70, 0.1}},
      {"special_bessel_y1", {70, 0.1}}, {"special_airy_ai", {70, 0}},
  };
  auto it = kLess.find(row);
  return it == kLess.end() ? Demand{93, 0} : it->second;
}

TEST(SpecialFunctions, agree_with_the_reference) {
  std::ifstream file(LENZ_SOURCE_DIR "/compiler/scalar/special_functions_reference.csv");
  ASSERT_TRUE(file.good());
  std::map<std::string, double> worst;
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::vector<double> numbers;
    std::istringstream cells(line);
    std::string row, cell;
    std::getline(cells, row, ',');
    while (std::getline(cells, cell, ',')) numbers.push_back(std::strtod(cell.c_str(), nullptr));
    std::vector<ScalarValue> operands;
    for (size_t i = 0; i + 2 < numbers.size(); ++i) operands.emplace_back(DoubleDouble(numbers[i]));
    ASSERT_NE(find_scalar(row), nullptr) << row;
    const DoubleDouble want{numbers[numbers.size() - 2], numbers[numbers.size() - 1]};
    const DoubleDouble got = evaluate(*find_scalar(row), Dtype::f64, operands).double_double();
    const Demand demand = demand_of(row);
    const double error = std::fabs((got - want).hi) / std::max(std::fabs(want.hi), demand.absolute);
    const double bits = error == 0 ? 106 : -std::log2(error);
    EXPECT_GE(bits, demand.bits) << line;
    double& least = worst.try_emplace(row, 106).first->second;
    least = std::min(least, bits);
    ++lines;
  }
  EXPECT_GT(lines, 800);
  for (const auto& [row, bits] : worst) RecordProperty(row, std::to_string(bits));
}

void expect_close(DoubleDouble a, DoubleDouble b, double bits, const std::string& what) {
  EXPECT_LE(std::fabs((a - b).hi), std::exp2(-bits) * std::max(std::fabs(a.hi), std::fabs(b.hi))) << what;
}

TEST(SpecialFunctions, inverses_invert) {
  for (double x = -3.9; x < 4; x += 0.37) {
    expect_close(dd::erfinv(dd::erf(x)), x, 60, "erfinv of erf " + std::to_string(x));
    expect_close(dd::ndtri(dd::ndtr(x)), x, 60, "ndtri of ndtr " + std::to_string(x));
  }
}

TEST(SpecialFunctions, recurrences) {
  for (double x = 0.3; x < 60; x *= 1.31) {
    const std::string at = " at " + std::to_string(x);
    expect_close(dd::lgamma(DoubleDouble(x) + DoubleDouble(1)) - dd::lgamma(x), dd::log(x), 80, "lgamma" + at);
    expect_close(dd::digamma(DoubleDouble(x) + DoubleDouble(1)) - dd::digamma(x), DoubleDouble(1) / x, 80,
                 "digamma" + at);
    for (int n = 1; n < 5; ++n) {
      const DoubleDouble a = dd::polygamma(n, DoubleDouble(x) + DoubleDouble(1)), b = dd::polygamma(n, x);
      double factorial = std::tgamma(n + 1.0);
      expect_close(b - a, DoubleDouble(n % 2 == 0 ? -factorial : factorial) / dd::power(x, n + 1), 70,
                   "polygamma" + at);
    }
    expect_close(dd::igamma(x, 1.7 * x) + dd::igammac(x, 1.7 * x), 1, 90, "igamma" + at);
    // Wronskians: J1 Y0 - J0 Y1 = 2/(pi x), I0 K1 + I1 K0 = 1/x
    expect_close(dd::bessel_j1(x) * dd::bessel_y0(x) - dd::bessel_j0(x) * dd::bessel_y1(x),
                 DoubleDouble(2) / (dd::kPi * x), 55, "J and Y" + at);
    expect_close(dd::bessel_i0e(x) * dd::bessel_k1_scaled(x) + dd::bessel_i1e(x) * dd::bessel_k0_scaled(x),
                 DoubleDouble(1) / x, 88, "I and K" + at);
  }
}

// The switches from one method to another are not seen in the values.
TEST(SpecialFunctions, methods_meet) {
  struct Seam {
    const char* name;
    DoubleDouble (*function)(DoubleDouble);
    double at;
    double bits;
  };
  const Seam seams[] = {{"erfc", dd::erfc, 2.5, 85},         {"erfcx", dd::erfcx, 2.5, 85},
                        {"lgamma", dd::lgamma, 30, 95},      {"digamma", dd::digamma, 30, 95},
                        {"i0e", dd::bessel_i0e, 42, 95},     {"i1e", dd::bessel_i1e, 42, 95},
                        {"j0", dd::bessel_j0, 26, 58},       {"y1", dd::bessel_y1, 26, 58},
                        {"k0", dd::bessel_k0_scaled, 1, 88}, {"k1", dd::bessel_k1_scaled, 1000, 88},
                        {"airy", dd::airy_ai, -10, 52},      {"airy", dd::airy_ai, 1, 80}};
  for (const Seam& s : seams) {
    const double h = s.at * 0x1p-22;
    // The second difference of a smooth function is of second order; a seam would be of order zero.
    const DoubleDouble left = s.function(DoubleDouble(s.at) - DoubleDouble(h * 0x1p-30));
    const DoubleDouble right = s.function(DoubleDouble(s.at) + DoubleDouble(h * 0x1p-30));
    const DoubleDouble slope = (s.function(s.at + h) - s.function(s.at - h)) / DoubleDouble(2 * h);
    expect_close(right - slope * DoubleDouble(2 * h * 0x1p-30), left, s.bits, s.name);
  }
}

TEST(SpecialFunctions, limits) {
  const double inf = dd::kInfinity;
  EXPECT_EQ(dd::erf(inf).hi, 1);
  EXPECT_EQ(dd::erfc(-inf).hi, 2);
  EXPECT_EQ(dd::erfcx(-inf).hi, inf);
  EXPECT_EQ(dd::erfcx(inf).hi, 0);
  EXPECT_EQ(dd::erfinv(1).hi, inf);
  EXPECT_TRUE(dd::is_nan(dd::erfinv(1.5)));
  EXPECT_EQ(dd::ndtri(0).hi, -inf);
  EXPECT_EQ(dd::log_ndtr(-inf).hi, -inf);
  EXPECT_EQ(dd::lgamma(-3).hi, inf);
  EXPECT_EQ(dd::lgamma(1).hi, 0);
  EXPECT_EQ(dd::lgamma(2).hi, 0);
  EXPECT_TRUE(dd::is_nan(dd::digamma(-3)));
  EXPECT_EQ(dd::digamma(0.0).hi, -inf);
  EXPECT_EQ(dd::digamma(-0.0).hi, inf);
  EXPECT_EQ(dd::polygamma(1, 0).hi, inf);
  EXPECT_EQ(dd::zeta(1, 3).hi, inf);
  EXPECT_TRUE(dd::is_nan(dd::zeta(0.5, 3)));
  EXPECT_EQ(dd::igamma(2, inf).hi, 1);
  EXPECT_EQ(dd::igammac(0, 3).hi, 0);
  // Far out there is nothing left, and no million terms of it are taken: of each of these that would be a second.
  for (double x = 0x1p960; x < inf; x *= 1.0625) EXPECT_EQ(dd::igammac(1.25, x).hi, 0) << x;
  EXPECT_TRUE(dd::is_nan(dd::igamma(-1, 3)));
  EXPECT_EQ(dd::bessel_k0(0).hi, inf);
  EXPECT_EQ(dd::bessel_y0(0).hi, -inf);
  EXPECT_TRUE(dd::is_nan(dd::bessel_y1(-1)));
  EXPECT_EQ(dd::airy_ai(2000).hi, 0);
  EXPECT_EQ(dd::bessel_i0(0).hi, 1);
}

TEST(SpecialFunctions, incomplete_gamma_of_huge_operands_ends) {
  for (double a : {1e8, 1e10, 1e12, 1e300}) {
    const double p = dd::igamma(a, a).hi;
    EXPECT_NEAR(p, 0.5, 1e-4) << a;
    EXPECT_NEAR(dd::igamma(a, 2 * a).hi, 1, 1e-12) << a;
    EXPECT_NEAR(dd::igamma(a, 0.5 * a).hi, 0, 1e-12) << a;
  }
}

TEST(SpecialFunctions, polynomials) {
  using dd::Polynomial;
  for (double x : {-0.9, -0.3, 0.0, 0.7}) {
    // by angle and by recurrence
    const double n = 101;
    DoubleDouble before = 1, now = x;
    for (int k = 1; k < n; ++k) {
      DoubleDouble next = DoubleDouble(2 * x) * now - before;
      before = now, now = next;
    }
    EXPECT_NEAR(dd::polynomial(Polynomial::chebyshev_t, x, 101).hi, now.hi, 1e-14);
    for (int64_t degree : {3, 7}) {
      for (int family = 0; family < 8; ++family) {
        const auto f = static_cast<Polynomial>(family);
        const double h = 1e-5;
        const double slope = (dd::polynomial(f, x + h, degree).hi - dd::polynomial(f, x - h, degree).hi) / (2 * h);
        EXPECT_LE(std::fabs(slope), dd::polynomial_slope(f, 1, degree) + 1e-3) << family;
        EXPECT_LE(std::fabs(slope), dd::polynomial_slope(f, 1.5, degree) + 1e-3) << family;
      }
    }
  }
  for (int family = 0; family < 8; ++family) {
    const auto f = static_cast<Polynomial>(family);
    EXPECT_EQ(dd::polynomial_roundings(f, -0.5, 0.5, 0, 0), 0);
    for (double x : {0.0, 0.5, 1.0, 2.5})
      for (int64_t n : {1, 5, 7, 40}) {
        const double places = dd::polynomial_roundings(f, x, x, n, 0);
        EXPECT_GE(places, std::fabs(dd::polynomial(f, x, n).hi)) << family << " " << n;
        EXPECT_GE(dd::polynomial_roundings(f, x - 0.01, x + 0.01, n, 0), places) << family << " " << n;
      }
    EXPECT_GT(dd::polynomial_roundings(f, 0.1, 0.1, int64_t{1} << 62, 0), 1);  // and it comes to an end
  }
  // L_10 is about 0.4 there, of terms that come to 10 or so in each of ten steps.
  EXPECT_LT(dd::polynomial_roundings(Polynomial::laguerre, 0.5, 0.5, 10, 0), 200);
  // At the ends as the recurrence has it, and of as many steps as there are numbers.
  for (Polynomial f :
       {Polynomial::chebyshev_t, Polynomial::chebyshev_u, Polynomial::chebyshev_v, Polynomial::chebyshev_w})
    for (double x : {1.0, -1.0}) {
      DoubleDouble before = dd::polynomial(f, x, 1), now = dd::polynomial(f, x, 2);
      for (int64_t n = 3; n < 9; ++n) {
        const DoubleDouble next = DoubleDouble(2 * x) * now - before;
        before = now, now = next;
        EXPECT_EQ(dd::polynomial(f, x, n).hi, now.hi) << x << " " << n;
      }
      EXPECT_GE(std::fabs(dd::polynomial(f, x, int64_t{1} << 62).hi), 1);
    }
  EXPECT_EQ(dd::polynomial(Polynomial::legendre, 0.5, -1).hi, 0);
  EXPECT_EQ(dd::polynomial(Polynomial::laguerre, 0.5, 0).hi, 1);
  EXPECT_EQ(dd::polynomial(Polynomial::hermite_h, 1, 3).hi, -4);
}

}  // namespace
}  // namespace lenz
