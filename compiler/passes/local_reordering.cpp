#include "compiler/passes/pass.h"
#include "compiler/passes/regions.h"

namespace lenz {

namespace {

// The new order, from the end. Where a node has its place, so have all its users; each operand that nobody else still
// waits for comes right before it, with its own operands before that.
class Schedule {
 public:
  explicit Schedule(const Graph& graph)
      : graph_(graph), region_(regions(graph)), placed_(graph.node_capacity(), false), taken_(placed_) {}

  template <class Allow>
  std::vector<NodeId> reversed(Allow&& allow) {
    for (NodeId at = graph_.last(); at != kNone; at = graph_.previous(at)) {
      if (taken_[at]) continue;
      std::vector<NodeId> stack{at};
      while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        placed_[id] = true;
        order_.push_back(id);
        for (const Arg& a : graph_.node(id).arguments())
          for_each_value(a, [&](ValueId v) {
            NodeId producer = graph_.value(v).producer;
            if (producer == kNone || !may_follow(producer, id) || !allow()) return;
            taken_[producer] = true;
            stack.push_back(producer);
          });
      }
    }
    return std::move(order_);
  }

 private:
  bool may_follow(NodeId producer, NodeId user) const {
    if (taken_[producer] || placed_[producer] || region_[producer] == 0 || region_[producer] != region_[user])
      return false;
    const Node& node = graph_.node(producer);
    for (uint16_t i = 0; i < node.result_count; ++i)
      for (NodeId other : graph_.value(node.result(i)).users)
        if (other != kOutputs && !placed_[other]) return false;
    return true;
  }

  const Graph& graph_;
  std::vector<uint32_t> region_;
  std::vector<bool> placed_, taken_;
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
