// What some lanes read from places that nothing ties to each other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// The elements at these places, and -1 where there are none.
std::string picked(const std::string& elements, const std::string& places) {
  return fmt::format(
      "loops @g {{\n  input %x: f32[{0}] placed\n  input %at: f32[{1}] placed\n  temp %r: f32[{1}] placed\n"
      "  kernel k < 1 {{\n    for i < {1} lanes 8 unroll 2 {{\n"
      "      %0 = load %at[i]\n      %1 = f32 0.0\n      %2 = ge.f32 %0, %1\n      %3: i64 = to_dtype.f32 %0\n"
      "      %4 = i64 0\n      %5 = where.i64 %2, %3, %4\n      %6 = position %5 < {0} as p if %2\n"
      "      %7 = load %x[p] if %2\n      %8 = f32 -1.0\n      %9 = where.f32 %2, %7, %8\n      store %r[i] = %9\n"
      "    }}\n  }}\n  return %r\n}}\n",
      elements, places);
}

loops::InputValue places(const loops::Ints& sizes, int64_t below) {
  loops::Tensor t(Dtype::f32, sizes);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.put(i, ScalarValue(static_cast<double>(below > 0 && i % 3 != 0 ? i * 7 % below : -1)));
  return {t};
}

TEST(MaskedGathers, SomeLanesWantNothing) {
  for (int points : {1, 7, 16, 43})
    expect_same(picked("9", std::to_string(points)), {numbers({9}), places({points}, 9)});
  for (int elements : {1, 9}) expect_same(picked("n", "m"), {numbers({elements}), places({43}, elements)});
}

TEST(MaskedGathers, FromNothing) { expect_same(picked("n", "m"), {numbers({0}), places({43}, 0)}); }

TEST(MaskedGathers, NoLaneHasABranch) {
  const auto code = [](const char* target) {
    return kernels_as_text(loops::parse_program(picked("9", "64"), op_table()), find_target(target), false);
  };
  EXPECT_THAT(code("avx2"), testing::HasSubstr("avx2.gather.d.ps.256"));
  EXPECT_THAT(code("generic"), testing::ContainsRegex("masked.gather[^\n]*<8 x i1> <i1 true"));
}

}  // namespace
}  // namespace lenz::native
