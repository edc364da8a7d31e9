// Evaluation, substitution and visits. An expression is at most kMaxSize as a tree, so plain recursion is bounded.
#include "compiler/base/small_vec.h"
#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

using Value = std::optional<int64_t>;

Value checked(Wide v) { return fits(v) ? Value(static_cast<int64_t>(v)) : std::nullopt; }

Value evaluate_sum(const SymNode* node, const SymValues& values) {
  Wide total = node->constant;
  for (const SymTerm& t : node->terms()) {
    Value v = evaluate(Dim(t.monomial), values);
    if (!v || __builtin_add_overflow(total, Wide{*v} * t.coefficient, &total)) return std::nullopt;
  }
  return checked(total);
}

Value evaluate_product(const SymNode* node, const SymValues& values) {
  Value out = 1;
  for (const SymFactor& f : node->factors()) {
    Value v = evaluate(Dim(f.atom), values);
    if (!v) return std::nullopt;
    for (int64_t i = 0; i < f.power && out; ++i) out = checked(Wide{*out} * *v);
    if (!out) return std::nullopt;
  }
  return out;
}

Value evaluate_extreme(const SymNode* node, const SymValues& values) {
  Value out;
  for (Dim a : node->args()) {
    Value v = evaluate(a, values);
    if (!v) return std::nullopt;
    if (!out || (node->kind == SymKind::min ? *v < *out : *v > *out)) out = v;
  }
  return out;
}

}  // namespace

std::optional<int64_t> evaluate(Dim dim, const SymValues& values) {
  if (dim.is_constant()) return dim.constant();
  const SymNode* node = dim.node();
  switch (node->kind) {
    case SymKind::symbol: return values(node);
    case SymKind::sum: return evaluate_sum(node, values);
    case SymKind::product: return evaluate_product(node, values);
    case SymKind::floor_div:
    case SymKind::mod: {
      Value a = evaluate(node->args()[0], values), b = evaluate(node->args()[1], values);
      if (!a || !b || *b == 0) return std::nullopt;
      return checked(node->kind == SymKind::mod ? floor_rest(*a, *b) : floor_quotient(*a, *b));
    }
    case SymKind::min:
    case SymKind::max: return evaluate_extreme(node, values);
    case SymKind::call: {
      Value a = evaluate(node->args()[0], values);
      return a ? apply_call(node->fn, *a, node->factor()) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<bool> evaluate(const Cond& cond, const SymValues& values) {
  Value a = evaluate(cond.lhs, values), b = evaluate(cond.rhs, values);
  if (!a || !b) return std::nullopt;
  switch (cond.rel) {
    case Rel::eq: return *a == *b;
    case Rel::ne: return *a != *b;
    case Rel::lt: return *a < *b;
    case Rel::le: return *a <= *b;
  }
  return std::nullopt;
}

Cond negate(const Cond& cond) {
  switch (cond.rel) {
    case Rel::eq: return ne(cond.lhs, cond.rhs);
    case Rel::ne: return eq(cond.lhs, cond.rhs);
    case Rel::lt: return le(cond.rhs, cond.lhs);
    case Rel::le: return lt(cond.rhs, cond.lhs);
  }
  return cond;
}

Dim rebuild(Dim dim, const std::function<Dim(Dim)>& child) {
  const SymNode* node = dim.node();
  switch (node->kind) {
    case SymKind::symbol: return dim;
    case SymKind::sum: {
      SmallVec<Dim, 12> made;
      bool same = true;
      for (const SymTerm& t : node->terms()) {
        made.push_back(child(Dim(t.monomial)));
        same = same && made.back() == Dim(t.monomial);
      }
      if (same) return dim;
      SmallVec<Dim, 12> parts{Dim(node->constant)};
      for (size_t i = 0; i < made.size(); ++i) parts.push_back(made[i] * Dim(node->terms()[i].coefficient));
      return sum(parts);
    }
    case SymKind::product: {
      SmallVec<Dim, 8> made;
      bool same = true;  // a sum among them may be multiplied out
      for (const SymFactor& f : node->factors()) {
        made.push_back(child(Dim(f.atom)));
        same = same && made.back() == Dim(f.atom) && f.atom->kind != SymKind::sum;
      }
      if (same) return dim;
      Dim out = 1;
      for (size_t i = 0; i < made.size(); ++i)
        for (int64_t k = 0; k < node->factors()[i].power; ++k) out *= made[i];
      return out;
    }
    case SymKind::floor_div: return floor_div(child(node->args()[0]), child(node->args()[1]));
    case SymKind::mod: return mod(child(node->args()[0]), child(node->args()[1]));
    case SymKind::min:
    case SymKind::max: {
      std::vector<Dim> args;
      for (Dim a : node->args()) args.push_back(child(a));
      return node->kind == SymKind::min ? min(args) : max(args);
    }
    case SymKind::call: return call(node->fn, child(node->args()[0]), node->factor());
  }
  return dim;
}

namespace {

// The pool of `dim` may be another one: a symbol without a replacement moves by name.
Dim substitute_in(Dim dim, SymPool& pool, const std::function<std::optional<Dim>(const SymNode*)>& with) {
  if (dim.is_constant()) return dim;
  if (dim.node()->kind == SymKind::symbol) {
    if (std::optional<Dim> found = with(dim.node())) return *found;
    return dim.node()->pool == &pool.impl() ? dim : pool.symbol(dim.node()->name());
  }
  return rebuild(dim, [&](Dim d) { return substitute_in(d, pool, with); });
}

bool seen_in(SmallVec<const SymNode*, 8>& seen, const SymNode* node) {
  for (const SymNode* s : seen)
    if (s == node) return true;
  seen.push_back(node);
  return false;
}

void visit_symbols(Dim dim, SmallVec<const SymNode*, 8>& seen, const std::function<void(const SymNode*)>& visit) {
  if (dim.is_constant()) return;
  const SymNode* node = dim.node();
  switch (node->kind) {
    case SymKind::symbol:
      if (!seen_in(seen, node)) visit(node);
      return;
    case SymKind::sum:
      for (const SymTerm& t : node->terms()) visit_symbols(Dim(t.monomial), seen, visit);
      return;
    case SymKind::product:
      for (const SymFactor& f : node->factors()) visit_symbols(Dim(f.atom), seen, visit);
      return;
    case SymKind::floor_div:
    case SymKind::mod:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call:
      for (Dim a : node->args()) visit_symbols(a, seen, visit);
      return;
  }
}

}  // namespace

Dim substitute(Dim dim, SymPool& pool, const std::function<std::optional<Dim>(const SymNode*)>& with) {
  return substitute_in(dim, pool, with);
}

void for_each_symbol(Dim dim, const std::function<void(const SymNode*)>& visit) {
  if (dim.is_constant()) return;
  if (dim.node()->kind == SymKind::symbol) return visit(dim.node());
  SmallVec<const SymNode*, 8> seen;
  visit_symbols(dim, seen, visit);
}

}  // namespace lenz
