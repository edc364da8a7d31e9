// Gradients against finite differences of the same graph, run without autograd.
#include "oracle/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/draw_inputs.h"
#include "oracle/tensors.h"
#include "oracle/widen.h"

namespace lenz::oracle {
namespace {

std::vector<double> doubles(const RunValue& value) {
  std::vector<std::byte> bytes = elements_of(value);
  std::vector<double> list(bytes.size() / sizeof(double));
  std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}
std::vector<std::byte> bytes_of(const std::vector<double>& list) {
  std::vector<std::byte> bytes(list.size() * sizeof(double));
  std::memcpy(bytes.data(), list.data(), bytes.size());
  return bytes;
}

Gradients gradients_of(const Graph& graph, uint64_t seed = 1) {
  Boxed boxed(DeviceKind::cpu);
  GradientOptions options;
  options.seed = seed;
  return gradients(graph, draw_inputs(graph, boxed, {}, Values::ordinary, 5), {}, options);
}

// The sum of outputs times their gradients, in float64.
double weighted(const Graph& widened, const Gradients& g, std::span<const RunValue> inputs) {
  Boxed boxed(DeviceKind::cpu);
  std::vector<RunValue> copies;
  for (const RunValue& v : inputs) copies.push_back(detached_copy(v));
  Execution run = Executor(boxed).run(widened, copies);
  double total = 0;
  for (size_t k = 0; k < run.outputs.size(); ++k)
    for (const NamedGradient& out : g.outputs)
      if (out.name == "out" + std::to_string(k)) {
        std::vector<double> a = doubles(run.outputs[k]), b = doubles(out.value);
        for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
      }
  return total;
}

void expect_differences(std::string_view text) {
  auto graph = parse_graph(text, op_table());
  Gradients g = gradients_of(*graph);
  ASSERT_EQ(g.ending, Ending::finished) << g.text << text;
  auto widened = widened_graph(*graph);
  ASSERT_TRUE(widened);
  Boxed boxed(DeviceKind::cpu);
  auto inputs = widened_inputs(*widened, boxed, draw_inputs(*graph, boxed, {}, Values::ordinary, 5), {});
  size_t place = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!graph->inputs()[i].requires_grad) continue;
    ASSERT_TRUE(g.inputs[place].value) << g.inputs[place].name;
    std::vector<double> got = doubles(g.inputs[place++].value), at = doubles(inputs[i]);
    for (size_t e = 0; e < at.size(); ++e) {
      constexpr double kStep = 1e-5;
      std::vector<double> moved = at;
      moved[e] = at[e] + kStep;
      set_elements(inputs[i], bytes_of(moved));
      double above = weighted(*widened, g, inputs);
      moved[e] = at[e] - kStep;
      set_elements(inputs[i], bytes_of(moved));
      double below = weighted(*widened, g, inputs);
      set_elements(inputs[i], bytes_of(at));
      double difference = (above - below) / (2 * kStep);
      EXPECT_NEAR(got[e], difference, 1e-5 * (1 + std::abs(difference))) << text << " element " << e;
    }
  }
}

TEST(Gradients, AreWhatDifferencesSay) {
  expect_differences(R"(graph @g(%x: f32[3, 4] requires_grad, %w: bf16[4, 2] requires_grad) {
    %v = aten.to(%w, dtype=f32)
    %y = aten.mm(%x, %v)
    %s = aten.softmax(%y, -1)
    %l = aten.log(%s)
    %m = aten.mean(%l)
    return %m, %y
  })");
  expect_differences(R"(graph @g(%x: f32[2, 3, 5, 5] requires_grad, %w: f32[4, 3, 3, 3] requires_grad) {
    %y = aten.conv2d(%x, %w)
    %g = aten.gelu(%y)
    %n = aten.layer_norm(%g, [3])
    return %n
  })");
  expect_differences(R"(graph @g(%x: f32[6] requires_grad, %i: i64[4] init integers(0, 5)) {
    %a = aten.index_select(%x, 0, %i)
    %e = aten.exp(%a)
    %c = aten.mul(%e, 2.0)
    %v = aten.slice(%c, 0, 1, 3)
    %w = aten.mul_(%v, 3.0)
    %k = aten.ones([4])
    %r = aten.add(%c, %k)
    return %r
  })");
}

TEST(Gradients, OutputsWithoutOneAreNamed) {
  auto graph = parse_graph(R"(graph @g(%x: f32[3] requires_grad, %u: f32[3] requires_grad) {
    %y = aten.sin(%x)
    %d = aten.detach(%y)
    %i = aten.argmax(%y)
    return %y, %d, %i
  })",
                           op_table());
  Gradients g = gradients_of(*graph);
  ASSERT_EQ(g.inputs.size(), 2u);
  EXPECT_TRUE(g.inputs[0].value);
  EXPECT_FALSE(g.inputs[1].value);  // nothing depends on it
  ASSERT_EQ(g.not_differentiable.size(), 2u);
  EXPECT_THAT(g.not_differentiable[0], testing::HasSubstr("out1: depends on no input"));
  EXPECT_THAT(g.not_differentiable[1], testing::HasSubstr("out2: i64[]"));
}

TEST(Gradients, WhatEagerRefusesIsAnOutcome) {
  auto graph =
      parse_graph("graph @g(%x: f32[3] mut requires_grad) {\n  %y = aten.add_(%x, 1)\n  return %y\n}\n", op_table());
  Gradients g = gradients_of(*graph);
  EXPECT_EQ(g.ending, Ending::raised);
  EXPECT_THAT(g.text, testing::HasSubstr("in-place operation"));
}

