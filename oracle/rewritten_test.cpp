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
  // Of numbers they are.
  EXPECT_TRUE(differ("  %r = aten.signbit(%x)", "  %n = aten.neg(%x) %r = aten.signbit(%n)"));
  // Whether it is one does not hang on its sign.
  EXPECT_TRUE(differ(nan + "%r = aten.isnan(%n)", "  %r = aten.isnan(%x)"));
}

}  // namespace
}  // namespace lenz::oracle
