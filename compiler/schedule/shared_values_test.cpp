// What all points of an axis share is computed once where it takes long, and everywhere gives what it gave.
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
#include "compiler/schedule/shared_values.h"

namespace lenz::schedule {
namespace {

std::string sampled(const std::string& channels, const std::string& size, int how = 0, int padding = 0,
                    const std::string& where = "") {
  return fmt::format(
      "graph @g(%x: f32[2, {0}, 5, {1}], %at: f32[2, 4, {1}, 2]) {4} {{\n"
      "  %y = aten.grid_sampler_2d(%x, %at, {2}, {3}, false)\n  return %y\n}}\n",
      channels, size, how, padding, where);
}

loops::Program naive(const std::string& graph) { return to_loops(*parse_graph(graph, op_table())); }

// The nests that it becomes, each with as many axes.
std::vector<size_t> axes_of_nests(const std::string& graph, int64_t grain = 4096) {
  loops::Program program = naive(graph);
  Target target = cpu_target("avx2", 1);
  target.grain = grain;
  compute_shared_values_once(program, target);
  loops::require_valid(program, "values shared");
  std::vector<size_t> axes;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* nest = std::get_if<loops::Nest>(&node.is)) axes.push_back(nest->axes.size());
  });
  return axes;
}

loops::Tensor numbers(const loops::Ints& sizes, double scale) {
  loops::Tensor t(Dtype::f32, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>((i * 37 + 11) % 23 - 11) * scale));
  return t;
}

TEST(SharedValues, WeightsOfAPixelServeAllChannels) {
  const std::vector<size_t> axes = axes_of_nests(sampled("8", "6"));
  ASSERT_GT(axes.size(), 4u);
  EXPECT_EQ(axes.back(), 4u);
  for (size_t k = 0; k + 1 < axes.size(); ++k) EXPECT_EQ(axes[k], 3u) << k;
}

TEST(SharedValues, NotOfFewPointsNorOfSmallPrograms) {
  EXPECT_EQ(axes_of_nests(sampled("2", "6")).size(), 1u);
  EXPECT_EQ(axes_of_nests(sampled("3", "6"), 1).size(), 1u);
  EXPECT_GT(axes_of_nests(sampled("c", "6", 0, 0, "where c in 2..64"), 1).size(), 1u);
  EXPECT_EQ(axes_of_nests(sampled("c", "6", 0, 0, "where c in 0..64"), 1).size(), 1u);  // nothing need be there
}

TEST(SharedValues, WhatCoordinatesDecideStays) {
  const std::string graph =
      "graph @g(%x: f32[2, 8, 16, 16]) {\n  %y = aten.upsample_bilinear2d(%x, [40, 40], false)\n  return %y\n}\n";
  EXPECT_EQ(axes_of_nests(graph).size(), 1u);
}

TEST(SharedValues, GiveWhatTheyGave) {
  for (int how : {0, 1, 2})
    for (int padding : {0, 1, 2}) {
      const std::string graph = sampled("3", "s", how, padding);
      const std::vector<loops::InputValue> inputs{{numbers({2, 3, 5, 6}, 0.5)}, {numbers({2, 4, 6, 2}, 0.12)}};
      const loops::Results wanted = loops::interpret(naive(graph), inputs);
      Target target = cpu_target("avx2", 2);
      target.grain = 4096;
      const loops::Results got = loops::interpret(schedule(naive(graph), target), inputs);
      ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
      for (int64_t i = 0; i < wanted.outputs[0].tensor.numel(); ++i)
        EXPECT_EQ(got.outputs[0].tensor.at(i).real(), wanted.outputs[0].tensor.at(i).real()) << how << padding << i;
    }
}

}  // namespace
}  // namespace lenz::schedule
