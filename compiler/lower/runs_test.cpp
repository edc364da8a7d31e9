// What lowered graphs are like when they run: errors name the graph's nodes, temporaries live until their last use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using loops::Tensor;

TEST(LoweredRuns, AnErrorNamesTheNodeThatItComesFrom) {
  auto graph = parse_graph(R"(graph @g(%x: f32[3], %i: i64[2]) {
    %a = aten.sin(%x)
    %picked = aten.index_select(%a, 0, %i)
    %b = aten.cos(%picked)
    return %b
  })",
                           op_table());
  const loops::InputValue inputs[] = {Tensor::reals(Dtype::f32, {3}, {1, 2, 3}),
                                      Tensor::integers(Dtype::i64, {2}, {0, 7})};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  EXPECT_EQ(run.ending, loops::Ending::raised);
  EXPECT_THAT(run.text, testing::HasSubstr("from %picked"));
  EXPECT_THAT(run.text, testing::HasSubstr("index 7 is out of range"));
}

// Term by term in f32 it would be hundreds of last places off.
TEST(LoweredRuns, ARunningSumIsAsNearAsOneInDoubles) {
  constexpr int64_t kTerms = 100'000;
  auto graph = parse_graph("graph @g(%x: f32[100000]) {\n  %y = aten.cumsum(%x, 0)\n  return %y\n}\n", op_table());
  Tensor x(Dtype::f32, {kTerms});
  for (int64_t i = 0; i < kTerms; ++i) x.put(i, ScalarValue(static_cast<double>(0.1F)));
  const loops::InputValue inputs[] = {x};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  ASSERT_EQ(run.ending, loops::Ending::finished) << run.text;
  EXPECT_EQ(run.outputs[0].tensor.at(kTerms - 1).real(), static_cast<float>(kTerms * static_cast<double>(0.1F)));
}

TEST(LoweredRuns, AFailedAssertionNamesItsNode) {
  auto graph = parse_graph(R"(graph @g(%p: bool[], %t: token) {
    %said = lenz.assert(%t, %p, "it must hold")
    return %said
  })",
                           op_table());
  const loops::InputValue inputs[] = {Tensor::integers(Dtype::b8, {}, {0}), std::monostate{}};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  EXPECT_EQ(run.ending, loops::Ending::raised);
  EXPECT_THAT(run.text, testing::HasSubstr("from %said"));
  EXPECT_THAT(run.text, testing::HasSubstr("it must hold"));
}

// A number that only the run reads, and that eager refuses to convert: what is computed of it is not reached.
TEST(LoweredRuns, NumbersReadThatADtypeCannotHoldAreRefused) {
  auto graph = parse_graph(R"(graph @g(%x: f16[2], %s: f64[]) {
    %n = aten._local_scalar_dense(%s)
    %y = aten.add(%x, %x, alpha=%n)
    return %y
  })",
                           op_table());
  auto ending = [&](double number) {
    const loops::InputValue inputs[] = {Tensor::reals(Dtype::f16, {2}, {1, 2}),
                                        Tensor::reals(Dtype::f64, {}, {number})};
    return loops::interpret(lower_graph(*graph), inputs).ending;
  };
  EXPECT_EQ(ending(65504), loops::Ending::finished);
  EXPECT_EQ(ending(HUGE_VAL), loops::Ending::finished);
  EXPECT_EQ(ending(NAN), loops::Ending::finished);
  EXPECT_EQ(ending(-65505), loops::Ending::raised);
}

// Where none can be beyond what the dtype holds, nothing is asked, which would stand between kernels.
TEST(LoweredRuns, NumbersOfDtypesThatHoldNoMoreAreNotChecked) {
  auto checks = [](const std::string& into, const std::string& from) {
    const auto graph = parse_graph("graph @g(%x: " + into + "[2], %s: " + from +
                                       "[]) { %n = aten._local_scalar_dense(%s) %y = aten.add(%x, %x, alpha=%n) return "
                                       "%y }",
                                   op_table());
    int count = 0;
    const loops::Program program = lower_graph(*graph);
    loops::for_each_node(program.body,
                         [&](const loops::Node& node) { count += std::holds_alternative<loops::Check>(node.is); });
    return count;
  };
  EXPECT_EQ(checks("f32", "f32"), 0);
  EXPECT_EQ(checks("f32", "f16"), 0);
  EXPECT_EQ(checks("bf16", "f16"), 0);
  EXPECT_EQ(checks("f32", "f64"), 1);
  EXPECT_EQ(checks("f16", "f32"), 1);
  EXPECT_EQ(checks("f16", "bf16"), 1);
}

// What hangs on an open size is not refused for it.
TEST(LoweredRuns, ComputedNumbersThatSomeSizesTakeAreTaken) {
  auto graph = parse_graph(R"(graph @g(%x: i64[s0], %y: i64[3]) where s0 in 1..9 {
    %n = aten.sym_numel(%y)
    %z = aten.select(%x, 0, %n)
    return %z
  })",
                           op_table());
  const loops::InputValue inputs[] = {Tensor::integers(Dtype::i64, {5}, {1, 2, 3, 4, 5}),
                                      Tensor::integers(Dtype::i64, {3}, {1, 2, 3})};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  EXPECT_EQ(run.ending, loops::Ending::finished) << run.text;
}

