#include "fuzz/candidates.h"

#include <algorithm>
#include <set>

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/verify.h"

namespace lenz::fuzz {

namespace {
std::vector<NodeId> nodes_of(const Graph& graph) {
  std::vector<NodeId> ids;
  graph.for_each_node([&](NodeId id) { ids.push_back(id); });
  return ids;
}

// Takes out what nothing needs, and says of inputs whether they are still written to.
void tidy(Graph& graph) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<NodeId> ids = nodes_of(graph);
    for (size_t i = ids.size(); i-- > 0;) {
      const Node& node = graph.node(ids[i]);
      bool used = effects(graph, node).any();
      for (uint16_t r = 0; r < node.result_count; ++r) used |= !graph.value(node.result(r)).users.empty();
      if (used) continue;
      graph.erase(ids[i]);
      changed = true;
    }
  }
  std::set<ValueId> written;
  graph.for_each_node([&](NodeId id) {
    for_each_written(graph, graph.node(id), [&](ValueId v) { written.insert(graph.storage(v)); });
  });
  for (size_t i = graph.inputs().size(); i-- > 0;) {
    Input& input = graph.input(i);
    input.mutated = written.contains(input.value);
    if (graph.value(input.value).users.empty() && !input.alias) graph.remove_input(i);
  }
}

// What is assumed of symbols that nothing mentions any more.
void forget_symbols(Graph& graph) {
  std::set<const SymNode*> live;
  for (const Type* t : graph.types())
    for_each_symbolic_dim(*t, [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { live.insert(s); }); });
  graph.assumptions.keep([&](const SymNode* s) { return live.contains(s); });
}

// Of the symbols that are still there.
std::string sizes_left(const Graph& graph, const std::string& sizes) {
  std::set<std::string> names;
  for (const Input& input : graph.inputs())
    for_each_symbolic_dim(graph.type(input.value), [&](Dim d) {
      for_each_symbol(d, [&](const SymNode* s) { names.insert(to_string(Dim(s))); });
    });
  std::string left;
  for (size_t at = 0; at < sizes.size();) {
    const size_t end = std::min(sizes.find(',', at), sizes.size());
    const std::string one = sizes.substr(at, end - at);
    if (names.contains(one.substr(0, one.find('=')))) left += (left.empty() ? "" : ",") + one;
    at = end + 1;
  }
  return left;
}

bool valid(const Graph& graph) {
  try {
    return verify(graph).empty();
  } catch (const Unsupported&) {  // memory that is shared otherwise now: a rule can't tell what a call gives
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

class Candidates {
 public:
  explicit Candidates(const Case& from) : from_(from), measure_(simplicity(*from.graph, from.setting)) {}

  // Keeps what an edit of a copy made, if it is valid and simpler.
  template <class Edit>
  void edit(Edit&& edit) {
    auto graph = from_.graph->clone();
    try {
      edit(*graph);
      tidy(*graph);
    } catch (const Error&) {  // a rule refuses, or something has users still
      return;
    } catch (const std::bad_alloc&) {  // as the case itself may end
      return;
    }
    add(std::move(graph), from_.setting);
  }
  void add(std::unique_ptr<Graph> graph, const Setting& setting) {
    if (!graph) return;
    graph = graph->clone();
    forget_symbols(*graph);
    if (!(simplicity(*graph, setting) < measure_) || !valid(*graph)) return;
    made_.push_back({std::move(graph), setting});
    made_.back().setting.sizes = sizes_left(*made_.back().graph, setting.sizes);
  }
  void set(const Setting& setting) { add(from_.graph->clone(), setting); }
  std::vector<Case> take() { return std::move(made_); }

 private:
  const Case& from_;
  const Simplicity measure_;
  std::vector<Case> made_;
};

Initialiser usual_init(const Type& t) {
  if (is_inexact(t.dtype)) return {Initialiser::uniform, -2, 2, 1};
  return {Initialiser::integers, 0, t.dtype == Dtype::b8 ? 1.0 : 3.0, 1};
}

// The nodes go; what others use of them becomes an input.
void cut_off(Graph& graph, std::span<const NodeId> ids) {
  std::set<const SymNode*> bound;  // symbols that inputs bind, not data
  for (const Input& input : graph.inputs())
    for_each_symbolic_dim(graph.type(input.value),
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { bound.insert(s); }); });
  for (NodeId id : ids) {
    const Node node = graph.node(id);
    for (uint16_t r = 0; r < node.result_count; ++r) {
      ValueId v = node.result(r);
      if (graph.value(v).users.empty()) continue;
      const Type& t = graph.type(v);
      bool known = t.is_tensor();
      for_each_symbolic_dim(
          t, [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { known = known && bound.contains(s); }); });
      if (!known) throw Unsupported("a list, or sizes that only data know");
      ValueId input = graph.add_input("c" + std::to_string(graph.inputs().size()), &t);
      graph.input(graph.inputs().size() - 1).init = usual_init(t);
      graph.replace_uses(v, input);
    }
  }
  for (size_t i = ids.size(); i-- > 0;) graph.erase(ids[i]);
}

