#include "oracle/trial.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle {
namespace {

// How a trial of `text` ends in eager, and whether what `other` gives is right there.
std::pair<Ending, bool> judged(const std::string& text, const std::string& other) {
  auto graph = parse_graph("graph @g(%x: i32[1] init ones) {\n" + text + "\n  return %r\n}\n", op_table());
  auto made = parse_graph("graph @g(%x: i32[1] init ones) {\n" + other + "\n  return %r\n}\n", op_table());
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*graph, {}, Values::ordinary, 1);
  Trial trial(*graph, boxed, inputs, {}, {});
  return {trial.expected().ending, !trial.out_of_bounds(trial.eager(*made))};
}

// Of 1e8 + 1 - 1e8 f32 leaves 0 or 1, as it is added up: who has 0 there refuses to divide by it, who has 1 does not.
TEST(Trial, WhoHasAnotherIntegerMayRefuseWhatEagerTakes) {
  const std::string number = "  %h = aten.full([1], 1e8) %p = aten.add(%h, 1) %s = aten.sub(%p, %h)";
  const std::string remainder = " %d = aten.to(%s, i32) %r = aten.fmod(%x, %d)";
  const std::string by_one = "  %d = aten.full([1], 1, dtype=i32) %r = aten.fmod(%x, %d)";
  const std::string by_zero = "  %d = aten.full([1], 0, dtype=i32) %r = aten.fmod(%x, %d)";
  EXPECT_EQ(judged(number + remainder, by_one), std::pair(Ending::raised, true));
  EXPECT_EQ(judged(by_zero, by_one), std::pair(Ending::raised, false));
  EXPECT_EQ(judged(by_one, by_zero), std::pair(Ending::finished, false));
}

// Squares of 1e-30 are less than f32 holds: a norm taken by them is 0, and another one is not. Of no weights but zeros
// nothing is drawn.
TEST(Trial, WhoHasAnotherWeightMayDrawWhereEagerRefuses) {
  const auto norm = [](const std::string& of) {
    return "  %w = aten.full([2], " + of +
           ") %n = aten.linalg_vector_norm(%w, 2, [0], true) %r = aten.multinomial(%n, 1)";
  };
  const auto drawn = [](const std::string& weight) {
    return "  %w = aten.full([1], " + weight + ") %r = aten.multinomial(%w, 1)";
  };
  EXPECT_EQ(judged(norm("1e-30"), drawn("1.0")), std::pair(Ending::raised, true));
  EXPECT_EQ(judged(norm("1e-3"), drawn("0.0")), std::pair(Ending::finished, false));
  EXPECT_EQ(judged(norm("0.0"), drawn("1.0")), std::pair(Ending::raised, false));
}

// Of 1e8 + 1 - 1e8 - 0.5 f32 leaves -0.5 or 0.5: a target that is less than 0 is refused.
TEST(Trial, WhoHasAnotherNumberMayTakeItWhereEagerRefuses) {
  const std::string open = "  %h = aten.full([1], 1e8) %p = aten.add(%h, 1) %s = aten.sub(%p, %h) ";
  const auto loss = [](const std::string& of) {
    return of +
           " %c = aten.full([1], 0, dtype=i64) %g = aten.full([], 1.0) "
           "%l = aten.multilabel_margin_loss_backward(%g, %i, %c, 1, %i) %r = aten.to(%l, i32)";
  };
  const std::string number = "  %r = aten.full([1], 0, dtype=i32)", refused = loss("  %i = aten.full([1], -0.5)");
  EXPECT_EQ(judged(refused, number), std::pair(Ending::raised, false));
  EXPECT_EQ(judged(loss("  %i = aten.full([1], 0.5)"), refused), std::pair(Ending::finished, false));
  EXPECT_EQ(judged(loss(open + "%i = aten.sub(%s, 0.5)"), number), std::pair(Ending::raised, true));
}

// Eager looks whether probabilities are any; what the row means does not ask, and its `exception` quotes what eager
// says.
TEST(Trial, WhatEagerAloneRefusesMayFinish) {
  const std::string probabilities = "  %p = aten.full([1], 1.5) %t = aten.full([1], 0.5)";
  const std::string loss = " %l = aten.binary_cross_entropy(%p, %t) %r = aten.to(%l, i32)";
  const std::string remainder = "  %d = aten.full([1], 0, dtype=i32) %r = aten.fmod(%x, %d)";
  const std::string number = "  %r = aten.full([], 0, dtype=i32)";
  EXPECT_EQ(judged(probabilities + loss, number), std::pair(Ending::raised, true));
  EXPECT_EQ(judged(number, probabilities + loss), std::pair(Ending::finished, false));
  EXPECT_EQ(judged(remainder, number), std::pair(Ending::raised, false));
}

