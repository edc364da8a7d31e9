// Quotients and remainders of coordinates, one for each lane: in 32 bits where ranges allow, the same elements.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// A row of 50 points that reads somewhere in 600 elements.
std::string reading(const std::string& place) {
  return fmt::format(
      "loops @quotients {{\n  input %x: f32[600] placed\n  temp %y: f32[70, 50] placed\n  kernel k < 70 {{\n"
      "    for i < 50 lanes 16 unroll 2 {{\n      %0 = load %x[{}]\n      store %y[k, i] = %0\n    }}\n  }}\n"
      "  return %y\n}}\n",
      place);
}

bool divides_in_halves(const std::string& place) {
  const std::string code =
      kernels_as_text(loops::parse_program(reading(place), op_table()), find_target("avx512"), false);
  const auto has = [&](const char* what) { return code.find(what) != std::string::npos; };
  const bool whole = has("div <16 x i64>") || has("rem <16 x i64>"),
             half = has("udiv <16 x i32>") || has("urem <16 x i32>");
  EXPECT_FALSE(whole) << place;
  return half;
}

// That neither lanes nor rows alone decide, so that no table has it.
TEST(Quotients, OfLanesAreThoseOfPoints) {
  for (const char* place :
       {"(k*50 + i + 7)//7", "(k*50 + i + 7) % 121", "(i*3 - k*20) % 70", "(i - k*51 + 70) % 121", "(i - k*5)//7 + 50",
        "(i - k*51)//120 + 30", "((i - k*20) % 70 + k*70)//121", "(i - k) % 1 + k", "(i - k)//1 + 70"}) {
    SCOPED_TRACE(place);
    expect_same(reading(place), {numbers({600})});
  }
}

TEST(Quotients, OfKnownRangesAreOfHalves) {
  EXPECT_TRUE(divides_in_halves("(k*50 + i + 7) % 121"));
  EXPECT_TRUE(divides_in_halves("(i*3 - k*20) % 70"));
  EXPECT_FALSE(divides_in_halves("(k*20000019 + i*3)//35000003")) << "more than 31 bits";
  EXPECT_FALSE(divides_in_halves("(i - k*20000019)//35000003 + 41"));
  for (const char* place : {"(k*20000019 + i*3)//35000003", "(i - k*20000019)//35000003 + 41"})
    expect_same(reading(place), {numbers({600})});
}

// By sizes that are open: no lane is divided by itself.
std::string by_open(const std::string& place) {
  return fmt::format(
      "loops @quotients where s0 in 1.. {{\n  input %n: int s0\n  input %x: f32[600] placed\n"
      "  temp %y: f32[70, 50] placed\n  kernel k < 70 {{\n    for i < 50 lanes 16 unroll 2 {{\n"
      "      %0 = load %x[({}) % 600]\n      store %y[k, i] = %0\n    }}\n  }}\n  return %y\n}}\n",
      place);
}

TEST(Quotients, ByOpenSizesAreOfDoubles) {
  for (const char* place :
       {"(k*50 + i + 7)//s0", "(i*3 - k*20) % s0", "(k*51 - i)//s0", "(k*4503599627370496 + i*1000003)//s0",
        "(k*4503599627370496 - i*1000003) % s0", "((k*50 + i + 7)//s0 + (k*50 + i + 7) % s0)//s0"}) {
    SCOPED_TRACE(place);
    const std::string text = by_open(place);
    const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx512"), false);
    EXPECT_NE(code.find("fdiv double 1.0"), std::string::npos);
    for (int64_t n :
         {int64_t{1}, int64_t{3}, int64_t{16}, int64_t{121}, (int64_t{1} << 47) - 1, (int64_t{1} << 52) + 3})
      expect_same(text, {n, numbers({600})});
  }
}

// Numbers that data say, of few digits and of many.
TEST(Quotients, OfPositionsByOpenSizes) {
  const std::string text = R"(loops @positions where s0 in 1.. {
  input %n: int s0
  input %at: i64[100] placed
  input %x: f32[600] placed
  temp %y: f32[100] placed
  kernel {
    for i < 100 lanes 8 unroll 2 {
      %0 = load %at[i]
      %1 = position %0 < 4611686018427387904 as p
      %2 = load %x[(p//s0 + p % s0) % 600]
      store %y[i] = %2
    }
  }
  return %y
}
)";
  loops::Tensor few(Dtype::i64, {100}), many(Dtype::i64, {100});
  for (int64_t i = 0; i < 100; ++i) {
    few.put(i, ScalarValue(i * 5629499534213 % (int64_t{1} << 49)));
    many.put(i, ScalarValue(i % 9 == 0 ? i * 46116860184273879 : i));
  }
  for (int64_t n : {int64_t{1}, int64_t{3}, int64_t{1000003}, (int64_t{1} << 48) + 1, (int64_t{1} << 55) + 1}) {
    expect_same(text, {n, few, numbers({600})});
    expect_same(text, {n, many, numbers({600})});
  }
}

// Rows of a tile that ends somewhere, of a size that is open.
TEST(Quotients, OfOpenTiles) {
  const std::string text = R"(loops @tiles where s0 in 1..1000 {
  input %x: f32[600] placed
  temp %y: f32[s0] placed
  kernel t < (s0 + 63)//64 {
    for i < min(64, s0 - t*64) lanes 16 unroll 2 {
      %0 = load %x[((t*64 + i)*7) % 599]
      store %y[t*64 + i] = %0
    }
  }
  return %y
}
)";
  const loops::Program program = loops::parse_program(text, op_table());
  EXPECT_NE(kernels_as_text(program, find_target("avx512"), false).find("urem <16 x i32>"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
