// What a pass takes grows with the graph, also where one value has many users, or one node many operands.
#include <gtest/gtest.h>

#include <ctime>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

// Processor time of all passes.
double seconds_of(const std::string& text) {
  auto graph = parse_graph(text, op_table());
  const std::clock_t began = std::clock();
  run_passes(*graph, pipeline(), {});
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

void expect_near_linear(std::string (*text)(size_t)) {
  constexpr size_t kFew = 2'000, kTimes = 16;
  double few = seconds_of(text(kFew));
  for (int i = 0; i < 2; ++i) few = std::max(few, seconds_of(text(kFew)));
  EXPECT_LT(seconds_of(text(kFew * kTimes)), few * kTimes * 4);  // what is quadratic takes 256 times as long
}

std::string list(size_t n, const char* prefix, bool numbered) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += (i ? ", %" : "%") + std::string(prefix) + (numbered ? std::to_string(i) : "");
  return text;
}

TEST(Growth, OneValueWithManyUsers) {
  expect_near_linear(
      [](size_t n) { return "graph @g(%x: f32[2]) { %s = aten.stack([" + list(n, "x", false) + "]) return %s }"; });
}

TEST(Growth, OneNodeWithManyOperandsThatAreOne) {
  expect_near_linear([](size_t n) {
    std::string text = "graph @g(%x: f32[2]) {";
    for (size_t i = 0; i < n; ++i) text += " %v" + std::to_string(i) + " = aten.sin(%x)";
    return text + " %s = aten.stack([" + list(n, "v", true) + "]) return %s }";
  });
}

TEST(Growth, ManyOutputsThatAreOne) {
  expect_near_linear([](size_t n) {
    std::string text = "graph @g(%x: f32[2]) {";
    for (size_t i = 0; i < n; ++i) text += " %v" + std::to_string(i) + " = aten.view(%x, [2])";
    return text + " return " + list(n, "v", true) + " }";
  });
}

}  // namespace
}  // namespace lenz
