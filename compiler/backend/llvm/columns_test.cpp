// What the lanes' coordinate alone decides is computed before the rows are walked; what lies near each other is read as
// vectors, whatever its order.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

struct Rows {
  std::string place;  // in a row of x, of column i
  int64_t columns = 40, wide = 100;
  std::string dtype = "f32", before = "";  // instructions
};

std::string text_of(const Rows& r, int lanes) {
  return fmt::format(
      "loops @rows {{\n  input %x: {0}[70, {1}] placed\n  temp %y: {0}[70, {2}] placed\n"
      "  kernel k < 70 {{\n    for i < {2} lanes {3} unroll 2 {{\n{4}      %20 = load %x[k, {5}]\n"
      "      %21 = add.{0} %20, %20\n      store %y[k, i] = %21\n    }}\n  }}\n  return %y\n}}\n",
      r.dtype, r.wide, r.columns, lanes, r.before, r.place);
}

// Column i of an image that is twice as wide, by arithmetic in floats.
const std::string kHalf =
    "      %0 = index[i]\n      %1: f32 = to_dtype.i64 %0\n      %2 = f32 0.5\n      %3 = mul.f32 %1, %2\n"
    "      %4 = floor.f32 %3\n      %5: i64 = to_dtype.f32 %4\n      %6 = position %5 < 100 as p\n";
// By what a row has for it, modulo its width.
const std::string kData =
    "      %0 = load %x[k, i]\n      %1: i64 = to_dtype.f32 %0\n      %2 = i64 100\n      %3 = remainder.i64 %1, %2\n"
    "      %4 = position %3 < 100 as p\n";

const Rows kRows[] = {
    {"min(76 - max(5 - i, i - 5), max(5 - i, i - 5))", 47},
    {"(i + 33) % 40"},
    {"max(i - 3, 0)"},
    {"min(2*i, 99 - i)"},
    {"(i*57) % 100"},
    {"max(i - 3, 0)", 3},
    {"(i + 33) % 40", 40, 40, "f64"},
    {"(i + 33) % 40", 40, 40, "i16"},
    {"(i + 33) % 40", 40, 40, "u8"},
    {"(i + 33) % 40", 40, 40, "bf16"},
    {"p", 61, 100, "f32", kHalf},
    {"99 - p", 61, 100, "f32", kHalf},
    {"(p + k) % 100", 61, 100, "f32", kHalf},
    {"p", 40, 100, "f32", kData},
    {"p", 61, 100, "bf16", kHalf},
};

TEST(Columns, GiveTheSameElements) {
  for (const Rows& r : kRows)
    for (int lanes : {4, 8, 16}) {
      SCOPED_TRACE(text_of(r, lanes));
      loops::Tensor x(*parse_dtype(r.dtype), {70, r.wide});
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t number = i * 37 % 101;
        x.put(i, is_floating(x.dtype()) ? ScalarValue(static_cast<double>(number)) : ScalarValue(number));
      }
      expect_same(text_of(r, lanes), {x});
    }
}

// Taps beside each column, weighed by where they lie: each inner point has tables of its own.
TEST(Columns, HaveInnerPoints) {
  for (int lanes : {4, 8, 16})
    for (const char* place : {"(i + 7*j) % 40", "min(max(i + j - 1, 0), 39)"}) {
      const std::string text = fmt::format(
          "loops @taps {{\n  input %x: f32[70, 40] placed\n  temp %y: f32[70, 40] placed\n  kernel k < 70 {{\n"
          "    for i < 40 lanes {}, reduce j < 4 {{\n      %0 = index[i*3 + j]\n      %1: f32 = to_dtype.i64 %0\n"
          "      %2 = f32 0.125\n      %3 = mul.f32 %1, %2\n      %4 = floor.f32 %3\n      %5 = sub.f32 %3, %4\n"
          "      %6 = index[j]\n      %7: f32 = to_dtype.i64 %6\n      %8 = sub.f32 %5, %7\n"
          "      %9 = load %x[k, {}]\n      %10 = mul.f32 %8, %9\n      %11 = reduce sum %10\n"
          "      store %y[k, i] = %11\n    }}\n  }}\n  return %y\n}}\n",
          lanes, place);
      SCOPED_TRACE(text);
      expect_same(text, {numbers({70, 40})});
    }
}

