#include "oracle/widen.h"

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/ops/draws.h"

namespace lenz::oracle {

namespace {
Dtype wide(Dtype d) { return is_complex(d) ? Dtype::c128 : is_floating(d) ? Dtype::f64 : d; }

const Type* wide(Context& context, const Type& type) {
  if (type.kind == TypeKind::list) {
    std::vector<const Type*> elements;
    for (const Type* e : type.elements()) elements.push_back(wide(context, *e));
    return context.list(elements);
  }
  if (!type.is_tensor()) return &type;
  TensorType t = type.tensor();
  t.dtype = wide(t.dtype);
  return context.tensor(t);
}

ValueId cast(Graph& made, ValueId v, Dtype to) {
  const Type& t = made.type(v);
  if (!t.is_tensor() || t.dtype == to) return v;
  Keyword dtype{"dtype", Arg::of_dtype(to)};
  Arg self = Arg::of_value(v);
  Resolved cast = resolve(made, "aten._to_copy", {&self, 1}, {&dtype, 1});  // op name: the cast itself
  return made.node(made.append(*cast.op, cast.args)).result();
}

// Whether a call draws other numbers in another dtype: all but coins for elements, which are kept or dropped.
bool draws_by_dtype(const OpDef& op) {
  if (!op.has(Trait::random)) return false;
  const auto draw = draw_of(op.variant == VariantKind::functional ? op : *op.base);
  return !draw || draw->kind != Draw::keep;
}

// Draws in the graph's own dtypes, widened: what is written to is drawn beside it, and copied.
std::optional<SmallVec<ValueId, 4>> drawn_as_in(const Graph& graph, Graph& made, const Node& node,
                                                std::span<const Arg> args) {
  if (!draws_by_dtype(*node.op)) return std::nullopt;
  SmallVec<Arg, 12> narrow(args);
  std::vector<std::pair<ValueId, ValueId>> written;  // the wide one, and what is drawn
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_value() || !graph.type(node.args[i].value()).is_tensor()) continue;
    const ValueId drawn = cast(made, args[i].value(), graph.type(node.args[i].value()).dtype);
    narrow[i] = Arg::of_value(drawn);
    if (writes_operand(*node.op, node.arguments(), i)) written.emplace_back(args[i].value(), drawn);
  }
  const NodeId id = made.append(*node.op, narrow);
  for (auto [target, drawn] : written) {
    if (target == drawn) continue;
    Arg both[] = {Arg::of_value(target), Arg::of_value(drawn)};
    Resolved copy = resolve(made, "aten.copy_", both, {});  // op name: the copy itself
    made.append(*copy.op, copy.args);
  }
  SmallVec<ValueId, 4> results;
  for (uint16_t i = 0; i < node.result_count; ++i) {
    const ValueId r = made.node(id).result(i);
    results.push_back(i < written.size() ? written[i].first : cast(made, r, wide(made.type(r).dtype)));
  }
  return results;
}
}  // namespace

std::unique_ptr<Graph> widened_graph(const Graph& graph) {
  if (!graph.subgraphs.empty()) return nullptr;
  bool ruled = true;
  graph.for_each_node([&](NodeId id) { ruled &= graph.node(id).op->infer != nullptr; });
  if (!ruled) return nullptr;
  std::vector<const Type*> inputs;
  for (const Input& input : graph.inputs()) inputs.push_back(wide(graph.context(), graph.type(input.value)));
  auto argument = [](const Arg& a, const ParamType&) {
    return a.kind == ArgKind::dtype ? Arg::of_dtype(wide(a.dtype())) : a;
  };
  // Constants, and what is made without being told a dtype.
  auto result = [](Graph& made, ValueId v) {
    const Type& t = made.type(v);
    return t.is_tensor() ? cast(made, v, wide(t.dtype)) : v;
  };
  auto node = [&](Graph& made, const Node& n, std::span<const Arg> args) { return drawn_as_in(graph, made, n, args); };
  return rebuilt(graph, {inputs, argument, result, node});
}

bool reads_bits(const OpDef& op) { return op.has(Trait::movement) && op.schema.find("dtype") >= 0; }

}  // namespace lenz::oracle
