// Simplification under facts. Rules (k > 0 constant; T: a part that k divides; R: the rest):
//   s = E, if solved                          e = n, if its range is one number
//   e = E and e*m = E*m, for an atom or product e that is known to equal E
//   (T + R) // k = T//k + n,  if n <= R/k < n+1           a // b = 0, if 0 <= a < b
//   (X + c) // k = X//k + n,  if X + c is known mod k, for the n that makes it exact
//   (a // b) // c = a // (b*c), if c > 0
//   (T + R) % k = R % k        a % k = r, if a = r (mod k)   a % b = a, if 0 <= a < b
//   k*(T // k)*m = T*m         c*(a % b) + c*b*(a // b) = c*a
//   min(a, b) = a, if b - a >= 0
// A rule is taken only if the result is smaller, or as large and earlier in the order: that is why rounds end.
#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {

constexpr int kMaxRounds = 32;

bool better(Dim candidate, Dim than) {
  size_t a = size_of(candidate), b = size_of(than);
  return a < b || (a == b && compare(candidate, than) < 0);
}

bool is_kind(Dim dim, SymKind kind) { return !dim.is_constant() && dim.node()->kind == kind; }

}  // namespace

const Facts::Known* FactsReader::known(const SymNode* symbol) const {
  const Facts::Known* k = facts_.known_.find(symbol->id);
  LENZ_CHECK(k == nullptr || k->symbol == symbol, "facts and dims are of two pools");
  return k;
}

Range FactsReader::symbol_range(const SymNode* symbol) const {
  const Facts::Known* k = known(symbol);
  if (k == nullptr) return {0, std::nullopt};
  if (!k->solved) return k->range;
  Range r = range(*k->solved);
  if (k->range.low && (!r.low || *r.low < *k->range.low)) r.low = k->range.low;
  if (k->range.high && (!r.high || *r.high > *k->range.high)) r.high = k->range.high;
  return r;
}

// floor((T + R)/k), where k divides T and R stays between two neighbouring multiples of k.
Dim FactsReader::local_floor_div(Dim a, Dim b) const {
  Dim old = floor_div(a, b);
  if (!b.is_constant()) {
    // A product that is multiplied out may not be seen to be positive where its factors are.
    if (is_kind(a, SymKind::floor_div) && nonnegative(b - 1) &&
        (!nonnegative(a.node()->args()[1] - 1) || nonnegative(a.node()->args()[1] * b - 1))) {
      Dim merged = floor_div(a.node()->args()[0], a.node()->args()[1] * b);
      if (better(merged, old)) return merged;
    }
    return nonnegative(a) && nonnegative(b - a - 1) ? Dim(0) : old;
  }
  int64_t k = b.constant();
  if (k <= 0 || a.is_constant()) return old;
  Congruence c = congruence(a);
  if (c.modulus != 0 && c.modulus % k == 0) {  // constants within the same step of k all give the same
    SumView view(a);
    int64_t rest = static_cast<int64_t>(floor_rest(c.residue, k));
    Wide lowest = Wide{view.constant()} - rest;
    Wide exact = -floor_quotient(-lowest, k) * k;
    Dim top = a - view.constant();
    if (fits(exact)) {
      Dim candidate = floor_div(top, k) + Dim(static_cast<int64_t>(exact / k));
      if (better(candidate, old)) return candidate;
    }
  }
  Dim divided = 0, rest = 0;
  {
    SumView view(a);
    rest = view.constant();
    for (const SymTerm& t : view.terms()) {
      Congruence term = congruence(monomial_dim(t));
      bool exact = term.residue == 0 && term.modulus % k == 0;
      (exact ? divided : rest) += monomial_dim(t);
    }
  }
  if (divided.is(0)) return old;
  Range r = range(rest);
  Dim quotient = floor_div(rest, k);
  if (r.low && r.high && floor_quotient(*r.low, k) == floor_quotient(*r.high, k))
    quotient = static_cast<int64_t>(floor_quotient(*r.low, k));
  Dim candidate = floor_div(divided, k) + quotient;
  return better(candidate, old) ? candidate : old;
}

Dim FactsReader::local_mod(Dim a, Dim b) const {
  Dim old = mod(a, b);
  if (!b.is_constant()) {
    bool inside = nonnegative(a) && nonnegative(b - a - 1);
    return inside && better(a, old) ? a : old;
  }
  int64_t k = b.constant();
  if (k <= 0 || a.is_constant()) return old;
  Congruence c = congruence(a);
  if (c.modulus % k == 0) return static_cast<int64_t>(floor_rest(c.residue, k));
  Dim rest = 0;
  {
    SumView view(a);
    rest = view.constant();
    for (const SymTerm& t : view.terms()) {
      Congruence term = congruence(monomial_dim(t));
      if (term.modulus % k == 0) {
        rest += term.residue;
      } else {
        rest += monomial_dim(t);
      }
    }
  }
  Range r = range(rest);
  Dim candidate = mod(rest, k);
  if (r.low && r.high && floor_quotient(*r.low, k) == floor_quotient(*r.high, k)) {
    Wide shift = floor_quotient(*r.low, k) * k;
    if (fits(shift)) candidate = rest - Dim(static_cast<int64_t>(shift));
  }
  return better(candidate, old) ? candidate : old;
}

