#include <unordered_map>

#include "compiler/base/hash.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/try_infer.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/view_patterns.h"

namespace lenz {

namespace {

// Two geometry views of one base with one type are the same tensor, whatever ops made them. All below follows from it:
// a chain of views may be any shorter chain that arrives at the same type.

constexpr size_t kAncestors = 8;  // how far up a chain we look

bool is_view(const Graph& graph, ValueId v) {
  NodeId producer = graph.value(v).producer;
  return producer != kNone && is_geometry_view(graph, graph.node(producer));
}

// What `v` is a view of, from its operand up to the base.
SmallVec<ValueId, kAncestors> ancestors(const Graph& graph, ValueId v) {
  SmallVec<ValueId, kAncestors> all;
  while (is_view(graph, v) && all.size() < kAncestors) {
    v = graph.node(graph.value(v).producer).args[0].value();
    all.push_back(v);
  }
  return all;
}

// The permutation that takes type `from` to type `to`, if there is one.
std::optional<SmallVec<int64_t, 6>> permutation(const Type& from, const Type& to) {
  if (from.rank() != to.rank() || from.dtype != to.dtype || !(from.offset == to.offset)) return std::nullopt;
  SmallVec<int64_t, 6> order;
  SmallVec<bool, 8> taken(from.rank(), false);
  for (size_t i = 0; i < to.rank(); ++i) {
    size_t k = 0;
    while (k < from.rank() &&
           (taken[k] || !(from.sizes()[k] == to.sizes()[i]) || !(from.strides()[k] == to.strides()[i])))
      ++k;
    if (k == from.rank()) return std::nullopt;
    taken[k] = true;
    order.push_back(static_cast<int64_t>(k));
  }
  return order;
}

class Shortener {
 public:
  Shortener(Graph& graph, PassContext& context) : graph_(graph), context_(context), aliases_(graph), bases_(graph) {
    permute_ = graph.ops().find(view_forms().permute);
    reshape_ = graph.ops().find(view_forms().reshape);
  }

  void run() {
    graph_.for_each_node([&](NodeId id) {
      if (graph_.node(id).result_count == 1 && is_geometry_view(graph_, graph_.node(id))) visit(id);
    });
    graph_.erase_all(dead_);
  }

 private:
  void visit(NodeId id) {
    ValueId v = graph_.node(id).result();
    if (!graph_.type(v).is_tensor()) return;
    ValueId base = bases_.of(v);
    if (ValueId same = find_same(base, v); same != v) {
      if (!context_.allow("same view")) return;
      replace_value(graph_, aliases_, v, same);
      dead_.push_back(id);
      return;
    }
    auto above = ancestors(graph_, v);
    if (above.size() > 1 && !rebase(id, above)) rebuild(id, above);
  }

  // The first view of this base with this type: the base itself, an earlier view, or `v`.
  ValueId find_same(ValueId base, ValueId v) {
    if (&graph_.type(base) == &graph_.type(v)) return base;
    uint64_t key = combine(base, reinterpret_cast<uintptr_t>(&graph_.type(v)));
    return seen_.emplace(key, v).first->second;
  }

  // The same call, of something further up: view(view(x)) is view(x).
  bool rebase(NodeId id, std::span<const ValueId> above) {
    const Type& type = graph_.type(graph_.node(id).result());
    for (size_t i = above.size(); i-- > 1;) {
      SmallVec<Arg, 8> args(graph_.node(id).arguments());
      args[0] = Arg::of_value(above[i]);
      if (!graph_.type(above[i]).is_tensor() || !arrives(*graph_.node(id).op, args, above[i], type)) continue;
      if (!context_.allow("shorter chain")) return true;
      graph_.set_args(id, args);
      return true;
    }
    return false;
  }

  // One permute, or one view, of something further up.
  void rebuild(NodeId id, std::span<const ValueId> above) {
    ValueId v = graph_.node(id).result();
    const Type& type = graph_.type(v);
    for (size_t i = above.size(); i-- > 1;) {
      if (!graph_.type(above[i]).is_tensor()) continue;
      if (auto order = permutation(graph_.type(above[i]), type); order && permute_) {
        if (replace_by(id, *permute_, above[i], graph_.context().ints(*order))) return;
      } else if (reshape_ && replace_by(id, *reshape_, above[i], graph_.context().dims(type.sizes()))) {
        return;
      }
    }
  }

  bool replace_by(NodeId id, const OpDef& op, ValueId of, Arg how) {
    ValueId v = graph_.node(id).result();
    const Arg args[] = {Arg::of_value(of), how};
    if (!arrives(op, args, of, graph_.type(v))) return false;
    if (!context_.allow("one view")) return true;
    NodeId fresh = graph_.insert(id, op, args, provenance(graph_, id));
    replace_value(graph_, aliases_, v, graph_.node(fresh).result());
    seen_[combine(bases_.of(of), reinterpret_cast<uintptr_t>(&graph_.type(v)))] = graph_.node(fresh).result();
    dead_.push_back(id);
    return true;
  }

  bool arrives(const OpDef& op, std::span<const Arg> args, ValueId of, const Type& type) {
    auto results = try_infer(graph_, op, args);
    return results && results->size() == 1 && (*results)[0].type == &type && (*results)[0].alias_of == of;
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  GeometryBases bases_;
  const OpDef *permute_, *reshape_;
  std::unordered_map<uint64_t, ValueId> seen_;
  std::vector<NodeId> dead_;
};

void run(Graph& graph, PassContext& context) { Shortener(graph, context).run(); }

}  // namespace

Pass pointless_views() {
  return {.name = "pointless_views",
          .contract =
              "Shortens chains of views: a view of a base's own type is the base, two of one type are one, a longer\n"
              "chain is one view, permute or reshape if that arrives at the same type. Asks types, not names.\n"
              "Keeps sizes, strides, offsets, and views that are more than their type (conjugation, autograd).",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
