#include "oracle/rewritten.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle {
namespace {

std::unique_ptr<Graph> made_of(const std::string& text) {
  return parse_graph("graph @g(%x: f32[1] init ones) {\n" + text + "\n  return %r\n}\n", op_table());
}

// Whether what a pass has made of `text` differs from it.
bool differ(const std::string& text, const std::string& made) {
  const auto graph = made_of(text), passed = made_of(made);
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*graph, {}, Values::ordinary, 1);
  Trial trial(*graph, boxed, inputs, {}, {});
  return Rewritten(trial).differs(*passed, trial.eager(*passed)).has_value();
}

TEST(Rewritten, SignsOfNanAreNobodysPromise) {
  const std::string nan = "  %n = aten.mul(%x, nan) ", negative = "  %m = aten.mul(%x, nan) %n = aten.neg(%m) ";
  EXPECT_FALSE(differ(nan + "%r = aten.signbit(%n)", negative + "%r = aten.signbit(%n)"));
  EXPECT_FALSE(differ(nan + "%r = aten.copysign(%x, %n)", negative + "%r = aten.copysign(%x, %n)"));
  EXPECT_FALSE(differ(nan + "%r = aten.view(%n, i32)", negative + "%r = aten.view(%n, i32)"));
  // Of numbers they are.
  EXPECT_TRUE(differ("  %r = aten.view(%x, i32)", "  %n = aten.neg(%x) %r = aten.view(%n, i32)"));
  EXPECT_TRUE(differ("  %r = aten.signbit(%x)", "  %n = aten.neg(%x) %r = aten.signbit(%n)"));
  // Whether it is one does not hang on its sign.
  EXPECT_TRUE(differ(nan + "%r = aten.isnan(%n)", "  %r = aten.isnan(%x)"));
}

// Eager gives what lay about, which a number stands for here: a pass can't be held to that, but elsewhere it is.
TEST(Rewritten, OfANanAPolynomialIsWhatWasNeverSet) {
  auto polynomial = [](const std::string& of) {
    return "  %n = aten.mul(%x, " + of + ") %d = aten.full([1], 3.0) %r = aten.special_chebyshev_polynomial_w(%n, %d)";
  };
  for (const char* left : {"0.125", "1e-30", "nan"})
    EXPECT_FALSE(differ(polynomial("nan"), "  %r = aten.mul(%x, " + std::string(left) + ")")) << left;
  EXPECT_FALSE(differ(polynomial("0.0"), "  %r = aten.mul(%x, -1.0)"));
  EXPECT_TRUE(differ(polynomial("0.0"), "  %r = aten.mul(%x, 0.125)"));
}

}  // namespace
}  // namespace lenz::oracle
