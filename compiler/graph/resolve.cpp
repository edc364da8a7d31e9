// Overload resolution: which row takes these arguments.
#include <algorithm>

#include "compiler/base/suggest.h"
#include "compiler/graph/graph.h"

namespace lenz {

namespace {
// Names that ATen's schemas use as defaults, by the parameter's kind.
Arg named_default(const Param& param, const std::string& text) {
  if (param.type.kind == ParamKind::memory_format)
    return Arg::of_memory_format(text == "preserve_format" ? MemoryFormat::preserve : MemoryFormat::contiguous);
  if (param.type.kind == ParamKind::integer || param.type.kind == ParamKind::sym_int) {
    if (text == "Mean") return Arg::of_int(1);  // at::Reduction
    if (text == "Sum") return Arg::of_int(2);
  }
  if (param.type.kind == ParamKind::dtype) {
    if (text == "long") return Arg::of_dtype(Dtype::i64);
    if (text == "float") return Arg::of_dtype(Dtype::f32);
  }
  if (param.type.kind == ParamKind::layout) return Arg::of_layout(Layout::strided);
  throw UserError("the schema has a default named " + text + ", which stands for no argument");
}
// The registry prints enumerators as numbers: ScalarType 4 is Long, MemoryFormat 0 is Contiguous.
Arg numbered_default(const Param& param, int64_t number) {
  if (param.type.kind == ParamKind::memory_format && number >= 0 && number < 4)
    return Arg::of_memory_format(static_cast<MemoryFormat>(number));
  constexpr Dtype kScalarTypes[] = {Dtype::u8,  Dtype::i8,  Dtype::i16, Dtype::i32,
                                    Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64};
  if (param.type.kind != ParamKind::dtype || number < 0 || number >= 8)
    throw UserError("the schema has the default " + std::to_string(number) + ", which stands for no argument");
  return Arg::of_dtype(kScalarTypes[number]);
}
}  // namespace

namespace {
Arg made_default(Context& context, const Param& param) {
  const Default& d = *param.fallback;
  switch (d.kind) {
    case Default::none: return Arg::none();
    case Default::boolean: return Arg::of_bool(d.i != 0);
    case Default::integer:
      if (param.type.kind == ParamKind::dtype || param.type.kind == ParamKind::memory_format)
        return numbered_default(param, d.i);
      if (!param.type.list) return Arg::of_int(d.i);
      return context.ints(std::vector<int64_t>(static_cast<size_t>(std::max(param.type.list_size, 1)), d.i));
    case Default::real: return Arg::of_real(d.d);
    case Default::string: return context.string(d.text);
    case Default::int_list: return context.ints(d.list);
    case Default::bool_list: {
      SmallVec<bool, 4> flags;
      for (int64_t v : d.list) flags.push_back(v != 0);
      return context.bools(flags);
    }
    case Default::symbol: return named_default(param, d.text);
  }
  return Arg::none();
}
}  // namespace

Arg default_arg(Context& context, const Param& param) {
  if (!param.fallback) {
    if (param.type.optional) return Arg::none();
    throw UserError("argument `" + param.name + "` is missing");
  }
  bool needs_memory = param.type.list || param.fallback->kind == Default::string;
  if (!needs_memory) return made_default(context, param);
  auto [at, fresh] = context.defaults_.try_emplace(&param);
  if (fresh) at->second = made_default(context, param);
  return at->second;
}

namespace {
bool all_of_kind(const Arg& list, ArgKind kind) {
  return std::ranges::all_of(list.arg_list(), [&](const Arg& e) { return e.kind == kind; });
}

bool is_number(ArgKind k) {
  return k == ArgKind::integer || k == ArgKind::real || k == ArgKind::boolean || k == ArgKind::complex;
}

bool fits_one(const Arg& a, ParamKind kind, std::span<const Type* const> types) {
  TypeKind value_kind = a.is_value() ? types[a.value()]->kind : TypeKind::none;
  switch (kind) {
    case ParamKind::tensor: return value_kind == TypeKind::tensor;
    case ParamKind::scalar:
      return is_number(a.kind) || value_kind == TypeKind::sym_int || value_kind == TypeKind::sym_float ||
             value_kind == TypeKind::sym_bool;
    case ParamKind::sym_int:
    case ParamKind::integer: return a.kind == ArgKind::integer || value_kind == TypeKind::sym_int;
    case ParamKind::real:
      return a.kind == ArgKind::real || a.kind == ArgKind::integer || value_kind == TypeKind::sym_float;
    case ParamKind::boolean: return a.kind == ArgKind::boolean || value_kind == TypeKind::sym_bool;
    case ParamKind::string: return a.kind == ArgKind::string;
    case ParamKind::dtype: return a.kind == ArgKind::dtype;
    case ParamKind::device: return a.kind == ArgKind::device;
    case ParamKind::layout: return a.kind == ArgKind::layout;
    case ParamKind::memory_format: return a.kind == ArgKind::memory_format;
    case ParamKind::generator: return a.kind == ArgKind::seed;
    case ParamKind::token: return value_kind == TypeKind::token;
    case ParamKind::graph: return a.kind == ArgKind::graph;
    case ParamKind::data: return a.kind == ArgKind::data;
    case ParamKind::any: return true;
  }
  return false;
}
}  // namespace

bool fits(const Arg& a, const ParamType& t, std::span<const Type* const> types) {
  if (a.is_none()) return t.optional || t.kind == ParamKind::any;
  if (!t.list) return fits_one(a, t.kind, types);
  // An empty list literal has no elements to tell its kind.
  bool empty = a.count == 0 && a.kind >= ArgKind::value_list && a.kind <= ArgKind::arg_list;
  switch (t.kind) {
    case ParamKind::tensor: {
      if (a.is_value()) return types[a.value()]->kind == TypeKind::list;
      if (empty) return true;
      if (a.kind != ArgKind::value_list) return false;
      return std::ranges::all_of(a.value_list(), [&](ValueId v) {
        return v == kNone ? t.element_optional : types[v]->kind == TypeKind::tensor;
      });
    }
    case ParamKind::integer:
    case ParamKind::sym_int:
      if (empty || a.kind == ArgKind::int_list) return true;
      if (a.kind == ArgKind::integer) return t.list_size > 0;  // one integer for all
      if (a.kind == ArgKind::arg_list)
        return std::ranges::all_of(a.arg_list(), [&](const Arg& e) { return fits_one(e, ParamKind::sym_int, types); });
      return false;
    case ParamKind::real: return empty || a.kind == ArgKind::real_list || a.kind == ArgKind::int_list;
    case ParamKind::boolean: return empty || a.kind == ArgKind::bool_list;
    case ParamKind::scalar:
      return empty || a.kind == ArgKind::int_list || a.kind == ArgKind::real_list || a.kind == ArgKind::bool_list ||
             (a.kind == ArgKind::arg_list &&
              std::ranges::all_of(a.arg_list(), [&](const Arg& e) { return fits_one(e, ParamKind::scalar, types); }));
    case ParamKind::string: return empty || (a.kind == ArgKind::arg_list && all_of_kind(a, ArgKind::string));
    case ParamKind::any: return true;
    default: return false;
  }
}

namespace {
Arg as_values(Context& context, const Arg& list) {
  SmallVec<ValueId, 8> items;
  for (const Arg& e : list.arg_list()) items.push_back(e.is_none() ? kNone : e.value());
  return context.values(items);
}
Arg as_dims(Context& context, const Arg& list) {
  DimVec items;
  for (const Arg& e : list.arg_list()) items.push_back(e.dim());
  return context.dims(items);
}
Arg as_bools(Context& context, const Arg& list) {
  SmallVec<bool, 8> items;
  for (const Arg& e : list.arg_list()) items.push_back(e.boolean());
  return context.bools(items);
}
std::optional<Arg> as_reals(Context& context, const Arg& list) {
  SmallVec<double, 8> items;
  for (const Arg& e : list.arg_list()) {
    if (e.kind == ArgKind::real) {
      items.push_back(e.real());
    } else if (e.kind == ArgKind::integer && !e.symbolic) {
      items.push_back(static_cast<double>(e.i));
    } else {
      return std::nullopt;
    }
  }
  return context.reals(items);
}

// A list for a parameter that takes several kinds: one kind of element makes the list of that kind.
Arg as_uniform(Context& context, const Arg& list) {
  if (all_of_kind(list, ArgKind::integer)) return as_dims(context, list);
  if (all_of_kind(list, ArgKind::real)) return *as_reals(context, list);
  if (all_of_kind(list, ArgKind::boolean)) return as_bools(context, list);
  return context.args(list.arg_list());
}

bool all_values_or_none(const Arg& list) {
  return std::ranges::all_of(list.arg_list(), [](const Arg& e) { return e.is_value() || e.is_none(); });
}
}  // namespace

std::optional<Arg> shaped_for(Context& context, const Arg& a, const ParamType& t) {
  if (a.kind != ArgKind::arg_list) {
    if (t.kind == ParamKind::real && !t.list && a.kind == ArgKind::integer && !a.symbolic)
      return Arg::of_real(static_cast<double>(a.i));
    return a;
  }
  if (!t.list && t.kind != ParamKind::any) return std::nullopt;
  switch (t.kind) {
    case ParamKind::tensor:
      if (!all_values_or_none(a)) return std::nullopt;
      return as_values(context, a);
    case ParamKind::integer:
    case ParamKind::sym_int: return all_of_kind(a, ArgKind::integer) ? as_dims(context, a) : context.args(a.arg_list());
    case ParamKind::real: return as_reals(context, a);
    case ParamKind::boolean:
      if (!all_of_kind(a, ArgKind::boolean)) return std::nullopt;
      return as_bools(context, a);
    case ParamKind::any:
      if (all_values_or_none(a)) return as_values(context, a);
      return as_uniform(context, a);
    default: return as_uniform(context, a);
  }
}

namespace {
bool no_match(std::string* why, const std::string& reason) {
  if (why) *why = reason;
  return false;
}

std::string no_parameter(const Schema& schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Param& p : schema.params) names.push_back(p.name);
  std::string_view nearest = nearest_name(name, names);
  return "has no parameter `" + std::string(name) + "`" +
         (nearest.empty() ? "" : "; did you mean `" + std::string(nearest) + "`?");
}

// Who gives no tensor to write to does not mean the out= variants.
bool out_of_question(const OpDef& op, std::span<const OpDef* const> all, std::span<const Keyword> keywords) {
  if (op.variant != VariantKind::out) return false;
  for (const Keyword& k : keywords)
    if (int at = op.schema.find(k.name); at >= 0 && op.schema.params[static_cast<size_t>(at)].is_out) return false;
  return std::ranges::any_of(all, [](const OpDef* other) { return other->variant != VariantKind::out; });
}
}  // namespace

