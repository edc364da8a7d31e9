#include "compiler/passes/expand_node.h"

#include <algorithm>

#include "compiler/graph/number_conversion.h"
#include "compiler/graph/rewrite.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rules/each.h"

namespace lenz {

ValueId call(Graph& graph, NodeId before, std::string_view op, std::span<const Arg> args, uint32_t origin,
             std::span<const Keyword> keywords) {
  Resolved r = resolve(graph, op, args, keywords);
  return graph.node(graph.insert(before, *r.op, r.args, origin)).result();
}

ValueId placed_like(Graph& graph, NodeId before, ValueId v, const Type& like, uint32_t origin) {
  LENZ_CHECK(graph.type(v).dtype == like.dtype && graph.type(v).rank() == like.rank(),
             "values of another type are laid out again");
  if (!std::ranges::equal(graph.type(v).sizes(), like.sizes())) {  // equal ones, said in another way
    const Arg args[] = {Arg::of_value(v), graph.context().dims(like.sizes())};
    v = call(graph, before, "aten.reshape", args, origin);  // op name: the sizes' other spelling
  }
  if (&graph.type(v) == &like) return v;
  const Arg args[] = {Arg::of_value(v), graph.context().dims(like.strides()), Arg::of_dim(like.offset)};
  return call(graph, before, "lenz.restride", args, origin);  // op name: the placing itself
}

namespace {
// What the user of a list of tensors mentions: the list's elements in its place, or none in that of a result that
// isn't.
Arg with_elements(Context& context, const Arg& arg, ValueId list, const Arg& elements) {
  if (arg.is_value()) return arg.value() == list ? elements : arg;
  SmallVec<Arg, 8> items;
  if (arg.kind == ArgKind::value_list && std::ranges::find(arg.value_list(), list) != arg.value_list().end())
    for (ValueId v : arg.value_list()) items.push_back(Arg::of_value(v));
  else if (arg.kind == ArgKind::arg_list)
    for (const Arg& a : arg.arg_list()) items.push_back(a);
  else
    return arg;
  for (Arg& a : items) a = with_elements(context, a, list, elements);
  return context.args(items);
}

void replace_by(Graph& graph, ValueId list, const Arg& elements) {
  SmallVec<NodeId, 2> users = graph.value(list).users;
  for (NodeId user : users) {
    if (user == kOutputs) {
      std::vector<Arg> outputs(graph.outputs().begin(), graph.outputs().end());
      for (Arg& a : outputs) a = with_elements(graph.context(), a, list, elements);
      graph.set_outputs(outputs);
      continue;
    }
    const Node& node = graph.node(user);
    if (node.erased) continue;  // it mentioned the list twice
    bool element = node.op->has(Trait::structural) && node.op->has(Trait::view);
    if (element) {
      auto count = static_cast<int64_t>(elements.count);
      int64_t i = node.args[1].dim().constant();
      ValueId taken = elements.value_list()[static_cast<size_t>(i < 0 ? i + count : i)];
      if (graph.value(taken).name == kNone && graph.value(taken).producer != kNone) {
        NameId name = graph.value(node.result()).name;
        graph.set_name(node.result(), kNone);
        graph.set_name(taken, name);
      }
      graph.replace_uses(node.result(), taken);
      graph.erase(user);
      continue;
    }
    SmallVec<Arg, 8> args(node.arguments());
    for (Arg& a : args) a = with_elements(graph.context(), a, list, elements);
    graph.set_args(user, args);
  }
}

// The nodes that were inserted between two places go again.
void erase_between(Graph& graph, NodeId after, NodeId before) {
  SmallVec<NodeId, 16> fresh;
  for (NodeId at = graph.previous(before); at != after; at = graph.previous(at)) fresh.push_back(at);
  graph.erase_all(fresh);
}

// A view as another view of this type: its elements lie where that one's do, and only strides that nothing steps along,
// or the spelling of sizes and offsets, differ. kNone if not.
ValueId viewed_as(Graph& graph, NodeId before, ValueId v, const Type& like, uint32_t origin) {
  const Type& have = graph.type(v);
  if (&have == &like) return v;
  const Facts& known = graph.assumptions.known();
  auto same = [&](Dim a, Dim b) { return a == b || known.proves(eq(a, b)); };
  if (have.dtype != like.dtype || have.rank() != like.rank() || !same(have.offset, like.offset)) return kNone;
  for (size_t i = 0; i < like.rank(); ++i)
    if (!same(have.sizes()[i], like.sizes()[i]) ||
        !(same(have.strides()[i], like.strides()[i]) || same(like.sizes()[i], Dim(1))))
      return kNone;
  const Arg args[] = {Arg::of_value(v), graph.context().dims(like.sizes()), graph.context().dims(like.strides()),
                      Arg::of_dim(like.offset)};
  if (have.offset == like.offset)
    v = call(graph, before, "aten._reshape_alias", {args, 3}, origin);  // op name: the strides' other spelling
  else
    v = call(graph, before, "aten.as_strided", args, origin);  // op name: the offset's other spelling
  return &graph.type(v) == &like ? v : kNone;
}

// A size that only the run knows has a symbol already, where the op says one: what was made anew takes that.
ValueId with_sizes_of(Graph& graph, NodeId before, ValueId made, const Type& type) {
  const Node producer = graph.value(made).producer == kNone ? Node{} : graph.node(graph.value(made).producer);
  if (!producer.op || !producer.op->has(Trait::data_dependent) || producer.result_count != 1) return made;
  const Type* carried[] = {&type};
  return graph.node(graph.insert(before, *producer.op, producer.arguments(), producer.origin, carried)).result();
}

// One result as the op gives it: of its type, in storage of its own or in that of the same operand. kNone if not.
ValueId as_the_op_gives(Graph& graph, NodeId id, ValueId given, ValueId made) {
  const Type& type = graph.type(given);
  if (!type.is_tensor()) return &type == &graph.type(made) ? made : kNone;
  if (!std::ranges::equal(graph.type(made).sizes(), type.sizes())) made = with_sizes_of(graph, id, made, type);
  const Type& have = graph.type(made);
  if (have.dtype != type.dtype || have.rank() != type.rank() || !(have.device == type.device)) return kNone;
  for (size_t i = 0; i < type.rank(); ++i)
    if (!(have.sizes()[i] == type.sizes()[i]) &&
        !graph.assumptions.known().proves(eq(have.sizes()[i], type.sizes()[i])))
      return kNone;
  bool own = graph.storage(given) == given;
  uint32_t origin = graph.node(id).origin;
  if (!own) return graph.storage(made) == graph.storage(given) ? viewed_as(graph, id, made, type, origin) : kNone;
  if (&have != &type) return placed_like(graph, id, made, type, origin);
  NodeId producer = graph.value(graph.storage(made)).producer;
  bool operands = producer == kNone;  // memory of an operand, not of what the definition made
  for (const Arg& a : graph.node(id).arguments())
    for_each_value(a, [&](ValueId v) { operands = operands || graph.storage(v) == graph.storage(made); });
  if (!operands) return made;
  const Arg copy[] = {Arg::of_value(made)};
  ValueId fresh = call(graph, id, "aten.clone", copy, origin);  // op name: memory of its own
  return placed_like(graph, id, fresh, type, origin);
}
}  // namespace

void replace_node(Graph& graph, NodeId id, std::span<const Arg> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId given = graph.node(id).result(i);
    if (!results[i].is_value()) {
      replace_by(graph, given, results[i]);
      continue;
    }
    ValueId made = results[i].value();
    NameId name = graph.value(given).name;
    if (name != kNone && graph.value(made).name == kNone && graph.value(made).producer != kNone) {
      graph.set_name(given, kNone);
      graph.set_name(made, name);
    }
    graph.replace_uses(given, made);
  }
  graph.erase(id);
}