std::vector<Case> fewer_outputs(const Case& from) {
  Candidates c(from);
  const size_t count = from.graph->outputs().size();
  // What one node gives, and what that needs.
  const size_t nodes = nodes_of(*from.graph).size();
  for (size_t i = 0; i < nodes; ++i)
    c.edit([&](Graph& g) {
      const std::vector<NodeId> ids = nodes_of(g);
      const Node node = g.node(ids[i]);
      if (node.result_count == 0 || !g.type(node.result()).is_tensor()) throw Unsupported("no tensor");
      Arg one = Arg::of_value(node.result());
      g.set_outputs({&one, 1});
      for (size_t k = ids.size(); k-- > i + 1;) g.erase(ids[k]);  // draws and writes too
    });
  for (size_t keep = 0; keep < count && count > 1; ++keep)
    c.edit([&](Graph& g) {
      Arg one = g.outputs()[keep];
      g.set_outputs({&one, 1});
    });
  for (size_t drop = 0; drop < count; ++drop)
    c.edit([&](Graph& g) {
      std::vector<Arg> rest(g.outputs().begin(), g.outputs().end());
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(drop));
      g.set_outputs(rest);
    });
  return c.take();
}

std::vector<Case> fewer_nodes(const Case& from) {
  Candidates c(from);
  const size_t count = nodes_of(*from.graph).size();
  for (size_t chunk = std::max<size_t>(count / 2, 1); chunk > 0; chunk /= 2)
    for (size_t at = 0; at + chunk <= count; at += chunk)
      c.edit([&](Graph& g) {
        std::vector<NodeId> ids = nodes_of(g);
        cut_off(g, std::span<const NodeId>(ids).subspan(at, chunk));
      });
  return c.take();
}

// A value in the place of another one of its type.
std::vector<Case> bypassed(const Case& from) {
  Candidates c(from);
  const size_t count = nodes_of(*from.graph).size();
  for (size_t i = count; i-- > 0;)
    for (size_t a = 0; a < 4; ++a)
      c.edit([&](Graph& g) {
        const Node node = g.node(nodes_of(g)[i]);
        if (a >= node.arg_count || node.result_count != 1 || !node.args[a].is_value()) throw Unsupported("no operand");
        const Type &operand = g.type(node.args[a].value()), &result = g.type(node.result());
        if (!operand.is_tensor() || !result.is_tensor() || operand.dtype != result.dtype ||
            !std::ranges::equal(operand.sizes(), result.sizes()))
          throw Unsupported("another type");
        g.replace_uses(node.result(), node.args[a].value());
      });
  // Users of a bypassed value keep the types that they had: all are inferred anew.
  std::vector<Case> made = c.take(), again;
  for (Case& m : made) {
    std::vector<const Type*> types;
    for (const Input& input : m.graph->inputs()) types.push_back(&m.graph->type(input.value));
    if (auto graph = rebuilt(*m.graph, {.inputs = types}); graph && valid(*graph))
      again.push_back({std::move(graph), m.setting});
  }
  return again;
}

using TypeChange = std::function<const Type*(Context&, const Type&)>;
using ArgChange = std::function<Arg(Context&, const Arg&, const ParamType&)>;

