#include "oracle/definition_check.h"

#include <algorithm>

#include "compiler/ops/decompose.h"
#include "compiler/ops/op_table.h"
#include "oracle/element_compare.h"

namespace lenz::oracle {

bool has_checkable_definition(const OpDef& op) {
  return !op.decompose.empty() && op.variant == VariantKind::functional && op.generate;
}

OpDef in_precise_dtypes(const OpDef& op) {
  OpDef narrowed = op;
  DtypeSet rough = dtypes::half | dtypes::bfloat | dtypes::float8;
  if (op.dtypes.has(Dtype::f64)) rough = rough | DtypeSet::of(Dtype::f32);
  if (op.dtypes.has(Dtype::c128)) rough = rough | DtypeSet::of(Dtype::c64);
  DtypeSet precise = op.dtypes - rough;
  if (!precise.empty()) narrowed.dtypes = precise;
  return narrowed;
}

namespace {
// A draw is another one each time.
bool repeats(const Graph& graph) {
  bool all = true;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    all = all && !op.has(Trait::random) && !op.has(Trait::nondeterministic);
  });
  return all;
}

bool only_moves(const Graph& graph) {
  bool all = true;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    bool moves = op.has(Trait::movement) || op.has(Trait::view) || op.has(Trait::maybe_view) || op.has(Trait::creation);
    all = all && moves && op.accuracy == Accuracy::exact;
  });
  return all;
}

// How far apart two roundings of one formula may lie, in this dtype.
double precision(Dtype d) {
  switch (d) {
    case Dtype::f64:
    case Dtype::c128: return 1e-11;
    case Dtype::f32:
    case Dtype::c64: return 2e-6;
    case Dtype::f16: return 2e-2;
    default: return is_floating(d) ? 0.1 : 0;
  }
}

Closeness closeness(const Graph& graph, std::span<const RunValue> inputs) {
  Closeness close;
  if (only_moves(graph)) return close;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (graph.type(v).is_tensor()) close.relative = std::max(close.relative, precision(graph.type(v).dtype));
  double largest = 0;
  for (const Input& input : graph.inputs()) largest = std::max(largest, magnitude(inputs[input.value]));
  close.absolute = 64 * close.relative * (1 + largest);
  return close;
}

std::string node_text(const Graph& graph, NodeId id) {
  std::string text = graph.node(id).op->full_name + "(";
  for (const Arg& a : graph.node(id).arguments()) {
    if (!a.is_value()) continue;
    if (text.back() != '(') text += ", ";
    text += lenz::to_string(graph.type(a.value()));
  }
  return text + ")";
}

// Runs the nodes that were added to the call's graph; what eager said if it refuses one.
std::optional<std::string> run_nodes(const Graph& graph, Boxed& device, std::vector<RunValue>& values) {
  std::optional<std::string> refused;
  graph.for_each_node([&](NodeId id) {
    if (refused) return;
    const Node& node = graph.node(id);
    if (node.op->has(Trait::structural)) {  // an element of a list
      values[node.result()] = element(values[node.args[0].value()], node.args[1].dim().constant());
      return;
    }
    Outcome outcome = device.run(*node.op, node.arguments(), values);
    if (outcome.raised) {
      refused = node_text(graph, id) + ": " + outcome.text;
      return;
    }
    for (uint16_t i = 0; i < node.result_count; ++i) values[node.result(i)] = outcome.results[i];
  });
  return refused;
}
// The first result of a definition that differs from the op's.
std::optional<std::string> difference(const OpDef& op, std::span<const Arg> results, std::span<const RunValue> values,
                                      const Outcome& expected, const Closeness& close) {
  if (results.size() != expected.results.size()) return "the definition gives another number of results";
  for (size_t i = 0; i < results.size(); ++i) {
    // Which of equal elements an index names is nobody's promise.
    if (op.flow.ties_open && i > 0) continue;
    RunValue got;
    if (results[i].is_value()) got = values[results[i].value()];
    if (results[i].is_none()) {
      if (look(expected.results[i]).kind != TypeKind::none)
        return "result " + std::to_string(i) + ": the definition gives none";
      continue;
    }
    if (!results[i].is_value()) {
      std::vector<RunValue> items;
      for_each_value(results[i], [&](ValueId v) { items.push_back(values[v]); });
      got = list_of(items);
    }
    if (auto apart = first_apart(expected.results[i], got, close)) return "result " + std::to_string(i) + ": " + *apart;
  }
  return std::nullopt;
}

// The inputs again, without gaps, overlaps and orders of their own.
std::vector<RunValue> dense(const Graph& graph, Boxed& device, std::span<const RunValue> inputs) {
  std::vector<RunValue> made(inputs.begin(), inputs.end());
  const OpDef& clone = *op_table().find("aten.clone");  // op name: the copy itself
  for (const Input& input : graph.inputs()) {
    if (!graph.type(input.value).is_tensor()) continue;
    const Arg args[] = {Arg::of_value(input.value), Arg::of_memory_format(MemoryFormat::contiguous)};
    made[input.value] = device.run(clone, args, inputs).results.at(0);
  }
  return made;
}
}  // namespace

DefinitionVerdict check_definition(DrawnCall& call, Boxed& device) {
  auto differ = [](std::string text) {
    return DefinitionVerdict{true, Difference{Aspect::definition, std::move(text)}};
  };
  Graph& graph = *call.graph;
  std::vector<RunValue> inputs = device.inputs(graph);
  Outcome expected = device.run(*call.op, call.args, inputs);
  if (expected.raised) return {};
  SmallVec<Arg, 4> results;
  try {
    results = expand(graph, kNone, *call.op, call.args);
  } catch (const Error& error) {
    return differ(std::string("the definition can't be written out: ") + error.what());
  }
  if (!repeats(graph)) return {};
  std::vector<RunValue> values = device.inputs(graph);
  Closeness close = closeness(graph, values);
  if (auto refused = run_nodes(graph, device, values))
    return differ("eager refuses a call of the definition: " + *refused);
  std::optional<std::string> apart = difference(*call.op, results, values, expected, close);
  if (!apart) return {true, std::nullopt};
  // Where an operand lies is no part of what an op computes: if eager itself thinks so, of dense operands its answer is
  // another one.
  Outcome of_dense = device.run(*call.op, call.args, dense(graph, device, inputs));
  if (!of_dense.raised && !difference(*call.op, results, values, of_dense, close)) return {true, std::nullopt, true};
  return differ(*apart);
}

}  // namespace lenz::oracle
