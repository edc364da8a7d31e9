// Orders of the zeta function that code knows: no call where there is a function for one of them, or none at all.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

std::string text_with(std::string_view order) {
  return fmt::format(
      "loops @zeta {{\n  input %x: f64[40] placed\n  temp %y: f64[40] placed\n  kernel {{\n"
      "    for i < 40 lanes 8 {{\n      %0 = load %x[i]\n      %1 = f64 {}\n"
      "      %2 = special_zeta.f64 %1, %0\n      store %y[i] = %2\n    }}\n  }}\n  return %y\n}}\n",
      order);
}

TEST(ZetaOrders, AreTheFunctions) {
  loops::Tensor x(Dtype::f64, {40});
  for (int64_t i = 0; i < 40; ++i) x.put(i, ScalarValue(static_cast<double>(i - 12) * 0.375));
  x.put(0, ScalarValue(INFINITY)), x.put(1, ScalarValue(-INFINITY)), x.put(2, ScalarValue(NAN));
  for (const char* order : {"2.0", "1.0", "0.5", "-3.0", "3.0", "2.5"})
    expect_same(text_with(order), {x}, [](const ScalarValue& a, const ScalarValue& b) {
      return same_real(a, b) || std::fabs(a.real() - b.real()) <= 0x1p-50 * std::fabs(a.real());
    });
}

TEST(ZetaOrders, OfTwoNeedNoCall) {
  auto code = [](std::string_view order) {
    return kernels_as_text(loops::parse_program(text_with(order), op_table()), find_target("avx512"), false);
  };
  EXPECT_EQ(code("2.0").find("lenz_evaluate_row"), std::string::npos);
  EXPECT_NE(code("3.0").find("lenz_evaluate_row"), std::string::npos);
}

}  // namespace
}  // namespace lenz::native
