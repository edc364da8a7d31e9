// The sizes that only a run knows, and the nodes that make them. Such a symbol is used by name, in types and arguments:
// the uses of values don't show it. So a node that makes a symbol is needed as long as anything says the symbol, and
// nothing that does may move before it.
// Thread-safety: constant once made.
#pragma once

#include <unordered_map>

#include "compiler/graph/graph.h"

namespace lenz {

class SymbolMakers {
 public:
  explicit SymbolMakers(const Graph& graph);
  bool empty() const { return makers_.empty(); }
  bool makes(NodeId node, const SymNode* symbol) const {
    const auto at = makers_.find(symbol);
    return at != makers_.end() && at->second == node;
  }

  // Calls visit(NodeId) for the makers of the symbols that a node's arguments and results say, itself perhaps among
  // them; a maker may come several times.
  template <class F>
  void for_each_maker(const Graph& graph, const Node& node, F&& visit) const {
    if (empty()) return;
    for (const Arg& a : node.arguments()) for_each_maker(a, visit);
    for (uint16_t i = 0; i < node.result_count; ++i)
      for_each_symbolic_dim(graph.type(node.result(i)), [&](Dim d) { for_each_maker(d, visit); });
  }
  template <class F>
  void for_each_maker(const Arg& arg, F&& visit) const {
    if (arg.kind == ArgKind::integer && arg.symbolic) for_each_maker(arg.dim(), visit);
    if (arg.kind == ArgKind::int_list)
      for (Dim d : arg.dim_list()) for_each_maker(d, visit);
    if (arg.kind == ArgKind::arg_list)
      for (const Arg& e : arg.arg_list()) for_each_maker(e, visit);
  }
  template <class F>
  void for_each_maker(Dim d, F&& visit) const {
    if (d.is_constant()) return;
    for_each_symbol(d, [&](const SymNode* s) {
      if (auto at = makers_.find(s); at != makers_.end()) visit(at->second);
    });
  }
  // Calls visit(NodeId) for each maker.
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [symbol, node] : makers_) visit(node);
  }

 private:
  std::unordered_map<const SymNode*, NodeId> makers_;
};

// Drops the facts and guards about symbols that no input or node's result says any more: their makers are gone.
void forget_unmade_symbols(Graph& graph);

}  // namespace lenz
