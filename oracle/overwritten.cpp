#include "oracle/overwritten.h"

#include <algorithm>
#include <ranges>

#include "compiler/graph/alias.h"
#include "compiler/ops/decompose.h"

namespace lenz::oracle {

namespace {
bool takes_types_only(const Graph& graph, ValueId v) {
  return std::ranges::none_of(graph.outputs(), [&](const Arg& a) { return a.is_value() && a.value() == v; }) &&
         std::ranges::all_of(graph.value(v).users, [&](NodeId user) {
           return user != kOutputs && graph.node(user).op->has(Trait::reads_metadata_only);
         });
}

// Whether an op that computes in place takes its first operand's type alone: what it defines itself by says so.
bool writes_without_reading(const Graph& graph, const Node& node) {
  if (node.op->has(Trait::reads_metadata_only)) return true;
  const OpDef* base = node.op->base;
  if (!base || base->decompose.empty() || node.op->redefined() || !node.args[0].is_value()) return false;
  Graph scratch(graph.shared_context(), graph.ops(), "definition");
  scratch.assumptions = graph.assumptions;
  SmallVec<Arg, 8> args;
  for (const Arg& a : node.arguments()) {
    if (a.kind == ArgKind::value_list || a.kind == ArgKind::arg_list) return false;
    args.push_back(a.is_value() ? Arg::of_value(scratch.add_input({}, &graph.type(a.value()))) : a);
  }
  try {
    scratch.set_outputs(expand(scratch, kNone, *base, args));
  } catch (const Error&) {
    return false;
  }
  return takes_types_only(scratch, args[0].value());
}

// Whether nothing but results of other ops is put into it, which give it their own size.
bool is_out_alone(const Graph& graph, ValueId v) {
  return std::ranges::all_of(graph.value(v).users, [&](NodeId user) {
    if (user == kOutputs) return false;
    const Node& node = graph.node(user);
    bool out = true;
    for (size_t i = 0; i < node.arg_count; ++i)
      for_each_value(node.args[i], [&](ValueId used) { out = out && (used != v || node.op->schema.params[i].is_out); });
    return out;
  });
}

// What a result is written to, if it is that tensor, or would be but for a size that nobody asks for.
ValueId target(const Graph& graph, const Node& node, uint16_t result) {
  const ValueId given = node.result(result);
  ValueId found = kNone;
  for_each_written(graph, node, [&](ValueId v) {
    const bool as_it_is = &graph.type(v) == &graph.type(given) || is_out_alone(graph, given);
    if (graph.storage(v) == graph.storage(given) && as_it_is) found = v;
  });
  return found;
}

class Overwritten {
 public:
  explicit Overwritten(const Graph& graph) : graph_(graph), classes_(graph) {}

  // The nodes that do nothing but such writes. What such a node reads it reads for nobody: so from the last one on.
  std::vector<NodeId> find_all() {
    std::vector<NodeId> nodes;
    graph_.for_each_node([&](NodeId id) { nodes.push_back(id); });
    for (const NodeId id : std::views::reverse(nodes))
      if (unseen(id)) unseen_.push_back(id);
    std::ranges::reverse(unseen_);
    return unseen_;
  }

 private:
  bool unseen(NodeId id) {
    const Node& node = graph_.node(id);
    const Effects e = effects(graph_, node);
    if (!e.writes || e.visible || e.advances_random || node.op->has(Trait::structural)) return false;
    bool all = true;
    for_each_written(graph_, node, [&](ValueId v) { all = all && written_again(id, v); });
    for (uint16_t i = 0; i < node.result_count; ++i)
      all = all && (graph_.value(node.result(i)).users.empty() || target(graph_, node, i) != kNone);
    return all;
  }

  bool written_again(NodeId id, ValueId v) {
    const ValueId memory = classes_.root(v);
    const Type* left = &graph_.type(v);  // what it is from then on
    for (uint16_t i = 0; i < graph_.node(id).result_count; ++i) {
      const ValueId r = graph_.node(id).result(i);
      if (graph_.storage(r) == graph_.storage(v)) left = &graph_.type(r);
    }
    for (NodeId at = graph_.node(id).next; at != kNone; at = graph_.node(at).next) {
      if (std::ranges::find(unseen_, at) != unseen_.end()) continue;
      const Node& node = graph_.node(at);
      bool reads = false, again = false;
      for (size_t i = 0; i < node.arg_count; ++i)
        for_each_value(node.args[i], [&](ValueId used) {
          if (classes_.root(used) != memory) return;
          const bool whole =
              overwrites(node, i) && graph_.storage(used) == graph_.storage(v) && &graph_.type(used) == left;
          (whole ? again : reads) = true;
        });
      // What looks at memory, or at a type, reads no element yet.
      const bool looks = node.op->has(Trait::view) || node.op->has(Trait::reads_metadata_only);
      if (reads && !(looks && !node.op->schema.mutates())) return false;
      if (again) return true;
    }
    return false;
  }

  bool overwrites(const Node& node, size_t i) const {
    const Param& param = node.op->schema.params[i];
    if (!param.writes) return false;
    return param.is_out || (!param.type.list && i == 0 && node.op->variant == VariantKind::in_place &&
                            writes_without_reading(graph_, node));
  }

  const Graph& graph_;
  AliasClasses classes_;
  std::vector<NodeId> unseen_;
};
}  // namespace

std::vector<NodeId> overwritten(const Graph& graph) { return Overwritten(graph).find_all(); }

void erase_overwritten(Graph& graph, const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) {
    const Node node = graph.node(id);
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (!graph.value(node.result(i)).users.empty()) graph.replace_uses(node.result(i), target(graph, node, i));
    graph.erase(id);
  }
}

}  // namespace lenz::oracle
