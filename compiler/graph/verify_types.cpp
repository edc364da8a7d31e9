// Rules about arguments, types, storage and writes.
#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/divisors.h"
#include "compiler/graph/verifier.h"

namespace lenz {

// --- arguments

void Verifier::arguments(NodeId id) {
  const Node& n = graph_.node(id);
  for (size_t i = 0; i < n.arg_count; ++i) {
    const Param& p = n.op->schema.params[i];
    if (!fits(n.args[i], p.type, graph_.types())) {
      report(201, id, "argument `" + p.name + "` of " + n.op->full_name + " has the wrong kind");
    } else if (n.args[i].kind == ArgKind::data) {
      constant(id, *n.args[i].data);
    }
  }
}

void Verifier::constant(NodeId id, const ConstantData& data) {
  int64_t bytes = item_size(data.type.dtype);
  bool constant_shape = true;
  for (Dim d : data.type.sizes) {
    constant_shape = constant_shape && d.is_constant() && d.constant() >= 0;
    if (constant_shape && __builtin_mul_overflow(bytes, d.constant(), &bytes)) constant_shape = false;
  }
  if (!constant_shape) return report(202, id, "the constant's shape is not constant");
  if (!(contiguous_strides(data.type.sizes) == data.type.strides) || !data.type.offset.is(0))
    return report(202, id, "the constant is not contiguous");
  if (data.bytes && data.bytes->size() != static_cast<size_t>(bytes))
    return report(
        202, id,
        "the constant has " + std::to_string(data.bytes->size()) + " bytes, its type " + std::to_string(bytes));
  if (!data.bytes && (data.file.empty() || data.key.empty()))
    report(202, id, "the constant has neither bytes nor a file and an entry's name");
}

void Verifier::outputs() {
  for (const Arg& a : graph_.outputs())
    if (a.kind == ArgKind::graph || a.kind == ArgKind::data)
      report(203, kNone, std::string(a.kind == ArgKind::graph ? "a sub-graph" : "a constant") + " is an output");
  divisors(kNone, graph_.outputs());
}

void Verifier::divisors(NodeId id, std::span<const Arg> args) {
  auto report_open = [&](Dim divisor) {
    if (!given_by_inputs(graph_, divisor)) return;
    report(403, id, "a size divides by " + to_string(divisor) + ", which neither a fact nor a guard keeps from 0");
  };
  for (const Arg& a : args) for_each_open_divisor(graph_.assumptions, a, report_open);
  if (id == kNone) return;
  for (uint16_t i = 0; i < graph_.node(id).result_count; ++i)
    for_each_open_divisor(graph_.assumptions, graph_.type(graph_.node(id).result(i)), report_open);
}

// --- types that nothing infers

void Verifier::layout(NodeId id, ValueId v) {
  auto check = [&](auto&& self, const Type& t) -> void {
    for (const Type* e : t.elements()) self(self, *e);
    if (!t.is_tensor()) return;
    auto negative = [&](Dim d) { return d.is_constant() ? d.constant() < 0 : assumptions_.known().proves(lt(d, 0)); };
    for (Dim d : t.sizes())
      if (negative(d)) report(404, id, name(v) + " has the size " + to_string(d));
    for (Dim d : t.strides())
      if (negative(d)) report(405, id, name(v) + " has the stride " + to_string(d));
    if (negative(t.offset)) report(406, id, name(v) + " has the offset " + to_string(t.offset));
  };
  check(check, graph_.type(v));
}

void Verifier::inputs() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    layout(kNone, graph_.inputs()[i].value);
    input_flags(i);
  }
}

void Verifier::declared_results(NodeId id) {
  const Node& n = graph_.node(id);
  const Schema& schema = n.op->schema;
  if (n.result_count != schema.returns.size())
    return report(402, id,
                  n.op->full_name + " gives " + std::to_string(schema.returns.size()) + " results, not " +
                      std::to_string(n.result_count));
  for (size_t i = 0; i < n.result_count; ++i) {
    layout(id, n.result(i));
    ValueId expected = n.result(i);
    for (size_t k = 0; k < n.arg_count && schema.returns[i].alias; ++k)
      if (schema.params[k].alias == schema.returns[i].alias && n.args[k].is_value())
        expected = graph_.storage(n.args[k].value());
    if (graph_.storage(n.result(i)) != expected)
      report(501, id,
             name(n.result(i)) + " has the storage of " + name(graph_.storage(n.result(i))) + ", its op gives " +
                 name(expected));
  }
}

// --- types that a rule infers