// And what it lacks a kernel for the reference has.
TEST(Trial, WhatEagerHasNoKernelForIsHeldToTheReference) {
  auto flipped = parse_graph("graph @g(%x: f8e5m2[6]) { %y = aten.flip(%x, [0]) return %y }", op_table());
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*flipped, {}, Values::ordinary, 1);
  Trial trial(*flipped, boxed, inputs, {}, {});
  ASSERT_EQ(trial.expected().ending, Ending::raised);
  const auto out_of_bounds = [&](const std::string& made) {
    auto graph = parse_graph("graph @g(%x: f8e5m2[6]) { " + made + " return %y }", op_table());
    const Execution got = trial.eager(*graph);
    EXPECT_EQ(got.ending, Ending::finished) << got.text;
    return trial.out_of_bounds(got, {}).has_value();
  };
  EXPECT_TRUE(out_of_bounds("%y = aten.clone(%x)"));
  EXPECT_FALSE(out_of_bounds("%b = aten.view(%x, u8) %f = aten.flip(%b, [0]) %y = aten.view(%f, f8e5m2)"));
  EXPECT_EQ(trial.unasked, "aten.flip");
}

// One of two streams of random numbers may give rates that a distribution refuses, and the other one none.
TEST(Trial, RefusalsOfWhatTwoStreamsDrawAreOpen) {
  auto graph = [](const std::string& rate) {
    return parse_graph("graph @g() { %a = aten.full([2], " + rate + ") %r = aten.poisson(%a) return %r }", op_table());
  };
  auto taken = graph("1.0"), refused = graph("-1.0");
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*taken, {}, Values::ordinary, 1);
  Trial trial(*taken, boxed, inputs, {}, {});
  const Execution other = trial.eager(*refused);
  ASSERT_EQ(other.ending, Ending::raised);
  EXPECT_FALSE(trial.out_of_bounds(other, {.drawn = true, .drawn_by_host = 1}));
  EXPECT_TRUE(trial.out_of_bounds(other, {}));
}

// A dropout of nothing draws in eager; code that does not need to leaves the generator of what follows where it was.
TEST(Trial, DrawsBesideOneThatIsLeftOutAreOpen) {
  auto graph = [](const std::string& before) {
    return parse_graph("graph @g(%x: f32[64]) { " + before + " %p = aten.poisson(%x) return %p }", op_table());
  };
  auto both = graph("%d, %m = aten.native_dropout(%x, 0.0, true)"), one = graph("");
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*both, {}, Values::ordinary, 1);
  Trial trial(*both, boxed, inputs, {}, {});
  const Execution moved = trial.eager(*one);
  EXPECT_FALSE(trial.out_of_bounds(moved, {.drawn_by_host = 1}));
  EXPECT_TRUE(trial.out_of_bounds(moved, {.drawn_by_host = 2}));
}

// One of two streams may decide that a line is printed, and the other one that it is not.
TEST(Trial, WhatTwoStreamsPrintIsNotTheSame) {
  auto graph = parse_graph(R"(graph @g(%x: f32[]) {
    %d, %m = aten.native_dropout(%x, 0.5, true) %t = lenz.make_token()
    %r, %u = lenz.cond(%m, @yes, @no, [%x, %t])
    return %r, %u
  }
  graph @yes(%a: f32[], %t: token) { %u = lenz.print(%t, "{}", [%a]) return %a, %u }
  graph @no(%a: f32[], %t: token) { return %a, %t })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  size_t lines = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const InputSource inputs(*graph, {}, Values::ordinary, seed);
    ExecuteOptions options;
    options.ambient_seed = seed;
    Trial trial(*graph, boxed, inputs, {}, options);
    Execution got = trial.expected();
    Reference right = Referee(boxed, options, Widening::bounds, Draws::lenz).run(*graph, trial.inputs(), {});
    lines += right.lines;
    const Printed line{"{}", {got.outputs[0]}};
    got.printed.assign(right.lines, line);
    EXPECT_FALSE(trial.out_of_bounds(got, {.drawn = true}));
    EXPECT_FALSE(trial.out_of_bounds(got, {.drawn = true, .drawn_by_host = 1}));
    got.printed.push_back(line);
    EXPECT_TRUE(trial.out_of_bounds(got, {.drawn = true}));
  }
  EXPECT_GT(lines, 0u);
  EXPECT_LT(lines, 16u);
}

// Nothing is known of what Lenz's stream draws where it has no sampling, whoever asks again: no number of lines either.
TEST(Trial, AReferenceThatThereIsNoneOfStaysSo) {
  auto graph = parse_graph(R"(graph @g(%x: c64[4], %p: bool[]) {
    %d, %m = aten.native_dropout(%x, 0.5) %t = lenz.make_token() %s = lenz.print(%t, "once", [])
    %r, %u = lenz.cond(%p, @yes, @no, [%d, %s])
    return %r
  }
  graph @yes(%a: c64[4], %t: token) { %u = lenz.print(%t, "twice", []) %b = aten.clone(%a) return %b, %u }
  graph @no(%a: c64[4], %t: token) { return %a, %t })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  const InputSource inputs(*graph, {}, Values::ordinary, 1);
  Trial trial(*graph, boxed, inputs, {}, {});
  const Execution got = trial.expected();
  for (int times = 0; times < 2; ++times) {
    const auto wrong = trial.out_of_bounds(got, {.drawn = true});
    EXPECT_FALSE(wrong) << wrong->what;
    EXPECT_FALSE(trial.no_stream.empty());
  }
}

}  // namespace
}  // namespace lenz::oracle
