// Elements of less than 32 bits come out of the words that have them, wherever in a word they lie.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// Some of the lanes read, where a mask says so.
std::string text_of(const char* dtype, int lanes, bool masked) {
  return fmt::format(
      "loops @taken {{\n  input %x: {0}[103] placed\n  input %i: i64[71] placed\n  temp %y: {0}[71] placed\n"
      "  kernel {{\n    for i < 71 lanes {1} unroll 2 {{\n      %0 = load %i[i]\n      %1 = i64 50\n"
      "      %2 = lt.i64 %0, %1\n      %3 = position %0 < 103 as p\n      %4 = load %x[p]{2}\n"
      "      store %y[i] = %4\n    }}\n  }}\n  return %y\n}}\n",
      dtype, lanes, masked ? " if %2" : "");
}

TEST(Gathers, OfNarrowElementsAreTheSame) {
  loops::Tensor at(Dtype::i64, {71});
  for (int64_t i = 0; i < at.numel(); ++i) at.put(i, ScalarValue(i == 3 ? int64_t{102} : i * 29 % 103));
  for (const char* dtype : {"u8", "i8", "bool", "i16", "f16", "bf16", "i32", "f32"})
    for (int lanes : {4, 8, 16})
      for (bool masked : {false, true}) {
        SCOPED_TRACE(text_of(dtype, lanes, masked));
        loops::Tensor x(*parse_dtype(dtype), {103});
        for (int64_t i = 0; i < x.numel(); ++i)
          x.put(i, is_floating(x.dtype()) ? ScalarValue(static_cast<double>(i))
                                          : ScalarValue(dtype[0] == 'b' ? i % 2 : i));
        expect_same(text_of(dtype, lanes, masked), {x, at});
      }
}

TEST(Gathers, OfNarrowElementsAreOfWords) {
  const loops::Program program = loops::parse_program(text_of("u8", 16, false), op_table());
  EXPECT_NE(kernels_as_text(program, find_target("avx512"), false).find("masked.gather.v16i32"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
