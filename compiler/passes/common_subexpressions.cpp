#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// How often each alias class has been written to so far: the same call before and after a write is not the same value.
class Versions {
 public:
  Versions(const Graph& graph, AliasClasses& aliases) : graph_(graph), aliases_(aliases) {
    if (aliases.any_writes()) version_.assign(graph.value_count(), 0);
  }
  void after(const Node& node) {
    if (!version_.empty()) for_each_written(graph_, node, [&](ValueId v) { ++version_[aliases_.root(v)]; });
  }
  // Of everything that the node reads. A view reads nothing but metadata.
  uint64_t read_by(const Node& node) {
    if (version_.empty() || is_geometry_view(graph_, node)) return 0;
    uint64_t h = 1;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { h = combine(h, version_[aliases_.root(v)]); });
    return h;
  }

 private:
  const Graph& graph_;
  AliasClasses& aliases_;
  std::vector<uint32_t> version_;
};

// Open addressing in eight bytes an entry: the table is touched at random, and a large graph's should stay in a cache.
class Table {
 public:
  Table(const Graph& graph, bool any_writes) : graph_(graph) {
    size_t slots = 64;
    while (slots < graph.node_count() * 5 / 4) slots *= 2;
    entries_.resize(slots);
    if (any_writes) versions_.resize(graph.node_capacity());
  }

  // The first node that computes the same, or this one, which is then remembered.
  NodeId find_or_add(NodeId id, uint64_t versions) {
    uint64_t hash = hash_of(graph_.node(id), versions);
    auto tag = static_cast<uint32_t>(hash >> 32);
    size_t mask = entries_.size() - 1, at = hash & mask;
    for (; entries_[at].node != kNone; at = (at + 1) & mask)
      if (entries_[at].tag == tag && versions_of(entries_[at].node) == versions && same(entries_[at].node, id))
        return entries_[at].node;
    entries_[at] = {tag, id};
    if (!versions_.empty()) versions_[id] = versions;
    return id;
  }

 private:
  struct Entry {
    uint32_t tag = 0;
    NodeId node = kNone;
  };

  uint64_t versions_of(NodeId id) const { return versions_.empty() ? 0 : versions_[id]; }
  static uint64_t hash_of(const Node& node, uint64_t versions) {
    uint64_t h = combine(reinterpret_cast<uintptr_t>(node.op), versions);  // no order depends on it
    for (const Arg& a : node.arguments()) h = combine(h, hash_arg(a));
    return h;
  }
  bool same(NodeId a, NodeId b) const {
    const Node &x = graph_.node(a), &y = graph_.node(b);
    if (x.op != y.op || x.result_count != y.result_count) return false;
    for (uint16_t i = 0; i < x.result_count; ++i)  // also tells unbacked sizes apart, each its own
      if (&graph_.type(x.result(i)) != &graph_.type(y.result(i))) return false;
    return std::ranges::equal(x.arguments(), y.arguments());
  }

  const Graph& graph_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> versions_;  // of what each remembered node reads; empty if nobody writes
};

// Results become one tensor: nobody may write to either, and an output must not start to alias another.
bool may_merge(const Graph& graph, AliasClasses& aliases, const Node& first, const Node& again) {
  for (uint16_t i = 0; i < first.result_count; ++i)
    if (may_replace(graph, aliases, again.result(i), first.result(i)) != Refusal::none) return false;
  return true;
}

// A token is used once: two of them are never one.
bool gives_token(const Graph& graph, const Node& node) {
  for (uint16_t i = 0; i < node.result_count; ++i)
    if (graph.type(node.result(i)).kind == TypeKind::token) return true;
  return false;
}

void run(Graph& graph, PassContext& context) {
  AliasClasses aliases(graph);
  Versions versions(graph, aliases);
  Table table(graph, aliases.any_writes());
  std::vector<NodeId> merged;
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    Effects e = effects(graph, node);
    if (e.writes) versions.after(node);
    if (e.any() || node.result_count == 0 || gives_token(graph, node)) return;
    NodeId first = table.find_or_add(id, versions.read_by(node));
    if (first == id || !may_merge(graph, aliases, graph.node(first), node) || !context.allow("node")) return;
    for (uint16_t i = 0; i < node.result_count; ++i)
      replace_value(graph, aliases, node.result(i), graph.node(first).result(i));
    merged.push_back(id);
  });
  graph.erase_all(merged);
}

}  // namespace

Pass common_subexpressions() {
  return {.name = "common_subexpressions",
          .contract =
              "Computes once what is computed twice: the same op of the same arguments, nothing written in between.\n"
              "Asks effects, alias classes and versions of storage; draws from the ambient generator differ.\n"
              "Keeps aliasing: results that are written to, or are two outputs, stay two tensors.",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