namespace {
ValueId filled(Graph& graph, NodeId before, const Arg& number, Dtype dtype, uint32_t origin) {
  const Arg two[] = {graph.context().dims({{Dim(2)}}), number};  // one element alone would overflow as elements do
  const Keyword as{"dtype", Arg::of_dtype(dtype)};
  return call(graph, before, "aten.full", two, origin, {&as, 1});  // op name: what refuses numbers out of range
}

Arg number_in(Graph& graph, NodeId before, ValueId tensor, uint32_t origin) {
  const Arg place[] = {Arg::of_value(tensor), Arg::of_int(0), Arg::of_int(0)};
  const Arg one[] = {Arg::of_value(call(graph, before, "aten.select", place, origin))};  // op name: the number's place
  return Arg::of_value(call(graph, before, "aten._local_scalar_dense", one, origin));    // op name: as a number
}

// A number that only the run knows, as eager converts it on the way to the result (number_fits.h): by steps that
// refuse what the dtype can't hold. The steps of a definition would take any number. It stays a float: of integers one
// that is whole, as what eager computes with.
Arg converted(Graph& graph, NodeId before, Arg number, NumberFit::Into into, Dtype dtype, uint32_t origin) {
  const bool whole = is_integral(dtype, false);
  if (whole && into == NumberFit::truncated) {
    const Arg cut[] = {Arg::of_value(filled(graph, before, number, Dtype::f64, origin))};
    number = number_in(graph, before, call(graph, before, "aten.trunc", cut, origin), origin);  // op name: cuts it off
  }
  ValueId tensor = filled(graph, before, number, dtype, origin);
  if (whole) {
    const Arg from[] = {Arg::of_value(tensor)};
    const Keyword as{"dtype", Arg::of_dtype(Dtype::f64)};
    tensor = call(graph, before, "aten._to_copy", from, origin, {&as, 1});  // op name: as a float again
  }
  return number_in(graph, before, tensor, origin);
}

bool has_something(Graph& graph, const Arg& a, int64_t beyond) {
  if (a.kind == ArgKind::int_list)
    return std::ranges::any_of(a.dim_list(), [&](Dim d) { return graph.assumptions.decide(gt(d, beyond)); });
  if (!a.is_value()) return graph.assumptions.decide(gt(a.dim(), beyond));
  const Type& type = graph.type(a.value());
  return graph.assumptions.decide(gt(type.is_tensor() ? numel(type.sizes()) : type.offset, beyond));
}

SmallVec<Arg, 8> with_numbers_that_fit(Graph& graph, NodeId id, uint32_t origin) {
  const Node node = graph.node(id);
  SmallVec<Arg, 8> args(node.arguments());
  if (node.result_count == 0 || !graph.type(node.result()).is_tensor()) return args;
  for (const NumberFit& fit : node.op->number_fits) {
    const Arg& number = node.args[fit.param];
    if (!number.is_value() || graph.type(number.value()).kind != TypeKind::sym_float) continue;
    if (fit.into == NumberFit::filled) continue;  // their definitions fill
    const std::optional<Dtype> to = converted_to(fit.into, graph.type(node.result()).dtype);
    if (!to || *to == Dtype::b8 || to_real(*to) == Dtype::f64) continue;
    if (std::ranges::all_of(fit.where,
                            [&](const auto& what) { return has_something(graph, node.args[what.param], what.beyond); }))
      args[fit.param] = converted(graph, id, number, fit.into, to_real(*to), origin);
  }
  return args;
}
}  // namespace

