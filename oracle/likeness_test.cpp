#include "oracle/likeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/deep_graph_test.h"
#include "oracle/draw_inputs.h"
#include "oracle/graph_check.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

class Likeness : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = parse_graph(deep_graph(12), op_table());
    inputs_ = draw_inputs(*graph_, boxed_, {}, Values::ordinary, 1);
    right_ = Referee(boxed_).run(*graph_, inputs_);
    for (uint64_t seed = 0; seed < kNoisyRuns; ++seed)
      noisy_.push_back(Referee(boxed_, {}, Widening::values_only, Draws::eager, seed).run(*graph_, inputs_));
    eager_ = Executor(boxed_).run(*graph_, inputs_);
  }
  std::optional<Mismatch> unlike_after(const std::function<void(std::span<float>)>& spoil, double apart = 0) {
    Execution got = eager_;
    got.outputs[0] = detached_copy(got.outputs[0]);
    std::vector<std::byte> bytes = elements_of(got.outputs[0]);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    spoil(numbers);
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    set_elements(got.outputs[0], bytes);
    return unlike(*graph_, right_, noisy_, eager_, got, Whose::ours, apart);
  }

  Boxed boxed_{DeviceKind::cpu};
  std::unique_ptr<Graph> graph_;
  std::vector<RunValue> inputs_;
  Reference right_;
  std::vector<Reference> noisy_;
  Execution eager_;
};

TEST_F(Likeness, IsAskedWhereBoundsSayNothing) {
  EXPECT_TRUE(judge(*graph_, right_, eager_).shares.weak());
  EXPECT_FALSE(unlike_after([](std::span<float>) {}));
}

TEST_F(Likeness, NoiseOfAFewLastPlacesIsLikeAnyOther) {
  EXPECT_FALSE(unlike_after([](std::span<float> x) {
    for (size_t i = 0; i < x.size(); ++i) x[i] *= i % 2 ? 1 + 0x1p-21F : 1 - 0x1p-21F;
  }));
}

TEST_F(Likeness, OneWrongElementIsNot) {
  auto m = unlike_after([](std::span<float> x) { x[100] += 0.01F; });
  ASSERT_TRUE(m);
  EXPECT_EQ(m->rung, Rung::likeness);
  EXPECT_EQ(m->element, 100U);
  EXPECT_EQ(m->wrong, 1U);
  EXPECT_TRUE(unlike_after([](std::span<float> x) { x[7] = NAN; }));
}

// A tie may fall otherwise, and is as right: what lies behind it is held to bounds alone.
TEST_F(Likeness, IsNotAskedOfOurOwnWhereFloatsDecide) {
  GraphCheckOptions options;
  options.seeds = 1;
  options.values = Values::ordinary;
  options.loops = true;
  EXPECT_GT(check_graph(*graph_, options).alike, 0U);
  std::string decided = deep_graph(12);
  const size_t end = decided.rfind("return ");
  const std::string last = decided.substr(end + 7, decided.find_first_of(" \n}", end + 7) - end - 7);
  decided.replace(end, 7 + last.size(),
                  "%decided = aten.threshold_backward(" + last + ", " + last + ", 0)\n  return %decided");
  const GraphReport report = check_graph(*parse_graph(decided, op_table()), options);
  EXPECT_EQ(report.alike, 0U);
  EXPECT_TRUE(report.findings.empty());
}

TEST_F(Likeness, AShareMayLieElsewhereWhereThatIsSaid) {
  auto every_hundredth = [](std::span<float> x) {
    for (size_t i = 0; i < x.size(); i += 100) x[i] += 0.01F;
  };
  EXPECT_TRUE(unlike_after(every_hundredth));
  EXPECT_FALSE(unlike_after(every_hundredth, 1.0 / 16));
  EXPECT_TRUE(unlike_after([](std::span<float> x) { std::ranges::fill(x.first(x.size() / 8), 0.0F); }, 1.0 / 16));
}

