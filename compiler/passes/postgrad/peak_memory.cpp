#include <algorithm>
#include <set>
#include <unordered_set>

#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/regions.h"

namespace lenz {

namespace {

// Nodes that follow one another and may change places, with all other nodes around them. What of their memory lives is
// counted in bytes, by storages; symbols are taken at their typical values.
class Segment {
 public:
  Segment(const Graph& graph, std::vector<NodeId> nodes) : graph_(graph), nodes_(std::move(nodes)) {
    for (NodeId id : nodes_) place_.emplace_back(id, place_.size());
    std::ranges::sort(place_);
    users_of_storages();
  }

  // Always the node that leaves the least behind; of several, the one that stands first.
  std::vector<NodeId> greedy() {
    std::vector<uint32_t> waits(nodes_.size(), 0);
    std::vector<std::vector<uint32_t>> wakes(nodes_.size());
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      for_each_producer(nodes_[n], [&](uint32_t p) {
        if (!wakes[p].empty() && wakes[p].back() == n) return;
        wakes[p].push_back(n);
        ++waits[n];
      });
    auto remaining = users_;
    std::vector<int64_t> cost(nodes_.size());
    std::set<std::pair<int64_t, uint32_t>> ready;
    std::vector<bool> is_ready(nodes_.size());
    for (uint32_t n = 0; n < nodes_.size(); ++n) cost[n] = made_[n] - freed(n, remaining);
    auto add = [&](uint32_t n) {
      is_ready[n] = true;
      ready.emplace(cost[n], n);
    };
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      if (!waits[n]) add(n);
    std::vector<NodeId> order;
    while (!ready.empty()) {
      uint32_t n = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(nodes_[n]);
      for (uint32_t s : touches_[n]) {
        Uses& uses = remaining[s];
        --uses.count;
        uses.sum -= n;
        if (uses.count != 1 || uses.outlives) continue;
        auto last = static_cast<uint32_t>(uses.sum);  // whoever is left frees it
        if (is_ready[last]) ready.erase({cost[last], last});
        cost[last] -= bytes_[s];
        if (is_ready[last]) ready.emplace(cost[last], last);
      }
      for (uint32_t user : wakes[n])
        if (--waits[user] == 0) add(user);
    }
    LENZ_CHECK(order.size() == nodes_.size(), "data flows forwards");
    return order;
  }

  // The most that lives at once, beyond what lives all the time.
  int64_t peak(std::span<const NodeId> order) const {
    auto remaining = users_;
    int64_t live = 0, most = 0;
    for (NodeId id : order) {
      uint32_t n = *place(id);
      live += made_[n];
      most = std::max(most, live);
      for (uint32_t s : touches_[n])
        if (--remaining[s].count == 0 && !remaining[s].outlives) live -= bytes_[s];
    }
    return most;
  }

  std::span<const NodeId> nodes() const { return nodes_; }

 private:
  struct Uses {
    uint32_t count = 0;  // nodes of the segment that make or use it
    uint64_t sum = 0;    // of their places
    bool outlives = false;
  };

  std::optional<uint32_t> place(NodeId id) const {
    auto at = std::ranges::lower_bound(place_, id, {}, &std::pair<NodeId, uint32_t>::first);
    if (at == place_.end() || at->first != id) return std::nullopt;
    return at->second;
  }

  template <class F>
  void for_each_producer(NodeId id, F&& visit) const {
    for (const Arg& a : graph_.node(id).arguments())
      for_each_value(a, [&](ValueId v) {
        NodeId producer = graph_.value(v).producer;
        if (auto p = producer == kNone ? std::nullopt : place(producer)) visit(*p);
      });
  }

