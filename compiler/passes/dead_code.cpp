#include "compiler/graph/alias.h"
#include "compiler/graph/symbol_makers.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// One walk from the end: what is not yet seen to be needed when we reach it is not needed.
class Liveness {
 public:
  explicit Liveness(Graph& graph) : graph_(graph), aliases_(graph), makers_(graph), live_(graph.value_count(), false) {
    if (!makers_.empty()) makes_needed_.resize(graph.node_capacity(), false);
    for (const Arg& a : graph.outputs()) {
      need(a);
      makers_.for_each_maker(a, [&](NodeId maker) { makes_needed_[maker] = true; });
    }
  }

  // A write counts if somebody can see the memory later: the caller, or a node that is needed.
  bool is_needed(NodeId id) {
    const Node& node = graph_.node(id);
    Effects e = effects(graph_, node);
    if (e.visible || e.advances_random) return true;
    if (!makers_.empty() && makes_needed_[id]) return true;
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (live_[node.result(i)]) return true;
    if (!e.writes) return false;
    bool seen = false;
    for_each_written(graph_, node, [&](ValueId v) { seen |= aliases_.escapes(v) || observed(aliases_.root(v)); });
    return seen;
  }

  void need(NodeId id) {
    for (const Arg& a : graph_.node(id).arguments()) need(a);
    makers_.for_each_maker(graph_, graph_.node(id), [&](NodeId maker) { makes_needed_[maker] = true; });
  }

 private:
  void need(const Arg& arg) {
    for_each_value(arg, [&](ValueId v) {
      live_[v] = true;
      observed(aliases_.root(v)) = true;
    });
  }
  std::vector<bool>::reference observed(ValueId root) {
    if (observed_.size() <= root) observed_.resize(graph_.value_count(), false);
    return observed_[root];
  }

  Graph& graph_;
  AliasClasses aliases_;
  SymbolMakers makers_;
  std::vector<bool> live_, observed_, makes_needed_;
};

// Sub-graphs that no node calls any more, and the numbers of the others.
void drop_unused_subgraphs(Graph& graph, PassContext& context) {
  if (graph.subgraphs.empty()) return;
  std::vector<bool> used(graph.subgraphs.size(), false);
  graph.for_each_node([&](NodeId id) {
    for (const Arg& a : graph.node(id).arguments())
      if (a.kind == ArgKind::graph) used[a.graph()] = true;
  });
  std::vector<uint32_t> number(used.size());
  std::vector<std::unique_ptr<Graph>> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    number[i] = static_cast<uint32_t>(kept.size());
    if (used[i] || !context.allow("sub-graph")) kept.push_back(std::move(graph.subgraphs[i]));
  }
  bool all = kept.size() == used.size();
  graph.subgraphs = std::move(kept);
  if (all) return;
  graph.for_each_node([&](NodeId id) {
    SmallVec<Arg, 8> args(graph.node(id).arguments());
    bool calls = false;
    for (Arg& a : args)
      if (a.kind == ArgKind::graph) {
        a = Arg::of_graph(number[a.graph()]);
        calls = true;
      }
    if (calls) graph.set_args(id, args);
  });
}

void run(Graph& graph, PassContext& context) {
  Liveness liveness(graph);
  std::vector<NodeId> dead;
  for (NodeId id = graph.last(); id != kNone; id = graph.previous(id)) {
    if (liveness.is_needed(id) || !context.allow("node")) {
      liveness.need(id);
    } else {
      dead.push_back(id);
    }
  }
  graph.erase_all(dead);
  if (!dead.empty()) forget_unmade_symbols(graph);
  drop_unused_subgraphs(graph, context);
}

}  // namespace

Pass dead_code() {
  return {.name = "dead_code",
          .contract =
              "Removes nodes whose results nobody needs, writes that nobody sees, sub-graphs that nobody calls.\n"
              "Asks effects, alias classes, who makes symbols. Inputs stay: they are the signature.\n"
              "Keeps everything visible: effects, draws from the ambient generator, writes to inputs and outputs.",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
