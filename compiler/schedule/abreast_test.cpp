// Rows that go along others together: where it is said, and that it changes no sum.
#include <fmt/format.h>
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

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

loops::Program scheduled(const std::string& graph, const Target& target) {
  loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), target);
  loops::require_valid(made, "the scheduler");
  return made;
}

std::string text_of(const std::string& graph, const char* target = "avx512") {
  return loops::print(scheduled(graph, cpu_target(target, 1)));
}

// Combines each row of the one with each row of the other.
std::string each_with_each(const std::string& x, const std::string& y, const std::string& combined,
                           const std::string& between = "aten.sub(%a, %y)") {
  return fmt::format(
      "graph @g(%x: {}, %y: {}) {{ %a = aten.unsqueeze(%x, -2) %p = {} %s = {} %t = aten.exp(%s) return %t }}", x, y,
      between, combined);
}
const std::string kSum = "aten.sum.dim_IntList(%p, [-1])";

TEST(Abreast, SumsStayInHalfOfTheRegisters) {
  const std::string graph = each_with_each("f32[40, 300]", "f32[90, 300]", kSum);
  EXPECT_THAT(text_of(graph), ContainsRegex("unroll 4, i[0-9]+ < .* unroll 2, reduce j0 < 300 lanes 16 unroll 2"));
  EXPECT_THAT(text_of(graph, "avx2"), ContainsRegex("unroll 4, i[0-9]+ < .* unroll 2, reduce j0 < 300 lanes 8 \""));
}

// What is made of the sums is made of as many as a vector has.
TEST(Abreast, WhatIsMadeOfTheSumsRunsInLanes) {
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[90, 300]", kSum)),
              ContainsRegex("for i[0-9]+ < 4, i[0-9]+ < .* lanes 16.* \"aten.exp\""));
}

TEST(Abreast, RowsOfABatchAlongThoseOfTheirOwn) {
  EXPECT_THAT(text_of("graph @g(%x: f32[3, 40, 300], %y: f32[3, 90, 300]) { %d = aten.cdist(%x, %y) return %d }"),
              ContainsRegex("kernel k0 < 3, t[0-9]+ < 2, t[0-9]+ < 10"));
}

TEST(Abreast, NotWhereNothingIsReadTwiceOrReadingIsNotWhatTakesTime) {
  const auto plain = Not(HasSubstr("unroll 4, i"));
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[300]", kSum)), plain);     // weighted rows
  EXPECT_THAT(text_of(each_with_each("f32[3, 300]", "f32[90, 300]", kSum)), plain);  // fewer than go together
  EXPECT_THAT(text_of(each_with_each("f32[40, 9]", "f32[90, 9]", kSum)), plain);     // and than a vector has
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[90, 300]", "aten.softmax.int(%p, -1)")), plain);
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[90, 300]", "aten.cumsum(%p, -1)")), plain);
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[90, 300]", "aten.any.dim(%p, -1)")), plain);
  EXPECT_THAT(text_of(each_with_each("f32[40, 300]", "f32[90, 300]", kSum, "aten.lgamma(%a) %q = aten.add(%p, %y)")),
              plain);
}

TEST(Abreast, ComputeTheSame) {
  for (const auto [n, m] : {std::pair(4, 2), std::pair(5, 70), std::pair(11, 65)})
    for (int width : {16, 37}) {
      const std::string graph = fmt::format(
          "graph @g(%x: f32[{}, {}], %y: f32[{}, {}]) {{ %a = aten.unsqueeze(%x, 1) %p = aten.sub(%a, %y) "
          "%q = aten.mul(%p, %p) %s = aten.sum.dim_IntList(%q, [-1]) %t = aten.neg(%s) return %t }}",
          n, width, m, width);
      const auto numbers = [&](int rows, int by) {
        loops::Tensor t(Dtype::f32, loops::Ints{rows, width});
        for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i * by % 100)));
        return t;
      };
      const loops::Tensor x = numbers(n, 7), y = numbers(m, 11);
      for (const char* name : {"avx512", "avx2", "generic"}) {
        const loops::Results got =
            loops::interpret(scheduled(graph, cpu_target(name, 2)), std::vector<loops::InputValue>{x, y});
        ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
        for (int64_t i = 0; i < int64_t{n} * m; ++i) {
          double wanted = 0;
          for (int64_t k = 0; k < width; ++k) {
            const double apart = x.at(i / m * width + k).real() - y.at(i % m * width + k).real();
            wanted -= apart * apart;
          }
          EXPECT_EQ(got.outputs[0].tensor.at(i).real(), wanted) << name << " " << n << " " << m << " " << width;
        }
      }
    }
}

}  // namespace
}  // namespace lenz::schedule