TEST(Gradients, WhatHasNoneIsSaid) {
  auto none = parse_graph("graph @g(%x: f32[3]) {\n  %y = aten.sin(%x)\n  return %y\n}\n", op_table());
  EXPECT_THROW(gradients_of(*none), UserError);
  auto integer = parse_graph("graph @g(%x: i64[3] requires_grad) {\n  %y = aten.sin(%x)\n  return %y\n}\n", op_table());
  EXPECT_THROW(gradients_of(*integer), UserError);
  auto bits = parse_graph(
      "graph @g(%x: f32[3] requires_grad) {\n  %b = aten.view.dtype(%x, i32)\n  %y = aten.mul(%x, "
      "%b)\n  return %y\n}\n",
      op_table());
  EXPECT_THROW(gradients_of(*bits), Unsupported) << "float64 has other bits";
  auto floats = parse_graph(
      "graph @g(%x: f32[3] requires_grad, %i: i32[3]) {\n  %b = aten.view.dtype(%i, f32)\n  %y = "
      "aten.mul(%x, %b)\n  return %y\n}\n",
      op_table());
  EXPECT_THROW(gradients_of(*floats), Unsupported) << "and is of others";
}

TEST(Gradients, NumbersAreThoseThatAreGiven) {
  auto graph = parse_graph(
      "graph @g(%x: f32[3] requires_grad, %f: float, %b: bool) {\n  %y = aten.mul(%x, %f)\n  "
      "%z = aten.mul(%y, %b)\n  return %z\n}\n",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  std::vector<RunValue> inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 5);
  inputs[1] = real_number(7);
  GradientOptions options;
  options.given["out0"] = bytes_of({1, 1, 1});
  inputs[2] = truth_value(true);
  EXPECT_EQ(doubles(gradients(*graph, inputs, {}, options).inputs.at(0).value), (std::vector<double>{7, 7, 7}));
  inputs[2] = truth_value(false);
  EXPECT_EQ(doubles(gradients(*graph, inputs, {}, options).inputs.at(0).value), (std::vector<double>{0, 0, 0}));
}

// An input may be called as an output's key is.
TEST(Gradients, KeysAreApart) {
  auto graph =
      parse_graph("graph @g(%out0: f32[3] requires_grad) {\n  %y = aten.sin(%out0)\n  return %y\n}\n", op_table());
  const std::string path = testing::TempDir() + "keys_" + std::to_string(getpid()) + ".npz";
  write_gradients(path, gradients_of(*graph));
  EXPECT_THAT(NpzReader(path).keys(), testing::ElementsAre("grad_%out0", "grad_out0", "lenz"));
}

// In other dtypes a generator gives other numbers.
TEST(Gradients, DrawWhatTheGraphDraws) {
  auto graph = parse_graph(R"(graph @g(%x: f32[40] requires_grad init ones) {
    %u = aten.rand_like(%x) %y = aten.mul(%u, %x)
    %t = aten.ones_like(%x) %v = aten.uniform_(%t, 1.0, 2.0) %z = aten.mul(%t, %x)
    %d, %m = aten.native_dropout(%x, 0.5, true)
    return %y, %z, %d
  })",
                           op_table());
  const Gradients g = gradients_of(*graph);
  Boxed boxed(DeviceKind::cpu);
  const Execution eager = Executor(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 5));
  ASSERT_EQ(g.ending, Ending::finished) << g.text;
  const std::vector<double> found = doubles(g.inputs[0].value);
  std::vector<double> factors(found.size());  // of x, which is one everywhere
  for (size_t k = 0; k < 3; ++k) {
    const std::vector<double> weights = doubles(g.outputs[k].value);
    const std::vector<std::byte> drawn = elements_of(eager.outputs[k]);
    for (size_t i = 0; i < factors.size(); ++i) factors[i] += weights[i] * scalar_at(Dtype::f32, drawn, i).real();
  }
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], factors[i], 1e-14) << i;
}

TEST(Gradients, SeedsAndFiles) {
  auto graph =
      parse_graph("graph @g(%x: f32[3] requires_grad) {\n  %y = aten.mul(%x, 2)\n  return %y\n}\n", op_table());
  EXPECT_EQ(doubles(gradients_of(*graph, 1).inputs[0].value), doubles(gradients_of(*graph, 1).inputs[0].value));
  EXPECT_NE(doubles(gradients_of(*graph, 1).inputs[0].value), doubles(gradients_of(*graph, 2).inputs[0].value));
  Boxed boxed(DeviceKind::cpu);
  GradientOptions options;
  options.given["out0"] = bytes_of({1, 10, 100});
  Gradients g = gradients(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 5), {}, options);
  EXPECT_THAT(doubles(g.inputs[0].value), testing::ElementsAre(2, 20, 200));
  options.given["out0"] = bytes_of({1});
  EXPECT_THROW(gradients(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 5), {}, options), UserError);
  std::string path = testing::TempDir() + "gradients_" + std::to_string(getpid()) + ".npz";
  write_gradients(path, g);
  NpzReader reader(path);
  EXPECT_THAT(reader.keys(), testing::ElementsAre("grad_out0", "grad_x", "lenz"));
}

}  // namespace
}  // namespace lenz::oracle
