#include "compiler/backend/llvm/scalar_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/backend/llvm/ulp.h"
#include "compiler/base/error.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {
namespace {

std::string where(const ScalarRow& row, Dtype compute, Dtype result) {
  return std::string(row.name) + " " + std::string(name(compute)) + " to " + std::string(name(result));
}

// Compiling takes most of the time: where all dtypes have been seen on one target, some stand for the rest on others.
constexpr DtypeSet kSome = DtypeSet::of(Dtype::f32, Dtype::i8, Dtype::i32, Dtype::bf16) | dtypes::boolean;
constexpr DtypeSet kOthers = DtypeSet::of(Dtype::f64, Dtype::u8, Dtype::i64, Dtype::f16, Dtype::c64, Dtype::f8e4m3);

void check_everything(const CpuTarget& target, DtypeSet dtypes, int64_t samples, int lanes) {
  for (const ScalarRow& row : scalar_table())
    for (int d = 0; d < kDtypeCount; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!row.dtypes.has(dtype) || !dtypes.has(dtype) || !has_spelling(row, dtype)) continue;
      for (Dtype result : results_of(row, dtype)) {
        UlpRequest request{.row = &row, .compute = dtype, .result = result, .target = target};
        request.samples = samples;
        request.lanes = lanes != 0 ? lanes : target.lanes(std::max(1, item_size(to_real(dtype))));
        const UlpReport report = check_row(request);
        EXPECT_EQ(report.wrong, 0) << where(row, dtype, result) << " on " << target.name << ", worst " << report.worst
                                   << " of " << report.limit << ": " << report.where;
        EXPECT_GT(report.inputs, report.undefined) << where(row, dtype, result);
      }
    }
}

#define LENZ_NEED(target) \
  if (!(target).runs_here) GTEST_SKIP() << "this machine has no " << (target).name

// Every row in every dtype, within its accuracy class, on each target that runs here.
TEST(ScalarCode, EveryDtype) { check_everything(runnable_target(), dtypes::all, 300, 0); }
TEST(ScalarCode, Avx2) {
  const CpuTarget target = find_target("avx2");
  LENZ_NEED(target);
  check_everything(target, kSome, 100, 0);
}
TEST(ScalarCode, Generic) { check_everything(runnable_target("generic"), kOthers, 100, 0); }
TEST(ScalarCode, OneLane) { check_everything(runnable_target(), DtypeSet::of(Dtype::f32, Dtype::i32), 50, 1); }

// Beside a zero, all that there is of the lesser operand, however little that is.
TEST(ScalarCode, LogarithmsOfSumsFarBelowAnOperand) {
  for (const std::string_view name : {"logaddexp", "logaddexp2"}) {
    const ScalarRow& row = *find_scalar(name);
    const RowKernel kernel(row, Dtype::f64, Dtype::f64, runnable_target());
    constexpr int64_t kCount = 6;
    const double low[64] = {-499, -501, -650, -730, -6551, -1e308};
    const double zeros[64] = {};
    double got[64] = {};
    const void* in[] = {zeros, low};
    void* out[] = {got};
    kernel.run(in, out, nullptr, kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      const ScalarValue operands[] = {ScalarValue(0.0), ScalarValue(low[i])};
      const double right = evaluate(row, Dtype::f64, operands).real();
      EXPECT_LE(std::abs(got[i] - right), 1e-14 * right + 1e-322) << name << " of 0 and " << low[i] << ": " << got[i];
    }
  }
}

// Where the exponent is nearly the result, and a binade above it: a product that is rounded costs a whole place there.
TEST(ScalarCode, ErrorFunctionOfSmallNumbers) {
  const ScalarRow& row = *find_scalar("erf");
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    const RowKernel kernel(row, Dtype::f32, Dtype::f32, target);
    constexpr int64_t kAtOnce = 64;
    for (float next = 0x1.c8p-3F; next < 0x1.c9p-3F;) {
      float x[kAtOnce], got[kAtOnce];
      for (float& one : x) one = next = std::nextafter(next, 1.0F);
      const void* in[] = {x};
      void* out[] = {got};
      kernel.run(in, out, nullptr, kAtOnce);
      for (int64_t i = 0; i < kAtOnce; ++i) {
        const ScalarValue operand(static_cast<double>(x[i]));
        const double right = evaluate(row, Dtype::f32, {&operand, 1}).real();
        ASSERT_LE(std::abs(got[i] - right), 2 * 0x1p-26) << target.name << ": erf of " << x[i];
      }
    }
  }
}

