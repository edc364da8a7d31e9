#include "compiler/schedule/turned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/plan.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {
namespace {

// A tanh by rows, and its products with `index` of it, stored column by column. `also`: another nest.
std::string turned(std::string_view index, std::string_view also = "") {
  return "loops @turned {\n  input %x: f32[64, 96] placed\n  temp %a: f32[64, 96]\n  temp %y: f32[96, 64] placed\n" +
         std::string(also.empty() ? "" : "  temp %z: f32[96] placed\n") +
         "  for i0 < 64, i1 < 96 {\n    %0 = load %x[i0, i1]\n    %1 = tanh.f32 %0\n    store %a[i0, i1] = %1\n  }\n"
         "  for i0 < 96, i1 < 64 {\n    %0 = load %a[i1, i0]\n    %1 = load %a[" +
         std::string(index) + "]\n    %2 = mul.f32 %0, %1\n    store %y[i0, i1] = %2\n  }\n" + std::string(also) +
         (also.empty() ? "  return %y\n}\n" : "  return %y, %z\n}\n");
}

size_t phases_of(const loops::Program& program) {
  size_t all = 0;
  const Plan made = plan(program, cpu_target("avx512", 2));
  for (const Group& g : made.blocks[0]) all += g.phases.size();
  return all;
}

TEST(Turned, ACopyHasTheAxesOfWhatItReads) {
  loops::Program program = loops::parse_program(turned("i1, i0"), op_table());
  loops::Tensor x(Dtype::f32, {64, 96});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23) / 8));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results before = loops::interpret(program, inputs);
  EXPECT_EQ(phases_of(program), 2u);
  order_axes_as_read(program);
  loops::require_valid(program, "the test");
  EXPECT_EQ(phases_of(program), 1u) << "one nest, which keeps nothing between";
  const loops::Results after = loops::interpret(program, inputs);
  for (int64_t i = 0; i < x.numel(); ++i)
    EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
}

TEST(Turned, NotWhereItIsReadInTwoOrders) {
  loops::Program program = loops::parse_program(turned("i0 - i0//64*64, i1"), op_table());
  const std::string before = loops::print(program);
  order_axes_as_read(program);
  EXPECT_EQ(loops::print(program), before);
}

// Another nest goes along what is stored as it is.
TEST(Turned, NotWhatIsReadOn) {
  loops::Program program = loops::parse_program(
      turned(
          "i1, i0",
          "  for i0 < 96, reduce i1 < 64 {\n    %0 = load %y[i0, i1]\n    %1 = reduce sum %0\n    store %z[i0] = %1\n"
          "  }\n"),
      op_table());
  const std::string before = loops::print(program);
  order_axes_as_read(program);
  EXPECT_EQ(loops::print(program), before);
}

}  // namespace
}  // namespace lenz::schedule
