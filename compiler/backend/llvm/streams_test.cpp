// Long rows that are combined in any order are walked in several places at once, up to their last points.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

std::string combined(const std::string& how, const std::string& size, const std::string& extent) {
  return fmt::format(
      "loops @combined {{\n  input %x: f32[{1}] placed\n  temp %s: f32[] placed\n  kernel {{\n    for reduce j < {2} "
      "lanes 4 unroll 4 {{\n      %0 = load %x[j]\n      %1 = reduce {0} %0\n      store %s[] = %1\n    }}\n  }}\n  "
      "return %s\n}}\n",
      how, size, extent);
}
std::string combined(const std::string& how, int size) {
  return combined(how, std::to_string(size), std::to_string(size));
}

// Whether the loop over so many elements, with four vectors in a turn, ends at a quarter of them.
bool in_streams(const std::string& program, int size) {
  const std::string code = kernels_as_text(loops::parse_program(program, op_table()), find_target("generic"), false);
  return code.find(fmt::format(", {}\n", size / 4)) != std::string::npos;
}

TEST(Streams, OfLongRows) {
  EXPECT_TRUE(in_streams(combined("sum", 16000), 16000));
  EXPECT_FALSE(in_streams(combined("sum", 4000), 4000));
  for (int size : {8192, 8193, 8207, 8208, 12345})
    for (const char* how : {"maximum", "minimum"}) expect_same(combined(how, size), {numbers({size})});
}

// What is one number all along is no row.
TEST(Streams, OfFewRows) {
  auto products = [](const std::string& type, const std::string& index) {
    return fmt::format(
        "loops @products {{\n  input %x: f32[16000] placed\n  input %y: {} placed\n  temp %s: f32[] placed\n"
        "  kernel {{\n    for reduce j < 16000 lanes 4 unroll 4 {{\n      %0 = load %x[j]\n      %1 = load %y[{}]\n"
        "      %2 = mul.f32 %0, %1\n      %3 = reduce sum %2\n      store %s[] = %3\n    }}\n  }}\n  return %s\n}}\n",
        type, index);
  };
  EXPECT_TRUE(in_streams(products("f32[16000]", "j"), 16000));
  EXPECT_TRUE(in_streams(products("f32[]", ""), 16000));
}

// Vectors of one turn have one address, and what they lie behind it, also where rows have any length.
TEST(Streams, VectorsOfATurnShareTheirAddress) {
  const std::string code = kernels_as_text(
      loops::parse_program(
          "loops @columns where s0 in 2.., s1 in 2.. {\n  input %x: f32[s0, s1] placed\n  temp %s: f32[s1] placed\n"
          "  kernel {\n    for i < s1 lanes 4 unroll 4, reduce j < s0 {\n      %0 = load %x[j, i]\n"
          "      %1 = reduce sum %0\n      store %s[i] = %1\n    }\n  }\n  return %s\n}\n",
          op_table()),
      find_target("generic"), false);
  for (const char* further : {"16", "32", "48"})
    EXPECT_THAT(code, testing::ContainsRegex(fmt::format("getelementptr i8, ptr %[a-z0-9]+, i64 {}\n", further)));
}

// A part of a row, of which there may be less; and whole numbers, whose sums are exact in any order.
TEST(Streams, OfPartsOfOpenRows) {
  for (int64_t size : {1, 15, 16, 17, 100, 8192, 9000, 20000})
    expect_same(combined("maximum", "s0", "min(9000, s0)"), {numbers({size})});
  loops::Tensor ones(Dtype::f32, {8209});
  for (int64_t i = 0; i < ones.numel(); ++i) ones.put(i, ScalarValue(static_cast<double>(i % 3 - 1)));
  expect_same(combined("sum", 8209), {ones});
}

// Two vectors of half floats are loaded as one: they stay neighbours, and every element is read.
TEST(Streams, OfHalfFloats) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16})
    for (int lanes : {4, 8, 16})
      for (int unroll : {1, 2, 4})
        for (int64_t size : {8192, 8961}) {
          loops::Tensor rising(dtype, {size});
          for (int64_t i = 0; i < size; ++i) rising.put(i, ScalarValue(static_cast<double>(i * 256 / size)));
          for (const char* how : {"maximum", "minimum"})
            expect_same(fmt::format("loops @halves {{\n  input %x: {0}[{1}] placed\n  temp %s: {0}[] placed\n  kernel "
                                    "{{\n    for reduce j < {1} lanes {2} unroll {3} {{\n      %0 = load %x[j]\n      "
                                    "%1 = reduce {4} %0\n      store %s[] = %1\n    }}\n  }}\n  return %s\n}}\n",
                                    name(dtype), size, lanes, unroll, how),
                        {rising});
        }
}

}  // namespace
}  // namespace lenz::native
