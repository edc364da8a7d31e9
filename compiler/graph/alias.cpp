#include "compiler/graph/alias.h"

#include <unordered_map>

#include "compiler/graph/drawing.h"
#include "compiler/graph/lazy_views.h"

namespace lenz {

namespace {
// A random op with an explicit seed is a pure function of it; one that returned its operand has drawn nothing (dropout
// outside of training).
bool draws_from_ambient_generator(const Graph& graph, const Node& node) {
  if (!draws_numbers(*node.op, node.arguments())) return false;
  if (node.op->has(Trait::maybe_view) && node.result_count && graph.storage(node.result()) != node.result())
    return false;
  const auto& params = node.op->schema.params;
  for (size_t i = 0; i < node.arg_count && i < params.size(); ++i)
    if (params[i].type.kind == ParamKind::generator && node.args[i].kind == ArgKind::seed) return false;
  return true;
}

// What a call of a whole sub-graph does, as its caller sees it.
Effects effects_of_subgraph(const Graph& sub) {
  Effects total;
  sub.for_each_node([&](NodeId id) {
    Effects one = effects(sub, sub.node(id));
    total.visible |= one.visible;
    total.advances_random |= one.advances_random;
    total.writes |= one.writes;  // perhaps only to its own values: not worth a closer look
  });
  return total;
}
}  // namespace

bool gives_a_size(const Node& node) { return node.op->has(Trait::structural) && node.op->schema.mutates(); }

bool writes_operands(const OpDef& op, std::span<const Arg> args) {
  if (!op.may_write) return false;
  if (op.schema.mutates()) return true;
  return std::ranges::any_of(op.unsaid_writes, [&](size_t i) { return writes_operand(op, args, i); });
}

namespace {
// What gives no result and writes to nothing is called for something else.
bool gives_nothing(const OpDef& op) { return op.schema.returns.empty() && !op.may_write; }
}  // namespace

Effects effects(const Graph& graph, const Node& node) {
  Effects e;
  e.visible = node.op->has(Trait::effect) || gives_nothing(*node.op);
  e.advances_random = draws_from_ambient_generator(graph, node);
  e.writes = writes_operands(*node.op, node.arguments());
  if (node.op->has(Trait::structural))
    for (const Arg& a : node.arguments())
      if (a.kind == ArgKind::graph && a.graph() < graph.subgraphs.size()) {
        Effects inner = effects_of_subgraph(*graph.subgraphs[a.graph()]);
        e.visible |= inner.visible;
        e.advances_random |= inner.advances_random;
        e.writes |= inner.writes;
      }
  return e;
}

bool is_geometry_view(const Graph& graph, const Node& node) {
  const OpDef& op = *node.op;
  if (!(op.has(Trait::view) || op.has(Trait::maybe_view)) || op.has(Trait::opaque_view) || op.schema.mutates() ||
      node.arg_count == 0 || !node.args[0].is_value())
    return false;
  ValueId base = node.args[0].value();
  for (uint16_t i = 0; i < node.result_count; ++i)  // a maybe_view that had to copy has storage of its own
    if (graph.storage(node.result(i)) != graph.storage(base)) return false;
  if (graph.type(base).is_tensor()) return true;
  NodeId list = graph.value(base).producer;  // an element of a list of views; other lists mix several storages
  return list != kNone && is_geometry_view(graph, graph.node(list));
}

namespace {
// Whether imaginary parts begin to show memory negated here: those of numbers that are lazily conjugated.
bool negates(const Graph& graph, ValueId v, const Node& producer) {
  const Type &type = graph.type(v), &of = graph.type(producer.args[0].value());
  return type.is_tensor() && of.is_tensor() && is_complex(of.dtype) && !is_complex(type.dtype) &&
         laziness(graph, v).negated;
}
}  // namespace

ValueId GeometryBases::of(ValueId v) {
  base_.resize(graph_.value_count(), kNone);
  SmallVec<ValueId, 16> chain;
  while (base_[v] == kNone) {
    NodeId producer = graph_.value(v).producer;
    chain.push_back(v);
    if (producer == kNone || !is_geometry_view(graph_, graph_.node(producer))) break;
    if (negates(graph_, v, graph_.node(producer))) break;
    v = graph_.node(producer).args[0].value();
  }
  ValueId base = base_[v] == kNone ? v : base_[v];
  for (ValueId link : chain) base_[link] = base;
  return base;
}

AliasClasses::AliasClasses(const Graph& graph) : graph_(graph) {
  parent_.reserve(graph.value_count());
  info_.reserve(graph.value_count());
  std::unordered_map<NameId, ValueId> named;
  for (const Input& input : graph.inputs()) {
    info(input.value).external = true;
    if (input.alias) {
      auto [at, fresh] = named.emplace(*input.alias, input.value);
      if (!fresh) merge(at->second, input.value);
    }
  }
  for (const Arg& a : graph.outputs()) for_each_value(a, [&](ValueId v) { info(v).output = true; });
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (!node.op->may_write && !node.op->has(Trait::structural)) return;
    for_each_written(graph, node, [&](ValueId v) {
      info(v).written = true;
      any_writes_ = true;
    });
  });
}

ValueId AliasClasses::find(ValueId v) {
  for (size_t k = parent_.size(); k <= v; ++k) {
    parent_.push_back(static_cast<ValueId>(k));
    info_.emplace_back();
  }
  while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
  return v;
}

ValueId AliasClasses::root(ValueId v) { return find(graph_.storage(v)); }

bool AliasClasses::may_merge(ValueId a, ValueId b) {
  if (shared(a, b)) return true;
  return !is_written(a) && !is_written(b) && !(escapes(a) && escapes(b));
}

void AliasClasses::merge(ValueId a, ValueId b) {
  ValueId from = root(b), to = root(a);
  if (from == to) return;
  if (to > from) std::swap(from, to);  // the earlier value stands for the class
  parent_[from] = to;
  info_[to].written |= info_[from].written;
  info_[to].external |= info_[from].external;
  info_[to].output |= info_[from].output;
}

}  // namespace lenz
