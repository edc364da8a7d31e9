// Bounds of ranges and windows, which have no operands: none of their elements may stand for another one.
#include <gtest/gtest.h>

#include <cmath>

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

// All numbers are whole beyond those that the dtype tells from the next: what they are spaced by is rounded all the
// same.
TEST(CreatedBounds, WholeNumbersThatAreRounded) {
  Judged j("graph @g(%x: i64[], %y: u8[]) { %z = aten.linspace(%x, %y, 7, dtype=f64) return %z }", {{-0x1p63}, {255}});
  EXPECT_FALSE(j.verdict().mismatch);
  for (const double near : {-0x1p62, -0x1p62 + 512}) EXPECT_FALSE(j.with(0, 3, near).mismatch) << near;
  EXPECT_TRUE(j.with(0, 3, -0x1p62 + 16384).mismatch);
  Judged exact("graph @g() { %z = aten.linspace(0, 60, 7, dtype=f64) return %z }");
  EXPECT_TRUE(exact.with(0, 3, std::nextafter(30.0, 31.0)).mismatch);
}

// Whatever the spacing is, it is counted from there.
TEST(CreatedBounds, TheFirstElementIsTheStart) {
  for (const std::string dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* call : {"linspace(0, 3, 50", "linspace(-7, 3.3, 9", "arange.start_step(0.5, 5, 0.1"}) {
      Judged j("graph @g() { %y = aten." + std::string(call) + ", dtype=" + dtype + ") return %y }", {},
               Widening::bounds_of_eager);
      ASSERT_FALSE(j.verdict().mismatch) << call;
      EXPECT_EQ(j.errors()[0], 0) << call << " " << dtype;
      EXPECT_GT(j.errors()[1], 0) << call << " " << dtype;
    }
    // Of what the dtype does not hold one number of it.
    Judged j("graph @g() { %y = aten.linspace(0.1, 3, 50, dtype=" + dtype + ") return %y }");
    const Dtype d = *parse_dtype(dtype);
    ASSERT_FALSE(j.verdict().mismatch) << dtype;
    EXPECT_TRUE(j.with(0, 0, round_to(d, 0.1) + last_place(d, 0.1)).mismatch) << dtype;
    EXPECT_TRUE(j.with(0, 0, round_to(d, 0.1) - last_place(d, 0.1)).mismatch) << dtype;
  }
  // Converted by way of f32, where it lies halfway.
  Judged by_f32("graph @g() { %y = aten.linspace(1.0039062500009095, 2, 3, dtype=bf16) return %y }");
  EXPECT_FALSE(by_f32.with(0, 0, 1).mismatch);
  EXPECT_FALSE(by_f32.with(0, 0, 1.0078125).mismatch);
  EXPECT_TRUE(by_f32.with(0, 0, 1.015625).mismatch);
}

TEST(CreatedBounds, TheFirstOfPowersIsOneOfTheStart) {
  for (const char* text : {"f16", "bf16"}) {
    const Dtype d = *parse_dtype(text);
    Judged j("graph @g() { %y = aten.logspace(1, 3, 21, dtype=" + std::string(text) + ") return %y }", {},
             Widening::bounds_of_eager);
    ASSERT_FALSE(j.verdict().mismatch);
    EXPECT_TRUE(j.with(0, 0, 10 + last_place(d, 10)).mismatch);
    EXPECT_TRUE(j.with(0, 0, 10 - last_place(d, 10)).mismatch);
  }
  // An exponent that the dtype does not hold: either power.
  Judged j("graph @g() { %y = aten.logspace(2.0039062500009095, 3, 5, dtype=bf16) return %y }");
  EXPECT_FALSE(j.with(0, 0, 100).mismatch);
  EXPECT_FALSE(j.with(0, 0, round_to(Dtype::bf16, 101.8)).mismatch);
  EXPECT_TRUE(j.with(0, 0, 105).mismatch);
}

TEST(CreatedBounds, ABaseThatTheDtypeDoesNotHold) {
  Judged j("graph @g() { %y = aten.logspace(300, 3, 7, base=1.00006) return %y }");
  const auto at_first = static_cast<double>(std::pow(1.00006F, 300.0F));
  EXPECT_FALSE(j.with(0, 0, at_first).mismatch);
  EXPECT_TRUE(j.with(0, 0, at_first - std::fabs(at_first - std::pow(1.00006, 300))).mismatch);
}

// Both are what differences of two numbers make, and those are zero.
TEST(CreatedBounds, EqualRowsHaveNoDistance) {
  for (const char* p : {"0.0", "1.0", "2.0", "inf"})
    for (const char* call : {"pdist(%x, ", "_cdist_forward(%x, %x, "}) {
      const bool pairs = call[0] == 'p';
      Judged j("graph @g(%x: f32[3, 2]) { %y = aten." + std::string(call) + p + (pairs ? "" : ", 2") + ") return %y }",
               {{0.1, 7.3, 0.1, 7.3, 1.7, 7.3}});
      ASSERT_FALSE(j.verdict().mismatch) << call << p;
      EXPECT_EQ(j.errors()[pairs ? 0 : 1], 0) << call << p;
      EXPECT_EQ(j.values()[pairs ? 0 : 1], 0) << call << p;
      EXPECT_TRUE(j.with(0, pairs ? 0 : 1, 0x1p-149).mismatch) << call << p;
    }
}

TEST(CreatedBounds, AWindowIsNumbers) {
  Judged j("graph @g() { %y = aten.kaiser_window.periodic(64, false) return %y }");
  EXPECT_TRUE(j.with(0, 0, HUGE_VAL).mismatch);
}

}  // namespace
}  // namespace lenz::oracle
