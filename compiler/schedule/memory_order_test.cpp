#include "compiler/schedule/memory_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/joined_rows.h"
#include "compiler/schedule/realise.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {
namespace {

constexpr std::string_view kLast = " strides [480, 1, 24, 6]";

std::string program(std::string_view strides, std::string_view buffers, std::string_view nests) {
  return "loops @images {\n  input %x: f32[2, 6, 20, 4]" + std::string(strides) + " placed\n" + std::string(buffers) +
         std::string(nests) + "  return %y\n}\n";
}

// What each channel of images is behind its mean.
std::string centred(std::string_view strides) {
  return program(strides,
                 "  temp %a: f32[2, 6, 20, 4]\n  temp %s: f32[6]\n  temp %y: f32[2, 6, 20, 4]" + std::string(strides) +
                     " placed\n",
                 "  for i0 < 2, i1 < 6, i2 < 20, i3 < 4 {\n    %0 = load %x[i0, i1, i2, i3]\n    %1 = tanh.f32 %0\n"
                 "    store %a[i0, i1, i2, i3] = %1\n  }\n"
                 "  for i1 < 6, reduce i0 < 2, reduce i2 < 20, reduce i3 < 4 {\n    %0 = load %a[i0, i1, i2, i3]\n"
                 "    %1 = reduce sum %0\n    store %s[i1] = %1\n  }\n"
                 "  for i0 < 2, i1 < 6, i2 < 20, i3 < 4 {\n    %0 = load %a[i0, i1, i2, i3]\n    %1 = load %s[i1]\n"
                 "    %2 = sub.f32 %0, %1\n    store %y[i0, i1, i2, i3] = %2\n  }\n");
}

// The sum of each of three groups of two channels.
std::string grouped(std::string_view strides) {
  return program(strides, "  temp %y: f32[2, 3] placed\n",
                 "  for i0 < 2, i1 < 3, reduce i2 < 2, reduce i3 < 20, reduce i4 < 4 {\n"
                 "    %0 = load %x[i0, i1*2 + i2, i3, i4]\n    %1 = reduce sum %0\n    store %y[i0, i1] = %1\n  }\n");
}

void expect_same_results(const loops::Program& before, const loops::Program& after) {
  loops::require_valid(after, "the test");
  const loops::Tensor rows(Dtype::f32, {2, 6, 20, 4});
  const DimVec& strides = before.buffers[0].type.strides;
  loops::Ints lies;
  for (Dim d : strides) lies.push_back(d.constant());
  loops::Tensor x = rows.view(rows.sizes(), lies, 0);
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23)));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results a = loops::interpret(before, inputs), b = loops::interpret(after, inputs);
  for (int64_t i = 0; i < a.outputs[0].tensor.numel(); ++i)
    EXPECT_NEAR(a.outputs[0].tensor.at(i).real(), b.outputs[0].tensor.at(i).real(), 1e-4);
}

using Change = void (*)(loops::Program&);

std::string changed(const std::string& text, Change change) {
  loops::Program made = loops::parse_program(text, op_table());
  change(made);
  expect_same_results(loops::parse_program(text, op_table()), made);
  return loops::print(made);
}

std::string nest(const std::string& text, size_t number) {
  size_t at = 0;
  for (size_t k = 0; k <= number; ++k) at = text.find("  for ", at + 1);
  return text.substr(at + 2, text.find('{', at) - at - 3);
}

TEST(MemoryOrder, AxesGoAlongChannelsWhereTheseLieLast) {
  const std::string made = changed(centred(kLast), order_axes_as_memory);
  EXPECT_EQ(nest(made, 0), "for i0 < 2, i2 < 20, i3 < 4, i1 < 6");
  EXPECT_EQ(nest(made, 2), nest(made, 0));
  EXPECT_THAT(made, testing::HasSubstr("temp %a: f32[2, 20, 4, 6]")) << "what is stored of them lies so, too";
  EXPECT_THAT(changed(grouped(kLast), order_axes_as_memory),
              testing::HasSubstr("for i0 < 2, i1 < 3, reduce i3 < 20, reduce i4 < 4, reduce i2 < 2"));
}

TEST(MemoryOrder, NothingMovesWhereRowsLieAsTheyAre) {
  for (const std::string& text : {centred(""), grouped("")})
    EXPECT_EQ(changed(text, order_axes_as_memory), changed(text, [](loops::Program&) {}));
}

TEST(MemoryOrder, NotWhereAnOperandLiesEachWay) {
  const std::string text =
      program(kLast, "  input %z: f32[2, 6, 20, 4] placed\n  temp %y: f32[2, 6, 20, 4]\n",
              "  for i0 < 2, i1 < 6, i2 < 20, i3 < 4 {\n    %0 = load %x[i0, i1, i2, i3]\n"
              "    %1 = load %z[i0, i1, i2, i3]\n    %2 = add.f32 %0, %1\n    store %y[i0, i1, i2, i3] = %2\n  }\n");
  loops::Program made = loops::parse_program(text, op_table());
  order_axes_as_memory(made);
  EXPECT_EQ(nest(loops::print(made), 0), "for i0 < 2, i1 < 6, i2 < 20, i3 < 4");
}

