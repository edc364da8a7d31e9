// Who shares memory with whom, who writes to it, and who can see it: what a rewrite must ask before it makes two values
// one, or takes one away.
//
// A class is a set of values that may share storage: views with their base, in-place results with their target, inputs
// of one alias class. A class is external when the caller holds it (it has an input), escapes when an output shows it,
// and is written when some node of the graph writes to it.
// Thread-safety: as the graph's.
#pragma once

#include <algorithm>

#include "compiler/graph/graph.h"

namespace lenz {

// What a node does besides computing its results from its operands' values.
struct Effects {
  bool visible = false;          // asserts, prints, tokens: must stay, in order
  bool advances_random = false;  // draws from the ambient generator: must stay, in order with its like
  bool writes = false;           // mutates an operand
  bool any() const { return visible || advances_random || writes; }
};
// A node with sub-graphs does what they do.
Effects effects(const Graph& graph, const Node& node);

// Whether it gives an input another size, which a graph of values ends with: lenz.resized_to.
bool gives_a_size(const Node& node);

// Whether a call writes to its operand at this place: the schema says so, or the row does where ATen's schema is
// silent.
inline bool writes_operand(const OpDef& op, std::span<const Arg> args, size_t i) {
  if (i < op.schema.params.size() && op.schema.params[i].writes) return true;
  if (op.unsaid_writes.empty() || std::ranges::find(op.unsaid_writes, i) == op.unsaid_writes.end()) return false;
  if (args[i].kind == ArgKind::none || op.unsaid_writes_if < 0) return args[i].kind != ArgKind::none;
  const Arg& flag = args[static_cast<size_t>(op.unsaid_writes_if)];
  return flag.kind != ArgKind::boolean || flag.i != 0;
}
bool writes_operands(const OpDef& op, std::span<const Arg> args);

// Calls visit(ValueId) for every operand that the node writes to.
template <class F>
void for_each_written(const Graph& graph, const Node& node, F&& visit) {
  bool all = node.op->has(Trait::structural) && effects(graph, node).writes;  // a sub-graph that writes: to any operand
  for (size_t i = 0; i < node.arg_count; ++i)
    if (all || writes_operand(*node.op, node.arguments(), i)) for_each_value(node.args[i], visit);
}

// A view that only rearranges: the same elements under other sizes, strides, offset or dtype, whatever the op. So two
// geometry views of one base with one type are the same tensor. Elements of a list of such views count. Imaginary parts
// of what is lazily conjugated are one too, read negated: a base of their own.
bool is_geometry_view(const Graph& graph, const Node& node);

// What a chain of geometry views starts from; the value itself if it is none. Remembers the answers: asking about each
// value in turn takes linear time, however long the chains. Replacing a value by one of its storage keeps them right.
class GeometryBases {
 public:
  explicit GeometryBases(const Graph& graph) : graph_(graph) {}
  ValueId of(ValueId v);

 private:
  const Graph& graph_;
  std::vector<ValueId> base_;  // kNone: not asked yet
};

class AliasClasses {
 public:
  explicit AliasClasses(const Graph& graph);

  ValueId root(ValueId v);  // of the class; values made after construction belong to their storage's class
  bool shared(ValueId a, ValueId b) { return root(a) == root(b); }
  bool is_written(ValueId v) { return info(v).written; }
  bool is_external(ValueId v) { return info(v).external; }
  bool is_output(ValueId v) { return info(v).output; }
  bool escapes(ValueId v) { return info(v).external || info(v).output; }
  bool any_writes() const { return any_writes_; }

  // Whether values of two classes may become one tensor with nobody able to tell: no write to either, and not both in
  // somebody else's hands (an output that starts to alias an input or another output is a change).
  bool may_merge(ValueId a, ValueId b);
  void merge(ValueId a, ValueId b);
  // Whether a value may leave its class for storage of its own: nobody writes to the class or sees a member of it.
  bool may_leave(ValueId v) { return !is_written(v) && !is_output(v); }

 private:
  struct Info {
    bool written = false, external = false, output = false;
  };
  ValueId find(ValueId v);
  Info& info(ValueId v) { return info_[root(v)]; }

  const Graph& graph_;
  std::vector<ValueId> parent_;
  std::vector<Info> info_;
  bool any_writes_ = false;
};

}  // namespace lenz
