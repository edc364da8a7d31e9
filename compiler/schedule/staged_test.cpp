// Squares whose results go past the caches.
#include "compiler/schedule/staged.h"

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

using testing::HasSubstr;
using testing::Not;

std::string turned(int rows, int columns) {
  const std::string r = std::to_string(rows), c = std::to_string(columns);
  return "graph @g(%x: f32[" + r + ", " + c + "], %y: f32[" + c + ", " + r +
         "]) {\n  %t = aten.t(%y)\n  %a = aten.add.Tensor(%x, %t)\n  return %a\n}\n";
}

loops::Program scheduled(const std::string& graph, int64_t grain) {
  Target target = cpu_target("avx512", 1);
  target.grain = grain;
  loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), target);
  loops::require_valid(made, "the scheduler");
  return made;
}

TEST(Staged, RowsThatBeginAnywhere) {
  EXPECT_THAT(loops::print(scheduled(turned(2049, 1537), 1)), HasSubstr("temp %a_1: f32[64, 256] local"));
  EXPECT_THAT(loops::print(scheduled(turned(2049, 1536), 1)), Not(HasSubstr("local")));  // each begins with a line
  EXPECT_THAT(loops::print(scheduled(turned(249, 137), 1)), Not(HasSubstr("local")));    // near
}

TEST(Staged, ComputesTheSame) {
  const loops::Program program = scheduled(turned(61, 83), 64);
  ASSERT_THAT(loops::print(program), HasSubstr("local"));
  loops::Tensor x(Dtype::f32, loops::Ints{61, 83}), y(Dtype::f32, loops::Ints{83, 61});
  for (loops::Tensor* t : {&x, &y})
    for (int64_t i = 0; i < t->numel(); ++i) t->put(i, ScalarValue(static_cast<double>(i * 7 % 1000)));
  const std::vector<loops::InputValue> inputs{x, y};
  const loops::Results got = loops::interpret(program, inputs);
  ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
  for (int64_t i = 0; i < 61; ++i)
    for (int64_t k = 0; k < 83; ++k)
      ASSERT_EQ(got.outputs[0].tensor.at(i * 83 + k).real(), x.at(i * 83 + k).real() + y.at(k * 61 + i).real());
}

}  // namespace
}  // namespace lenz::schedule
