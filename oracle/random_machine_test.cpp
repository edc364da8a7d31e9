#include "oracle/random_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/draws.h"
#include "compiler/ops/op_table.h"
#include "compiler/scalar/rounding.h"
#include "oracle/compare.h"
#include "oracle/draw_inputs.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

enum class Stream { eager, lenz };

Execution run(const Graph& graph, Stream stream, uint64_t seed) {
  Boxed boxed(DeviceKind::cpu);
  LenzRandom machine(boxed);
  ExecuteOptions options;
  options.ambient_seed = seed;
  std::vector<RunValue> inputs = draw_inputs(graph, boxed, {}, Values::ordinary, 1);
  if (stream == Stream::eager) return Executor(boxed, options).run(graph, inputs);
  return Executor(machine, options).run(graph, inputs);
}

std::vector<float> floats(const RunValue& value) {
  std::vector<std::byte> bytes = elements_of(value);
  std::vector<float> list(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

// Every random row, by the ambient generator and by an explicit one: a seed is one set of results, in eager and from
// Lenz's stream; what eager refuses the stream refuses too, and results look alike.
TEST(RandomRows, ASeedIsOneSetOfResults) {
  Boxed boxed(DeviceKind::cpu);
  size_t rows = 0, sampled = 0, differ = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->has(Trait::random) || !op->generate) continue;
    ++rows;
    sampled += draw_of(*op).has_value();
    for (uint64_t i = 0; i < 6; ++i) {
      RandomChooser choose(i);
      auto graph = generate_call(*op, op_table(), choose);
      if (!graph) continue;
      Execution first = run(*graph, Stream::eager, 7);
      auto m = compare_runs(*graph, first, run(*graph, Stream::eager, 7));
      EXPECT_FALSE(m) << m->summary() << print(*graph);
      if (!draw_of(*op)) continue;
      try {
        Execution ours = run(*graph, Stream::lenz, 7);
        EXPECT_EQ(ours.ending, first.ending) << print(*graph);
        m = compare_runs(*graph, ours, run(*graph, Stream::lenz, 7));
        EXPECT_FALSE(m) << m->summary() << print(*graph);
        for (size_t k = 0; k < ours.outputs.size(); ++k)
          EXPECT_EQ(to_string(look(ours.outputs[k])), to_string(look(first.outputs[k])));
        differ += compare_runs(*graph, ours, run(*graph, Stream::lenz, 8)).has_value();
      } catch (const Unsupported&) {  // complex numbers, open ranges
      }
    }
  }
  EXPECT_GT(rows, 60u);
  EXPECT_GT(sampled * 2, rows);
  EXPECT_GT(differ, sampled);
}

TEST(RandomMachine, ElementsAreThoseOfTheStream) {
  auto graph = parse_graph(R"(graph @g(%x: f32[5]) {
    %a = aten.rand([2, 3], generator=seed(42))
    %b = aten.randint(10, [7], generator=seed(42))
    %r = aten.uniform(%x, -1.0, 1.0, generator=seed(42))
    return %a, %b, %r
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 0);
  RandomStream stream{42, 0};
  std::vector<float> a = floats(e.outputs[0]), r = floats(e.outputs[2]);
  for (uint64_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], static_cast<float>(stream.uniform(Dtype::f32, i)));
  for (uint64_t i = 0; i < r.size(); ++i) EXPECT_EQ(r[i], static_cast<float>(2 * stream.uniform(Dtype::f32, i) - 1));
}

TEST(RandomMachine, NothingIsDrawnForNoElements) {
  auto graph = parse_graph(R"(graph @g(%none: f32[0, 3], %high: i64[] init ones) {
    %a = aten.randint_like.Tensor(%none, %high)
    return %a
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 3);
  ASSERT_EQ(e.outputs.size(), 1u);
  EXPECT_TRUE(floats(e.outputs[0]).empty());
}

TEST(RandomMachine, TheAmbientStreamGoesOn) {
  auto graph =
      parse_graph("graph @g() {\n  %a = aten.rand([6])\n  %b = aten.rand([6])\n  return %a, %b\n}\n", op_table());
  Execution e = run(*graph, Stream::lenz, 3);
  Boxed boxed(DeviceKind::cpu);
  boxed.seed(3);
  RandomStream first{boxed.draw_seed(), 0}, second{first.seed, 2};
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(floats(e.outputs[0])[i], static_cast<float>(first.uniform(Dtype::f32, i)));
    EXPECT_EQ(floats(e.outputs[1])[i], static_cast<float>(second.uniform(Dtype::f32, i)));
  }
}

