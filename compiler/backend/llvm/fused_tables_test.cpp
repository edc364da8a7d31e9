// What registers hold tables for (fused_angles.cpp, fused_logarithms.cpp, fused_powers.cpp, fused_gamma.cpp and others;
// tanh of f32 in fused_rows.cpp). That it is within its accuracy class, special numbers among others, is checked with
// all rows (scalar_code_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {
namespace {

constexpr std::string_view kRows[] = {
    "exp",  "expm1",  "tanh",    "log",      "log2",   "log10",         "log1p",
    "sin",  "cos",    "tan",     "atan",     "atanh",  "asinh",         "acosh",
    "erfc", "lgamma", "digamma", "trigamma", "erfinv", "special_ndtri", "special_log_ndtr"};

std::vector<double> results(std::string_view name, std::vector<double> in, const CpuTarget& target, int lanes) {
  const RowKernel kernel(*find_scalar(name), Dtype::f64, Dtype::f64, target, lanes);
  const size_t count = in.size(), room = count + static_cast<size_t>(kernel.lanes());
  in.resize(room, 1);
  std::vector<double> out(room);
  std::vector<uint8_t> raised(room);
  const void* from[] = {in.data()};
  void* to[] = {out.data()};
  kernel.run(from, to, raised.data(), static_cast<int64_t>(count));
  out.resize(count);
  return out;
}

TEST(FusedTables, RegistersHoldTheTables) {
  auto expect = [](std::string_view name, Dtype dtype, int lanes) {
    CodeModule module = row_module(*find_scalar(name), dtype, dtype, Compiler(find_target("avx512")), lanes);
    EXPECT_THAT(module.text(), testing::HasSubstr("vpermi2var")) << name;
    EXPECT_THAT(module.text(), testing::Not(testing::HasSubstr("masked.gather"))) << name;
  };
  for (std::string_view name : kRows) expect(name, Dtype::f64, 16);
  for (std::string_view name : {"atan2", "igamma", "igammac"}) expect(name, Dtype::f64, 16);
  for (std::string_view name : {"expm1", "tanh", "sin", "cos", "tan"}) expect(name, Dtype::f32, 32);
}

// Where registers do not hold them, a lane's place is worked out once for all of a row's tables, which are read in
// pairs.
TEST(FusedTables, AreReadInPairsElsewhere) {
  auto count = [](const std::string& text, std::string_view of) {
    int found = 0;
    for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++found;
    return found;
  };
  auto text_of = [](std::string_view name) {
    return row_module(*find_scalar(name), Dtype::f64, Dtype::f64, Compiler(find_target("avx2")), 4).text();
  };
  for (std::string_view name : kRows) {
    const std::string text = text_of(name);
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("masked.gather.v4f64"))) << name;
    EXPECT_GT(count(text, "load <2 x double>"), 0) << name;
  }
  // A quotient is the only one; the power's second part is not asked for.
  EXPECT_EQ(count(text_of("sigmoid"), " fdiv "), 1);
}

// Estimates and tables give the same digits in all widths.
TEST(FusedTables, EveryWidthGivesTheSameBits) {
  const CpuTarget target = find_target("avx512");
  if (!target.runs_here) GTEST_SKIP() << "this machine has no " << target.name;
  std::mt19937_64 random(6);
  std::vector<double> in(4000);
  for (double& x : in) x = std::bit_cast<double>(random());
  for (size_t i = 0; i < in.size(); i += 2)  // half of them near one
    if (std::isfinite(in[i])) in[i] = std::ldexp(in[i], -std::ilogb(in[i]));
  for (std::string_view name : {"expm1", "tanh", "log1p", "tan", "atan", "atanh", "asinh", "acosh", "erfc", "lgamma",
                                "digamma", "trigamma", "erfinv", "special_ndtri", "special_log_ndtr"}) {
    const std::vector<double> one = results(name, in, target, 1);
    for (int lanes : {5, 8, 16}) {
      const std::vector<double> many = results(name, in, target, lanes);
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_TRUE(std::isnan(one[i]) ? std::isnan(many[i]) : one[i] == many[i])
            << name << " of " << in[i] << " in " << lanes << " lanes";
    }
  }
}

