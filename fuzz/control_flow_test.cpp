#include "fuzz/control_flow.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

NodeId call(Graph& graph, std::string_view op, std::initializer_list<Arg> args) {
  const Resolved r = resolve(graph, op, std::span<const Arg>(args.begin(), args.size()), {});
  return graph.append(*r.op, r.args);
}

// One branch reads an input whose elements share places, and the other one writes to a part of it, of no elements.
TEST(ControlFlow, WhatTheOtherBranchAskedForIsNotWrittenToWhereItsElementsMeet) {
  size_t made = 0, written = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    for (const bool meet : {false, true}) {
      Graph graph(std::make_shared<Context>(), op_table(), "g");
      const auto laid = [&](int64_t last) {
        const TensorType t{
            .dtype = Dtype::f32, .device = {}, .sizes = {Dim(4), Dim(5)}, .strides = {Dim(5), Dim(last)}};
        return graph.context().tensor(t);
      };
      Growth growth;
      growth.graph = &graph;
      growth.add(graph.add_input("x", laid(1)));
      size_t calls = 0;
      RandomChooser choose(seed);
      control_flow(growth, choose, [&](Growth& sub, size_t) {
        Graph& g = *sub.graph;
        if (calls++ == 0) {
          sub.add(g.add_input("y", laid(meet ? 0 : 1)));
          sub.add(g.node(call(g, "aten.neg", {Arg::of_value(g.inputs().back().value)})).result());
          return;
        }
        const Arg all = Arg::of_value(g.inputs().back().value);
        const ValueId none =
            g.node(call(g, "aten.narrow", {all, Arg::of_int(1), Arg::of_int(0), Arg::of_int(0)})).result();
        sub.add(g.node(call(g, "aten.neg", {all})).result());
        call(g, "aten.relu_", {Arg::of_value(none)});
        g.input(g.inputs().size() - 1).mutated = true;
      });
      ASSERT_TRUE(verify(graph).empty()) << to_string(verify(graph)[0]) << print(graph);
      if (graph.first() == kNone || calls != 2) continue;
      ++made;
      for (const auto& sub : graph.subgraphs) written += sub->inputs().back().mutated;
    }
  }
  EXPECT_GT(made, 20);
  EXPECT_GT(written, 5);
}

}  // namespace
}  // namespace lenz::fuzz
