#include "compiler/ops/definition_values.h"

#include <algorithm>
#include <cmath>

namespace lenz {

bool is_number(const Arg& a) {
  return a.kind == ArgKind::integer || a.kind == ArgKind::real || a.kind == ArgKind::boolean;
}
double real_of(const Arg& number) {
  if (!is_number(number) || number.symbolic)
    throw Unsupported("a definition asks for a number that only the run knows");
  return number.kind == ArgKind::real ? number.d : static_cast<double>(number.i);
}

Infer DefinitionValues::rules() {
  const OpDef* row = graph_.ops().find(op_.full_name);  // whoever asks may know less of it
  return {graph_.shared_context(), graph_.ops(), row ? *row : op_, args_, graph_.types(), graph_.assumptions};
}

void DefinitionValues::wrong(std::string_view what) const {
  throw InternalError("the definition of " + op_.full_name + ": " + std::string(what));
}

void DefinitionValues::refuse(const std::string& why) const { throw UserError(op_.full_name + ": " + why); }

SmallVec<Arg, 4> DefinitionValues::insert(std::string_view op, std::span<const Arg> positional,
                                          std::span<const Keyword> keywords) {
  Resolved r = resolve(graph_, op, positional, keywords);
  NodeId id = graph_.insert(before_, *r.op, r.args, origin_);
  SmallVec<Arg, 4> results;
  const Node& node = graph_.node(id);
  for (uint16_t i = 0; i < node.result_count; ++i) {
    bool absent = graph_.type(node.result(i)).kind == TypeKind::none;
    results.push_back(absent ? Arg::none() : Arg::of_value(node.result(i)));
  }
  return results;
}

ValueId DefinitionValues::inserted(std::string_view op, std::span<const Arg> positional) {
  return insert(op, positional)[0].value();
}

const Type& DefinitionValues::tensor(const Arg& a) const {
  if (!a.is_value()) wrong("expected a tensor");
  return graph_.type(a.value());
}

Dtype DefinitionValues::dtype(const Arg& a) const {
  if (a.kind == ArgKind::dtype) return a.dtype();
  if (a.is_value()) {
    const Type& type = tensor(a);
    if (type.kind == TypeKind::sym_int) return Dtype::i64;
    if (type.kind == TypeKind::sym_float) return Dtype::f64;
    return type.kind == TypeKind::sym_bool ? Dtype::b8 : type.dtype;
  }
  if (a.kind == ArgKind::boolean) return Dtype::b8;
  if (a.kind == ArgKind::integer) return Dtype::i64;
  if (a.kind == ArgKind::real) return Dtype::f64;
  if (a.kind == ArgKind::complex) return Dtype::c128;
  wrong("expected a dtype");
}

// An integer that a value of the graph holds is its symbol.
Arg DefinitionValues::integer_of(const Arg& a) const {
  bool holds = a.is_value() && graph_.type(a.value()).kind == TypeKind::sym_int;
  return holds ? Arg::of_dim(graph_.type(a.value()).offset) : a;
}

Dim DefinitionValues::dim(const Arg& given) const {
  const Arg a = integer_of(given);
  if (a.kind == ArgKind::boolean) return Dim(a.i);
  if (a.kind != ArgKind::integer) wrong("expected an integer");
  return a.dim();
}

bool DefinitionValues::truth(const Arg& a) const {
  if (a.kind != ArgKind::boolean) wrong("expected a condition");
  return a.boolean();
}

bool DefinitionValues::same(Dim x, Dim y) {
  return x.is_constant() && y.is_constant() ? x.constant() == y.constant() : graph_.assumptions.decide(eq(x, y));
}

// Lists of sizes are the same where each size is, which symbols may leave open.
bool DefinitionValues::same(const Arg& a, const Arg& b) {
  if (a.kind != ArgKind::int_list || b.kind != ArgKind::int_list) return a == b;
  const auto x = a.dim_list(), y = b.dim_list();
  return std::ranges::equal(x, y, [&](Dim one, Dim other) { return same(one, other); });
}

bool DefinitionValues::compare(const Arg& left, std::string_view op, const Arg& right) {
  const Arg a = integer_of(left), b = integer_of(right);
  if (a.kind == ArgKind::integer && b.kind == ArgKind::integer) {
    Dim x = a.dim(), y = b.dim();
    Cond cond = op == "=="   ? eq(x, y)
                : op == "!=" ? ne(x, y)
                : op == "<"  ? lt(x, y)
                : op == "<=" ? le(x, y)
                : op == ">"  ? gt(x, y)
                             : ge(x, y);
    if (x.is_constant() && y.is_constant()) return *evaluate(cond, [](const SymNode*) { return std::nullopt; });
    return graph_.assumptions.decide(cond);
  }
  if (is_number(a) && is_number(b)) {
    double x = real_of(a), y = real_of(b);
    return op == "=="   ? x == y
           : op == "!=" ? x != y
           : op == "<"  ? x < y
           : op == "<=" ? x <= y
           : op == ">"  ? x > y
                        : x >= y;
  }
  if (op == "==" || op == "!=") return same(a, b) == (op == "==");
  if (a.is_value() || b.is_value()) throw Unsupported("a definition orders a number that only the run knows");
  wrong("these can't be ordered");
}

Arg DefinitionValues::arithmetic(char op, const Arg& left, const Arg& right) {
  const Arg a = integer_of(left), b = integer_of(right);
  if (a.kind == ArgKind::integer && b.kind == ArgKind::integer && op != '/') {
    Dim x = a.dim(), y = b.dim();
    switch (op) {
      case '+': return Arg::of_dim(x + y);
      case '-': return Arg::of_dim(x - y);
      case '*': return Arg::of_dim(x * y);
      case '%': return Arg::of_dim(mod(x, y));
      default: return Arg::of_dim(floor_div(x, y));
    }
  }
  if (a.symbolic || b.symbolic) {
    // A correction of 1.0 is an integer too.
    auto whole = [](const Arg& x) {
      bool is = x.kind == ArgKind::real && x.d == std::floor(x.d) && std::abs(x.d) < 0x1p53;
      return is ? Arg::of_int(static_cast<int64_t>(x.d)) : x;
    };
    Arg x = whole(a), y = whole(b);
    if (op != '/' && x.kind == ArgKind::integer && y.kind == ArgKind::integer) return arithmetic(op, x, y);
    wrong("arithmetic needs constant numbers");
  }
  if (a.is_value() || b.is_value()) throw Unsupported("arithmetic of a number that only the run knows");
  if (!is_number(a) || !is_number(b)) wrong("arithmetic needs numbers");
  double x = real_of(a), y = real_of(b);
  switch (op) {
    case '+': return Arg::of_real(x + y);
    case '-': return Arg::of_real(a.kind == ArgKind::integer && a.i == 0 ? -y : x - y);  // unary minus keeps -0.0
    case '*': return Arg::of_real(x * y);
    case '/': return Arg::of_real(x / y);
    case '%': return Arg::of_real(x - y * std::floor(x / y));
    default: return Arg::of_real(std::floor(x / y));
  }
}

Arg DefinitionValues::list_of(std::span<const Arg> items) {
  Context& c = graph_.context();
  bool values = std::ranges::any_of(items, [](const Arg& a) { return a.is_value(); });
  if (values) {
    SmallVec<ValueId, 8> ids;
    for (const Arg& a : items) ids.push_back(a.is_value() ? a.value() : kNone);
    return c.values(ids);
  }
  if (std::ranges::all_of(items, [](const Arg& a) { return a.kind == ArgKind::integer; })) {
    DimVec dims;
    for (const Arg& a : items) dims.push_back(a.dim());
    return c.dims(dims);
  }
  return c.args(items);
}

SmallVec<Arg, 8> DefinitionValues::items_of(const Arg& list) {
  SmallVec<Arg, 8> all = items(list);
  if (list.is_value()) {
    const size_t count = graph_.type(list.value()).elements().size();
    for (size_t i = 0; i < count; ++i) {
      const Arg args[] = {list, Arg::of_int(static_cast<int64_t>(i))};
      NodeId id = graph_.insert(before_, *graph_.ops().find("lenz.getitem"), args, origin_);
      all.push_back(Arg::of_value(graph_.node(id).result()));
    }
  }
  if (list.kind == ArgKind::integer) all.push_back(list);
  return all;
}

}  // namespace lenz
