// Masks of lanes that follow one another let the lanes through that comparing would, whichever they are.
#include <fmt/format.h>

#include <array>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

struct Masked {
  int64_t step, shift;  // of the coordinate that is asked about
  std::string row;      // how it compares with the limit
  int64_t limit;
  int64_t apart = 1;  // of places that are read
  bool negated = false;
  int64_t points = 37;
};

// Which points are read; the rest is -1. `rows`: a condition that no lane has a hand in, beside it.
std::string text_of(const Masked& m, int lanes, bool rows) {
  return fmt::format(
      "loops @masked {{\n  input %x: f32[{0}] placed\n  temp %y: f32[3, {1}] placed\n  kernel {{\n"
      "    for r < 3, i < {1} lanes {2} unroll 2 {{\n      %0 = index[i*{3} + {4}]\n      %1 = i64 {5}\n"
      "      %2 = {6}.i64 %0, %1\n      %3 = logical_not.bool %2\n      %4 = index[r]\n      %5 = i64 1\n"
      "      %6 = ne.i64 %4, %5\n      %7 = logical_and.bool {7}, %6\n      %8 = load %x[i*{8}] if {9}\n"
      "      %9 = f32 -1.0\n      %10 = where.f32 {9}, %8, %9\n      store %y[r, i] = %10\n    }}\n  }}\n  return "
      "%y\n}}\n",
      m.points * m.apart, m.points, lanes, m.step, m.shift, m.limit, m.row, m.negated ? "%3" : "%2", m.apart,
      rows        ? "%7"
      : m.negated ? "%3"
                  : "%2");
}

TEST(Runs, LetTheSameLanesThrough) {
  for (const char* row : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const auto& [step, shift] : {std::array<int64_t, 2>{1, 0}, {1, -9}, {3, -17}, {-1, 30}, {-2, 41}, {7, 3}})
      for (int64_t limit : {-40, -1, 0, 5, 16, 23, 100})
        for (const bool negated : {false, true}) {
          const Masked m{step, shift, row, limit, 1 + (limit + 40) % 3, negated};
          SCOPED_TRACE(text_of(m, 16, negated));
          expect_same(text_of(m, 16, negated), {numbers({m.points * m.apart})});
        }
}

TEST(Runs, OfAnyNumberOfLanes) {
  for (int lanes : {2, 4, 8, 32})
    for (const char* row : {"eq", "lt", "ge"}) {
      const Masked m{2, -11, row, 9, 2, false};
      SCOPED_TRACE(text_of(m, lanes, true));
      expect_same(text_of(m, lanes, true), {numbers({m.points * m.apart})});
    }
}

// An element is read for one lane, and its neighbour, which has the same one, has the other number.
TEST(Runs, LanesThatShareAnElement) {
  for (int lanes : {4, 8, 16}) {
    const std::string text = fmt::format(
        "loops @shared {{\n  input %x: f32[20] placed\n  temp %y: f32[3, 37] placed\n  kernel {{\n"
        "    for r < 3, i < 37 lanes {} unroll 2 {{\n      %0 = index[i % 2]\n      %1 = i64 0\n"
        "      %2 = eq.i64 %0, %1\n      %3 = load %x[i//2] if %2\n      %4 = f32 -1.0\n"
        "      %5 = where.f32 %2, %3, %4\n      store %y[r, i] = %5\n    }}\n  }}\n  return %y\n}}\n",
        lanes);
    SCOPED_TRACE(text);
    expect_same(text, {numbers({20})});
  }
}

bool compares_vectors(const char* row) {
  const std::string text = text_of({2, -9, row, 5, 2, false, 2000}, 16, true);  // so many that vectors are in a loop
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx512"), false);
  for (size_t at = code.find("icmp"); at != code.npos; at = code.find("icmp", at + 1))
    if (code.substr(at, code.find('\n', at) - at).find("<16 x i64>") != code.npos) return true;
  return false;
}

TEST(Runs, CompareNoVectors) {
  EXPECT_FALSE(compares_vectors("ge"));
  EXPECT_TRUE(compares_vectors("ne"));  // all lanes but one are no run
}

std::string code_of(std::string_view dtype, std::string_view load) {
  const std::string text = fmt::format(
      "loops @some {{\n  input %x: {0}[9, 37] placed\n  temp %y: {0}[9, 37] placed\n  kernel k < 9 {{\n"
      "    for i < 37 lanes 8 unroll 2 {{\n      %0 = index[k]\n      %1 = i64 3\n      %2 = lt.i64 %0, %1\n"
      "      %3 = load %x[k, i]{1}\n      store %y[k, i] = %3\n    }}\n  }}\n  return %y\n}}\n",
      dtype, load);
  loops::Tensor x(*parse_dtype(dtype), {9, 37});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i % 101)));
  expect_same(text, {x});
  return kernels_as_text(loops::parse_program(text, op_table()), find_target("avx2"), false);
}

// What is left of a row, of a length that is known, and rows that are read or not: neither is a matter of masks where
// these take long, or are none.
TEST(Runs, AreStoredWithoutMasks) {
  EXPECT_EQ(code_of("f32", "").find("masked.store"), std::string::npos);
  const std::string code = code_of("f16", " if %2");
  EXPECT_EQ(code.find("masked.store"), std::string::npos);
  EXPECT_EQ(code.find("masked.load.v8i16.p0(ptr %1, i32 2, <8 x i1> %"), std::string::npos);
}

// Nor are lanes that others lie between.
TEST(Runs, AreStoredApartWithoutMasks) {
  const std::string text =
      "loops @last {\n  input %x: f32[3, 37] placed\n  temp %y: f32[37, 3] placed\n  kernel {\n"
      "    for i < 37 lanes 8 unroll 2, c < 3 {\n      %0 = load %x[c, i]\n      store %y[i, c] = %0\n    }\n  }\n"
      "  return %y\n}\n";
  expect_same(text, {numbers({3, 37})});
  const loops::Program program = loops::parse_program(text, op_table());
  EXPECT_EQ(kernels_as_text(program, find_target("avx2"), false).find("masked.store"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
