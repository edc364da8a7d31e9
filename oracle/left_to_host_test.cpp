// Graphs of which nothing is proved: all that may be is left to eager's rows, and gives what it gave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/trial.h"

namespace lenz::oracle {
namespace {

void expect_same_by_rows(std::string_view text) {
  auto graph = parse_graph(text, op_table());
  const auto core = to_level(*graph, Level::core);
  // Nothing is proved while a nest computes what a row may.
  const auto none = [&](const loops::Program& program) {
    loops::ProgramVerdict verdict = loops::verify(program);
    size_t number = 0;
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      if (std::holds_alternative<loops::Nest>(node.is))
        verdict.violations.push_back({301, {number}, "nothing proves it", "a nest"});
      ++number;
    });
    return verdict;
  };
  const loops::Program program = lower_proved(*core, {}, none);
  EXPECT_THAT(loops::print(program), testing::Not(testing::HasSubstr("for "))) << text;
  Boxed boxed(DeviceKind::cpu);
  Binding binding;
  complete(binding, *graph);
  const InputSource inputs(*graph, binding, Values::ordinary, 1);
  Trial trial(*graph, boxed, inputs, binding, {});
  const auto wrong = trial.out_of_bounds(trial.on_loops(program), how_run(program));
  EXPECT_FALSE(wrong) << text << (wrong ? wrong->summary() : "");
}

TEST(LeftToHost, ViewsAndWhatReadsThem) {
  expect_same_by_rows(
      "graph @g(%x: f32[s0, 4, 6]) where s0 in 2..9 {\n  %t = aten.transpose(%x, 1, 2)\n"
      "  %r = aten.reshape(%t, [s0*6, 2, 2])\n  %s = aten.slice(%r, 0, 0, 9223372036854775807, 3)\n"
      "  %y = aten.sin(%s)\n  %q = aten.sum(%y, dim=[0])\n  return %y, %q, %s\n}\n");
}

TEST(LeftToHost, SeveralResultsAndIndices) {
  expect_same_by_rows(
      "graph @g(%x: f32[5, 7], %i: i64[3] init integers(0, 4, seed=2)) {\n  %a = aten.index_select(%x, 0, %i)\n"
      "  %m, %at = aten.max.dim(%a, 1)\n  %c = aten.cat([%a, %a], dim=1)\n  %e = aten.expand(%m, [2, 3])\n"
      "  %y = aten.add(%e, 1.0)\n  return %m, %at, %c, %y\n}\n");
}

// By another kernel than eager's own, which is left what that one does not take.
void expect_same_volume(const std::string& inputs, const std::string& how) {
  const std::string text = "graph @g(" + inputs +
                           ", %w: f32[4, 4, 3, 2, 3], %b: f32[4]) {\n  %y = aten.conv3d(%x, %w, %b" + how +
                           ")\n  return %y\n}\n";
  auto graph = parse_graph(text, op_table());
  const loops::Program program = to_loops(*graph, {}, {.products_outside = true});
  EXPECT_THAT(loops::print(program), testing::HasSubstr("extern %y = aten.convolution")) << text;
  Boxed boxed(DeviceKind::cpu);
  Binding binding;
  complete(binding, *graph);
  const InputSource source(*graph, binding, Values::ordinary, 1);
  Trial trial(*graph, boxed, source, binding, {});
  const auto wrong = trial.out_of_bounds(trial.on_loops(program), how_run(program));
  EXPECT_FALSE(wrong) << text << (wrong ? wrong->summary() : "");
}

TEST(LeftToHost, OneVolume) {
  for (const char* lies : {"", " strides [4320, 1, 360, 36, 4]"})
    for (const char* how : {"", ", stride=[1, 2, 3]", ", padding=[2, 0, 1]", ", dilation=[1, 3, 2], padding=[1, 1, 1]",
                            ", stride=[2, 2, 2], padding=[0, 3, 1], dilation=[2, 1, 1]"})
      expect_same_volume(std::string("%x: f32[1, 4, 12, 10, 9]") + lies, how);
}

}  // namespace
}  // namespace lenz::oracle