// Beyond the largest number by what f64 does not show.
TEST(ScalarCode, LerpToInfinity) {
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    const RowKernel kernel(*find_scalar("lerp"), Dtype::f64, Dtype::f64, target);
    constexpr double kMost = std::numeric_limits<double>::max();
    const double a[64] = {0x1.fffffffffffffp-1, -0x1.fffffffffffffp-1, 1}, b[64] = {2, -2, 2},
                 w[64] = {kMost, kMost, 0x1p1000};
    double got[64] = {};
    const void* in[] = {a, b, w};
    void* out[] = {got};
    kernel.run(in, out, nullptr, 3);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(got[0], kInf) << target.name;
    EXPECT_EQ(got[1], -kInf) << target.name;
    EXPECT_EQ(got[2], 0x1p1000) << target.name;
  }
}

// What a logarithm's real part is there hangs on the lesser part's square alone, however small.
TEST(ScalarCode, LogarithmsBesideAModulusOfOne) {
  constexpr size_t kCount = 6;
  const double x[64] = {1, -1e-20, 0.6, -1, 1e-100, 1 + 0x1p-52};
  const double y[64] = {1e-38, 1, 0.8, 1e-10, -1, 0x1p-60};
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    const RowKernel kernel(*find_scalar("log"), Dtype::c128, Dtype::c128, target);
    double re[64] = {}, im[64] = {};
    const void* in[] = {x, y};
    void* out[] = {re, im};
    kernel.run(in, out, nullptr, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const std::complex<long double> right = std::log(std::complex<long double>(x[i], y[i]));
      EXPECT_NEAR(re[i], static_cast<double>(right.real()), 1e-15 * std::abs(static_cast<double>(right.real())))
          << target.name << ": " << x[i] << " + " << y[i] << "i";
      EXPECT_NEAR(im[i], static_cast<double>(right.imag()), 1e-15) << target.name;
    }
  }
}

// Zero has an infinite power where the exponent lies to the left, and where it lies on the imaginary axis none.
TEST(ScalarCode, ComplexPowersOfZero) {
  constexpr size_t kCount = 6;
  const double zero[64] = {}, x[64] = {0, 1, 0.5, -1, -2, 0}, y[64] = {0, 0, -3, 0, 1, 1};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double right_re[] = {1, 0, 0, inf, inf, nan}, right_im[] = {0, 0, 0, nan, nan, nan};
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (size_t i = 0; i < kCount; ++i) {
    const ScalarValue operands[] = {ScalarValue(std::complex<double>()), ScalarValue(std::complex<double>(x[i], y[i]))};
    const std::complex<double> told = evaluate(*find_scalar("pow"), Dtype::c128, operands).complex();
    EXPECT_TRUE(same(told.real(), right_re[i]) && same(told.imag(), right_im[i])) << told << ", number " << i;
  }
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    const RowKernel kernel(*find_scalar("pow"), Dtype::c128, Dtype::c128, target);
    double re[64] = {}, im[64] = {};
    const void* in[] = {zero, zero, x, y};
    void* out[] = {re, im};
    kernel.run(in, out, nullptr, kCount);
    for (size_t i = 0; i < kCount; ++i)
      EXPECT_TRUE(same(re[i], right_re[i]) && same(im[i], right_im[i]))
          << target.name << ": " << re[i] << " + " << im[i] << "i, number " << i;
  }
}

// The quotient of the parts, as they came: brought near one they would have lost places first.
TEST(ScalarCode, AnglesBelowTheNormalNumbers) {
  const RowKernel kernel(*find_scalar("angle"), Dtype::c128, Dtype::f64, runnable_target("generic"));
  constexpr size_t kCount = 8;
  const double x[64] = {
      2.3660784974055598, 2.4482861586830476, 2.2485445973761014, 2.60333986837674, 0x1.8p600, 3, 0.5, -3};
  const double y[64] = {-1.347388341228211e-308,
                        1.70960994362845e-309,
                        2.9479784013338707e-308,
                        3.01604898758333e-309,
                        0x1.4p-440,
                        0x1p-1073,
                        -0x1p-1074,
                        0x1p-1073};
  double got[64] = {};
  const void* in[] = {x, y};
  void* out[] = {got};
  kernel.run(in, out, nullptr, kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const double right = std::atan2(y[i], x[i]);
    EXPECT_NEAR(got[i], right, std::max(0x1p-1074, std::fabs(right) * 0x1p-52)) << x[i] << ", " << y[i];
  }
}

TEST(ScalarCode, OddNumbersOfLanes) {
  for (int lanes : {3, 5, 64})
    for (std::string_view name : {"add", "exp", "floor_divide", "sin", "to_dtype"}) {
      const ScalarRow* row = find_scalar(name);
      UlpRequest request{.row = row, .target = runnable_target()};
      request.samples = 200, request.lanes = lanes;
      EXPECT_EQ(check_row(request).wrong, 0) << name << " in " << lanes << " lanes";
    }
}

