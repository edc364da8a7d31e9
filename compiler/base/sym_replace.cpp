// Equations as replacements: a symbol is solved and eliminated, an atom or product becomes the smaller one that it
// equals. What was learnt before is put in terms of what is left, so that it does not matter which fact came first.
#include <algorithm>

#include "compiler/base/sym_facts.h"

namespace lenz {

Dim replace_symbol(Dim dim, const SymNode* symbol, Dim by) {
  if (dim.is_constant()) return dim;
  if (dim.node()->kind == SymKind::symbol) return dim.node() == symbol ? by : dim;
  return rebuild(dim, [&](Dim part) { return replace_symbol(part, symbol, by); });
}

namespace {
// Whether a rewrite of the monomial, which is no symbol, would change the dim.
bool contains(Dim dim, const SymNode* monomial) {
  if (dim.is_constant() || size_of(dim) < monomial->size) return false;
  const SymNode* node = dim.node();
  if (!node->symbols.covers(monomial->symbols)) return false;
  auto in_atom = [&](Dim part) { return contains(part, monomial); };
  switch (node->kind) {
    case SymKind::symbol: return false;
    case SymKind::sum:
      return std::ranges::any_of(node->terms(), [&](const SymTerm& t) { return contains(Dim(t.monomial), monomial); });
    case SymKind::product:
      return !divide_monomial(node, monomial).is(0) ||
             std::ranges::any_of(node->factors(), [&](const SymFactor& f) { return in_atom(Dim(f.atom)); });
    case SymKind::floor_div:
    case SymKind::mod:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: return node == monomial || std::ranges::any_of(node->args(), in_atom);
  }
  return false;
}
}  // namespace

// The lists as they are, before something goes out of them.
void FactsLearner::save() {
  if (!saved_) saved_ = Saved{facts_.bounds_, facts_.nonzero_, facts_.rewrites_};
}

// Takes rewrites out and in once more: while they stood, by themselves they would say nothing. They stay where the
// work has become too much: of dims that nothing simplifies, as those of a division by what turned out to be 0, two may
// take each other out for ever.
void FactsLearner::relearn_rewrites(const SymbolMask& symbols, const std::function<bool(Dim, Dim)>& which) {
  if (budget_ <= 0) return;
  auto chosen = [&](const Facts::Rewrite& r) { return r.symbols.meets(symbols) && which(r.from, r.to); };
  if (!facts_.rewrites_.any_of(symbols, chosen)) return;
  save();
  facts_.rewrites_.erase_if([&](const Facts::Rewrite& r) {
    if (!chosen(r)) return false;
    pending_.push_back({Pending::Kind::zero, r.from - r.to, {}});
    return true;
  });
}

// The solved symbols of whose values that is true, in order of their ids.
std::vector<const SymNode*> FactsLearner::solved_where(const std::function<bool(Dim)>& is) const {
  std::vector<const SymNode*> out;
  for (const auto run : facts_.solved_.runs())
    for (uint32_t id : run)
      if (const Facts::Known& k = *facts_.known_.find(id); is(*k.solved)) out.push_back(k.symbol);
  std::ranges::sort(out, {}, &SymNode::id);
  return out;
}

// Eliminates a symbol everywhere: what was known of it now holds for what replaces it.
void FactsLearner::replace(const SymNode* symbol, Dim by) {
  Facts::Known old = known(symbol);
  known(symbol).solved = by;
  facts_.solved_.push_back(symbol->id);
  changed_.add(symbol->symbols);
  if (old.range.low) keep_difference(by, *old.range.low);
  if (old.range.high) keep_difference(*old.range.high, by);
  if (old.congruence.modulus > 1) pending_.push_back({Pending::Kind::congruent, by, old.congruence});
  if (!old.in_conditions) return;  // nothing else speaks of it
  for (const SymNode* other : solved_where([&](Dim value) { return mentions(value, symbol); })) {
    if (other == symbol) continue;
    Dim value = FactsReader(facts_).normalize(replace_symbol(*facts_.known_.find(other->id)->solved, symbol, by));
    known(other).solved = value;
  }
  save();
  auto move_out = [&](Pending::Kind kind, const Facts::Bound& b) {
    if (!b.symbols.meets(symbol->symbols) || !mentions(b.dim, symbol)) return false;
    pending_.push_back({kind, b.dim, {}});
    return true;
  };
  relearn_rewrites(symbol->symbols,
                   [&](Dim atom, Dim value) { return mentions(atom, symbol) || mentions(value, symbol); });
  facts_.bounds_.erase_if([&](const Facts::Bound& b) { return move_out(Pending::Kind::nonnegative, b); });
  facts_.nonzero_.erase_if([&](const Facts::Bound& b) { return move_out(Pending::Kind::nonzero, b); });
}

// Finds a symbol that the equation dim = 0 gives as an expression of others, the youngest one, and eliminates it.
bool FactsLearner::solve(Dim dim) {
  SymTerm best{};
  bool plain = true;  // no symbol in it is solved: then no cycle can arise
  for_each_symbol(dim, [&](const SymNode* s) { plain = plain && !solved(s); });
  if (!plain) return false;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != SymKind::symbol || (t.coefficient != 1 && t.coefficient != -1)) continue;
    if (best.monomial != nullptr && best.monomial->id > t.monomial->id) continue;
    if (!mentions(dim - monomial_dim(t), t.monomial)) best = t;
  }
  if (best.monomial == nullptr) return false;
  replace(best.monomial, (dim - monomial_dim(best)) * Dim(-best.coefficient));
  return true;
}

// Keeps c*m + r = 0 with c = 1 or -1 as "m is -c*r", for the largest m, if it is larger than what it equals. What was
// learnt in terms of m before is looked at once more, so that it does not matter which fact came first.
void FactsLearner::rewrite(Dim dim) {
  SymTerm best{};
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind == SymKind::symbol || (t.coefficient != 1 && t.coefficient != -1)) continue;
    if (best.monomial == nullptr || t.monomial->size > best.monomial->size) best = t;
  }
  if (best.monomial == nullptr) return;
  Dim value = (dim - monomial_dim(best)) * Dim(-best.coefficient);
  if (size_of(value) >= best.monomial->size) return;
  const SymNode* known_now = best.monomial;
  const bool stands = facts_.rewrites_.any_of(
      known_now->symbols, [&](const Facts::Rewrite& r) { return r.from == Dim(known_now) && r.to == value; });
  if (stands) return;
  relearn_rewrites(known_now->symbols,
                   [&](Dim atom, Dim other) { return contains(atom, known_now) || contains(other, known_now); });
  SymbolMask symbols = known_now->symbols;
  symbols.add(symbol_mask(value));
  facts_.rewrites_.push_back({Dim(known_now), value, symbols});
  changed_.add(known_now->symbols);
  for (const SymNode* other : solved_where([&](Dim in) { return contains(in, known_now); })) {
    Dim simpler = FactsReader(facts_).normalize(*facts_.known_.find(other->id)->solved);
    known(other).solved = simpler;
  }
}

}  // namespace lenz
