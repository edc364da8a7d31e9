#include "compiler/graph/rebuild.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "compiler/graph/renumber.h"
#include "compiler/graph/symbol_makers.h"
#include "compiler/graph/text.h"

namespace lenz {

namespace {
// Without a node yet: inputs, facts and guards, flags.
std::unique_ptr<Graph> without_nodes(const Graph& graph) {
  auto copy = std::make_unique<Graph>(graph.shared_context(), graph.ops(), graph.name);
  copy->level = graph.level;
  copy->assumptions = graph.assumptions;
  return copy;
}

// A size that only the run knew is a number where the rule of its maker says so of these sizes: nothing repeated is
// nothing. What others say by it they may say otherwise here, of other arguments: it is what it was.
void note_decided(const Graph& copy, const std::function<bool(const SymNode*)>& is_made, const Type& said,
                  const Type& made, std::unordered_map<const SymNode*, Dim>& decided) {
  if (!said.is_tensor() || !made.is_tensor() || said.rank() != made.rank()) return;
  for (size_t d = 0; d < said.rank(); ++d) {
    const Dim open = said.sizes()[d], now = made.sizes()[d];
    if (!open.is_constant() && kind_of(open) == SymKind::symbol && copy.assumptions.mentions_open(open) &&
        !copy.assumptions.mentions_open(now) && is_made(open.node()))
      decided.emplace(open.node(), now);
  }
}

// UserError as a rule refuses, with the node in `refused`, kNone for the outputs.
void fill(Graph& copy, const Graph& graph, const Rebuild& how, NodeId* refused = nullptr) {
  Context& context = copy.context();
  std::vector<ValueId> ids(graph.value_count(), kNone);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Input& input = graph.inputs()[i];
    const Type* type = how.inputs.empty() ? graph.types()[input.value] : how.inputs[i];
    ids[input.value] = copy.add_input({}, type);
    copy.set_name(ids[input.value], graph.value(input.value).name);
    Input& made = copy.input(i);
    made = input;
    made.value = ids[input.value];
  }
  // Symbols that the graph's own run makes, and rules do not any more: what they are here.
  std::unordered_map<const SymNode*, Dim> decided;
  const auto here = [&](Dim d) {
    return substitute(d, context.syms, [&](const SymNode* s) -> std::optional<Dim> {
      auto value = decided.find(s);
      return value == decided.end() ? std::nullopt : std::optional(value->second);
    });
  };
  std::optional<SymbolMakers> makers;  // of the graph
  const auto renumbered_here = [&](const Arg& a) {
    const Arg made = renumbered(context, a, ids);
    return decided.empty() ? made : with_dims(context, made, here);
  };
  graph.for_each_node([&](NodeId at) {
    const Node& node = graph.node(at);
    if (refused) *refused = at;
    SmallVec<Arg, 12> args;
    const auto becomes = [&](uint16_t i, ValueId made) {
      ids[node.result(i)] = made;
      copy.set_name(made, graph.value(node.result(i)).name);
    };
    if (how.node) {
      for (const Arg& a : node.arguments()) args.push_back(renumbered_here(a));
      if (const auto made = how.node(copy, node, args)) {
        for (uint16_t i = 0; i < node.result_count; ++i) becomes(i, (*made)[i]);
        return;
      }
      args.clear();
    }
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = node.args[i];
      args.push_back(renumbered_here(how.argument ? how.argument(a, node.op->schema.params[i].type) : a));
    }
    SmallVec<const Type*, 4> annotated;
    for (uint16_t i = 0; i < node.result_count; ++i) {
      const Type& type = graph.type(node.result(i));
      annotated.push_back(decided.empty() ? &type : with_dims(context, type, here));
    }
    NodeId id = copy.insert(kNone, *node.op, args, node.origin, annotated);
    const auto is_made = [&](const SymNode* s) {
      if (!makers) makers.emplace(graph);
      return makers->makes(at, s);
    };
    for (uint16_t i = 0; i < node.result_count; ++i) {
      ValueId made = copy.node(id).result(i);
      note_decided(copy, is_made, graph.type(node.result(i)), copy.type(made), decided);
      becomes(i, how.result ? how.result(copy, made) : made);
    }
  });
  if (refused) *refused = kNone;
  std::vector<Arg> outputs;
  for (const Arg& a : graph.outputs()) outputs.push_back(renumbered_here(a));
  copy.set_outputs(outputs);
  if (!decided.empty()) copy.assumptions.keep([&](const SymNode* s) { return !decided.contains(s); });
}