  // Storages that the segment makes or is the last to use, and by which of its nodes.
  void users_of_storages() {
    touches_.resize(nodes_.size());
    made_.resize(nodes_.size(), 0);
    std::vector<std::pair<ValueId, uint32_t>> seen;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = graph_.node(nodes_[n]);
      auto touch = [&](ValueId v) { seen.emplace_back(graph_.storage(v), n); };
      for (const Arg& a : node.arguments()) for_each_value(a, touch);
      for (uint16_t i = 0; i < node.result_count; ++i) touch(node.result(i));
    }
    std::ranges::sort(seen);
    seen.erase(std::ranges::unique(seen).begin(), seen.end());
    for (size_t i = 0; i < seen.size();) {
      ValueId storage = seen[i].first;
      auto s = static_cast<uint32_t>(users_.size());
      Uses uses;
      for (; i < seen.size() && seen[i].first == storage; ++i) {
        ++uses.count;
        uses.sum += seen[i].second;
        touches_[seen[i].second].push_back(s);
      }
      bytes_.push_back(bytes(storage));
      NodeId producer = graph_.value(storage).producer;
      auto maker = producer == kNone ? std::nullopt : place(producer);
      if (maker) made_[*maker] += bytes_.back();
      uses.outlives = producer == kNone || used_outside(storage);
      users_.push_back(uses);
    }
  }

  // Views are other values of the same storage: whoever uses one stands in the segment or keeps it alive.
  bool used_outside(ValueId storage) const {
    std::vector<ValueId> values{storage};
    std::unordered_set<ValueId> known{storage};
    for (size_t i = 0; i < values.size(); ++i)
      for (NodeId user : graph_.value(values[i]).users) {
        if (user == kOutputs || !place(user)) return true;
        const Node& node = graph_.node(user);
        for (uint16_t r = 0; r < node.result_count; ++r)
          if (graph_.storage(node.result(r)) == storage && known.insert(node.result(r)).second)
            values.push_back(node.result(r));
      }
    return false;
  }

  int64_t bytes(ValueId storage) const {
    const Type& t = graph_.type(storage);
    if (!t.is_tensor()) return 0;
    int64_t n = graph_.assumptions.known().hint(numel(t.sizes())).value_or(1);
    return std::max<int64_t>(n, 0) * std::max(info(t.dtype).bits / 8, 1);
  }

  int64_t freed(uint32_t n, const std::vector<Uses>& remaining) const {
    int64_t sum = 0;
    for (uint32_t s : touches_[n])
      if (remaining[s].count == 1 && !remaining[s].outlives) sum += bytes_[s];
    return sum;
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<std::pair<NodeId, uint32_t>> place_;
  std::vector<std::vector<uint32_t>> touches_;  // storages by node
  std::vector<int64_t> made_, bytes_;           // by node, by storage
  std::vector<Uses> users_;                     // by storage
};

void improve(Graph& graph, PassContext& context, std::vector<NodeId> nodes) {
  if (nodes.size() < 3) return;
  Segment segment(graph, std::move(nodes));
  std::vector<NodeId> order = segment.greedy();
  if (segment.peak(order) >= segment.peak(segment.nodes()) || !context.allow("order")) return;
  NodeId behind = graph.node(segment.nodes().back()).next;
  for (NodeId id : order) graph.move_before(id, behind);
}

void run(Graph& graph, PassContext& context) {
  std::vector<uint32_t> region = regions(graph);
  std::vector<std::vector<NodeId>> segments(1);
  graph.for_each_node([&](NodeId id) {
    if (region[id] == 0)
      segments.emplace_back();
    else
      segments.back().push_back(id);
  });
  for (std::vector<NodeId>& nodes : segments) improve(graph, context, std::move(nodes));
}

}  // namespace

Pass peak_memory() {
  return {.name = "peak_memory",
          .contract =
              "Orders nodes so that less memory lives at once: always the one that leaves the least behind.\n"
              "Asks effects, as local_reordering; keeps the order as it is unless the estimate of the peak is lower.\n"
              "Keeps every value; only the order of the list changes.",
          .levels = {Level::aten, Level::core},
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