TEST_F(Likeness, AnInfinityLiesWhereInfinitiesBegin) {
  auto filled = [](const std::string& number) {
    return parse_graph("graph @g() {\n  %x = aten.full([2], " + number + ", dtype=f16)\n  return %x\n}\n", op_table());
  };
  auto is_unlike = [&](const std::string& right, const std::string& got) {
    auto graph = filled(right);
    Reference reference = Referee(boxed_, {}, Widening::values_only).run(*graph, {});
    auto open = parse_graph("graph @g() { %x = aten.full([2], true, dtype=bool) return %x }", op_table());
    reference.outputs[0].ambiguous = Executor(boxed_).run(*open, {}).outputs[0];
    return unlike(*graph, reference, {}, Executor(boxed_).run(*graph, {}), Executor(boxed_).run(*filled(got), {}))
        .has_value();
  };
  EXPECT_FALSE(is_unlike("65504.0", "inf"));
  EXPECT_FALSE(is_unlike("-inf", "-65504.0"));
  EXPECT_TRUE(is_unlike("65504.0", "-inf"));
  EXPECT_TRUE(is_unlike("60000.0", "inf"));
  EXPECT_TRUE(is_unlike("inf", "60000.0"));
  EXPECT_TRUE(is_unlike("inf", "nan"));
}

// Of what is too large for the dtype infinities meet on the way.
TEST_F(Likeness, NaNIsLikeAResultOfWhichNotAllIsHeld) {
  auto filled = [](const std::string& numbers, const std::string& dtype) {
    return parse_graph("graph @g() {\n  %x = lenz.constant(" + dtype + "[2] [" + numbers + "])\n  return %x\n}\n",
                       op_table());
  };
  auto is_unlike = [&](const std::string& right, const std::string& error) {
    auto graph = filled("1.0, 1.0", "f32");
    Reference reference = Referee(boxed_, {}, Widening::values_only).run(*filled(right, "f64"), {});
    reference.outputs[0].error = Executor(boxed_).run(*filled(error, "f64"), {}).outputs[0];
    const Execution nan = Executor(boxed_).run(*filled("1.0, nan", "f32"), {});
    return unlike(*graph, reference, {}, Executor(boxed_).run(*graph, {}), nan).has_value();
  };
  EXPECT_FALSE(is_unlike("1e39, 1.0", "inf, inf"));
  EXPECT_FALSE(is_unlike("1.0, inf", "inf, inf"));
  EXPECT_TRUE(is_unlike("1.0, 1.0", "inf, inf"));
}

// Noise tells nothing of what a bound holds already: a last place of a function that may be several off, beside a
// result that is open.
TEST_F(Likeness, WhatABoundHoldsIsNotAsked) {
  auto graph = parse_graph("graph @g(%x: f32[4]) { %y = aten.sigmoid(%x) return %y }", op_table());
  const std::vector<RunValue> inputs = initial_inputs(*graph, boxed_, {});
  const Reference held = Referee(boxed_, {}, Widening::bounds).run(*graph, inputs);
  const Execution eager = Executor(boxed_).run(*graph, inputs);
  Execution got = Executor(boxed_).run(*graph, inputs);
  auto bytes = elements_of(got.outputs[0]);
  bytes[0] ^= std::byte{16};  // so many last places
  set_elements(got.outputs[0], bytes);
  EXPECT_FALSE(unlike(*graph, held, {}, eager, got));
}

TEST_F(Likeness, AnotherSeedIsOtherNoise) {
  EXPECT_NE(elements_of(noisy_[0].outputs[0].value), elements_of(noisy_[1].outputs[0].value));
  Reference again = Referee(boxed_, {}, Widening::values_only, Draws::eager, 0).run(*graph_, inputs_);
  EXPECT_EQ(elements_of(noisy_[0].outputs[0].value), elements_of(again.outputs[0].value));
}

}  // namespace
}  // namespace lenz::oracle