// Of six channels no vector is full: where each place has a sum of its own, they stay side by side.
TEST(MemoryOrder, NotForShortRowsThatAreReduced) {
  const std::string made = changed(
      program(
          kLast, "  temp %s: f32[2, 20, 4]\n  temp %y: f32[2, 6, 20, 4] placed\n",
          "  for i0 < 2, i2 < 20, i3 < 4, reduce i1 < 6 {\n    %0 = load %x[i0, i1, i2, i3]\n"
          "    %1 = reduce sum %0\n    store %s[i0, i2, i3] = %1\n  }\n"
          "  for i0 < 2, i1 < 6, i2 < 20, i3 < 4 {\n    %0 = load %x[i0, i1, i2, i3]\n    %1 = load %s[i0, i2, i3]\n"
          "    %2 = sub.f32 %0, %1\n    store %y[i0, i1, i2, i3] = %2\n  }\n"),
      order_axes_as_memory);
  EXPECT_EQ(nest(made, 1), "for i0 < 2, i1 < 6, i2 < 20, i3 < 4");
}

// The first of equal ones is the first in the order of the axes.
TEST(MemoryOrder, AnOrderOfWhatIsReducedThatCountsStays) {
  const std::string made =
      changed(program(kLast, "  temp %y: f32[2] placed\n",
                      "  for i0 < 2, reduce i1 < 6, reduce i2 < 20, reduce i3 < 4 {\n    %0 = load %x[i0, i1, i2, i3]\n"
                      "    %1 = index[i1*80 + i2*4 + i3]\n    %2 = reduce argmax %0, %1\n    store %y[i0] = %2\n  }\n"),
              order_axes_as_memory);
  EXPECT_EQ(nest(made, 0), "for i0 < 2, reduce i1 < 6, reduce i2 < 20, reduce i3 < 4");
}

// Groups of channels are short parts of rows.
TEST(MemoryOrder, PartsOfRowsAreSummedRowByRow) {
  const std::string made = changed(grouped(kLast), [](loops::Program& p) {
    order_axes_as_memory(p);
    split_reductions(p, cpu_target("avx512", 1));
    join_parts_of_rows(p);
  });
  EXPECT_EQ(nest(made, 0), "for i0 < 2, m0 < 6, reduce i3 < 20, reduce i4 < 4");
  EXPECT_EQ(nest(made, 1), "for i0 < 2, i1 < 3, reduce w0 < 2");
  const std::string first =
      changed(grouped(""), [](loops::Program& p) { split_reductions(p, cpu_target("avx512", 1)); });
  EXPECT_THAT(first, testing::Not(testing::HasSubstr("partial"))) << "a group is contiguous there";
}

// A value for each group, and one for each channel: rows are walked whole, and what is stored of them lies in rows.
TEST(MemoryOrder, PartsThatHaveTheSameValueInManyRowsAreOneAxis) {
  const std::string body =
      "  for i0 < 2, i3 < 20, i4 < 4, i1 < 3, i2 < 2 {\n    %0 = load %x[i0, i1*2 + i2, i3, i4]\n    %1 = load %g[OF]\n"
      "    %2 = mul.f32 %0, %1\n    store %a[i0, i3, i4, i1, i2] = %2\n  }\n"
      "  for i0 < 2, i3 < 20, i4 < 4, i1 < 3, i2 < 2 {\n    %0 = load %a[i0, i3, i4, i1, i2]\n    %1 = exp.f32 %0\n"
      "    store %y[i0, i1*2 + i2, i3, i4] = %1\n  }\n";
  auto joined = [&](const std::string& sizes, const std::string& of) {
    std::string text = body;
    text.replace(text.find("OF"), 2, of);
    loops::Program made = loops::parse_program(
        program(kLast,
                "  input %g: f32[" + sizes + "] placed\n  temp %a: f32[2, 20, 4, 3, 2]\n  temp %y: f32[2, 6, 20, 4]" +
                    std::string(kLast) + " placed\n",
                text),
        op_table());
    join_parts_of_rows(made);
    loops::require_valid(made, "the test");
    return loops::print(made);
  };
  const std::string made = joined("2, 3", "i0, i1");
  EXPECT_EQ(nest(made, 0), "for i0 < 2, i3 < 20, i4 < 4, m0 < 6");
  EXPECT_EQ(nest(made, 1), nest(made, 0));
  EXPECT_THAT(made, testing::HasSubstr("temp %a: f32[2, 20, 4, 6]"));
  EXPECT_THAT(nest(joined("2, 20, 4, 3", "i0, i3, i4, i1"), 0), testing::HasSubstr("i1 < 3, i2 < 2"))
      << "each row has its own";
}

}  // namespace
}  // namespace lenz::schedule
