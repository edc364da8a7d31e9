// Places that 32 bits hold are told in vectors of such, which have twice the lanes of those of whole coordinates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

// Instructions of vectors of 8 numbers.
size_t times(const std::string& what, const std::string& numbers, const std::string& text) {
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx2"), false);
  const std::regex pattern(what + "( nsw| nuw)* <8 x " + numbers + ">");
  return static_cast<size_t>(std::distance(std::sregex_iterator(code.begin(), code.end(), pattern), {}));
}

// Elements of x whose rows and columns are computed.
std::string taken(int64_t rows, int points = 29) {
  return fmt::format(
      "loops @taken {{\n  input %x: f32[{0}, 31] placed\n  temp %y: f32[{1}] placed\n  kernel {{\n    for i < {1} "
      "lanes "
      "8 {{\n      %0 = index[i]\n      %1: f32 = to_dtype.i64 %0\n      %2: i32 = to_dtype.f32 %1\n      %3: i64 = "
      "to_dtype.i32 %2\n      %4 = position %3 < 31 as p\n      %5 = load %x[p, 3]\n      store %y[i] = %5\n    }}\n  "
      "}}\n  return %y\n}}\n",
      rows, points);
}

TEST(NarrowPlaces, AreToldByHalves) {
  EXPECT_EQ(times("mul", "i64", taken(40)), 0u);
  EXPECT_GT(times("mul", "i32", taken(40)), 0u);
  EXPECT_EQ(times("icmp [a-z]+", "i64", taken(40)), 0u) << "that they are inside, too";
  expect_same(taken(40), {numbers({40, 31})});
}

TEST(NarrowPlaces, OfLargeMemoryAreNot) {
  constexpr int64_t kRows = int64_t{1} << 31;
  EXPECT_GT(times("mul", "i64", taken(kRows / 31 + 1)), 0u);
  EXPECT_EQ(times("mul", "i64", taken(kRows / 31 - 1)), 0u);
}

}  // namespace
}  // namespace lenz::native