TEST(RandomMachine, DropoutKeepsOrDrops) {
  auto graph = parse_graph(R"(graph @g(%x: f32[200] init ones) {
    %y, %m = aten.native_dropout(%x, 0.25, true)
    return %y, %m
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 1);
  std::vector<float> y = floats(e.outputs[0]);
  std::vector<std::byte> kept = elements_of(e.outputs[1]);
  size_t count = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    bool keep = kept[i] != std::byte{0};
    count += keep;
    EXPECT_EQ(y[i], keep ? 1 / 0.75F : 0);
  }
  EXPECT_NEAR(static_cast<double>(count), 150, 25);
}

TEST(RandomMachine, PermutationsHoldEveryNumberOnce) {
  auto graph = parse_graph("graph @g() {\n  %a = aten.randperm(50, dtype=f32)\n  return %a\n}\n", op_table());
  std::vector<float> drawn = floats(run(*graph, Stream::lenz, 1).outputs[0]), sorted = drawn;
  std::ranges::sort(sorted);
  EXPECT_NE(drawn, sorted);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(sorted[i], static_cast<float>(i));
}

// Of many: half of them lie below the distribution's median.
TEST(RandomMachine, DistributionsHaveTheirMedians) {
  auto graph = parse_graph(R"(graph @g(%x: f32[4000]) {
    %l = aten.log_normal(%x, 1.0, 0.5, generator=seed(1))
    %c = aten.cauchy(%x, 3.0, 2.0, generator=seed(2))
    %g = aten.geometric(%x, 0.25, generator=seed(3))
    %r = aten.random.from(%x, 10, 20, generator=seed(4))
    return %l, %c, %g, %r
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 0);
  float medians[] = {2.71828F, 3.0F, 2.5F, 14.5F};
  double below[] = {0.5, 0.5, 1 - 0.75 * 0.75, 0.5};
  for (size_t k = 0; k < 4; ++k) {
    std::vector<float> drawn = floats(e.outputs[k]);
    auto less = std::ranges::count_if(drawn, [&](float x) { return x < medians[k]; });
    EXPECT_NEAR(static_cast<double>(less) / 4000, below[k], 0.03) << k;
  }
  for (float x : floats(e.outputs[2])) EXPECT_GE(x, 1);
}

TEST(RandomMachine, ChannelsAreDroppedAtOnceAndWhatSaturatesKeepsItsMean) {
  auto graph = parse_graph(R"(graph @g(%x: f32[20, 10, 3] init ones, %z: f32[5000] init zeros) {
    %c = aten.feature_dropout(%x, 0.5, true)
    %a = aten.alpha_dropout(%z, 0.3, true)
    return %c, %a
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 1);
  std::vector<float> c = floats(e.outputs[0]), a = floats(e.outputs[1]);
  size_t kept = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    EXPECT_EQ(c[i], c[i / 3 * 3]);
    EXPECT_TRUE(c[i] == 0 || c[i] == 2);
    kept += c[i] != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 300, 75);
  double sum = 0;
  for (float x : a) sum += x;
  EXPECT_NEAR(sum / 5000, 0, 0.05);
}

TEST(RandomMachine, OpenRangesEndWithTheDtype) {
  auto graph = parse_graph(R"(graph @g(%x: i8[500], %f: f16[500]) {
    %r = aten.random(%x) %s = aten.random(%f)
    %a = aten._to_copy(%r, dtype=f32) %b = aten._to_copy(%s, dtype=f32)
    return %a, %b
  })",
                           op_table());
  Execution e = run(*graph, Stream::lenz, 1);
  std::vector<float> a = floats(e.outputs[0]), b = floats(e.outputs[1]);
  EXPECT_GT(*std::ranges::max_element(a), 100);
  EXPECT_GE(*std::ranges::min_element(a), 0);
  EXPECT_GT(*std::ranges::max_element(b), 1900);
  EXPECT_LE(*std::ranges::max_element(b), 2048);
}

TEST(RandomMachine, WhatHasNoSamplingIsSaid) {
  auto graph = parse_graph("graph @g(%x: f32[3] init ones) {\n  %a = aten.poisson(%x)\n  return %a\n}\n", op_table());
  EXPECT_THROW(run(*graph, Stream::lenz, 1), Unsupported);
}

}  // namespace
}  // namespace lenz::oracle
