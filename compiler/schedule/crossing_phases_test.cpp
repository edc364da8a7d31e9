// The last phase of a kernel that reads along one axis what it writes along another one runs in squares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

// Channels come first, are normed, and are written last.
constexpr std::string_view kNorm = R"(
graph @g(%x: f32[2, 40, 9, 37], %scale: f32[40], %shift: f32[40]) {
  %last = aten.permute(%x, [0, 2, 3, 1])
  %y = aten.layer_norm(%last, [40], %scale, %shift)
  return %y
}
)";

loops::Program scheduled(const Target& target) {
  loops::Program made = schedule(to_loops(*parse_graph(kNorm, op_table())), target);
  loops::require_valid(made, "the scheduler");
  return made;
}

std::string last_nest(const char* target) {
  const std::string text = loops::print(scheduled(cpu_target(target, 1)));
  const size_t at = text.rfind("    for ");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(CrossingPhases, RunInSquares) {
  EXPECT_THAT(last_nest("avx512"), testing::ContainsRegex("< 333 unroll 16, .* < 40 lanes 16 \""));
  EXPECT_THAT(last_nest("avx2"), testing::ContainsRegex("< 333 unroll 8, .* < 40 lanes 8 \""));
}

TEST(CrossingPhases, ComputeWhatTheirLoopsDo) {
  std::vector<loops::InputValue> inputs;
  for (const loops::Ints& sizes : {loops::Ints{2, 40, 9, 37}, loops::Ints{40}, loops::Ints{40}}) {
    loops::Tensor t(Dtype::f32, sizes);
    for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i * 37 % 101)));
    inputs.emplace_back(t);
  }
  const loops::Results wanted = loops::interpret(to_loops(*parse_graph(kNorm, op_table())), inputs);
  const loops::Results got = loops::interpret(scheduled(cpu_target("avx512", 2)), inputs);
  ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
  const loops::Tensor &a = got.outputs[0].tensor, &b = wanted.outputs[0].tensor;
  ASSERT_EQ(a.numel(), b.numel());
  for (int64_t i = 0; i < a.numel(); ++i) EXPECT_NEAR(a.at(i).real(), b.at(i).real(), 1e-3) << i;
}

}  // namespace
}  // namespace lenz::schedule
