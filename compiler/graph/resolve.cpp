// Overload resolution: which row takes these arguments.
#include <algorithm>

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
  LENZ_CHECK(false, "a default named " + text);
}
// The registry prints enumerators as numbers: ScalarType 4 is Long, MemoryFormat 0 is Contiguous.
Arg numbered_default(const Param& param, int64_t number) {
  if (param.type.kind == ParamKind::memory_format) return Arg::of_memory_format(static_cast<MemoryFormat>(number));
  constexpr Dtype kScalarTypes[] = {Dtype::u8,  Dtype::i8,  Dtype::i16, Dtype::i32,
                                    Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64};
  LENZ_CHECK(number >= 0 && number < 8, "a default dtype of number " + std::to_string(number));
  return Arg::of_dtype(kScalarTypes[number]);
}
}  // namespace

Arg default_arg(Context& context, const Param& param) {
  if (!param.fallback) {
    if (param.type.optional) return Arg::none();
    throw UserError("argument `" + param.name + "` is missing");
  }
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

namespace {
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
    case ParamKind::any: return true;
    default: return false;
  }
}

namespace {
// The full argument list if this overload takes the arguments; nothing if not (and `why` says why).
std::optional<SmallVec<Arg, 8>> match(Graph& graph, const OpDef& op, std::span<const Arg> positional,
                                      std::span<const Keyword> keywords, std::string& why) {
  const auto& params = op.schema.params;
  SmallVec<Arg, 8> full;
  size_t positions = 0;
  while (positions < params.size() && !params[positions].keyword_only) ++positions;
  if (positional.size() > positions) {
    why = "takes at most " + std::to_string(positions) + " positional arguments";
    return std::nullopt;
  }
  uint64_t used = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    Arg a;
    bool given = i < positional.size();
    if (given) a = positional[i];
    for (size_t k = 0; k < keywords.size(); ++k)
      if (keywords[k].name == params[i].name) {
        if (given) {
          why = "argument `" + params[i].name + "` is given twice";
          return std::nullopt;
        }
        given = true;
        a = keywords[k].arg;
        used |= uint64_t{1} << (k & 63);
      }
    if (!given && !params[i].fallback && !params[i].type.optional) {
      why = "argument `" + params[i].name + "` is missing";
      return std::nullopt;
    }
    if (!given) a = default_arg(graph.context(), params[i]);
    if (given && !fits(a, params[i].type, graph.types())) {
      why = "argument `" + params[i].name + "` has the wrong kind";
      return std::nullopt;
    }
    full.push_back(a);
  }
  for (size_t k = 0; k < keywords.size(); ++k)
    if (!(used >> (k & 63) & 1)) {
      why = "has no parameter `" + std::string(keywords[k].name) + "`";
      return std::nullopt;
    }
  return full;
}
}  // namespace

Resolved resolve(Graph& graph, std::string_view op_name, std::span<const Arg> positional,
                 std::span<const Keyword> keywords) {
  if (keywords.size() > 63) throw UserError("too many keyword arguments for " + std::string(op_name));
  std::string why;
  std::string reasons;
  if (const OpDef* op = graph.ops().find(op_name); op && !op->schema.overload.empty()) {
    if (auto full = match(graph, *op, positional, keywords, why)) return {op, *full};
    throw UserError("`" + std::string(op_name) + "` " + why, {}, "its schema is " + to_string(op->schema));
  }
  auto overloads = graph.ops().packet(op_name);
  if (overloads.empty()) throw UserError("there is no op `" + std::string(op_name) + "`");
  for (const OpDef* op : overloads) {
    if (auto full = match(graph, *op, positional, keywords, why)) return {op, *full};
    reasons += "\n    " + to_string(op->schema) + ": " + why;
  }
  throw UserError("no overload of `" + std::string(op_name) + "` takes these arguments", {}, "candidates:" + reasons);
}

}  // namespace lenz