namespace {
std::string wanted(const ParamType& type) {
  auto one = [&]() -> std::string_view {
    switch (type.kind) {
      case ParamKind::tensor: return "a tensor";
      case ParamKind::scalar: return "a number";
      case ParamKind::sym_int:
      case ParamKind::integer: return "an integer";
      case ParamKind::real: return "a real number";
      case ParamKind::boolean: return "true or false";
      case ParamKind::string: return "a string";
      case ParamKind::dtype: return "a dtype";
      case ParamKind::device: return "a device";
      case ParamKind::layout: return "a layout";
      case ParamKind::memory_format: return "a memory format";
      case ParamKind::generator: return "a generator: seed(1)";
      case ParamKind::token: return "a token";
      case ParamKind::graph: return "a sub-graph";
      case ParamKind::data: return "elements of a constant";
      case ParamKind::any: return "a value";
    }
    return "a value";
  };
  std::string text(one());
  if (type.list)
    text = "a list" + (type.list_size > 0 ? " of " + std::to_string(type.list_size) : std::string()) + ", each " + text;
  return text + (type.optional ? ", or none" : "");
}

std::string given_as(const Graph& graph, const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::none: return "none";
    case ArgKind::value: return to_string(graph.type(arg.value()));
    case ArgKind::boolean: return arg.boolean() ? "true" : "false";
    case ArgKind::integer: return to_string(arg.dim());
    case ArgKind::real: return "a real number";
    case ArgKind::complex: return "a complex number";
    case ArgKind::string: return "a string";
    case ArgKind::dtype: return std::string(name(arg.dtype()));
    case ArgKind::device: return "a device";
    case ArgKind::layout: return "a layout";
    case ArgKind::memory_format: return "a memory format";
    case ArgKind::seed: return "a generator";
    case ArgKind::value_list: return "a list of values";
    case ArgKind::int_list: return "a list of integers";
    case ArgKind::real_list: return "a list of reals";
    case ArgKind::bool_list: return "a list of bools";
    case ArgKind::arg_list: return "a mixed list";
    case ArgKind::graph: return "a sub-graph";
    case ArgKind::data: return "elements of a constant";
  }
  return "something else";
}

