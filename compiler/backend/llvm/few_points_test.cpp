// Where so many points as are walked at once are not there, only what is left of them is code: one vector, no loop.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

size_t times(std::string_view what, const std::string& text) {
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx2"), false);
  size_t count = 0;
  for (size_t at = code.find(what); at != std::string::npos; at = code.find(what, at + 1)) ++count;
  return count;
}

std::string doubled(int n) {
  return fmt::format(
      "loops @doubled {{\n  input %x: f32[{0}] placed\n  temp %y: f32[{0}] placed\n  kernel {{\n    for i < {0} lanes "
      "4 "
      "unroll 2 {{\n      %0 = load %x[i]\n      %1 = add.f32 %0, %0\n      store %y[i] = %1\n    }}\n  }}\n  return "
      "%y\n}}\n",
      n);
}

TEST(FewPoints, AreOneVector) {
  EXPECT_EQ(times("fadd", doubled(3)), 1u);
  EXPECT_EQ(times("fadd", doubled(8)), 2u);
  EXPECT_EQ(times("fadd", doubled(11)), 3u);
  for (int n : {1, 3, 4, 8, 11}) EXPECT_EQ(times("phi i64", doubled(n)), times("phi i64", doubled(1))) << n;
  EXPECT_GT(times("phi i64", doubled(16)), times("phi i64", doubled(1)));
  for (int n : {1, 3, 4, 5, 7, 8, 9, 11, 12, 15, 16, 17, 24}) expect_same(doubled(n), {numbers({n})});
}

std::string summed(int n) {
  return fmt::format(
      "loops @summed {{\n  input %x: f32[{0}] placed\n  temp %s: f32[] placed\n  kernel {{\n    for reduce j < {0} "
      "lanes "
      "4 unroll 2 {{\n      %0 = load %x[j]\n      %1 = reduce sum %0\n      store %s[] = %1\n    }}\n  }}\n  return "
      "%s\n}}\n",
      n);
}

TEST(FewPoints, AreSummedByOne) {
  EXPECT_LT(times("fadd", summed(3)), times("fadd", summed(8)));
  for (int n : {1, 3, 4, 5, 7, 8, 9, 11, 16, 17}) expect_same(summed(n), {numbers({n})});
}

std::string turned(int rows, int columns) {
  return fmt::format(
      "loops @turned {{\n  input %x: f32[{1}, {0}] placed\n  temp %y: f32[{0}, {1}] placed\n  kernel {{\n    for i0 < "
      "{0} unroll 4, i1 < {1} lanes 4 {{\n      %0 = load %x[i1, i0]\n      store %y[i0, i1] = %0\n    }}\n  }}\n  "
      "return %y\n}}\n",
      rows, columns);
}

TEST(FewPoints, AreNoWholeSquare) {
  EXPECT_LT(times("shufflevector", turned(3, 61)), times("shufflevector", turned(61, 61)));
  EXPECT_LT(times("shufflevector", turned(61, 3)), times("shufflevector", turned(61, 61)));
  for (int rows : {1, 3, 4})
    for (int columns : {1, 3, 5}) expect_same(turned(rows, columns), {numbers({columns, rows})});
}

// What is left of columns of an open number walks their rows once, in as many copies as have a column.
TEST(FewPoints, AreColumnsAtOnce) {
  const std::string text = R"(loops @columns where s0 in 0..100, s1 in 0..100 {
  input %x: f32[s0, s1] placed
  temp %s: f32[s1] placed
  kernel {
    for i < s1 lanes 4 unroll 8, reduce j < s0 {
      %0 = load %x[j, i]
      %1 = reduce sum %0
      store %s[i] = %1
    }
  }
  return %s
}
)";
  const std::string few = std::regex_replace(text, std::regex("unroll 8"), "unroll 4");
  EXPECT_EQ(times("fadd", few), 4u + 1 + 1) << "one vector after another, and the last one";
  EXPECT_EQ(times("fadd", text), 8u + 1 + 2 + 4 + 6 + 8);
  const std::string many = std::regex_replace(text, std::regex("unroll 8"), "unroll 16");
  EXPECT_EQ(times("fadd", many), 16u + 1 + 2 + 4 + 8 + 12 + 16) << "one vector is no quarter";
  for (int64_t n = 0; n < 70; ++n) expect_same(n % 3 == 0 ? many : text, {numbers({3, n})});
  expect_same(text, {numbers({0, 21})});
}

}  // namespace
}  // namespace lenz::native
