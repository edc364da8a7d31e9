// Rows that are scanned several at a time are what each of them is by itself, however many there are.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

std::string text_of(const char* combine) {
  return fmt::format(
      "loops @rows where s0 in 0..100, s1 in 0..100 {{\n  input %x: f32[s0, s1] placed\n"
      "  temp %y: f32[s0, s1] placed\n  kernel k < s0 {{\n    for scan i < s1 {{\n      %0 = load %x[k, i]\n"
      "      %1 = f32 0.03125\n      %2 = mul.f32 %0, %1\n      %3 = scan {} %2\n      %4 = maximum.f32 %3, %0\n"
      "      store %y[k, i] = %4\n    }}\n  }}\n  return %y\n}}\n",
      combine);
}

TEST(ScannedRows, AreTheSameAtOnce) {
  for (const char* combine : {"sum", "product", "maximum", "minimum"})
    for (int64_t rows : {0, 1, 3, 4, 5, 7, 8, 14, 97})
      for (int64_t columns : {0, 1, 13}) {
        SCOPED_TRACE(fmt::format("{} of {} x {}", combine, rows, columns));
        expect_same(text_of(combine), {numbers({rows, columns})});
      }
}

// Those of rows whose length hangs on which one it is go one by one.
TEST(ScannedRows, OfOtherLengthsStandAlone) {
  std::string text = text_of("sum");
  text.replace(text.find("i < s1"), 6, "i < min(k, s1)");
  text.insert(text.find("  kernel k"), "  for i < s0, j < s1 {\n    %0 = f32 0.0\n    store %y[i, j] = %0\n  }\n");
  for (int64_t rows : {1, 9}) expect_same(text, {numbers({rows, 6})});
}

// A row in vectors is what it is one by one, whole vectors or not, of any size.
TEST(ScannedRows, InLanesAreTheSame) {
  for (const char* lanes : {"lanes 8", "lanes 16 unroll 2"})
    for (int64_t columns : {0, 1, 15, 16, 17, 32, 63, 99})
      for (const char* combine : {"sum", "maximum", "minimum"}) {
        SCOPED_TRACE(fmt::format("{} of {} in {}", combine, columns, lanes));
        std::string text = text_of(combine);
        text.insert(text.find("s1 {\n", text.find("scan i")) + 3, std::string(lanes) + " ");
        expect_same(text, {numbers({3, columns})});
      }
}

// Of states of two parts: where the greatest so far stands, the first one of equal ones.
TEST(ScannedRows, PlacesInLanesAreTheSame) {
  for (const char* combine : {"argmax", "argmax_last", "argmin"})
    expect_same(fmt::format("loops @places {{\n  input %x: f32[5, 117] placed\n  temp %y: i64[5, 117] placed\n"
                            "  kernel k < 5 {{\n    for scan i < 117 lanes 8 {{\n      %0 = load %x[k, i]\n"
                            "      %1 = index[i]\n      %2 = scan {} %0, %1\n      %3 = part 1 of %2\n"
                            "      store %y[k, i] = %3\n    }}\n  }}\n  return %y\n}}\n",
                            combine),
                {numbers({5, 117})});
}

// No product waits for those of the three other rows.
TEST(ScannedRows, AreFourInOneLoop) {
  const std::string code =
      kernels_as_text(loops::parse_program(text_of("product"), op_table()), find_target("avx512"), false);
  size_t carried = 0;
  for (size_t at = code.find("phi float"); at != std::string::npos; at = code.find("phi float", at + 1)) ++carried;
  EXPECT_EQ(carried, 5u) << "of four rows, and of one that is left";
}

}  // namespace
}  // namespace lenz::native