// What a parameter wants and what it was given; of an unknown word the dtype that may be meant.
std::string wrong_kind(const Graph& graph, const Param& param, const Arg& given) {
  std::string text = "argument `" + param.name + "` has the wrong kind: it is " + given_as(graph, given) + ", not " +
                     wanted(param.type);
  if (param.type.kind != ParamKind::dtype || given.kind != ArgKind::integer) return text;
  std::vector<std::string_view> names;
  for (int d = 0; d < kDtypeCount; ++d) names.push_back(name(static_cast<Dtype>(d)));
  std::string word = to_string(given.dim());
  std::string_view nearest = nearest_name(word, names);
  return nearest.empty() ? text : text + " (did you mean " + std::string(nearest) + "?)";
}
}  // namespace

namespace {
// A value that is none says no more than the literal does; where a parameter may be none, the literal stands for it.
// One integer stands for a list of as many as the schema says, as a value too.
Arg said_of(const Graph& graph, const Arg& given, const ParamType& type) {
  const bool integers = type.kind == ParamKind::integer || type.kind == ParamKind::sym_int;
  if (integers && type.list && type.list_size > 0) {
    const auto times = static_cast<size_t>(type.list_size);
    if (given.kind == ArgKind::integer) return graph.context().dims(DimVec(times, given.dim()));
    if (given.is_value() && graph.type(given.value()).kind == TypeKind::sym_int)
      return graph.context().args(SmallVec<Arg, 8>(times, given));
  }
  auto is_none = [&](const Arg& a) { return a.is_value() && graph.type(a.value()).kind == TypeKind::none; };
  if (is_none(given) && type.optional) return Arg::none();
  if (given.kind != ArgKind::arg_list || !type.element_optional) return given;
  SmallVec<Arg, 8> elements;
  for (const Arg& e : given.arg_list()) elements.push_back(is_none(e) ? Arg::none() : e);
  return graph.context().args(elements);
}
}  // namespace

