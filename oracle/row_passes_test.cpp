// Every row under all passes: what rows tell passes (copies, neutral and absorbing elements, fills, traits) must hold
// in eager. A generated call stands beside itself once more and under what passes like to take away; all passes
// together must change nothing that the caller sees.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/renumber.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
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
      options.lines = {pipeline().data(), find_pass("functionalise")};  // behind it bits depend on layouts: see below
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

// A base input of which a view has these sizes: all of it in reverse order, its inside, or one of its slices.
ValueId viewed(Graph& graph, std::string_view name, const Type& type, Chooser& choose) {
  Context& c = graph.context();
  auto rank = static_cast<int64_t>(type.rank());
  uint64_t how = choose.below(3);
  DimVec sizes(type.sizes());
  if (how == 0) std::reverse(sizes.begin(), sizes.end());
  if (how == 1)
    for (Dim& d : sizes) d += 2;
  if (how == 2) sizes.insert(0, 3);
  ValueId v = graph.add_input(name, c.tensor(contiguous_tensor(type.dtype, sizes, type.device)));
  graph.input(graph.inputs().size() - 1).mutated = true;
  if (how == 0) {
    std::vector<int64_t> order;
    for (int64_t d = rank; d-- > 0;) order.push_back(d);
    v = *call(graph, "aten.permute", {Arg::of_value(v), c.ints(order)});
  }
  for (int64_t d = 0; how == 1 && d < rank; ++d)
    v = *call(graph, "aten.slice", {Arg::of_value(v), Arg::of_int(d), Arg::of_int(1), Arg::of_int(-1)});
  if (how == 2) v = *call(graph, "aten.select", {Arg::of_value(v), Arg::of_int(0), Arg::of_int(1)});
  return v;
}

// The call on views of larger inputs, where it writes; null if it does not, or eager would refuse it there.
std::unique_ptr<Graph> on_views(const Graph& call_graph, Chooser& choose) {
  const Node& node = call_graph.node(call_graph.first());
  auto graph = std::make_unique<Graph>(call_graph.shared_context(), call_graph.ops(), "g");
  std::vector<ValueId> ids(call_graph.value_count(), kNone);
  std::vector<Arg> outputs;
  std::vector<bool> written(call_graph.value_count());
  for (size_t i = 0; i < node.arg_count; ++i)
    if (node.op->schema.params[i].writes) for_each_value(node.args[i], [&](ValueId v) { written[v] = true; });
  for (const Input& input : call_graph.inputs()) {
    std::string name = call_graph.value_name(input.value).substr(1);
    const Type& type = call_graph.type(input.value);
    bool view = written[input.value] && type.is_tensor() && !input.alias;
    ids[input.value] = view ? viewed(*graph, name, type, choose) : graph->add_input(name, &type);
    if (!view) {
      Input& made = graph->input(graph->inputs().size() - 1);
      made.alias = input.alias;
      made.mutated = input.mutated;
      made.init = input.init;
      continue;
    }
    // A copy of no elements keeps its offset or loses it in eager, by what its storage holds.
    for (Dim size : type.sizes())
      if (size.is(0)) return nullptr;
    outputs.push_back(Arg::of_value(ids[input.value]));
    outputs.push_back(Arg::of_value(graph->inputs().back().value));
  }
  if (outputs.empty()) return nullptr;
  SmallVec<Arg, 8> args;
  for (const Arg& a : node.arguments()) args.push_back(renumbered(graph->context(), a, ids));
  try {
    NodeId id = graph->append(*node.op, args);
    for (uint16_t i = 0; i < graph->node(id).result_count; ++i)
      outputs.push_back(Arg::of_value(graph->node(id).result(i)));
  } catch (const Error&) {
    return nullptr;
  }
  graph->set_outputs(outputs);
  return graph;
}

// Rows whose eager kernel writes to an out= tensor with gaps, or in another order, as if it were contiguous.
constexpr std::string_view kForgetsStrides[] = {"avg_pool3d", "adaptive_max_pool3d"};

// Where eager rounds, or draws, by what lies side by side in memory, its bits depend on how its operand lies.
bool depends_on_layout(const OpDef& op) {
  return op.has(Trait::random) || op.accuracy != Accuracy::exact ||
         std::ranges::find(kForgetsStrides, op.schema.packet) != std::end(kForgetsStrides);
}

TEST(RowsThatWrite, BecomeValuesThroughViewsToo) {
  size_t graphs = 0, unsupported = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->generate || !op->schema.mutates() || op->has(Trait::nondeterministic)) continue;
    if (op->base && op->base->has(Trait::nondeterministic)) continue;
    if (depends_on_layout(*op)) continue;
    for (uint64_t i = 0; i < 3 * kCalls; ++i) {
      RandomChooser choose(100 + i);
      auto generated = generate_call(*op, op_table(), choose);
      auto graph = generated ? on_views(*generated, choose) : nullptr;
      if (!graph || !verify(*graph).empty()) continue;
      GraphCheckOptions options;
      options.seeds = 1;
      options.first_seed = i;
      options.together_only = true;
      options.lines = {find_pass("functionalise"), 1};
      try {
        GraphReport r = check_graph(*graph, options);
        ++graphs;
        for (const PassFinding& f : r.findings) ADD_FAILURE() << f.mismatch.summary() << "\n" << print(*graph);
      } catch (const Unsupported& error) {
        ++unsupported;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << "\n" << print(*graph);
      }
    }
  }
  EXPECT_GT(graphs, 1000u);
  EXPECT_LT(unsupported, graphs / 50);
  RecordProperty("graphs", static_cast<int>(graphs));
}

}  // namespace
}  // namespace lenz::oracle