std::string code_of(const Rows& r, int lanes, std::string_view target = "avx512") {
  return kernels_as_text(loops::parse_program(text_of(r, lanes), op_table()), find_target(target), false);
}

TEST(Columns, AreReadAsVectors) {
  for (const Rows& r : {kRows[0], kRows[1], kRows[10]})
    EXPECT_NE(code_of(r, 16).find("permvar"), std::string::npos) << r.place;
  EXPECT_EQ(code_of(kRows[13], 16).find("permvar"), std::string::npos) << "what data decide is told by nobody before";
}

// AVX2 permutes words, and bytes of half a register; how far a vector reaches is a mask of lanes there, not of bits.
TEST(Columns, AreReadAsVectorsOfWords) {
  EXPECT_NE(code_of(kRows[6], 4, "avx2").find("avx2.permd"), std::string::npos);
  EXPECT_NE(code_of(kRows[9], 8, "avx2").find("ssse3.pshuf.b"), std::string::npos);
  const std::string code = code_of(kRows[10], 8, "avx2");
  EXPECT_NE(code.find("avx2.permd"), std::string::npos);
  EXPECT_EQ(code.find("load <8 x i1>"), std::string::npos);
}

// A table is written before the loop over rows, which computes nothing of it.
TEST(Columns, AreComputedOnce) {
  const std::string program =
      "loops @weighed {\n  input %x: f32[70, 40] placed\n  temp %y: f32[70, 40] placed\n  kernel k < 70 {\n"
      "    for i < 40 lanes 8 {\n      %0 = index[i]\n      %1: f32 = to_dtype.i64 %0\n      %2 = f32 0.75\n"
      "      %3 = mul.f32 %1, %2\n      %4 = floor.f32 %3\n      %5 = sub.f32 %3, %4\n      %6 = sqrt.f32 %5\n"
      "      %7 = load %x[k, i]\n      %8 = mul.f32 %6, %7\n      store %y[k, i] = %8\n    }\n  }\n  return %y\n}\n";
  const std::string code = kernels_as_text(loops::parse_program(program, op_table()), find_target("avx512"), false);
  const size_t rows = code.find("load <8 x float>");  // what is read again
  ASSERT_NE(rows, std::string::npos);
  EXPECT_NE(code.find("llvm.sqrt.v8f32("), std::string::npos);
  EXPECT_LT(code.rfind("call <8 x float> @llvm.sqrt.v8f32("), rows);
  expect_same(program, {numbers({70, 40})});
}

// A column that is outside says so where there is a row, and only there.
TEST(Columns, OutsideAreTold) {
  const std::string outside =
      "      %0 = index[i]\n      %1 = i64 70\n      %2 = add.i64 %0, %1\n      %3 = position %2 < 100 as p\n";
  const std::string text = text_of({"p", 40, 100, "f32", outside}, 8);
  const loops::Program program = loops::parse_program(text, op_table());
  NativeKernels kernels(program, runnable_target(), 1);
  loops::InterpretOptions options;
  options.run_kernel = [&](const loops::KernelCall& call) { return kernels.run(call); };
  const std::vector<loops::InputValue> inputs{numbers({70, 100})};
  const loops::Results wanted = loops::interpret(program, inputs);
  EXPECT_NE(wanted.ending, loops::interpret(loops::parse_program(text_of(kRows[1], 8), op_table()), inputs).ending);
  EXPECT_EQ(loops::interpret(program, inputs, options).ending, wanted.ending);
}

}  // namespace
}  // namespace lenz::native
