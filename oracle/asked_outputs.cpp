#include "oracle/asked_outputs.h"

#include <algorithm>
#include <cmath>

#include "compiler/graph/alias.h"
#include "compiler/graph/symbol_makers.h"
#include "oracle/compare.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
bool differ(const RunValue& a, const RunValue& b) {
  const Seen x = look(a), y = look(b);
  if (x.kind != y.kind || x.elements.size() != y.elements.size()) return true;
  for (size_t i = 0; i < x.elements.size(); ++i)
    if (differ(element(a, static_cast<int64_t>(i)), element(b, static_cast<int64_t>(i)))) return true;
  if (x.kind == TypeKind::tensor)
    return x.dtype != y.dtype || !std::ranges::equal(x.sizes, y.sizes) ||
           (!plainly_same_elements(a, b) && compare_elements(x.dtype, x.sizes.span(), elements_of(a), elements_of(b)));
  return x.integer != y.integer || !(x.number == y.number || (std::isnan(x.number) && std::isnan(y.number)));
}

// Of each node whether an output, an input, an effect or a size that somebody says hangs on it.
std::vector<bool> needed_nodes(const Graph& graph) {
  AliasClasses classes(graph);
  const SymbolMakers makers(graph);
  std::vector<bool> values(graph.value_count()), memory(graph.value_count()), nodes(graph.node_capacity());
  auto need = [&](ValueId v) { values[v] = memory[classes.root(v)] = true; };
  auto need_maker = [&](NodeId maker) { nodes[maker] = true; };
  for (const Arg& a : graph.outputs()) {
    for_each_value(a, need);
    for_each_value(a, [&](ValueId v) {
      for_each_symbolic_dim(graph.type(v), [&](Dim d) { makers.for_each_maker(d, need_maker); });
    });
    makers.for_each_maker(a, need_maker);
  }
  for (NodeId id = graph.last(); id != kNone; id = graph.previous(id)) {
    const Node& node = graph.node(id);
    const Effects e = effects(graph, node);
    bool needed = nodes[id] || e.visible || e.advances_random;
    for (uint16_t i = 0; i < node.result_count; ++i) needed = needed || values[node.result(i)];
    for_each_written(graph, node,
                     [&](ValueId v) { needed = needed || memory[classes.root(v)] || classes.is_external(v); });
    nodes[id] = needed;
    if (!needed) continue;
    for (const Arg& a : node.arguments()) for_each_value(a, need);
    makers.for_each_maker(graph, node, need_maker);
  }
  return nodes;
}
}  // namespace

Asked asked_where_different(const Execution& expected, const Execution& got) {
  Asked asked;
  for (size_t i = 0; i < expected.outputs.size(); ++i)
    asked.push_back(i >= got.outputs.size() || differ(expected.outputs[i], got.outputs[i]));
  bool inputs = false;
  for (size_t i = 0; i < expected.inputs.size() && !inputs; ++i)
    inputs = i >= got.inputs.size() || differ(expected.inputs[i], got.inputs[i]);
  asked.push_back(inputs);
  return asked;
}

Asked all_asked(const Graph& graph) { return Asked(graph.outputs().size() + 1, true); }

bool any_asked(const Asked& asked) { return std::ranges::find(asked, true) != asked.end(); }

std::unique_ptr<Graph> part_for(const Graph& graph, const Asked& asked) {
  std::unique_ptr<Graph> part = graph.clone();
  SmallVec<Arg, 8> outputs;
  for (size_t i = 0; i < part->outputs().size(); ++i) outputs.push_back(asked[i] ? part->outputs()[i] : Arg::none());
  part->set_outputs(outputs);
  const std::vector<bool> needed = needed_nodes(*part);
  std::vector<NodeId> erased;
  part->for_each_node([&](NodeId id) {
    if (!needed[id]) erased.push_back(id);
  });
  part->erase_all(erased);
  forget_unmade_symbols(*part);
  return part;
}

}  // namespace lenz::oracle
