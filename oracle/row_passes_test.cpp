// Every row under all passes: what rows tell passes (copies, neutral and absorbing elements, fills, traits) must hold
// in eager. A generated call stands beside itself once more and under what passes like to take away; all passes
// together must change nothing that the caller sees.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

constexpr int kCalls = 8;

// A call on a graph's own values; whatever eager would refuse is left out.
std::optional<ValueId> call(Graph& graph, std::string_view op, std::initializer_list<Arg> args) {
  try {
    Resolved r = resolve(graph, op, {args.begin(), args.size()}, {});
    return graph.node(graph.append(*r.op, r.args)).result();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void surround(Graph& graph, Chooser& choose) {
  const Node node = graph.node(graph.first());
  std::vector<Arg> outputs(graph.outputs().begin(), graph.outputs().end());
  auto add = [&](std::optional<ValueId> v) {
    if (v) outputs.push_back(Arg::of_value(*v));
  };
  bool again = !node.op->schema.mutates() && !node.op->has(Trait::random);
  if (again)
    for (NodeId id = graph.append(*node.op, node.arguments()); const Arg& a : graph.outputs())
      if (a.is_value() && graph.value(a.value()).producer == graph.first())
        outputs.push_back(Arg::of_value(graph.node(id).result(graph.value(a.value()).index)));
  for (uint16_t i = 0; i < node.result_count; ++i) {
    ValueId v = node.result(i);
    if (!graph.type(v).is_tensor()) continue;
    Arg a = Arg::of_value(v);
    auto copy = call(graph, "aten.clone", {a});
    if (!copy) continue;
    Arg c = Arg::of_value(*copy);
    switch (choose.below(6)) {
      case 0: add(call(graph, "aten.mul", {c, Arg::of_int(1)})); break;
      case 1: add(call(graph, "aten.add", {c, choose.any_of({Arg::of_int(0), Arg::of_real(-0.0)})})); break;
      case 2: add(call(graph, "aten.mul", {c, Arg::of_int(0)})); break;
      case 3: add(call(graph, "aten.contiguous", {c})); break;
      case 4: add(call(graph, "aten.eq", {c, c})); break;
      default: add(call(graph, "aten.sub", {c, c})); break;
    }
  }
  graph.set_outputs(outputs);
}

TEST(RowsUnderPasses, NothingChangesThatTheCallerSees) {
  size_t graphs = 0, rewrites = 0, refused = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->generate || op->has(Trait::structural) || op->has(Trait::nondeterministic)) continue;
    if (op->base && op->base->has(Trait::nondeterministic)) continue;
    for (int i = 0; i < kCalls; ++i) {
      RandomChooser choose(static_cast<uint64_t>(i));
      auto graph = generate_call(*op, op_table(), choose);
      if (!graph) continue;
      surround(*graph, choose);
      GraphCheckOptions options;
      options.seeds = 1;
      options.first_seed = static_cast<uint64_t>(i);
      options.together_only = true;
      GraphReport r;
      try {
        r = check_graph(*graph, options);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << "\n" << print(*graph);
        continue;
      }
      ++graphs;
      rewrites += r.rewrites;
      refused += r.refused;
      for (const PassFinding& f : r.findings)
        ADD_FAILURE() << f.selection << ": " << f.mismatch.summary() << "\n" << print(*graph);
    }
  }
  EXPECT_GT(graphs, 10000u);
  EXPECT_GT(rewrites, graphs / 2);
  EXPECT_LT(refused, graphs / 10);
}

}  // namespace
}  // namespace lenz::oracle
