#include "compiler/passes/pass.h"
#include "compiler/passes/regions.h"

namespace lenz {

namespace {

// The new order, from the end. Where a node has its place, so have all its users; each operand that nobody else still
// waits for comes right before it, with its own operands before that.
class Schedule {
 public:
  explicit Schedule(const Graph& graph)
      : graph_(graph),
        region_(regions(graph)),
        waiting_(graph.node_capacity(), 0),
        taken_(graph.node_capacity(), false) {
    graph.for_each_node([&](NodeId id) { for_each_operand(id, [&](NodeId producer) { ++waiting_[producer]; }); });
  }

  template <class Allow>
  std::vector<NodeId> reversed(Allow&& allow) {
    for (NodeId at = graph_.last(); at != kNone; at = graph_.previous(at)) {
      if (taken_[at]) continue;
      std::vector<NodeId> stack{at};
      while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        order_.push_back(id);
        for_each_operand(id, [&](NodeId producer) { --waiting_[producer]; });
        for_each_operand(id, [&](NodeId producer) {
          if (!may_follow(producer, id) || !allow()) return;
          taken_[producer] = true;
          stack.push_back(producer);
        });
      }
    }
    return std::move(order_);
  }

 private:
  template <class F>
  void for_each_operand(NodeId id, F&& visit) const {
    for (const Arg& a : graph_.node(id).arguments())
      for_each_value(a, [&](ValueId v) {
        if (NodeId producer = graph_.value(v).producer; producer != kNone) visit(producer);
      });
  }
  bool may_follow(NodeId producer, NodeId user) const {
    return !taken_[producer] && waiting_[producer] == 0 && region_[producer] != 0 && region_[producer] == region_[user];
  }

  const Graph& graph_;
  std::vector<uint32_t> region_;
  std::vector<uint32_t> waiting_;  // how many mentions of a node's results have no place yet
  std::vector<bool> taken_;
  std::vector<NodeId> order_;
};

// Whether the list has this order already.
bool stands(const Graph& graph, const std::vector<NodeId>& reversed) {
  NodeId at = graph.last();
  for (NodeId id : reversed) {
    if (id != at) return false;
    at = graph.previous(at);
  }
  return true;
}

void run(Graph& graph, PassContext& context) {
  if (stands(graph, Schedule(graph).reversed([] { return true; }))) return;
  NodeId after = kNone;
  for (NodeId id : Schedule(graph).reversed([&] { return context.allow("node"); })) {
    if (graph.node(id).next != after || (after == kNone && graph.last() != id)) graph.move_before(id, after);
    after = id;
  }
}

}  // namespace

Pass local_reordering() {
  return {.name = "local_reordering",
          .contract =
              "Moves a node down to its first user, so that what is made is used while it is still in the cache.\n"
              "Asks effects: nothing crosses a write, an effect or a draw from the ambient generator.\n"
              "Keeps every value; only the order of the list changes.",
          .levels = {Level::aten, Level::core},
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