bool match_call(const Graph& graph, const OpDef& op, std::span<const Arg> positional, std::span<const Keyword> keywords,
                CallArgs& full, std::string* why) {
  const auto& params = op.schema.params;
  size_t positions = 0;
  while (positions < params.size() && !params[positions].keyword_only) ++positions;
  if (positional.size() > positions)
    return no_match(why, why ? "takes at most " + std::to_string(positions) + " positional arguments" : "");
  full.clear();
  size_t used = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    const Arg* given = i < positional.size() ? &positional[i] : nullptr;
    for (const Keyword& k : keywords)
      if (k.name == param.name) {
        if (given) return no_match(why, why ? "argument `" + param.name + "` is given twice" : "");
        given = &k.arg;
        ++used;
      }
    if (!given) {
      if (!param.fallback && !param.type.optional)
        return no_match(why, why ? "argument `" + param.name + "` is missing" : "");
      full.push_back(default_arg(graph.context(), param));
      continue;
    }
    const Arg said = said_of(graph, *given, param.type);
    given = &said;
    if (given->kind != ArgKind::arg_list && fits(*given, param.type, graph.types())) {
      bool as_real = param.type.kind == ParamKind::real && given->kind == ArgKind::integer;
      full.push_back(as_real ? *shaped_for(graph.context(), *given, param.type) : *given);
      continue;
    }
    auto shaped = shaped_for(graph.context(), *given, param.type);
    if (!shaped || !fits(*shaped, param.type, graph.types()))
      return no_match(why, why ? wrong_kind(graph, param, *given) : "");
    full.push_back(*shaped);
  }
  if (used == keywords.size()) return true;
  for (const Keyword& k : keywords)
    if (op.schema.find(k.name) < 0) return no_match(why, why ? no_parameter(op.schema, k.name) : "");
  return no_match(why, "an argument is given twice");
}

std::vector<const OpDef*> candidates(const Context& context, const OpTable& ops, std::string_view name) {
  constexpr std::string_view kUnnamed = ".default";
  std::vector<const OpDef*> all;
  for (const OpTable* table : {&ops, &context.externs}) {
    const OpDef* exact = table->find(name);
    if (exact && !exact->schema.overload.empty()) return {exact};
    if (name.ends_with(kUnnamed))
      if (const OpDef* unnamed = table->find(name.substr(0, name.size() - kUnnamed.size()));
          unnamed && unnamed->schema.overload.empty())
        return {unnamed};
    // A file may declare an overload of a packet that has rows.
    auto overloads = table->packet(name);
    all.insert(all.end(), overloads.begin(), overloads.end());
  }
  return all;
}

Resolved resolve(Graph& graph, std::string_view op_name, std::span<const Arg> positional,
                 std::span<const Keyword> keywords) {
  return resolve(graph, op_name, candidates(graph.context(), graph.ops(), op_name), positional, keywords);
}

Resolved resolve(Graph& graph, std::string_view op_name, std::span<const OpDef* const> candidates,
                 std::span<const Arg> positional, std::span<const Keyword> keywords) {
  Resolved resolved{nullptr, {}};
  for (const OpDef* op : candidates)
    if (match_call(graph, *op, positional, keywords, resolved.args)) {
      resolved.op = op;
      return resolved;
    }
  if (candidates.empty()) throw UserError("there is no op `" + std::string(op_name) + "`");
  std::string why, reasons;
  for (const OpDef* op : candidates) {
    if (out_of_question(*op, candidates, keywords)) continue;
    match_call(graph, *op, positional, keywords, resolved.args, &why);
    if (candidates.size() == 1)
      throw UserError("`" + std::string(op_name) + "` " + why, {}, "its schema is " + to_string(op->schema));
    reasons += "\n    " + to_string(op->schema) + ": " + why;
  }
  throw UserError("no overload of `" + std::string(op_name) + "` takes these arguments", {}, "candidates:" + reasons);
}

}  // namespace lenz