bool expand_node(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  NodeId after = graph.previous(id);
  Assumptions before = graph.assumptions;  // a definition that is refused guards nothing
  try {
    const uint32_t origin = provenance(graph, id);
    SmallVec<Arg, 4> results = expand(graph, id, *node.op, with_numbers_that_fit(graph, id, origin), origin);
    bool fits = results.size() == node.result_count;
    for (uint16_t i = 0; fits && i < node.result_count; ++i) {
      ValueId given = node.result(i);
      if (results[i].is_value()) {
        ValueId made = as_the_op_gives(graph, id, given, results[i].value());
        fits = made != kNone;
        if (fits) results[i] = Arg::of_value(made);
      } else if (graph.type(given).kind == TypeKind::list) {
        auto elements = graph.type(given).elements();
        fits = elements.size() == results[i].count;
        SmallVec<ValueId, 8> made;
        for (size_t k = 0; fits && k < results[i].count; ++k) {
          made.push_back(viewed_as(graph, id, results[i].value_list()[k], *elements[k], node.origin));
          fits = made[k] != kNone;
        }
        if (fits) results[i] = graph.context().values(made);
      } else {
        fits = graph.type(given).kind == TypeKind::none || graph.value(given).users.empty();
      }
    }
    if (fits) {
      replace_node(graph, id, results);
      return true;
    }
  } catch (const UserError&) {
  } catch (const Unsupported&) {
  }
  erase_between(graph, after, id);
  graph.assumptions = std::move(before);
  return false;
}

