// Rows that go along others together: each has its own sums, and what they share is loaded once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// Every row of x with every row of y.
std::string each_with_each(const std::string& rows, const std::string& others, const std::string& width,
                           const std::string& combine, int together) {
  return fmt::format(
      "loops @g {{\n  input %x: f32[{0}, {2}] placed\n  input %y: f32[{1}, {2}] placed\n"
      "  temp %s: f32[{0}, {1}] placed\n  kernel k < 1 {{\n"
      "    for i < {0} unroll {4}, l < {1} unroll 2, reduce j < {2} lanes 8 unroll 2 {{\n"
      "      %0 = load %x[i, j]\n      %1 = load %y[l, j]\n      %2 = sub.f32 %0, %1\n"
      "      %3 = reduce {3} %2\n      store %s[i, l] = %3\n    }}\n  }}\n  return %s\n}}\n",
      rows, others, width, combine, together);
}

TEST(Abreast, OfAnyNumberComputeTheSame) {
  for (int rows : {3, 4, 9})
    for (int others : {1, 2, 5})
      for (int width : {5, 16, 43})
        expect_same(each_with_each(std::to_string(rows), std::to_string(others), std::to_string(width), "sum", 4),
                    {numbers({rows, width}), numbers({others, width})});
  for (const char* combine : {"minimum", "maximum"})
    expect_same(each_with_each("7", "3", "21", combine, 4), {numbers({7, 21}), numbers({3, 21})});
}

TEST(Abreast, OfOpenSizesToo) {
  for (int rows : {0, 6})
    for (int width : {1, 40})
      expect_same(each_with_each("a", "b", "c", "sum", 4), {numbers({rows, width}), numbers({5, width})});
}

// Three rows aren't joined by twos.
TEST(Abreast, OddNumbersOfRows) {
  expect_same(each_with_each("7", "3", "43", "sum", 3), {numbers({7, 43}), numbers({3, 43})});
}

TEST(Abreast, WhatRowsShareIsLoadedOnce) {
  const loops::Program program = loops::parse_program(each_with_each("4", "2", "16", "sum", 4), op_table());
  const std::string code = kernels_as_text(program, find_target("avx2"), false);
  size_t loads = 0;
  for (size_t at = 0; (at = code.find("load <8 x float>", at)) != std::string::npos; ++at) ++loads;
  EXPECT_EQ(loads, 2 * (4 + 2)) << code;  // two vectors of each row
}

}  // namespace
}  // namespace lenz::native