// Where tables and what they leave nearly cancel, where angles have nearly nothing left, and at the ends of what the
// usual ways serve.
TEST(FusedTables, HardInputs) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const struct {
    std::string_view name;
    DoubleDouble (*right)(DoubleDouble);
    std::vector<double> at;
  } hard[] = {
      {"exp", dd::exp, {-745.1, 709.78, -708.5}},
      {"expm1", dd::expm1, {0x1.6c56534eef22cp-6, 0x1.64badc1c1159fp-6, 36.7, 37.5, -37.4, 700.5, 709.78}},
      {"tanh", dd::tanh, {0x1.6380e066335c4p-7, 0x1.ed3a968e515c1p-8, 19.5}},
      {"log", dd::log, {0x1.05ebe0cf9862ap+0, 0x1.p-1070, 0x1.fffffffffffffp-1, kMost}},
      {"log2", dd::log2, {0x1.057654e00d2p+0, 0x1.fffffffffffffp-1, kMost}},
      {"log10", dd::log10, {0x1.f46f8ed412f9fp-1, 1e-310}},
      {"log1p", dd::log1p, {0x1.817e6bdd9255bp-6, -0x1.ap-53, 0x1p53, 1e300, kMost, -0x1.fffffffffffffp-1}},
      {"sin", dd::sin, {0x1.921fb54442d18p+1, 0x1.92d796f1d5c91p-3, 102943.7, 103000.1, 1e22}},
      {"cos", dd::cos, {0x1.921fb54442d18p+0, 0x1.921fb54442d19p+0, 102943.7, 1e300}},
      {"tan", dd::tan, {0x1.921fb54442d18p+0, 0x1.921fb54442d19p+0, 0x1.59bad0fab721p+5, 1e22}},
      {"atan", dd::atan, {0x1.00377a3183056p-4, 0x1.fffffffffffffp-5, 1, 0x1.0000000000001p+0, 16.1, kMost, 1e-310}},
      {"atanh", dd::atanh, {0x1.214dd78d27467p-54, 0x1.45e7a7dc8b5bcp-5, 0x1.fffffffffffffp-1, -0.5, 0x1p-1070}},
      {"asinh", dd::asinh, {-0x1.23555a083d211p-53, 0x1.4522a89e9327dp-4, 0x1p499, 0x1p501, -kMost, 0x1p-1070}},
      {"erfc", dd::erfc, {0x1.83134805e7c6fp-17, 5.99999, 6, 0x1.ce8f939131698p+2, 26.5, 27.2, -0.3, -7}},
      {"lgamma",
       dd::lgamma,
       {0x1.fffffffffffffp-1,
        0x1.0000000000001p+0,
        1.999,
        2.001,
        8.9999,
        9,
        0x1p-1070,
        1e-9,
        1e305,
        -0.5,
        -7.25,
        -2.4570247382208006,
        -2.7476826467274127,
        -3.1435808883499798,
        -3.955294284858598,
        -4.039361839740537,
        -6.998606,
        -7.0001984,
        -8.0000248,
        -10.00000027557,
        -8.9999972,
        -12.0000000020877,
        -6.9999,
        -0x1.ffffffffffffep+2,
        -0x1p-1010,
        -0x1p-1074,
        -0x1p51 + 0.5,
        -170.5,
        -3,
        -1e300}},
      {"digamma",
       dd::digamma,
       {1.4616321449683623,
        0.999999,
        1,
        2,
        8.9999,
        9,
        1e-9,
        0x1p-1000,
        kMost,
        -0.5,
        -7.25,
        -1.5,
        -0.504083008264455,
        -1.573498473162391,
        -2.610720868444145,
        -3.635293366436901,
        -6.9999,
        -1000.1353,
        -1e6 - 0.07,
        -0x1p51 + 0.5,
        -0x1p-999,
        -0x1p-1001,
        -0x1.fffffffffffffp+2}},
      {"trigamma",
       [](DoubleDouble x) { return dd::polygamma(1, x); },
       {0.999999, 1, 2, 8.9999, 9, 1e-9, 0x1p-500, 1e300, -0.5, -7.25}},
      {"erfinv",
       dd::erfinv,
       {0x1.fffffffffffffp-1, -0x1.fffffffffffffp-1, 0x1.fffffffffff8p-1, 0.95, 0x1p-27, 1e-300, 0x1p-1074, 1, -1}},
      {"special_ndtri",
       dd::ndtri,
       {0x1p-1074, 0x1p-1060, 1e-300, 0x1.6ac8p-54, 0x1.6ac9p-54, 1e-5, 0.1586, 0.5, 0x1.0000000000001p-1,
        0x1.fffffffffffffp-2, 0.8413, 0x1.fffffffffffffp-1, 0, 1}},
      {"special_log_ndtr",
       dd::log_ndtr,
       {0, -1e-300, 0x1p-1074, 0.9999, 1.95, 6.9999, 7, 7.5, 30, 38.4, -0.01, -6.9999, -7, -7.5, -39.5, -1e5, -1e150,
        -kMost, kMost}},
      {"acosh", dd::acosh, {0x1.00001dbb4a15dp+0, 0x1.0000000000001p+0, 0x1p499, 0x1p501, kMost}},
  };
  for (const CpuTarget& target : targets()) {
    if (!target.fma || !target.runs_here) continue;
    for (const auto& [name, right, at] : hard) {
      const std::vector<double> got = results(name, at, target, 8);
      for (size_t i = 0; i < at.size(); ++i) {
        const DoubleDouble exact = right(at[i]);
        if (std::isinf(exact.hi)) {
          EXPECT_EQ(got[i], exact.hi) << name << " of " << at[i] << " on " << target.name;
          continue;
        }
        const ScalarAccuracy& allowed = find_scalar(name)->accuracy;
        const double size = std::max(std::fabs(exact.hi), allowed.absolute);
        const double place = std::max(std::ldexp(1.0, std::ilogb(size) - 52), 0x1p-1074);
        EXPECT_LE(std::fabs(static_cast<double>(DoubleDouble(got[i]) - exact)), allowed.ulps * place)
            << name << " of " << at[i] << " on " << target.name;
      }
    }
    for (std::string_view name : {"expm1", "tanh", "log1p", "sin", "tan", "atan", "atanh", "asinh", "erfinv"})
      for (double zero : results(name, {-0.0}, target, 8)) EXPECT_TRUE(std::signbit(zero)) << name;
  }
}

}  // namespace
}  // namespace lenz::native
