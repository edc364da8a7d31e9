#include "compiler/schedule/reshaped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::schedule {
namespace {

// Channels and places as one dim where they are scaled, apart where they are squared. `also`: another reader.
std::string scaled(std::string_view also) {
  return "loops @scaled {\n  input %x: f32[3, 40] placed\n  input %s: f32[3] placed\n  temp %a: f32[3, 40]\n"
         "  temp %b: f32[3, 5, 8]\n  temp %y: f32[3, 5, 8] placed\n  temp %z: f32[3, 40] placed\n"
         "  for i0 < 3, i1 < 40 {\n    %0 = load %x[i0, i1]\n    %1 = load %s[i0]\n    %2 = mul.f32 %0, %1\n"
         "    store %a[i0, i1] = %2\n  }\n"
         "  for i0 < 3, i1 < 5, i2 < 8 {\n    %0 = load %a[i0, i1*8 + i2]\n    %1 = exp.f32 %0\n    store %b[i0, i1, "
         "i2] = %1\n  }\n"
         "  for i0 < 3, i1 < 5, i2 < 8 {\n    %0 = load %a[i0, i1*8 + i2]\n    %1 = load %b[i0, i1, i2]\n"
         "    %2 = mul.f32 %0, %1\n    store %y[i0, i1, i2] = %2\n  }\n"
         "  for i0 < 3, i1 < 40 {\n    %0 = load " +
         std::string(also) + "[i0, i1]\n    store %z[i0, i1] = %0\n  }\n  return %y, %z\n}\n";
}

TEST(Reshaped, ADimThatAllReadersTakeApartIsTwo) {
  loops::Program program = loops::parse_program(scaled("%x"), op_table());
  std::vector<loops::InputValue> inputs;
  for (const loops::Ints& sizes : {loops::Ints{3, 40}, loops::Ints{3}}) {
    loops::Tensor t(Dtype::f32, sizes);
    for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i * 37 % 23) / 8));
    inputs.emplace_back(t);
  }
  const loops::Results before = loops::interpret(program, inputs);
  split_dims_as_read(program);
  EXPECT_THAT(loops::print(program), testing::HasSubstr("%a: f32[3, 5, 8]"));
  loops::require_valid(program, "the test");
  const loops::Results after = loops::interpret(program, inputs);
  for (int64_t i = 0; i < 120; ++i)
    EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
}

TEST(Reshaped, OneReaderThatDoesNotKeepsItWhole) {
  loops::Program program = loops::parse_program(scaled("%a"), op_table());
  split_dims_as_read(program);
  EXPECT_THAT(loops::print(program), testing::HasSubstr("%a: f32[3, 40]"));
}

// A mean of each group of four channels: where it is used, channels are groups and four.
TEST(Reshaped, AnAxisByWhoseQuotientSomethingIsReadIsTwo) {
  loops::Program program = loops::parse_program(
      "loops @grouped {\n  input %x: f32[12, 5] placed\n  temp %m: f32[3]\n  temp %e: f32[12, 5]\n"
      "  temp %y: f32[12, 5] placed\n"
      "  for i0 < 3, reduce i1 < 4, reduce i2 < 5 {\n    %0 = load %x[i0*4 + i1, i2]\n    %1 = reduce sum %0\n"
      "    store %m[i0] = %1\n  }\n"
      "  for i0 < 12, i1 < 5 {\n    %0 = load %x[i0, i1]\n    %1 = load %m[i0//4]\n    %2 = sub.f32 %0, %1\n"
      "    store %e[i0, i1] = %2\n  }\n"
      "  for i0 < 12, i1 < 5 {\n    %0 = load %e[i0, i1]\n    %1 = mul.f32 %0, %0\n    store %y[i0, i1] = %1\n  }\n"
      "  return %y\n}\n",
      op_table());
  loops::Tensor x(Dtype::f32, {12, 5});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23) / 8));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results before = loops::interpret(program, inputs);
  split_dims_as_read(program);
  const std::string text = loops::print(program);
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("%e: f32[3, 4, 5]"), testing::HasSubstr("load %m[s")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("//"))) << text;
  loops::require_valid(program, "the test");
  const loops::Results after = loops::interpret(program, inputs);
  for (int64_t i = 0; i < 60; ++i)
    EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
}

}  // namespace
}  // namespace lenz::schedule
