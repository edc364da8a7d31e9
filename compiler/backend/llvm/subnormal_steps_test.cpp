// Processors take a hundred times as long where a step's number is below the normal ones: such are no steps on the way
// to results that are not.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/ops/op_table.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace lenz::native {
namespace {

// Whether the processor met such a number while the row was computed.
template <class T>
bool meets_subnormals(std::string_view row, Dtype dtype, const CpuTarget& target, const std::vector<T>& in) {
  const RowKernel kernel(*find_scalar(row), dtype, dtype, target, target.lanes(sizeof(T)));
  std::vector<T> out(in.size());
  std::vector<uint8_t> raised(in.size());
  const void* from[] = {in.data()};
  void* to[] = {out.data()};
  constexpr unsigned kFlags = _MM_EXCEPT_UNDERFLOW | _MM_EXCEPT_DENORM;
  _mm_setcsr(_mm_getcsr() & ~kFlags);
  kernel.run(from, to, raised.data(), static_cast<int64_t>(in.size()));
  return (_mm_getcsr() & kFlags) != 0;
}

// Of both signs, from `least` on, but those whose exponential is itself below the normal numbers.
template <class T>
std::vector<T> saturated(double least, double last_normal, double first_nothing) {
  std::vector<T> made;
  for (double x = least; x < 4096; x *= 1.003) {
    made.push_back(static_cast<T>(x));
    if (x < last_normal || x > first_nothing) made.push_back(static_cast<T>(-x));
  }
  while (made.size() % 64 != 0) made.push_back(T{1});
  return made;
}

TEST(SubnormalSteps, saturated_sigmoids_have_none) {
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    EXPECT_FALSE(meets_subnormals("sigmoid", Dtype::f32, target, saturated<float>(1, 87, 104))) << target.name;
    EXPECT_FALSE(meets_subnormals("sigmoid", Dtype::f64, target, saturated<double>(1, 708, 746))) << target.name;
  }
}

// Their squares and cubes are nothing beside them, or beside 1.
TEST(SubnormalSteps, tiny_operands_have_none) {
  std::vector<float> tiny;
  for (double x = 1e-30; x < 1e-3; x *= 1.05)
    for (double sign : {1.0, -1.0}) tiny.push_back(static_cast<float>(sign * x));
  while (tiny.size() % 64 != 0) tiny.push_back(1);
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here || !target.fma) continue;
    for (std::string_view row : {"sin", "cos", "tan", "erf", "erfc", "sinh", "cosh", "asinh", "atanh", "atan", "asin",
                                 "acos", "expm1", "tanh"})
      EXPECT_FALSE(meets_subnormals(row, Dtype::f32, target, tiny)) << row << ' ' << target.name;
  }
}

TEST(SubnormalSteps, hyperbolic_functions_have_none_far_out) {
  std::vector<float> far;
  for (double x = 1; x < 80; x *= 1.01) far.push_back(static_cast<float>(x));
  while (far.size() % 64 != 0) far.push_back(1);
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here || !target.fma) continue;
    for (std::string_view row : {"sinh", "cosh"})
      EXPECT_FALSE(meets_subnormals(row, Dtype::f32, target, far)) << row << ' ' << target.name;
  }
}

}  // namespace
}  // namespace lenz::native
#endif
