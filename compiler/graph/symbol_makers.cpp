#include "compiler/graph/symbol_makers.h"

#include <algorithm>
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

void forget_unmade_symbols(Graph& graph) {
  const Facts& facts = graph.assumptions.facts();
  const SharedList<Cond>& guards = graph.assumptions.guards();
  if (facts.ranges().empty() && facts.conditions().empty() && guards.empty()) return;
  std::unordered_set<const SymNode*> said;
  auto says = [&](const Type& t) {
    for_each_symbolic_dim(t, [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { said.insert(s); }); });
  };
  for (const Input& input : graph.inputs()) says(graph.type(input.value));
  graph.for_each_node([&](NodeId id) {
    for (uint16_t i = 0; i < graph.node(id).result_count; ++i) says(graph.type(graph.node(id).result(i)));
  });
  graph.assumptions.keep([&](const SymNode* s) { return said.contains(s); });
}

}  // namespace lenz
