// Rows that lie apart are fetched ahead, of columns that are summed and of squares that are turned; what is fetched
// behind the last of them changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

// Whatever this machine's processor does by itself.
std::string code_of(const std::string& text, bool follows_squares = false) {
  CpuTarget target = find_target("generic");
  target.follows_squares = follows_squares;
  return kernels_as_text(loops::parse_program(text, op_table()), target, false);
}

bool fetches(const std::string& text) { return code_of(text).find("call void @llvm.prefetch") != std::string::npos; }

size_t fetches_to_write(const std::string& text) {
  const std::string code = code_of(text);
  size_t count = 0;
  for (size_t at = 0; (at = code.find("call void @llvm.prefetch", at)) != std::string::npos; ++at)
    count += code.substr(at, code.find('\n', at) - at).find(", i32 1, i32 3, i32 1)") != std::string::npos;
  return count;
}

std::string columns(int rows, int columns, int unroll) {
  return fmt::format(
      "loops @columns {{\n  input %x: f32[{0}, {1}] placed\n  temp %s: f32[{1}] placed\n  kernel {{\n    for i < {1} "
      "lanes 4 unroll {2}, reduce j < {0} {{\n      %0 = load %x[j, i]\n      %1 = reduce sum %0\n      store %s[i] = "
      "%1\n    }}\n  }}\n  return %s\n}}\n",
      rows, columns, unroll);
}

TEST(FetchAhead, ColumnsThatAreSummed) {
  EXPECT_TRUE(fetches(columns(50, 1024, 8)));
  EXPECT_FALSE(fetches(columns(50, 40, 8)));  // the rows of so few follow one another
  for (int n : {3, 64, 131}) expect_same(columns(29, n, 8), {numbers({29, n})});
}

// A second walk of each row, during which the next row is fetched: a short one into the first cache, unless it comes
// from memory.
std::string rows_walked_twice(int columns) {
  return fmt::format(
      "loops @rows {{\n  input %x: f32[9, {0}] placed\n  temp %y: f32[9, {0}] placed\n  temp %m: f32[] local\n"
      "  kernel k < 9 {{\n    for reduce j < {0} lanes 4 {{\n      %0 = load %x[k, j]\n      %1 = reduce sum %0\n"
      "      store %m[] = %1\n    }}\n    for i < {0} lanes 4 {{\n      %0 = load %x[k, i]\n      %1 = load %m[]\n"
      "      %2 = sub.f32 %0, %1\n      store %y[k, i] = %2\n    }}\n  }}\n  return %y\n}}\n",
      columns);
}

TEST(FetchAhead, ShortRowsComeNearer) {
  const std::string first = "i32 0, i32 3, i32 1)", outer = "i32 0, i32 2, i32 1)";
  const std::string near = code_of(rows_walked_twice(1024)), far = code_of(rows_walked_twice(1040));
  EXPECT_NE(near.find(first), std::string::npos);
  EXPECT_EQ(near.find(outer), std::string::npos);
  EXPECT_NE(far.find(outer), std::string::npos);
  EXPECT_EQ(far.find(first), std::string::npos);
  std::string past = rows_walked_twice(1024);
  past.replace(past.find("%y: f32[9, 1024] placed"), 23, "%y: f32[9, 1024] placed far where 0 <= 0");
  EXPECT_EQ(code_of(past).find(first), std::string::npos);
  for (int n : {8, 83}) expect_same(rows_walked_twice(n), {numbers({9, n})});
}

std::string turned(int rows, int columns) {
  return fmt::format(
      "loops @turned {{\n  input %x: f32[{1}, {0}] placed\n  temp %y: f32[{0}, {1}] placed\n  kernel {{\n    for i0 < "
      "{0} unroll 4, i1 < {1} lanes 4 {{\n      %0 = load %x[i1, i0]\n      store %y[i0, i1] = %0\n    }}\n  }}\n  "
      "return %y\n}}\n",
      rows, columns);
}

TEST(FetchAhead, SquaresThatAreTurned) {
  EXPECT_TRUE(fetches(turned(64, 64)));
  for (int n : {4, 7, 64, 97}) expect_same(turned(n, 61), {numbers({61, n})});
}

// Lines that each row of a square is stored to; not of results that go past the caches.
TEST(FetchAhead, ResultsOfSquares) {
  std::string text = turned(64, 61);
  EXPECT_EQ(fetches_to_write(text), 4u);
  const std::string placed = "f32[64, 61] placed";
  text.replace(text.rfind(placed), placed.size(), placed + " far where 0 <= 0");
  EXPECT_EQ(fetches_to_write(text), 0u);
}

TEST(FetchAhead, NoSquaresWhereTheProcessorFollowsThem) {
  EXPECT_EQ(code_of(turned(64, 61), true).find("call void @llvm.prefetch"), std::string::npos);
  EXPECT_NE(code_of(columns(50, 1024, 8), true).find("call void @llvm.prefetch"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
