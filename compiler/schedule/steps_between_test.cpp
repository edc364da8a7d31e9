// What lies between the steps of a program is computed where it is read, or is so little that caches keep it.
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

loops::Program naive(std::string_view text) { return to_loops(*parse_graph(text, op_table())); }

loops::Program scheduled(std::string_view text) {
  loops::Program made = schedule(naive(text), cpu_target("avx512", 2));
  loops::require_valid(made, "the scheduler");
  return made;
}

size_t kernels(const loops::Program& program) {
  size_t count = 0;
  loops::for_each_node(program.body,
                       [&](const loops::Node& n) { count += std::holds_alternative<loops::Kernel>(n.is); });
  return count;
}

void expect_same(std::string_view text, const std::vector<loops::InputValue>& values, double within) {
  const loops::Results wanted = loops::interpret(naive(text), values), got = loops::interpret(scheduled(text), values);
  ASSERT_EQ(got.ending, wanted.ending) << got.text;
  if (wanted.ending != loops::Ending::finished) return;
  const loops::Tensor &a = got.outputs[0].tensor, &b = wanted.outputs[0].tensor;
  for (int64_t i = 0; i < b.numel(); ++i) ASSERT_NEAR(a.at(i).real(), b.at(i).real(), within) << i;
}

loops::Tensor numbers(Dtype dtype, const loops::Ints& sizes, int64_t below) {
  loops::Tensor t(dtype, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const int64_t n = (i * 37 + 11) % below;
    t.put(i, is_floating(dtype) ? ScalarValue(static_cast<double>(n) / 8) : ScalarValue(n));
  }
  return t;
}

size_t nests(const loops::Program& program) {
  size_t count = 0;
  loops::for_each_node(program.body, [&](const loops::Node& n) { count += std::holds_alternative<loops::Nest>(n.is); });
  return count;
}

// Parts of one result that never meet are computed side by side: nothing of what they share is stored, or read twice.
TEST(StepsBetween, OfPartsThatAreJoinedAreOnePhase) {
  const std::string_view joined = R"(
graph @g(%x: f32[40, 64]) {
  %a = aten.slice(%x, 1, 0, 32)
  %b = aten.slice(%x, 1, 32, 64)
  %p = aten.add(%a, %b)
  %m = aten.sub(%a, %b)
  %c = aten.cat([%p, %m], 1)
  return %c
}
)";
  EXPECT_EQ(nests(scheduled(joined)), 1u) << loops::print(scheduled(joined));
  expect_same(joined, {numbers(Dtype::f32, {40, 64}, 50)}, 0);
  const std::string_view stacked = R"(
graph @g(%x: f32[40, 64]) {
  %p = aten.sum(%x, [1])
  %m = aten.amax(%x, [1])
  %c = aten.stack([%p, %m], 1)
  return %c
}
)";
  EXPECT_EQ(nests(scheduled(stacked)), 2u) << loops::print(scheduled(stacked));  // the sums, and both stores
  expect_same(stacked, {numbers(Dtype::f32, {40, 64}, 50)}, 0);
}

// The first part's last column is the second one's first: the second part is written behind it.
TEST(StepsBetween, OfPartsThatMeetAreTwo) {
  const std::string_view text = R"(
graph @g(%x: f32[40, 32]) {
  %z = aten.zeros([40, 63])
  %p = aten.exp(%x)
  %a = aten.slice_scatter(%z, %p, 1, 0, 32)
  %c = aten.slice_scatter(%a, %x, 1, 31, 63)
  return %c
}
)";
  expect_same(text, {numbers(Dtype::f32, {40, 32}, 50)}, 1e-3);
}

// Two steps read the roots; both feed one sum in parts, and nothing else.
TEST(StepsBetween, OfOneSplitSumAreComputedWithIt) {
  const std::string_view text = R"(
graph @g(%x: f32[3000, 91], %t: f32[3000, 91]) {
  %s = aten.sqrt(%x)
  %a = aten.mul(%s, %t)
  %b = aten.rsub(%s, 1)
  %c = aten.mul(%a, %b)
  %r = aten.sum(%c)
  return %r
}
)";
  EXPECT_EQ(kernels(scheduled(text)), 2u);
  loops::Tensor squares(Dtype::f32, {3000, 91}), few(Dtype::f32, {3000, 91});  // sums of whole numbers are exact
  for (int64_t i = 0; i < few.numel(); ++i) {
    squares.put(i, ScalarValue(static_cast<double>((i % 5) * (i % 5))));
    few.put(i, ScalarValue(static_cast<double>(i % 3)));
  }
  expect_same(text, {squares, few}, 0);
}

// A one-hot tensor is a comparison wherever it is read, and raises as it did.
TEST(StepsBetween, ThatMayRaiseAreComputedWhereTheyAreRead) {
  const std::string_view text = R"(
graph @g(%x: f32[2, 7, 9, 11], %t: i64[2, 9, 11]) {
  %o = aten.one_hot(%t, 7)
  %p = aten.permute(%o, [0, 3, 1, 2])
  %f = aten.to(%p, f32)
  %y = aten.mul(%x, %f)
  return %y
}
)";
  EXPECT_THAT(loops::print(scheduled(text)), Not(HasSubstr("temp %o")));
  const loops::Tensor x = numbers(Dtype::f32, {2, 7, 9, 11}, 23);
  expect_same(text, {x, numbers(Dtype::i64, {2, 9, 11}, 7)}, 0);
  expect_same(text, {x, numbers(Dtype::i64, {2, 9, 11}, 8)}, 0);
}

// Of channels that come first in images too large for caches, the kernel has a part of each at a time, which goes on
// over the ends of rows.
TEST(StepsBetween, OfChannelsArePartsOfImages) {
  const std::string_view text = R"(
graph @g(%x: f32[2, 20, 60, 100]) {
  %y = aten.softmax(%x, 1)
  return %y
}
)";
  EXPECT_THAT(loops::print(scheduled(text)), HasSubstr("kernel k0 < 2, t0 < 25 "));
  expect_same(text, {numbers(Dtype::f32, {2, 20, 60, 100}, 23)}, 1e-6);
}

TEST(StepsBetween, RunningExtremesHaveNoIndexThatNobodyReads) {
  const std::string_view text = R"(
graph @g(%x: f32[50, 30]) {
  %y, %i = aten.cummax(%x, 1)
  return %y
}
)";
  EXPECT_THAT(loops::print(scheduled(text)), HasSubstr("scan maximum"));
  expect_same(text, {numbers(Dtype::f32, {50, 30}, 23)}, 0);
}

}  // namespace
}  // namespace lenz::schedule
