#include "compiler/graph/symbol_makers.h"

#include <unordered_set>

namespace lenz {

SymbolMakers::SymbolMakers(const Graph& graph) {
  if (graph.context().syms.node_count() == 0) return;
  std::unordered_set<const SymNode*> given;
  for (const Input& input : graph.inputs())
    for_each_symbolic_dim(graph.type(input.value),
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { given.insert(s); }); });
  // In a valid graph a symbol's maker stands before whatever else says it.
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    for (uint16_t i = 0; i < node.result_count; ++i)
      for_each_symbolic_dim(graph.type(node.result(i)), [&](Dim d) {
        for_each_symbol(d, [&](const SymNode* s) {
          if (!given.contains(s)) makers_.emplace(s, id);
        });
      });
  });
}

}  // namespace lenz