void retyped(Candidates& c, const Case& from, const TypeChange& type, const ArgChange& argument = {}) {
  auto base = from.graph->clone();
  std::vector<const Type*> types;
  for (const Input& input : base->inputs()) types.push_back(type(base->context(), base->type(input.value)));
  auto arg = [&](const Arg& a, const ParamType& p) { return argument ? argument(base->context(), a, p) : a; };
  c.add(rebuilt(*base, {.inputs = types, .argument = arg}), from.setting);
}

// Other sizes, wherever they stand.
void resized(Candidates& c, const Case& from, const std::function<Dim(Dim)>& other) {
  retyped(
      c, from,
      [&](Context& context, const Type& t) -> const Type* {
        if (!t.is_tensor() || std::ranges::none_of(t.sizes(), [&](Dim d) { return other(d) != d; })) return &t;
        TensorType changed = t.tensor();
        for (Dim& d : changed.sizes) d = other(d);
        changed.strides = contiguous_strides(changed.sizes);
        changed.offset = 0;
        return context.tensor(changed);
      },
      [&](Context& context, const Arg& a, const ParamType& p) { return with_sizes(context, a, p, other); });
}

// One size of the graph by another one.
std::vector<Case> smaller_sizes(const Case& from) {
  Candidates c(from);
  std::set<int64_t, std::greater<>> sizes;
  for (const Input& input : from.graph->inputs())
    for (Dim d : from.graph->type(input.value).sizes())
      if (d.is_constant() && d.constant() > 1) sizes.insert(d.constant());
  for (int64_t size : sizes)
    for (int64_t to : {int64_t{1}, int64_t{2}, size / 2, size - 1}) {
      if (to >= size || to < 1) continue;
      resized(c, from, [&](Dim d) { return d.is_constant() && d.constant() == size ? Dim(to) : d; });
    }
  return c.take();
}

std::vector<Case> plainer_dtypes(const Case& from) {
  Candidates c(from);
  for (size_t d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    const Dtype to = is_floating(dtype) ? Dtype::f32 : is_complex(dtype) ? Dtype::f32 : Dtype::i64;
    if (to == dtype || dtype == Dtype::b8) continue;
    retyped(
        c, from,
        [&](Context& context, const Type& t) -> const Type* {
          if (!t.is_tensor() || t.dtype != dtype) return &t;
          TensorType changed = t.tensor();
          changed.dtype = to;
          return context.tensor(changed);
        },
        [&](Context&, const Arg& a, const ParamType&) {
          return a.kind == ArgKind::dtype && a.dtype() == dtype ? Arg::of_dtype(to) : a;
        });
  }
  return c.take();
}

std::vector<Case> plainer_layouts(const Case& from) {
  Candidates c(from);
  for (size_t i = 0; i < from.graph->inputs().size(); ++i) {
    auto base = from.graph->clone();
    std::vector<const Type*> types;
    for (size_t k = 0; k < base->inputs().size(); ++k) {
      const Type& t = base->type(base->inputs()[k].value);
      types.push_back(k == i && t.is_tensor() ? base->context().tensor(contiguous_tensor(t.dtype, t.sizes(), t.device))
                                              : &t);
    }
    base->input(i).alias.reset();
    c.add(rebuilt(*base, {.inputs = types}), from.setting);
  }
  // Symbols by numbers, in what is computed from them too.
  resized(c, from, [](Dim d) {
    return d.is_constant() ? d : Dim(evaluate(d, [](const SymNode*) { return std::optional<int64_t>(3); }).value_or(3));
  });
  return c.take();
}