std::optional<Cond> broken_guard(const Graph& graph, const SymValues& sizes) {
  const SharedList<Cond>& guards = graph.assumptions.guards();
  auto at = std::ranges::find_if(guards, [&](const Cond& c) { return evaluate(c, sizes) == false; });
  return at == guards.end() ? std::nullopt : std::optional(*at);
}

// The operands of control flow, in the order of its sub-graphs' inputs.
SmallVec<Arg, 8> operands(const Node& node) {
  SmallVec<Arg, 8> all;
  for (const Arg& a : node.arguments()) {
    if (a.kind == ArgKind::value_list)
      for (ValueId v : a.value_list()) all.push_back(Arg::of_value(v));
    if (a.kind == ArgKind::arg_list)
      for (const Arg& e : a.arg_list()) all.push_back(e);
    if (a.kind == ArgKind::int_list)
      for (Dim d : a.dim_list()) all.push_back(Arg::of_dim(d));
  }
  return all;
}

// A sub-graph's symbols are its own: they are what it is called with. What each is in each call, by a size or number,
// or by a stride.
void for_each_binding(const Graph& graph, size_t number,
                      const std::function<void(const SymNode* formal, Dim actual, bool by_layout)>& see) {
  auto bind = [&](Dim formal, Dim actual, bool by_layout) {
    if (!formal.is_constant() && kind_of(formal) == SymKind::symbol) see(formal.node(), actual, by_layout);
  };
  const Graph& sub = *graph.subgraphs[number];
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (std::ranges::none_of(node.arguments(),
                             [&](const Arg& a) { return a == Arg::of_graph(static_cast<uint32_t>(number)); }))
      return;
    const SmallVec<Arg, 8> given = operands(node);
    for (size_t i = 0; i < std::min(given.size(), sub.inputs().size()); ++i) {
      const Type& formal = sub.type(sub.inputs()[i].value);
      if (formal.kind == TypeKind::sym_int)
        bind(formal.offset, given[i].is_value() ? graph.type(given[i].value()).offset : given[i].dim(), false);
      if (!formal.is_tensor()) continue;
      const Type& actual = graph.type(given[i].value());
      const size_t walked = actual.rank() - formal.rank();  // a scan hands over slices
      for (size_t d = 0; d < formal.rank(); ++d) {
        bind(formal.sizes()[d], actual.sizes()[d + walked], false);
        bind(formal.strides()[d], actual.strides()[d + walked], true);
      }
    }
  });
}

// One that differs from call to call has no value.
SymValues sizes_inside(const Graph& graph, size_t number, const SymValues& sizes) {
  std::unordered_map<const SymNode*, std::optional<int64_t>> values, by_layout;
  for_each_binding(graph, number, [&](const SymNode* formal, Dim actual, bool of_layout) {
    const auto value = evaluate(actual, sizes);
    auto [at, fresh] = (of_layout ? by_layout : values).emplace(formal, value);
    if (!fresh && at->second != value) at->second = std::nullopt;
  });
  values.merge(by_layout);  // what is only read may come in another layout than the one that is declared
  return [values = std::move(values)](const SymNode* s) -> std::optional<int64_t> {
    auto at = values.find(s);
    return at == values.end() ? std::nullopt : at->second;
  };
}

bool all_hold(const Graph& graph, const SymValues& sizes) {
  if (broken_guard(graph, sizes)) return false;
  for (size_t i = 0; i < graph.subgraphs.size(); ++i)
    if (!all_hold(*graph.subgraphs[i], sizes_inside(graph, i, sizes))) return false;
  return true;
}

// Round by round, the contrary of the first guard that the last one took and these sizes break becomes a fact: what the
// rules asked behind it they may not ask again.
std::unique_ptr<Graph> for_sizes(const Graph& graph, const SymValues& sizes) {
  std::vector<Cond> excluded;
  std::string broken;  // the same, for people
  std::unique_ptr<Graph> made;
  for (const Graph* last = &graph;; last = made.get()) {
    const std::optional<Cond> guard = broken_guard(*last, sizes);
    if (made && !guard) return made;
    if (guard) {
      excluded.push_back(negate(*guard));
      broken += (broken.empty() ? "" : ", ") + to_string(*guard);
    }
    std::unique_ptr<Graph> next = without_nodes(graph);
    next->assumptions.restart();
    for (size_t i = 0; i < graph.subgraphs.size(); ++i) {
      const SymValues inside = sizes_inside(*last, i, sizes);
      const Graph& sub = *graph.subgraphs[i];
      next->subgraphs.push_back(all_hold(sub, inside) ? sub.clone() : for_sizes(sub, inside));
    }
    NodeId refused = kNone;
    auto refuse = [&](const std::string& why, const std::string& node) {
      throw UserError("these sizes break " + broken + ", " + why, graph.spelled_name() + node,
                      "give sizes for which that holds");
    };
    for (const Cond& c : excluded)
      if (!next->assumptions.declare(c)) refuse("which the graph's `where` implies", "");
    try {
      fill(*next, graph, {}, &refused);
    } catch (const UserError& error) {
      refuse("and without that, " + error.message(),
             refused == kNone ? ": its outputs" : ": " + GraphText(graph).node(refused));
    }
    made = std::move(next);
  }
}
}  // namespace

