#include "compiler/ops/symbolic_call.h"

#include <map>

namespace lenz {

std::unique_ptr<Graph> as_graph(const OpDef& op, DrawnCall call) {
  NodeId node = call.graph->append(op, call.args);
  SmallVec<Arg, 4> outputs;
  for (uint16_t i = 0; i < call.graph->node(node).result_count; ++i)
    outputs.push_back(Arg::of_value(call.graph->node(node).result(i)));
  call.graph->set_outputs(outputs);
  return std::move(call.graph);
}

std::unique_ptr<Graph> with_symbolic_sizes(const DrawnCall& call, std::optional<Range> range) {
  auto graph = std::make_unique<Graph>(call.graph->shared_context(), call.graph->ops(), "symbolic");
  std::map<int64_t, Dim> symbols;
  for (const Input& input : call.graph->inputs()) {
    const Type& t = call.graph->type(input.value);
    const Type* made = &t;
    if (t.is_tensor()) {
      DimVec sizes;
      for (Dim d : t.sizes()) {
        if (d.constant() < 2) {
          sizes.push_back(d);
          continue;
        }
        auto [at, fresh] = symbols.try_emplace(d.constant(), d);
        if (fresh) {
          at->second = graph->context().syms.symbol("s" + std::to_string(symbols.size() - 1));
          if (range) graph->assumptions.facts().set_range(at->second.node(), *range);
        }
        sizes.push_back(at->second);
      }
      made = graph->context().tensor(contiguous_tensor(t.dtype, sizes, t.device));
    }
    graph->add_input(call.graph->value_name(input.value).substr(1), made);
    graph->input(graph->inputs().size() - 1).mutated = input.mutated;
  }
  if (symbols.empty()) return nullptr;
  try {
    const Node& node = graph->node(graph->append(*call.op, call.args));
    SmallVec<Arg, 4> outputs;
    for (uint16_t i = 0; i < node.result_count; ++i) outputs.push_back(Arg::of_value(node.result(i)));
    graph->set_outputs(outputs);
    return graph;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace lenz
