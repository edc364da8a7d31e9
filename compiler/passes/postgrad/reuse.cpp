#include "compiler/passes/postgrad/reuse.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/graph/alias.h"

namespace lenz {

namespace {
constexpr size_t kForEver = SIZE_MAX;

class Candidates {
 public:
  explicit Candidates(const Graph& graph) : graph_(graph), classes_(graph), last_(graph.value_count(), 0) {
    graph_.for_each_node([&](NodeId id) { place_[id] = place_.size() + 1; });
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      size_t& last = last_[classes_.root(v)];
      for (NodeId user : graph_.value(v).users) last = std::max(last, user == kOutputs ? kForEver : place_.at(user));
    }
  }

  std::vector<Reuse> run() {
    std::vector<Reuse> found;
    graph_.for_each_node([&](NodeId id) {
      const Node& node = graph_.node(id);
      if (!fits(node)) return;
      ValueId memory = dying_operand(node, place_.at(id));
      if (memory == kNone) memory = written_input(node, place_.at(id));
      if (memory != kNone) found.push_back({id, node.result(), memory});
    });
    return found;
  }

 private:
  // Reads elements where it writes them, and does nothing else. Its result has memory of its own.
  bool fits(const Node& node) {
    if (node.result_count != 1 || node.op->variant != VariantKind::functional) return false;
    if (!node.op->has(Trait::elementwise) || effects(graph_, node).any()) return false;
    const Type& type = graph_.type(node.result());
    return type.is_tensor() && type.offset.is(0) && !classes_.is_external(node.result());
  }

  // Whether the node reads the class of `memory` as that very tensor alone.
  bool reads_only(const Node& node, ValueId memory) {
    bool only = true;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { only = only && (v == memory || !classes_.shared(v, memory)); });
    return only;
  }

  ValueId dying_operand(const Node& node, size_t place) {
    ValueId found = kNone;
    for (const Arg& a : node.arguments()) {
      if (found != kNone || !a.is_value()) continue;
      ValueId v = a.value();
      bool dies = last_[classes_.root(v)] == place && !classes_.escapes(v) && !classes_.is_written(v);
      bool owns = graph_.storage(v) == v || graph_.value(graph_.storage(v)).producer != kNone;
      if (dies && owns && &graph_.type(v) == &graph_.type(node.result()) && reads_only(node, v)) found = v;
    }
    return found;
  }

  // An input that the result is copied to, which nobody reads behind this node but that copy.
  ValueId written_input(const Node& node, size_t place) {
    ValueId result = node.result();
    const auto& users = graph_.value(result).users;
    if (users.size() != 1 || users[0] == kOutputs || classes_.is_output(result)) return kNone;
    const Node& copy = graph_.node(users[0]);
    if (copy.op->variant != VariantKind::in_place || !copy.op->base->has(Trait::movement)) return kNone;
    if (!copy.args[0].is_value() || !copy.args[1].is_value() || copy.args[1].value() != result) return kNone;
    ValueId memory = copy.args[0].value();
    if (&graph_.type(memory) != &graph_.type(result) || !reads_only(node, memory)) return kNone;
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      if (!classes_.shared(v, memory)) continue;
      for (NodeId user : graph_.value(v).users)
        if (user != users[0] && user != kOutputs && place_.at(user) > place) return kNone;
    }
    return memory;
  }

  const Graph& graph_;
  AliasClasses classes_;
  std::unordered_map<NodeId, size_t> place_;
  std::vector<size_t> last_;  // by class: the place of its last reader
};
}  // namespace

std::vector<Reuse> reuse_candidates(const Graph& graph) { return Candidates(graph).run(); }

std::string print(const Graph& graph, const std::vector<Reuse>& candidates) {
  std::string text;
  for (const Reuse& r : candidates)
    text += graph.value_name(r.result) + " = " + graph.node(r.node).op->full_name + " in the memory of " +
            graph.value_name(r.memory) + "\n";
  return text;
}

}  // namespace lenz
