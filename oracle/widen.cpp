#include "oracle/widen.h"

#include "compiler/graph/rebuild.h"

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
    if (!t.is_tensor() || t.dtype == wide(t.dtype)) return v;
    Keyword dtype{"dtype", Arg::of_dtype(wide(t.dtype))};
    Arg self = Arg::of_value(v);
    Resolved cast = resolve(made, "aten._to_copy", {&self, 1}, {&dtype, 1});  // op name: the cast itself
    return made.node(made.append(*cast.op, cast.args)).result();
  };
  return rebuilt(graph, {inputs, argument, result});
}

}  // namespace lenz::oracle