TEST(LoweredRuns, HalfPrecisionDoesNotRoundTheNumberThatMultiplies) {
  auto graph = parse_graph(R"(graph @g(%x: f16[2]) {
    %n = lenz.constant(f32[] [98304.0])
    %a = aten.mul(%x, 98304.0)
    %b = aten.mul(%x, %n)
    %c = aten.mul(%n, %x)
    %d = aten.div(%x, 98304.0)
    return %a, %b, %c, %d
  })",
                           op_table());
  const loops::InputValue inputs[] = {Tensor::reals(Dtype::f16, {2}, {0.25, -0.5})};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  ASSERT_EQ(run.ending, loops::Ending::finished) << run.text;
  auto first = [&](size_t output) { return run.outputs[output].tensor.at(0).real(); };
  EXPECT_EQ(first(0), 24576);
  EXPECT_EQ(first(1), 24576);
  EXPECT_EQ(first(2), std::numeric_limits<double>::infinity());  // rounded first, as any element is
  EXPECT_NE(first(3), 0);
}

// As eager's do: f32 ones don't look at what is weighed by 0, and 1e-50 is 0 there.
TEST(LoweredRuns, ProductsOfNarrowFloatsAreWeighedByZero) {
  auto graph = parse_graph(R"(graph @g(%x: f32[1, 1], %y: f32[1, 1], %n: bf16[1, 1], %d: f64[1, 1]) {
    %a = aten.addmm(%x, %y, %x, alpha=1e-50)
    %m = aten._to_copy(%y, dtype=bf16)
    %b = aten.addmm(%n, %m, %n, alpha=1e-50)
    %w = aten._to_copy(%y, dtype=f64)
    %c = aten.addmm(%d, %w, %d, alpha=1e-50)
    return %a, %b, %c
  })",
                           op_table());
  const double infinity = std::numeric_limits<double>::infinity();
  const loops::InputValue inputs[] = {Tensor::reals(Dtype::f32, {1, 1}, {2}),
                                      Tensor::reals(Dtype::f32, {1, 1}, {infinity}),
                                      Tensor::reals(Dtype::bf16, {1, 1}, {2}), Tensor::reals(Dtype::f64, {1, 1}, {2})};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  ASSERT_EQ(run.ending, loops::Ending::finished) << run.text;
  auto only = [&](size_t output) { return run.outputs[output].tensor.at(0).real(); };
  EXPECT_EQ(only(0), 2);
  EXPECT_TRUE(std::isnan(only(1)));
  EXPECT_EQ(only(2), infinity);
}

TEST(LoweredRuns, MasksAmongIndicesTakeAsManyElementsAsTheseOrOne) {
  auto graph = parse_graph(R"(graph @g(%x: f32[3, 3], %m: bool[3], %k: bool[3]) {
    %a: f32[u0] = aten.index(%x, [%m, %k])
    return %a
  })",
                           op_table());
  auto run = [&](std::initializer_list<int64_t> m, std::initializer_list<int64_t> k) {
    const loops::InputValue inputs[] = {Tensor::reals(Dtype::f32, {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
                                        Tensor::integers(Dtype::b8, {3}, m), Tensor::integers(Dtype::b8, {3}, k)};
    return loops::interpret(lower_graph(*graph), inputs);
  };
  loops::Results pairs = run({1, 0, 1}, {0, 1, 1}), one = run({1, 0, 1}, {0, 1, 0}),
                 nothing = run({0, 0, 0}, {0, 1, 0});
  ASSERT_EQ(pairs.ending, loops::Ending::finished) << pairs.text;
  const Tensor& of_pairs = pairs.outputs[0].tensor;
  EXPECT_EQ(of_pairs.at(0).real(), 1);
  EXPECT_EQ(of_pairs.at(1).real(), 8);
  ASSERT_EQ(one.ending, loops::Ending::finished) << one.text;
  EXPECT_EQ(one.outputs[0].tensor.at(1).real(), 7);
  ASSERT_EQ(nothing.ending, loops::Ending::finished) << nothing.text;
  loops::Results misfit = run({1, 1, 1}, {0, 1, 1});
  EXPECT_EQ(misfit.ending, loops::Ending::raised);
  EXPECT_THAT(misfit.text, testing::HasSubstr("masks take as many elements"));
}

TEST(LoweredRuns, TemporariesLiveUntilTheirLastUse) {
  std::string text = "graph @g(%x: f32[4]) {\n  %0 = aten.sin(%x)\n";
  for (int i = 1; i < 20; ++i) text += "  %" + std::to_string(i) + " = aten.neg(%" + std::to_string(i - 1) + ")\n";
  auto graph = parse_graph(text + "  return %19\n}\n", op_table());
  loops::Program program = lower_graph(*graph);
  const loops::InputValue inputs[] = {Tensor::reals(Dtype::f32, {4}, {0.5, 1, 2, 3})};
  loops::InterpretOptions two_at_once;
  two_at_once.memory_limit = 32;
  EXPECT_EQ(loops::interpret(program, inputs, two_at_once).ending, loops::Ending::finished);
  loops::InterpretOptions one;
  one.memory_limit = 31;
  EXPECT_EQ(loops::interpret(program, inputs, one).ending, loops::Ending::out_of_memory);
}

TEST(LoweredRuns, ATransposedConvolutionVisitsTheTapsThatReachAPlace) {
  auto graph = parse_graph(R"(graph @g(%x: f32[1, 1, 5], %w: f32[1, 1, 6]) {
    %y = aten.convolution(%x, %w, none, [3], [0], [1], true, [0], 1)
    return %y
  })",
                           op_table());
  const loops::InputValue inputs[] = {Tensor::reals(Dtype::f32, {1, 1, 5}, {1, 2, 3, 4, 5}),
                                      Tensor::reals(Dtype::f32, {1, 1, 6}, {1, 2, 3, 4, 5, 6})};
  loops::Results run = loops::interpret(lower_graph(*graph), inputs);
  ASSERT_EQ(run.ending, loops::Ending::finished);
  EXPECT_EQ(run.counters.points, 18u * 2);  // of six taps each place meets every third one
}

}  // namespace
}  // namespace lenz