namespace {
Arg element_of(Graph& graph, NodeId before, const Arg& list, size_t k, uint32_t origin) {
  switch (list.kind) {
    case ArgKind::value_list: return Arg::of_value(list.value_list()[k]);
    case ArgKind::int_list: return Arg::of_dim(list.dim_list()[k]);
    case ArgKind::real_list: return Arg::of_real(list.real_list()[k]);
    case ArgKind::bool_list: return Arg::of_bool(list.bool_list()[k]);
    case ArgKind::arg_list: return list.arg_list()[k];
    default: break;
  }
  const Arg args[] = {list, Arg::of_int(static_cast<int64_t>(k))};
  return Arg::of_value(call(graph, before, "lenz.getitem", args, origin));  // op name: an element of a list
}

// Whether the numbers of the elements' calls stand in a tensor, where only the run knows them.
bool stands_for_numbers(const OpDef& op, const OpDef& element, size_t param) {
  const ParamType& type = op.schema.params[param].type;
  return !type.list && type.kind == ParamKind::tensor &&
         element.schema.params[element_param(element, op.schema, param)].type.kind == ParamKind::scalar;
}

Arg number_of(Graph& graph, NodeId before, const Arg& tensor, size_t k, uint32_t origin) {
  const Arg place[] = {tensor, Arg::of_int(0), Arg::of_int(static_cast<int64_t>(k))};
  const Arg one[] = {Arg::of_value(call(graph, before, "aten.select", place, origin))};  // op name: the k-th
  return Arg::of_value(call(graph, before, "aten._local_scalar_dense", one, origin));    // op name: as a number
}

size_t length_of(const Graph& graph, const Arg& list) {
  return list.is_value() ? graph.type(list.value()).elements().size() : list.count;
}
}  // namespace

bool expand_elements(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.op->variant == VariantKind::out) return false;  // its writes come first: no element's row takes them
  const OpDef& element = element_row(*node.op, graph.ops());
  const auto& params = node.op->schema.params;
  size_t count = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].type.list) count = length_of(graph, node.args[i]);
    if (stands_for_numbers(*node.op, element, i) && is_complex(graph.type(node.args[i].value()).dtype)) return false;
  }
  uint32_t origin = provenance(graph, id);
  SmallVec<ValueId, 8> results;
  for (size_t k = 0; k < count; ++k) {
    SmallVec<Arg, 8> args;
    for (const Param& p : element.schema.params)
      args.push_back(p.fallback || p.type.optional ? default_arg(graph.context(), p) : Arg::none());
    for (size_t i = 0; i < params.size(); ++i) {
      size_t at = element_param(element, node.op->schema, i);
      args[at] = stands_for_numbers(*node.op, element, i) ? number_of(graph, id, node.args[i], k, origin)
                 : params[i].type.list                    ? element_of(graph, id, node.args[i], k, origin)
                                                          : node.args[i];
    }
    NodeId made = graph.insert(id, element, args, origin);
    results.push_back(graph.node(made).result());
  }
  if (node.result_count == 0) {
    graph.erase(id);
    return true;
  }
  const Arg list = graph.context().values(results);
  replace_node(graph, id, {&list, 1});
  return true;
}

}  // namespace lenz
