#include "oracle/needless.h"

#include "compiler/graph/alias.h"
#include "compiler/graph/symbol_makers.h"
#include "compiler/passes/expand_node.h"

namespace lenz::oracle {

namespace {
std::unique_ptr<Graph> without_it_and_all_of_it(const Graph& graph, NodeId from) {
  AliasClasses classes(graph);
  const SymbolMakers makers(graph);
  std::vector<bool> values(graph.value_count()), memory(graph.value_count());  // that depend on it; memory by class
  bool needed = false;
  std::vector<NodeId> dependent;
  std::vector<bool> goes(graph.node_capacity());
  for (NodeId id = from; id != kNone; id = graph.node(id).next) {
    const Node& node = graph.node(id);
    bool depends = id == from;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { depends = depends || values[v] || memory[classes.root(v)]; });
    makers.for_each_maker(graph, node, [&](NodeId maker) { depends = depends || goes[maker]; });
    if (!depends) continue;
    dependent.push_back(id);
    goes[id] = true;
    Effects e = effects(graph, node);
    needed = needed || e.visible || e.advances_random;
    for (uint16_t i = 0; i < node.result_count; ++i) values[node.result(i)] = true;
    for_each_written(graph, node, [&](ValueId v) {
      memory[classes.root(v)] = true;
      needed = needed || classes.is_external(v);
    });
  }
  for (const Arg& a : graph.outputs()) {
    for_each_value(a, [&](ValueId v) { needed = needed || values[v] || memory[classes.root(v)]; });
    makers.for_each_maker(a, [&](NodeId maker) { needed = needed || goes[maker]; });
  }
  if (needed) return nullptr;
  // A copy numbers its nodes anew, in their order.
  std::unique_ptr<Graph> left = graph.clone();
  std::vector<NodeId> erased;
  for (NodeId here = graph.first(), there = left->first(); here != kNone;
       here = graph.node(here).next, there = left->node(there).next)
    if (goes[here]) erased.push_back(there);
  left->erase_all(erased);
  forget_unmade_symbols(*left);
  return left;
}

// The same with a call for each element of what takes lists: one that nobody needs has no part in the others.
std::unique_ptr<Graph> without_it_in_lists(const Graph& graph, NodeId from) {
  std::unique_ptr<Graph> apart = graph.clone();
  NodeId same = kNone;
  std::vector<NodeId> lists;
  for (NodeId here = graph.first(), there = apart->first(); here != kNone;
       here = graph.node(here).next, there = apart->node(there).next) {
    if (here == from) same = there;
    if (here != from && graph.node(here).op->each) lists.push_back(there);
  }
  bool any = false;
  for (NodeId id : lists) any |= expand_elements(*apart, id);
  return any ? without_it_and_all_of_it(*apart, same) : nullptr;
}
}  // namespace

std::unique_ptr<Graph> without_needless(const Graph& graph, NodeId from) {
  std::unique_ptr<Graph> left = without_it_and_all_of_it(graph, from);
  return left ? std::move(left) : without_it_in_lists(graph, from);
}

std::unique_ptr<Graph> without_needless(const Graph& graph, const Cond& fact) {
  std::unique_ptr<Graph> left;
  const SymbolMakers makers(graph);
  for (const Dim side : {fact.lhs, fact.rhs})
    makers.for_each_maker(side, [&](NodeId maker) {
      if (!left) left = without_needless(graph, maker);
    });
  return left;
}

NeededRun run_needed(const Graph& graph, ExecuteOptions options,
                     const std::function<Execution(const Graph& graph, const ExecuteOptions& options)>& run) {
  NeededRun needed;
  for (;;) {
    const Graph& part = needed.left ? *needed.left : graph;
    NodeId next = part.first();  // where it raises, the node that did
    options.on_node = [&](NodeId node, std::span<const RunValue>) { next = part.node(node).next; };
    needed.ended = run(part, options);
    if (needed.ended.ending != Ending::raised) return needed;
    std::unique_ptr<Graph> left;
    if (needed.ended.contradicted) left = without_needless(part, *needed.ended.contradicted);
    if (!left && next != kNone) left = without_needless(part, next);
    if (!left) return needed;
    if (!needed.refusal) needed.refusal = std::move(needed.ended);
    needed.left = std::move(left);
  }
}

}  // namespace lenz::oracle