std::vector<Case> plainer_arguments(const Case& from) {
  Candidates c(from);
  const size_t count = nodes_of(*from.graph).size();
  for (size_t n = 0; n < count; ++n) {
    const Node& node = from.graph->node(nodes_of(*from.graph)[n]);
    for (size_t a = 0; a < node.arg_count; ++a) {
      const Param& p = node.op->schema.params[a];
      std::vector<Arg> simpler;
      Context& context = from.graph->context();
      const Arg& old = node.args[a];
      if (p.type.kind == ParamKind::tensor || p.is_out || p.type.kind == ParamKind::graph) continue;
      if (p.fallback && !(default_arg(context, p) == old)) simpler.push_back(default_arg(context, p));
      if (old.kind == ArgKind::integer && old.dim().is_constant())
        for (int64_t to : {0, 1}) simpler.push_back(Arg::of_int(to));
      if (old.kind == ArgKind::real)
        for (double to : {0.0, 1.0}) simpler.push_back(Arg::of_real(to));
      if (old.kind == ArgKind::boolean) simpler.push_back(Arg::of_bool(false));
      for (const Arg& to : simpler) {
        auto base = from.graph->clone();
        std::vector<NodeId> ids = nodes_of(*base);
        SmallVec<Arg, 8> args(base->node(ids[n]).arguments());
        if (args[a] == to) continue;
        args[a] = to;
        try {
          base->set_args(ids[n], args);
        } catch (const Error&) {
          continue;
        }
        std::vector<const Type*> types;
        for (const Input& input : base->inputs()) types.push_back(&base->type(input.value));
        c.add(rebuilt(*base, {.inputs = types}), from.setting);
      }
    }
  }
  return c.take();
}

std::vector<Case> plainer_setting(const Case& from) {
  Candidates c(from);
  auto with = [&](auto change) {
    Setting s = from.setting;
    change(s);
    c.set(s);
  };
  with([](Setting& s) { s.values = oracle::Values::ordinary; });
  with([](Setting& s) { s.values = oracle::Values::exact; });
  with([](Setting& s) { s.values = oracle::Values::ties; });
  with([](Setting& s) { s.passes.clear(); });
  for (uint64_t seed : {0, 1, 2}) with([&](Setting& s) { s.seed = seed; });
  return c.take();
}
}  // namespace

Case copy_of(const Case& c) { return {c.graph->clone(), c.setting}; }

Simplicity simplicity(const Graph& graph, const Setting& setting) {
  Simplicity s;
  uint64_t nodes = 0, arguments = 0;
  std::function<void(const Graph&)> count = [&](const Graph& g) {
    g.for_each_node([&](NodeId id) {
      ++nodes;
      const Node& node = g.node(id);
      for (size_t a = 0; a < node.arg_count; ++a) {
        const Param& p = node.op->schema.params[a];
        if (p.type.kind == ParamKind::tensor || p.is_out) continue;
        if (!p.fallback || !(default_arg(g.context(), p) == node.args[a])) {
          arguments += 4;
          const Arg& x = node.args[a];
          if (x.kind == ArgKind::integer && x.dim().is_constant())
            arguments += std::min<uint64_t>(3, static_cast<uint64_t>(std::abs(x.dim().constant())));
          if (x.kind == ArgKind::real) arguments += x.real() == 0 ? 0 : x.real() == 1 ? 1 : 3;
          if (x.kind == ArgKind::boolean) arguments += x.i != 0;
        }
      }
    });
    for (const auto& sub : g.subgraphs) count(*sub);
  };
  count(graph);
  uint64_t elements = 0, dtypes = 0, layouts = 0;
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (!t.is_tensor()) continue;
    uint64_t n = 1;
    for (Dim d : t.sizes()) {
      n *= d.is_constant() ? static_cast<uint64_t>(std::max<int64_t>(d.constant(), 0)) + 1 : 8;
      layouts += !d.is_constant();
    }
    elements += n;
    dtypes += t.dtype == Dtype::f32 ? 0 : t.dtype == Dtype::i64 || t.dtype == Dtype::b8 ? 1 : 2;
    layouts +=
        !std::ranges::equal(t.strides(), contiguous_strides(t.sizes())) + !t.offset.is(0) + input.alias.has_value();
  }
  const uint64_t mode = static_cast<uint64_t>(setting.values);
  s.parts = {nodes,
             graph.inputs().size() + graph.outputs().size(),
             elements,
             dtypes,
             layouts,
             arguments,
             setting.passes.size() + mode,
             setting.seed};
  return s;
}

std::span<const Simplification> simplifications() {
  static constexpr Simplification kAll[] = {
      {"fewer outputs", fewer_outputs},
      {"fewer nodes", fewer_nodes},
      {"bypassed", bypassed},
      {"smaller sizes", smaller_sizes},
      {"plainer layouts", plainer_layouts},
      {"plainer dtypes", plainer_dtypes},
      {"plainer arguments", plainer_arguments},
      {"plainer setting", plainer_setting},
  };
  return kAll;
}

}  // namespace lenz::fuzz