std::unique_ptr<Graph> rebuilt(const Graph& graph, const Rebuild& how) {
  std::unique_ptr<Graph> copy = without_nodes(graph);
  for (const auto& sub : graph.subgraphs) copy->subgraphs.push_back(sub->clone());
  try {
    fill(*copy, graph, how);
  } catch (const UserError&) {
    return nullptr;
  } catch (const Unsupported&) {
    return nullptr;
  }
  return copy;
}

const Type* with_dims(Context& context, const Type& type, const std::function<Dim(Dim)>& other) {
  if (type.kind == TypeKind::sym_int) return context.sym_int(other(type.offset));
  if (type.kind == TypeKind::list) {
    SmallVec<const Type*, 8> elements;
    for (const Type* e : type.elements()) elements.push_back(with_dims(context, *e, other));
    return context.list(elements);
  }
  if (!type.is_tensor()) return &type;
  TensorType copy = type.tensor();
  for (Dim& d : copy.sizes) d = other(d);
  for (Dim& d : copy.strides) d = other(d);
  copy.offset = other(copy.offset);
  return context.tensor(copy);
}

Arg with_dims(Context& context, const Arg& arg, const std::function<Dim(Dim)>& other) {
  if (arg.kind == ArgKind::integer && arg.symbolic) return Arg::of_dim(other(arg.dim()));
  if (arg.kind == ArgKind::int_list) {
    DimVec dims;
    for (Dim d : arg.dim_list()) dims.push_back(other(d));
    return context.dims(dims);
  }
  if (arg.kind != ArgKind::arg_list) return arg;
  SmallVec<Arg, 8> items;
  for (const Arg& e : arg.arg_list()) items.push_back(with_dims(context, e, other));
  return context.args(items);
}

Arg with_sizes(Context& context, const Arg& arg, const ParamType& type, const std::function<Dim(Dim)>& other) {
  if (type.kind != ParamKind::sym_int) return arg;
  if (arg.kind == ArgKind::integer && !type.list) return Arg::of_dim(other(arg.dim()));
  if (arg.kind != ArgKind::int_list) return arg;
  DimVec list(arg.dim_list());
  for (Dim& d : list) d = other(d);
  return context.dims(list);
}

bool declare_everywhere(Graph& graph, const Cond& fact) {
  if (!graph.assumptions.declare(fact)) return false;
  for (size_t i = 0; i < graph.subgraphs.size(); ++i) {
    std::unordered_map<const SymNode*, std::optional<Dim>> inside;  // nullopt: not the same in each call
    std::unordered_map<const SymNode*, Dim> called_with;
    for_each_binding(graph, i, [&](const SymNode* formal, Dim actual, bool by_layout) {
      if (by_layout) return;
      auto [at, fresh] = called_with.emplace(formal, actual);
      const bool differs = !fresh && at->second != actual;
      for (Dim d : {at->second, actual})
        if (!d.is_constant() && kind_of(d) == SymKind::symbol && (differs || !inside.contains(d.node())))
          inside[d.node()] = differs ? std::nullopt : std::optional(Dim(formal));
    });
    bool sayable = true;
    const auto said = [&](Dim d) {
      return substitute(d, graph.context().syms, [&](const SymNode* s) -> std::optional<Dim> {
        auto at = inside.find(s);
        sayable = sayable && at != inside.end() && at->second;
        return sayable ? at->second : std::nullopt;
      });
    };
    const Cond there{fact.rel, said(fact.lhs), said(fact.rhs)};
    if (sayable) declare_everywhere(*graph.subgraphs[i], there);  // what else it knows of may not go with it
  }
  return true;
}

std::unique_ptr<Graph> specialised(const Graph& graph, const SymValues& sizes) {
  return all_hold(graph, sizes) ? nullptr : for_sizes(graph, sizes);
}

}  // namespace lenz