// More special values than above, in all combinations: f32 has no number for the products of some.
TEST(ScalarCode, FusedProductsOfTheLeastNumbers) {
  for (Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    UlpRequest request{.row = find_scalar("fma"), .compute = dtype, .result = dtype, .target = runnable_target()};
    const UlpReport report = check_row(request);
    EXPECT_EQ(report.wrong, 0) << report.where;
  }
}

// Steps of a recurrence would take minutes.
TEST(ScalarCode, ChebyshevPolynomialsOfGreatDegrees) {
  using dd::Polynomial;
  const std::pair<std::string_view, Polynomial> families[] = {
      {"special_chebyshev_polynomial_t", Polynomial::chebyshev_t},
      {"special_chebyshev_polynomial_u", Polynomial::chebyshev_u},
      {"special_chebyshev_polynomial_v", Polynomial::chebyshev_v},
      {"special_chebyshev_polynomial_w", Polynomial::chebyshev_w}};
  const double degrees[] = {101, 102, 4097, 2147483647, 0x1p40 + 1}, places[] = {1, -1, 0, 0.5, -0.99, 1 - 0x1p-52};
  for (const auto& [name, family] : families) {
    const RowKernel kernel(*find_scalar(name), Dtype::f64, Dtype::f64, runnable_target());
    std::vector<double> x, n;
    for (double at : places)
      for (double degree : degrees) x.push_back(at), n.push_back(degree);
    const size_t count = x.size(), room = count + static_cast<size_t>(kernel.lanes());
    x.resize(room), n.resize(room);
    std::vector<double> got(room);
    std::vector<uint8_t> raised(room);
    const void* in[] = {x.data(), n.data()};
    void* out[] = {got.data()};
    kernel.run(in, out, raised.data(), static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) {
      const double right = dd::polynomial(family, x[i], static_cast<int64_t>(n[i])).hi;
      EXPECT_NEAR(got[i], right, (1e-14 + 1e-24 * n[i]) * (1 + std::fabs(right))) << name << " " << x[i] << " " << n[i];
    }
  }
}

// Where its formulas meet, and far below, where the table's own function is called.
TEST(ScalarCode, AiryFunctionWhereverItsFormulasChange) {
  const RowKernel kernel(*find_scalar("special_airy_ai"), Dtype::f64, Dtype::f64, runnable_target());
  std::vector<double> x = {-1e100, -1e20,    -0x1.2p32, -0x1p32, -0x1.fp31, -1e7, -1000.5, -10.5, -10,  -9.75,
                           -2.338, 1.999999, 2,         2.5,     8,         60,   103.5,   104.5, 1e10, 0};
  const size_t count = x.size(), room = count + static_cast<size_t>(kernel.lanes());
  x.resize(room);
  std::vector<double> got(room);
  const void* in[] = {x.data()};
  void* out[] = {got.data()};
  kernel.run(in, out, nullptr, static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const double right = dd::airy_ai(x[i]).hi, size = x[i] < -1 ? std::pow(-x[i], -0.25) : right;
    EXPECT_NEAR(got[i], right, std::max(size * 0x1p-48, 0x1p-1073)) << x[i];
  }
}

// Where the square of the operand is none, but half of it is.
TEST(ScalarCode, LogarithmOfTheNormalDistributionFarOut) {
  for (std::string_view target : {"generic", "avx2"}) {
    const RowKernel kernel(*find_scalar("special_log_ndtr"), Dtype::f64, Dtype::f64, runnable_target(target));
    const double x[64] = {-0x1.1316d5bec1282p+512};
    double got[64] = {};
    const void* in[] = {x};
    void* out[] = {got};
    kernel.run(in, out, nullptr, 1);
    EXPECT_DOUBLE_EQ(got[0], dd::log_ndtr(x[0]).hi) << target;
  }
}

// What is not spelled is called: the list can neither grow nor shrink unseen.
TEST(ScalarCode, Missing) {
  std::ifstream file(LENZ_SOURCE_DIR "/compiler/backend/llvm/missing_rows.txt");
  ASSERT_TRUE(file.is_open());
  std::vector<std::string> known;
  for (std::string line; std::getline(file, line);) known.push_back(line);
  EXPECT_THAT(missing_spellings(), testing::ElementsAreArray(known));
}

// The table's own numbers, in any number of lanes.
TEST(ScalarCode, CallsWhatItCannotSpell) {
  for (const std::string& missing : missing_spellings()) {
    const ScalarRow* row = find_scalar(missing.substr(0, missing.find(' ')));
    UlpRequest request{.row = row, .target = runnable_target()};
    request.compute = request.result = *parse_dtype(missing.substr(missing.find(' ') + 1));
    request.samples = 50;
    for (int lanes : {1, 16}) {
      request.lanes = lanes;
      const UlpReport report = check_row(request);
      EXPECT_EQ(report.wrong, 0) << missing << ": " << report.where;
      EXPECT_GT(report.inputs, report.undefined) << missing;
    }
  }
}

}  // namespace
}  // namespace lenz::native
