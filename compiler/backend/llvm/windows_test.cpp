// Lanes at fixed distances in memory: vectors and shuffles, the same elements as one by one, and nothing else is read.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

struct Moved {
  std::string from, to;  // of a point i
  int64_t size_from, size_to, points;
  std::string dtype = "f32", mask = "";  // a condition on index[...] < limit
};

std::string text_of(const Moved& m, int lanes) {
  const std::string mask =
      m.mask.empty() ? "" : fmt::format("      %5 = index[{}]\n      %6 = i64 5\n      %7 = le.i64 %6, %5\n", m.mask);
  return fmt::format(
      "loops @moved {{\n  input %x: {0}[{1}] placed\n  temp %y: {0}[{2}] placed\n"
      "  kernel {{\n    for z < {2} {{\n      %0 = {0} {9}\n      store %y[z] = %0\n    }}\n"
      "    for i < {3} lanes {4} unroll 2 {{\n{5}      %10 = load %x[{6}]{7}\n      %11 = add.{0} %10, %10\n"
      "      store %y[{8}] = %11{7}\n    }}\n  }}\n  return %y\n}}\n",
      m.dtype, m.size_from, m.size_to, m.points, lanes, mask, m.from, m.mask.empty() ? "" : " if %7", m.to,
      is_floating(*parse_dtype(m.dtype)) ? "0.0" : "0");
}

const Moved kMoves[] = {
    {"i*2", "i", 79, 40, 40},
    {"i*3 + 1", "i", 119, 40, 40},
    {"i", "i*2", 40, 79, 40},
    {"39 - i", "i", 40, 40, 40},
    {"i", "78 - i*2", 40, 79, 40},
    {"i//2", "i", 20, 40, 40},
    {"i % 2", "i", 2, 40, 40},
    {"i // 16 * 100 + i % 16", "i", 240, 40, 40},
    {"i", "i // 16 * 20 + i % 16", 40, 60, 40},
    {"i % 2 * 20 + i//2", "i", 40, 40, 40},
    {"i*2", "i", 79, 40, 40, "f32", "i"},
    {"i//2", "i", 20, 40, 40, "f32", "i"},
    {"39 - i", "i*2", 40, 79, 40, "f32", "38 - i"},
    {"i*2", "i*3", 21, 31, 11},
    {"i*3", "i", 119, 40, 40, "i32"},
    {"i*4", "i", 157, 40, 40, "u8"},
    {"i // 16 * 20 + i % 16", "i", 80, 64, 64, "bf16"},  // two vectors at once only where one follows the other
    {"i", "i // 16 * 20 + i % 16", 64, 80, 64, "bf16"},
    {"i % 16", "i", 16, 64, 64, "bf16"},
};

TEST(Windows, MoveTheSameElements) {
  for (const Moved& m : kMoves)
    for (int lanes : {4, 16}) {
      SCOPED_TRACE(text_of(m, lanes));
      loops::Tensor x(*parse_dtype(m.dtype), {m.size_from});
      for (int64_t i = 0; i < m.size_from; ++i) {
        const int64_t number = i * 37 % 101;
        x.put(i, is_floating(x.dtype()) ? ScalarValue(static_cast<double>(number)) : ScalarValue(number));
      }
      expect_same(text_of(m, lanes), {x});
    }
}

TEST(Windows, NeedNoGathers) {
  for (const Moved& m : kMoves) {
    const loops::Program program = loops::parse_program(text_of(m, 16), op_table());
    const std::string code = kernels_as_text(program, find_target("avx512"), false);
    EXPECT_EQ(code.find("masked.gather"), std::string::npos) << text_of(m, 16);
    EXPECT_EQ(code.find("masked.scatter"), std::string::npos) << text_of(m, 16);
  }
}

TEST(Windows, AreNotReadForFarElements) {
  const Moved far{"i*50", "i", 2000, 40, 40};
  const std::string code =
      kernels_as_text(loops::parse_program(text_of(far, 16), op_table()), find_target("avx512"), false);
  EXPECT_NE(code.find("masked.gather"), std::string::npos);
  expect_same(text_of(far, 16), {numbers({2000})});
}

// Where coordinates decide, not data, a gather asks first whether its lanes are neighbours here, as most of these are.
TEST(Windows, NeighboursAreNotGathered) {
  const Moved rolled{"(i + 33) % 80", "i", 80, 80, 80};
  auto code = [](const Moved& m) {
    return kernels_as_text(loops::parse_program(text_of(m, 16), op_table()), find_target("avx512"), false);
  };
  EXPECT_NE(code(rolled).find("masked.gather"), std::string::npos);
  EXPECT_NE(code(rolled).find("vector.reduce.and"), std::string::npos);
  EXPECT_EQ(code({"i*50", "i", 2000, 40, 40}).find("vector.reduce.and"), std::string::npos);
  expect_same(text_of(rolled, 16), {numbers({80})});
}

TEST(Windows, HoldBothPartsOfComplexNumbers) {
  const std::string text =
      "loops @turned {\n  input %x: c64[37] placed\n  temp %y: c64[37] placed\n  kernel {\n    for i < 37 lanes 8 "
      "unroll "
      "2 {\n      %0 = load %x[36 - i]\n      %1 = mul.c64 %0, %0\n      store %y[i] = %1\n    }\n  }\n  return "
      "%y\n}\n";
  loops::Tensor x(Dtype::c64, {37});
  for (int64_t i = 0; i < 37; ++i)
    x.put(i, ScalarValue(std::complex<double>(static_cast<double>(i), static_cast<double>(5 - i))));
  expect_same(text, {x});
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx512"), false);
  EXPECT_EQ(code.find("masked.gather"), std::string::npos);
  EXPECT_EQ(code.find("masked.scatter"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