void Verifier::results(NodeId id) {
  const Node& n = graph_.node(id);
  divisors(id, n.arguments());
  if (!n.op->infer) return declared_results(id);
  SmallVec<const Type*, 4> have;
  for (size_t i = 0; i < n.result_count; ++i) have.push_back(&graph_.type(n.result(i)));
  Infer infer(graph_.shared_context(), graph_.ops(), *n.op, n.arguments(), graph_.types(), assumptions_);
  infer.owner = &graph_;
  infer.unbacked_prefix = "u" + std::to_string(graph_.value_count()) + "_";
  bool calls = std::ranges::any_of(n.arguments(), [](const Arg& a) { return a.kind == ArgKind::graph; });
  int rule = calls ? 801 : 401;
  size_t relied = assumptions_.relied().size();
  try {
    infer.run_as(have);
  } catch (const UserError& e) {
    return report(rule, id, e.message());
  }
  makes(id, infer.unbacked_symbols);
  if (infer.results().size() != n.result_count)
    return report(calls ? 801 : 402, id,
                  n.op->full_name + " gives " + std::to_string(infer.results().size()) + " results, not " +
                      std::to_string(n.result_count));
  for (size_t i = 0; i < n.result_count; ++i) {
    ValueId v = n.result(i);
    const InferredResult& r = infer.results()[i];
    if (!equal_types(assumptions_, *r.type, *have[i]))
      report(rule, id, name(v) + " is inferred as " + to_string(*r.type) + ", not as " + to_string(*have[i]));
    ValueId expected = r.alias_of == kNone ? v : graph_.storage(r.alias_of);
    if (graph_.storage(v) != expected)
      report(501, id, name(v) + " has the storage of " + name(graph_.storage(v)) + ", its op gives " + name(expected));
  }
  if (assumptions_.relied().size() > relied)
    report(403, id,
           "its type relies on " + to_string(assumptions_.relied().back()) +
               ", which is neither a fact nor a guard of the graph");
}

void Verifier::guards() {
  for (const Cond& g : graph_.assumptions.guards())
    if (graph_.assumptions.facts().prove(g) == Truth::no)
      report(704, kNone, "the facts refute the guard " + to_string(g));
}

// --- writes

void Verifier::alias_classes() {
  std::unordered_map<NameId, ValueId> first;
  for (const Input& i : graph_.inputs()) {
    if (!i.alias || !graph_.type(i.value).is_tensor()) continue;
    auto [at, fresh] = first.emplace(*i.alias, i.value);
    if (!fresh && !(graph_.type(at->second).device == graph_.type(i.value).device))
      report(502, kNone, name(at->second) + " and " + name(i.value) + " share storage and are on two devices");
  }
}

// A node writes to the operands that its row says, and to those that become inputs which a sub-graph writes to:
// operands of control flow are, list by list, the inputs of its sub-graphs.
void Verifier::writes(NodeId id) {
  const Node& n = graph_.node(id);
  for (size_t i = 0; i < n.arg_count; ++i)
    if (writes_operand(*n.op, n.arguments(), i)) for_each_value(n.args[i], [&](ValueId v) { write(id, v); });
  SmallVec<ValueId, 8> operands;
  bool calls = false;
  for (const Arg& a : n.arguments()) {
    calls = calls || a.kind == ArgKind::graph;
    if (a.kind == ArgKind::value_list)
      for (ValueId v : a.value_list()) operands.push_back(v);
    if (a.kind == ArgKind::arg_list)
      for (const Arg& e : a.arg_list()) operands.push_back(e.is_value() ? e.value() : kNone);
    if (a.kind == ArgKind::int_list)
      for (size_t k = 0; k < a.count; ++k) operands.push_back(kNone);
  }
  if (!calls) return;
  for (const Arg& a : n.arguments()) {
    if (a.kind != ArgKind::graph) continue;
    auto formals = graph_.subgraphs[a.graph()]->inputs();
    for (size_t i = 0; i < std::min(formals.size(), operands.size()); ++i)
      if (formals[i].mutated && operands[i] != kNone) write(id, operands[i]);
    shared_operands(id, *graph_.subgraphs[a.graph()], operands);
  }
}

void Verifier::shared_operands(NodeId id, const Graph& sub, std::span<const ValueId> operands) {
  auto formals = sub.inputs();
  if (std::ranges::none_of(formals, &Input::mutated)) return;
  if (!aliases_) aliases_.emplace(graph_);
  std::unordered_map<ValueId, SmallVec<size_t, 4>> sharing;
  for (size_t i = 0; i < std::min(formals.size(), operands.size()); ++i)
    if (operands[i] != kNone) sharing[aliases_->root(operands[i])].push_back(i);
  for (size_t i = 0; i < std::min(formals.size(), operands.size()); ++i) {
    if (operands[i] == kNone || !formals[i].mutated) continue;
    for (size_t k : sharing[aliases_->root(operands[i])])
      if (k != i && !(formals[i].alias && formals[i].alias == formals[k].alias))
        return report(803, id,
                      sub.spelled_name() + " writes to its input " + sub.value_name(formals[i].value) +
                          ", which here shares memory with " + sub.value_name(formals[k].value) +
                          "; they must be of one alias class");
  }
}

void Verifier::write(NodeId id, ValueId v) {
  ValueId root = graph_.storage(v);
  NodeId producer = graph_.value(root).producer;
  if (producer == kNone) {
    if (!graph_.inputs()[graph_.value(root).index].mutated)
      report(503, id, "this writes to the input " + name(root) + ", which is not marked `mut`");
  } else {
    auto args = graph_.node(producer).arguments();
    if (std::ranges::any_of(args, [](const Arg& a) { return a.kind == ArgKind::data; }))
      report(505, id, "this writes to the constant " + name(root));
  }
  const Type& t = graph_.type(v);
  if (!t.is_tensor()) return;
  for (Dim size : t.sizes())
    if (size.is(0) || assumptions_.known().proves(eq(size, 0))) return;  // nothing is written
  for (size_t i = 0; i < t.rank(); ++i) {
    Dim size = t.sizes()[i];
    bool several = size.is_constant() ? size.constant() > 1 : assumptions_.known().proves(gt(size, 1));
    if (t.strides()[i].is(0) && several)
      report(504, id,
             "this writes to " + name(v) + ", whose elements along dim " + std::to_string(i) + " share one place");
  }
}

}  // namespace lenz
