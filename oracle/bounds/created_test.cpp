// Bounds of ranges and windows, which have no operands: none of their elements may stand for another one.
#include <gtest/gtest.h>

#include "oracle/bounds/judged_case.h"

namespace lenz::oracle {
namespace {

TEST(CreatedBounds, AnElementOfARangeIsNotTheNext) {
  for (const char* call :
       {"arange.start_step(90.0, 126.0, 1.5, dtype=bf16)", "arange.start_step(0.5, 30.5, 1, dtype=f16)",
        "linspace(100.0, 120.0, 5, dtype=bf16)", "logspace(0, 2, 9, dtype=f16)"}) {
    Judged j(std::string("graph @g() { %y = aten.") + call + " return %y }", {}, Widening::bounds_of_eager);
    ASSERT_FALSE(j.verdict().mismatch) << call;
    const std::vector<double> values = j.values();
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      EXPECT_TRUE(j.with(0, i, values[i + 1]).mismatch) << call << ", element " << i;
      j.with(0, i, values[i]);
    }
  }
}

TEST(CreatedBounds, PowersBeyondIntegersAreOpen) {
  Judged j("graph @g(%x: i64[]) { %y = aten.logspace.Tensor_Scalar(%x, 0, 2, dtype=i32) return %y }", {{200}});
  EXPECT_EQ(j.errors()[0], HUGE_VAL);
  EXPECT_EQ(j.errors()[1], 0);
}

TEST(CreatedBounds, AWindowIsNumbers) {
  Judged j("graph @g() { %y = aten.kaiser_window.periodic(64, false) return %y }");
  EXPECT_TRUE(j.with(0, 0, HUGE_VAL).mismatch);
}

}  // namespace
}  // namespace lenz::oracle
