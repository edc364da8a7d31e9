#include "compiler/graph/pattern_functions.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/base/held_values.h"

namespace lenz {

std::optional<DtypeSet> dtype_set(std::string_view name) {
  constexpr std::pair<std::string_view, DtypeSet> sets[] = {
      {"floats", dtypes::floats},       {"integers", dtypes::integers},
      {"boolean", dtypes::boolean},     {"real", dtypes::real},
      {"complexes", dtypes::complexes}, {"numbers", dtypes::numbers},
      {"float8", dtypes::float8},       {"half_floats", dtypes::half | dtypes::bfloat},
      {"usual", dtypes::usual},         {"any", dtypes::all}};
  for (const auto& [word, set] : sets)
    if (word == name) return set;
  if (auto d = parse_dtype(name)) return DtypeSet::of(*d);
  return std::nullopt;
}

std::optional<double> number_of(const Arg& a) {
  if (a.kind == ArgKind::real) return a.real();
  if (a.kind == ArgKind::boolean) return a.boolean() ? 1 : 0;
  if (a.kind == ArgKind::integer && !a.symbolic) return static_cast<double>(a.i);
  return std::nullopt;
}

namespace {

using Args = std::span<const Arg>;
using Result = std::optional<Arg>;

Result truth(bool b) { return Arg::of_bool(b); }
Result truth(Truth t) { return t == Truth::unknown ? Result() : truth(t == Truth::yes); }

const Type* tensor_type(const Graph& g, Args a, size_t i = 0) {
  if (a.size() <= i || !a[i].is_value()) return nullptr;
  const Type& t = g.type(a[i].value());
  return t.is_tensor() ? &t : nullptr;
}

// An integer argument, whether literal or a symbolic value.
std::optional<Dim> dim_of(const Graph& g, const Arg& a) {
  if (a.kind == ArgKind::integer) return a.dim();
  if (a.is_value() && g.type(a.value()).kind == TypeKind::sym_int) return g.type(a.value()).offset;
  return std::nullopt;
}

std::optional<int64_t> constant_of(const Arg& a) {
  if (a.kind == ArgKind::integer && !a.symbolic) return a.i;
  return std::nullopt;
}

std::vector<Arg> elements(const Arg& a) {
  std::vector<Arg> all;
  if (a.kind == ArgKind::int_list)
    for (Dim d : a.dim_list()) all.push_back(Arg::of_dim(d));
  if (a.kind == ArgKind::real_list)
    for (double d : a.real_list()) all.push_back(Arg::of_real(d));
  if (a.kind == ArgKind::bool_list)
    for (bool b : a.bool_list()) all.push_back(Arg::of_bool(b));
  if (a.kind == ArgKind::value_list)
    for (ValueId v : a.value_list()) all.push_back(v == kNone ? Arg::none() : Arg::of_value(v));
  if (a.kind == ArgKind::arg_list) all.assign(a.arg_list().begin(), a.arg_list().end());
  return all;
}

Result sizes(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(g.context().dims(t->sizes())) : std::nullopt;
}
Result strides(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(g.context().dims(t->strides())) : std::nullopt;
}
// size(%x, -1), stride(%x, 0)
Result one_of(std::span<const Dim> dims, Args a) {
  auto i = a.size() == 2 ? constant_of(a[1]) : std::nullopt;
  auto rank = static_cast<int64_t>(dims.size());
  if (!i || *i < -rank || *i >= rank) return std::nullopt;
  return Arg::of_dim(dims[static_cast<size_t>(*i < 0 ? *i + rank : *i)]);
}
Result size(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? one_of(t->sizes(), a) : std::nullopt;
}
Result stride(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? one_of(t->strides(), a) : std::nullopt;
}
Result rank(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(Arg::of_int(static_cast<int64_t>(t->rank()))) : std::nullopt;
}
Result dtype(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(Arg::of_dtype(t->dtype)) : std::nullopt;
}
Result device(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(Arg::of_device(t->device)) : std::nullopt;
}
Result numel_of(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  return t ? Result(Arg::of_dim(numel(t->sizes()))) : std::nullopt;
}
Result same_type(const Graph& g, Args a) {
  if (a.size() != 2 || !a[0].is_value() || !a[1].is_value()) return std::nullopt;
  return truth(&g.type(a[0].value()) == &g.type(a[1].value()));
}
Result same_shape(const Graph& g, Args a) {
  const Type *x = tensor_type(g, a, 0), *y = tensor_type(g, a, 1);
  if (!x || !y) return std::nullopt;
  if (x->rank() != y->rank()) return truth(false);
  for (size_t i = 0; i < x->rank(); ++i) {
    Truth same = g.assumptions.prove(eq(x->sizes()[i], y->sizes()[i]));
    if (same != Truth::yes) return truth(same);
  }
  return truth(true);
}
Result contiguous(const Graph& g, Args a) {
  const Type* t = tensor_type(g, a);
  if (!t) return std::nullopt;
  Dim expected = 1;
  for (size_t i = t->rank(); i-- > 0; expected *= t->sizes()[i]) {
    if (t->sizes()[i].is(1) || t->strides()[i] == expected) continue;
    Truth same = g.assumptions.prove(eq(t->strides()[i], expected));
    if (same != Truth::yes) return truth(same);
  }
  return truth(true);
}
Result uses(const Graph& g, Args a) {
  if (a.size() != 1 || !a[0].is_value()) return std::nullopt;
  return Arg::of_int(static_cast<int64_t>(g.value(a[0].value()).users.size()));
}
Result is_output(const Graph& g, Args a) {
  if (a.size() != 1 || !a[0].is_value()) return std::nullopt;
  return truth(std::ranges::find(g.value(a[0].value()).users, kOutputs) != g.value(a[0].value()).users.end());
}
Result is_input(const Graph& g, Args a) {
  if (a.size() != 1 || !a[0].is_value()) return std::nullopt;
  return truth(g.value(a[0].value()).producer == kNone);
}
Result count(const Graph&, Args a) {
  return a.size() == 1 ? Result(Arg::of_int(static_cast<int64_t>(elements(a[0]).size()))) : std::nullopt;
}
Result element(const Graph&, Args a) {
  auto i = a.size() == 2 ? constant_of(a[1]) : std::nullopt;
  if (!i) return std::nullopt;
  auto all = elements(a[0]);
  auto n = static_cast<int64_t>(all.size());
  if (*i < -n || *i >= n) return std::nullopt;
  return all[static_cast<size_t>(*i < 0 ? *i + n : *i)];
}
Result all_equal(const Graph& g, Args a) {  // all_equal([0, 0], 0)
  if (a.size() != 2) return std::nullopt;
  auto all = elements(a[0]);
  return truth(std::ranges::all_of(all, [&](const Arg& e) { return same_argument(g, e, a[1]); }));
}
Result is_number(const Graph&, Args a) { return a.size() == 1 ? truth(number_of(a[0]).has_value()) : std::nullopt; }
Result is_integer(const Graph& g, Args a) { return a.size() == 1 ? truth(dim_of(g, a[0]).has_value()) : std::nullopt; }
Result is_none(const Graph&, Args a) { return a.size() == 1 ? truth(a[0].is_none()) : std::nullopt; }
Result real(const Graph&, Args a) {
  auto v = a.size() == 1 ? number_of(a[0]) : std::nullopt;
  return v ? Result(Arg::of_real(*v)) : std::nullopt;
}
Result square_root(const Graph&, Args a) {
  auto v = a.size() == 1 ? number_of(a[0]) : std::nullopt;
  return v ? Result(Arg::of_real(std::sqrt(*v))) : std::nullopt;
}
Result holds(const Graph&, Args a) {
  if (a.size() != 2 || a[0].kind != ArgKind::dtype || a[1].kind != ArgKind::dtype) return std::nullopt;
  return truth(holds_values(a[0].dtype(), a[1].dtype()));
}
Result wrap(const Graph&, Args a) {  // wrap($dim, rank(%x)): counted from the front
  auto d = a.size() == 2 ? constant_of(a[0]) : std::nullopt, r = a.size() == 2 ? constant_of(a[1]) : std::nullopt;
  if (!d || !r || *d < -*r || *d >= *r) return std::nullopt;
  return Arg::of_int(*d < 0 ? *d + *r : *d);
}

constexpr NamedFunction kFunctions[] = {{"sizes", sizes},
                                        {"strides", strides},
                                        {"size", size},
                                        {"stride", stride},
                                        {"rank", rank},
                                        {"dtype", dtype},
                                        {"device", device},
                                        {"numel", numel_of},
                                        {"same_type", same_type},
                                        {"same_shape", same_shape},
                                        {"contiguous", contiguous},
                                        {"uses", uses},
                                        {"is_output", is_output},
                                        {"is_input", is_input},
                                        {"count", count},
                                        {"element", element},
                                        {"all_equal", all_equal},
                                        {"is_number", is_number},
                                        {"is_integer", is_integer},
                                        {"is_none", is_none},
                                        {"real", real},
                                        {"sqrt", square_root},
                                        {"wrap", wrap},
                                        {"holds", holds}};

// --- operators

Result compare(const Graph& g, std::string_view op, const Arg& a, const Arg& b) {
  auto x = dim_of(g, a), y = dim_of(g, b);
  if (x && y) {
    Cond cond = op == "<"    ? lt(*x, *y)
                : op == "<=" ? le(*x, *y)
                : op == ">"  ? gt(*x, *y)
                : op == ">=" ? ge(*x, *y)
                : op == "==" ? eq(*x, *y)
                             : ne(*x, *y);
    return truth(g.assumptions.prove(cond));
  }
  if (op == "==") return truth(same_argument(g, a, b));
  if (op == "!=") return truth(!same_argument(g, a, b));
  auto p = number_of(a), q = number_of(b);
  if (!p || !q) return std::nullopt;
  return truth(op == "<" ? *p < *q : op == "<=" ? *p <= *q : op == ">" ? *p > *q : *p >= *q);
}

Result arithmetic(const Graph& g, std::string_view op, const Arg& a, const Arg& b) {
  auto x = dim_of(g, a), y = dim_of(g, b);
  if (x && y && op != "/") {
    if ((op == "//" || op == "%") && y->is(0)) return std::nullopt;
    return Arg::of_dim(op == "+"    ? *x + *y
                       : op == "-"  ? *x - *y
                       : op == "*"  ? *x * *y
                       : op == "//" ? floor_div(*x, *y)
                                    : mod(*x, *y));
  }
  auto p = number_of(a), q = number_of(b);
  if (!p || !q) return std::nullopt;
  if (op == "+") return Arg::of_real(*p + *q);
  if (op == "-") return Arg::of_real(*p - *q);
  if (op == "*") return Arg::of_real(*p * *q);
  if (op == "/") return Arg::of_real(*p / *q);
  if (op == "//") return Arg::of_real(std::floor(*p / *q));
  return std::nullopt;
}

Result make_list(const Graph& g, const std::vector<Arg>& items) {
  auto all = [&](ArgKind kind) { return std::ranges::all_of(items, [&](const Arg& a) { return a.kind == kind; }); };
  Context& context = g.context();
  if (all(ArgKind::integer)) {
    DimVec dims;
    for (const Arg& a : items) dims.push_back(a.dim());
    return context.dims(dims);
  }
  if (all(ArgKind::value)) {
    SmallVec<ValueId, 8> values;
    for (const Arg& a : items) values.push_back(a.value());
    return context.values(values);
  }
  if (all(ArgKind::real)) {
    SmallVec<double, 8> reals;
    for (const Arg& a : items) reals.push_back(a.real());
    return context.reals(reals);
  }
  return context.args(items);
}

// `?f is trait`, `?f in [aten.mul, aten.div]`, `dtype(%x) in floats`, `$d in [0, 1]`.
Result membership(const Graph& g, const RuleSet& rules, const Expr& e, const Bindings& bound) {
  const Expr &item = e.operands[0], &set = e.operands[1];
  if (item.kind == Expr::op) {
    const OpDef& op = *bound.ops[item.slot];
    if (e.text == "is") {
      for (Trait t : all_traits())
        if (name(t) == set.text) return truth(op.has(t));
      return std::nullopt;
    }
    for (const Expr& one : set.operands)
      if (one.text == op.full_name || one.text == op.schema.space + "." + op.schema.packet) return truth(true);
    return truth(false);
  }
  auto value = evaluate(g, rules, item, bound);
  if (!value) return std::nullopt;
  if (set.kind == Expr::word) {
    auto dtypes = dtype_set(set.text);
    if (!dtypes || value->kind != ArgKind::dtype) return std::nullopt;
    return truth(dtypes->has(value->dtype()));
  }
  auto list = evaluate(g, rules, set, bound);
  if (!list) return std::nullopt;
  auto all = elements(*list);
  return truth(std::ranges::any_of(all, [&](const Arg& one) { return same_argument(g, *value, one); }));
}

}  // namespace

PatternFunction builtin_function(std::string_view name) {
  for (const NamedFunction& f : kFunctions)
    if (f.name == name) return f.function;
  return nullptr;
}

bool same_argument(const Graph& graph, const Arg& a, const Arg& b) {
  auto x = dim_of(graph, a), y = dim_of(graph, b);
  if (x && y) return *x == *y || graph.assumptions.prove(eq(*x, *y)) == Truth::yes;
  auto p = number_of(a), q = number_of(b);
  if (p && q) return std::bit_cast<uint64_t>(*p) == std::bit_cast<uint64_t>(*q);
  return a == b;
}

std::optional<Arg> evaluate(const Graph& graph, const RuleSet& rules, const Expr& e, const Bindings& bound) {
  switch (e.kind) {
    case Expr::literal: return e.number;
    case Expr::word: {
      auto d = parse_dtype(e.text);
      return d ? Result(Arg::of_dtype(*d)) : std::nullopt;
    }
    case Expr::value: return Arg::of_value(bound.values[e.slot]);
    case Expr::attr: return bound.attrs[e.slot];
    case Expr::op:
    case Expr::rest: return std::nullopt;
    case Expr::binary: {
      if (e.text == "is" || e.text == "in") return membership(graph, rules, e, bound);
      auto a = evaluate(graph, rules, e.operands[0], bound);
      if (!a) return std::nullopt;
      if (e.text == "not") return a->kind == ArgKind::boolean ? truth(!a->boolean()) : std::nullopt;
      auto b = evaluate(graph, rules, e.operands[1], bound);
      if (!b) return std::nullopt;
      bool comparison = e.text.find_first_of("=<>") != std::string::npos;
      return comparison ? compare(graph, e.text, *a, *b) : arithmetic(graph, e.text, *a, *b);
    }
    case Expr::call:
    case Expr::list: {
      std::vector<Arg> args;
      for (const Expr& o : e.operands) {
        auto a = evaluate(graph, rules, o, bound);
        if (!a) return std::nullopt;
        args.push_back(*a);
      }
      return e.kind == Expr::list ? make_list(graph, args) : rules.function(e.text)(graph, args);
    }
  }
  return std::nullopt;
}

}  // namespace lenz