Dim FactsReader::local_extreme(Dim dim) const {
  std::vector<Dim> args(dim.node()->args().begin(), dim.node()->args().end());
  bool is_min = dim.node()->kind == SymKind::min;
  for (size_t i = 0; i < args.size(); ++i)
    for (size_t j = 0; j < args.size(); ++j)
      if (i != j && nonnegative(is_min ? args[j] - args[i] : args[i] - args[j])) {
        args.erase(args.begin() + static_cast<ptrdiff_t>(j));
        if (j < i) --i;
        --j;
      }
  return is_min ? min(args) : max(args);
}

Dim FactsReader::local_sum(Dim dim) const {
  SumView sum(dim);  // may refer into itself: it has to outlive the loop
  for (const SymTerm& t : sum.terms()) {
    if (t.monomial->kind == SymKind::mod) {
      Dim a = t.monomial->args()[0], b = t.monomial->args()[1];
      Dim candidate = dim + (a - Dim(t.monomial) - b * floor_div(a, b)) * Dim(t.coefficient);
      if (better(candidate, dim)) return candidate;
    }
    ProductView view(t.monomial);
    for (const SymFactor& f : view.factors()) {
      if (f.atom->kind != SymKind::floor_div || !f.atom->args()[1].is_constant()) continue;
      Dim top = f.atom->args()[0];
      int64_t k = f.atom->args()[1].constant();
      Congruence c = congruence(top);
      if (t.coefficient % k != 0 || c.residue != 0 || c.modulus % k != 0) continue;
      Dim others = divide_monomial(t.monomial, f.atom);
      Dim candidate = dim - monomial_dim(t) + others * top * Dim(t.coefficient / k);
      if (better(candidate, dim)) return candidate;
    }
  }
  return dim;
}

// Rules at the top of a dim whose parts are simplified.
Dim FactsReader::local(Dim dim) const {
  if (dim.is_constant()) return dim;
  const SymNode* node = dim.node();
  Range r = range(dim);
  if (r.low && r.low == r.high) return *r.low;
  Dim rewritten = dim;
  const bool found = facts_.rewrites_.any_of(node->symbols, [&](const Facts::Rewrite& r) {
    if (r.from == dim) {
      rewritten = r.to;
      return true;
    }
    if (node->kind != SymKind::product || r.from.node()->size >= node->size) return false;
    const Dim others = divide_monomial(node, r.from.node());
    if (others.is(0)) return false;
    rewritten = others * r.to;
    return better(rewritten, dim);
  });
  if (found) return rewritten;
  switch (node->kind) {
    case SymKind::floor_div: return local_floor_div(node->args()[0], node->args()[1]);
    case SymKind::mod: return local_mod(node->args()[0], node->args()[1]);
    case SymKind::min:
    case SymKind::max: return local_extreme(dim);
    case SymKind::sum:
    case SymKind::product: return local_sum(dim);
    case SymKind::symbol:
    case SymKind::call: return dim;
  }
  return dim;
}

Dim FactsReader::pass(Dim dim, bool solve) const {
  if (dim.is_constant()) return dim;
  if (dim.node()->kind == SymKind::symbol) {
    const Facts::Known* k = known(dim.node());
    if (solve && k != nullptr && k->solved) return *k->solved;
    return local(dim);
  }
  Dim rebuilt = rebuild(dim, [&](Dim d) { return pass(d, solve); });
  if (!solve && size_of(rebuilt) > size_of(dim)) rebuilt = dim;
  return local(rebuilt);
}

Dim FactsReader::fixpoint(Dim dim, bool solve) const {
  for (int round = 0; round < kMaxRounds; ++round) {
    Dim next = pass(dim, solve);
    if (next == dim) return dim;
    dim = next;
  }
  return dim;
}

Dim FactsReader::normalize(Dim dim) const {
  try {
    return fixpoint(dim, true);
  } catch (const UserError&) {
    return dim;  // too large or overflowing with the replacements: keep it as it is
  }
}

Dim FactsReader::simplify_once(Dim dim) const {
  try {
    Dim solved = fixpoint(dim, true);
    if (size_of(solved) <= size_of(dim)) return solved;
    Dim plain = fixpoint(dim, false);
    return size_of(plain) <= size_of(dim) ? plain : dim;
  } catch (const UserError&) {
    return dim;
  }
}

// Without replacements a dim may become one that gets smaller with them: until neither does anything.
Dim FactsReader::simplify(Dim dim) const {
  for (int round = 0; round < kMaxRounds && !dim.is_constant(); ++round) {
    Dim next = simplify_once(dim);
    if (next == dim) break;
    dim = next;
  }
  return dim;
}

Dim Facts::simplify(Dim dim) const { return FactsReader(*this).simplify(dim); }

}  // namespace lenz
