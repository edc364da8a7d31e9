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
  const std::vector<Cond>& guards = graph.assumptions.guards();
  if (facts.ranges().empty() && facts.conditions().empty() && guards.empty()) return;
  std::unordered_set<const SymNode*> said;
  auto says = [&](const Type& t) {
    for_each_symbolic_dim(t, [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { said.insert(s); }); });
  };
  for (const Input& input : graph.inputs()) says(graph.type(input.value));
  graph.for_each_node([&](NodeId id) {
    for (uint16_t i = 0; i < graph.node(id).result_count; ++i) says(graph.type(graph.node(id).result(i)));
  });
  auto stays = [&](const Cond& c) {
    bool all = true;
    for (Dim side : {c.lhs, c.rhs}) for_each_symbol(side, [&](const SymNode* s) { all = all && said.contains(s); });
    return all;
  };
  bool unchanged = std::ranges::all_of(facts.ranges(), [&](const auto& r) { return said.contains(r.first); }) &&
                   std::ranges::all_of(facts.conditions(), stays) && std::ranges::all_of(guards, stays);
  if (unchanged) return;
  Assumptions kept;
  for (const auto& [symbol, range] : facts.ranges())
    if (said.contains(symbol)) kept.facts().set_range(symbol, range);
  for (const Cond& c : facts.conditions())
    if (stays(c)) kept.facts().add(c);
  for (const Cond& c : guards)
    if (stays(c)) kept.assume(c);
  graph.assumptions = std::move(kept);
}

}  // namespace lenz
