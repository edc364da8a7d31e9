#include "compiler/schedule/short_sorts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::schedule {
namespace {

// `shown`: besides the greatest three of each row.
std::string greatest(std::string_view shown) {
  return "loops @greatest {\n  input %x: f32[5, 40] placed\n  temp %v: f32[5, 40]\n  temp %i: i64[5, 40]\n"
         "  temp %y: f32[5, 3] placed\n  temp %z: i64[5, 3] placed\n  sort %v, %i = %x dim 1 descending stable\n"
         "  for i0 < 5, i1 < 3 {\n    %0 = load %v[i0, i1]\n    %1 = load %i[i0, i1]\n    store %y[i0, i1] = %0\n"
         "    store %z[i0, i1] = %1\n  }\n  return %y, %z" +
         std::string(shown) + "\n}\n";
}

TEST(ShortSorts, KeepWhatIsRead) {
  loops::Program program = loops::parse_program(greatest(""), op_table());
  loops::Tensor x(Dtype::f32, {5, 40});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23)));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results before = loops::interpret(program, inputs);
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program),
              testing::AllOf(testing::HasSubstr("%v: f32[5, 3]"), testing::HasSubstr("%i: i64[5, 3]")));
  loops::require_valid(program, "the test");
  const loops::Results after = loops::interpret(program, inputs);
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
    EXPECT_EQ(before.outputs[1].tensor.at(i).integer(), after.outputs[1].tensor.at(i).integer());
  }
}

TEST(ShortSorts, LeaveWhatOthersSee) {
  loops::Program program = loops::parse_program(greatest(", %v"), op_table());
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program),
              testing::AllOf(testing::HasSubstr("%v: f32[5, 40]"), testing::HasSubstr("%i: i64[5, 3]")));
}

}  // namespace
}  // namespace lenz::schedule
