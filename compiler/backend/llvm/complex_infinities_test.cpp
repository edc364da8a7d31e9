// Complex functions of operands with an infinite part: what C99 has for them, as eager and the scalar table do.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kParts[] = {0, -0.0, 1, -2.5, 30, kInf, -kInf, kNan};
constexpr size_t kCount = std::size(kParts) * std::size(kParts);

// Where the table has a number it is that number: of both parts no more is lost than of the greater finite one.
bool agrees(double got, double want, double size, double within) {
  if (std::isnan(want)) return true;
  return std::isinf(want) ? got == want : std::fabs(got - want) <= within * size;
}

template <typename T>
void check(std::string_view name, Dtype dtype, const CpuTarget& target) {
  const ScalarRow& row = *find_scalar(name);
  const RowKernel kernel(row, dtype, dtype, target);
  std::vector<T> x(kCount), y(kCount), re(kCount), im(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<T>(kParts[i / std::size(kParts)]);
    y[i] = static_cast<T>(kParts[i % std::size(kParts)]);
  }
  const void* in[] = {x.data(), y.data()};
  void* out[] = {re.data(), im.data()};
  kernel.run(in, out, nullptr, static_cast<int64_t>(kCount));
  for (size_t i = 0; i < kCount; ++i) {
    const ScalarValue operand(std::complex<double>(x[i], y[i]));
    const std::complex<double> made = evaluate(row, dtype, {&operand, 1}).complex();
    const std::complex<T> want(static_cast<T>(made.real()), static_cast<T>(made.imag()));
    const bool infinite = std::isinf(x[i]) || std::isinf(y[i]);
    if (!infinite && (std::isnan(made.real()) || std::isnan(made.imag()))) continue;
    double size = 0;
    for (double part : {want.real(), want.imag()})
      if (std::isfinite(part)) size = std::max(size, std::fabs(part));
    const double within = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    EXPECT_TRUE(agrees(re[i], want.real(), size, within) && agrees(im[i], want.imag(), size, within))
        << name << " " << target.name << " of " << x[i] << " + " << y[i] << "i: " << re[i] << " + " << im[i]
        << "i, not " << want.real() << " + " << want.imag() << "i";
  }
}

constexpr std::string_view kFunctions[] = {"exp",  "exp2",  "expm1", "log",   "log2",  "log10",   "log1p",     "sqrt",
                                           "sin",  "cos",   "tan",   "sinh",  "cosh",  "tanh",    "asin",      "acos",
                                           "atan", "asinh", "acosh", "atanh", "rsqrt", "sigmoid", "reciprocal"};

// Operands one behind the other: each with each.
template <typename T>
void check_two(std::string_view name, Dtype dtype, const CpuTarget& target) {
  constexpr size_t count = kCount * kCount;
  const ScalarRow& row = *find_scalar(name);
  const RowKernel kernel(row, dtype, dtype, target);
  std::vector<T> parts[6];
  for (std::vector<T>& part : parts) part.resize(count);
  auto part_of = [](size_t z, bool imaginary) {
    return static_cast<T>(kParts[imaginary ? z % std::size(kParts) : z / std::size(kParts)]);
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t k : {0U, 1U, 2U, 3U}) parts[k][i] = part_of(k < 2 ? i / kCount : i % kCount, k % 2 == 1);
  const void* in[] = {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()};
  void* out[] = {parts[4].data(), parts[5].data()};
  kernel.run(in, out, nullptr, static_cast<int64_t>(count));
  int wrong = 0;
  for (size_t i = 0; i < count && wrong < 8; ++i) {
    const std::complex<double> a(parts[0][i], parts[1][i]), b(parts[2][i], parts[3][i]);
    const ScalarValue operands[] = {ScalarValue(a), ScalarValue(b)};
    const std::complex<double> made = evaluate(row, dtype, operands).complex();
    const std::complex<T> want(static_cast<T>(made.real()), static_cast<T>(made.imag()));
    // Beside a part that overflows of finite operands the other is as inaccurate as that.
    auto finite = [](std::complex<double> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); };
    if (finite(a) && finite(b) && !finite(want)) continue;
    double size = 0;
    for (double part : {want.real(), want.imag()})
      if (std::isfinite(part)) size = std::max(size, std::fabs(part));
    const double within = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const bool right = agrees(parts[4][i], want.real(), size, within) && agrees(parts[5][i], want.imag(), size, within);
    EXPECT_TRUE(right) << name << " " << target.name << " of " << a << " and " << b << ": " << parts[4][i] << " + "
                       << parts[5][i] << "i, not " << want;
    wrong += right ? 0 : 1;
  }
}

TEST(ComplexInfinities, EachFunctionOfTwoAsTheTableHasIt) {
  for (std::string_view target : {"avx2", "generic"}) {
    const CpuTarget found = find_target(target);
    if (!found.runs_here) continue;
    for (std::string_view name : {"div", "pow", "logaddexp"}) {
      check_two<float>(name, Dtype::c64, found);
      check_two<double>(name, Dtype::c128, found);
    }
  }
}

TEST(ComplexInfinities, EachFunctionAsTheTableHasIt) {
  for (std::string_view target : {"avx2", "generic"}) {
    const CpuTarget found = find_target(target);
    if (!found.runs_here) continue;
    for (std::string_view name : kFunctions) {
      check<float>(name, Dtype::c64, found);
      check<double>(name, Dtype::c128, found);
    }
  }
}

}  // namespace
}  // namespace lenz::native
