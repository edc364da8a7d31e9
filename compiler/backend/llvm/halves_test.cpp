// Comparisons of halves are those of f32, in vectors, whatever LLVM makes of conversions.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// What comes of a half and another one.
std::string of_halves(const std::string& body) {
  return fmt::format(
      "loops @halves {{\n  input %x: f16[100] placed\n  input %z: f16[100] placed\n  temp %y: f16[100] placed\n"
      "  kernel {{\n    for i < 100 lanes 16 unroll 2 {{\n      %0 = load %x[i]\n      %1 = load %z[i]\n{}"
      "      store %y[i] = %2\n    }}\n  }}\n  return %y\n}}\n",
      body);
}

loops::Tensor halves(int64_t step) {
  loops::Tensor t(Dtype::f16, {100});
  for (int64_t i = 0; i < 100; ++i) t.put(i, ScalarValue(static_cast<double>(i * step % 41 - 20) / 8));
  t.put(3, ScalarValue(std::nan("")));
  t.put(step, ScalarValue(-0.0));
  return t;
}

TEST(Halves, AreComparedInF32) {
  for (const char* body : {"      %2 = minimum.f16 %0, %1\n", "      %2 = maximum.f16 %0, %1\n",
                           "      %9 = lt.f16 %0, %1\n      %2 = where.f16 %9, %1, %0\n",
                           "      %9 = f16 0.5\n      %8 = ge.f16 %0, %9\n      %2 = where.f16 %8, %9, %1\n"}) {
    std::string text = of_halves(body);
    for (const auto& [from, to] : {std::pair{"%9", "%3"}, std::pair{"%8", "%4"}})
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) text.replace(at, 2, to);
    SCOPED_TRACE(text);
    for (const char* target : {"avx512", "avx2"}) {
      const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target(target), false);
      for (size_t at = 0; (at = code.find("fcmp", at)) != std::string::npos; ++at)
        EXPECT_GT(code.find(" half", at), code.find('\n', at)) << code.substr(at, 60);
    }
    expect_same(text, {halves(7), halves(11)}, same_real);
  }
}

}  // namespace
}  // namespace lenz::native
