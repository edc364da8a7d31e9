#include "oracle/rebuild.h"

#include "compiler/graph/renumber.h"

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

std::unique_ptr<Graph> rebuilt(const Graph& graph, std::span<const Type* const> inputs,
                               const std::function<Arg(const Arg&, const ParamType&)>& argument,
                               const ResultMap& result) {
  auto copy = std::make_unique<Graph>(graph.shared_context(), graph.ops(), graph.name);
  copy->level = graph.level;
  copy->assumptions = graph.assumptions;
  for (const auto& sub : graph.subgraphs) copy->subgraphs.push_back(sub->clone());
  Context& context = copy->context();
  std::vector<ValueId> ids(graph.value_count(), kNone);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph.inputs()[i];
    ids[input.value] = copy->add_input(graph.value_name(input.value).substr(1), inputs[i]);
    Input& made = copy->input(i);
    made = input;
    made.value = ids[input.value];
  }
  try {
    graph.for_each_node([&](NodeId at) {
      const Node& node = graph.node(at);
      SmallVec<Arg, 12> args;
      for (size_t i = 0; i < node.arg_count; ++i) {
        const Arg& a = node.args[i];
        args.push_back(renumbered(context, argument ? argument(a, node.op->schema.params[i].type) : a, ids));
      }
      SmallVec<const Type*, 4> annotated;
      for (uint16_t i = 0; i < node.result_count; ++i) annotated.push_back(&graph.type(node.result(i)));
      NodeId id = copy->insert(kNone, *node.op, args, node.origin, annotated);
      for (uint16_t i = 0; i < node.result_count; ++i) {
        ValueId made = copy->node(id).result(i);
        ids[node.result(i)] = result ? result(*copy, made) : made;
        copy->set_name(ids[node.result(i)], graph.value(node.result(i)).name);
      }
    });
  } catch (const UserError&) {
    return nullptr;
  } catch (const Unsupported&) {
    return nullptr;
  }
  std::vector<Arg> outputs;
  for (const Arg& a : graph.outputs()) outputs.push_back(renumbered(context, a, ids));
  copy->set_outputs(outputs);
  return copy;
}

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
  return rebuilt(graph, inputs, argument, result);
}

}  // namespace lenz::oracle
