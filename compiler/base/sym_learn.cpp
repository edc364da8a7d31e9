// How facts are learned: a copy takes the new fact and replaces the old facts only if nothing contradicts it.
#include <algorithm>
#include <set>

#include "compiler/base/sym_facts.h"

namespace lenz {

uint64_t symbol_mask(Dim dim) {
  uint64_t mask = 0;
  for_each_symbol(dim, [&](const SymNode* s) { mask |= uint64_t{1} << (s->id & 63); });
  return mask;
}

Facts::Known& FactsLearner::known(const SymNode* symbol) {
  if (facts_.known_.size() <= symbol->id) facts_.known_.resize(symbol->id + 1);
  Facts::Known& k = facts_.known_[symbol->id];
  k.symbol = symbol;
  return k;
}

bool FactsLearner::assume_range(const SymNode* symbol, const Range& range) {
  Facts::Known& k = known(symbol);
  if (range.low && (!k.range.low || *range.low > *k.range.low)) k.range.low = range.low;
  if (range.high && (!k.range.high || *range.high < *k.range.high)) k.range.high = range.high;
  return !k.range.low || !k.range.high || *k.range.low <= *k.range.high;
}

bool FactsLearner::assume(const Cond& cond) {
  switch (cond.rel) {
    case Rel::eq: return assume_zero(cond.rhs - cond.lhs);
    case Rel::ne: return assume_nonzero(cond.rhs - cond.lhs);
    case Rel::lt: return assume_nonnegative(cond.rhs - cond.lhs - Dim(1));
    case Rel::le: return assume_nonnegative(cond.rhs - cond.lhs);
  }
  return true;
}

bool FactsLearner::assume_nonzero(Dim dim) {
  if (dim.is_constant()) return dim.constant() != 0;
  facts_.nonzero_.push_back(dim);
  return true;
}

// A bound of one symbol by a constant is a range; anything else is kept as it stands.
bool FactsLearner::assume_nonnegative(Dim dim) {
  if (dim.is_constant()) return dim.constant() >= 0;
  SumView view(dim);
  if (view.terms().size() == 1 && view.terms()[0].monomial->kind == SymKind::symbol) {
    int64_t a = view.terms()[0].coefficient, c = view.constant();  // a*s + c >= 0
    if (a == 1) return assume_range(view.terms()[0].monomial, {-c, std::nullopt});
    if (a == -1) return assume_range(view.terms()[0].monomial, {std::nullopt, c});
  }
  facts_.bounds_.push_back({dim, symbol_mask(dim)});
  return true;
}

bool FactsLearner::solve(Dim dim, bool& done) {
  dim = FactsReader(facts_).normalize(dim);  // without symbols that are solved already
  if (dim.is_constant()) return dim.constant() == 0;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    const SymNode* s = t.monomial;
    if (s->kind != SymKind::symbol || (t.coefficient != 1 && t.coefficient != -1)) continue;
    Dim rest = dim - Dim(s) * Dim(t.coefficient);  // c*s + rest == 0
    bool mentioned = false;
    for_each_symbol(rest, [&](const SymNode* other) { mentioned = mentioned || other == s; });
    if (mentioned || known(s).solved) continue;
    done = true;
    return replace(s, t.coefficient == 1 ? -rest : rest);
  }
  return true;
}

namespace {
Dim substituted(Dim dim, const SymNode* symbol, Dim by) {
  if (dim.is_constant()) return dim;
  if (dim.node()->kind == SymKind::symbol) return dim.node() == symbol ? by : dim;
  return rebuild(dim, [&](Dim part) { return substituted(part, symbol, by); });
}
}  // namespace

bool FactsLearner::replace(const SymNode* symbol, Dim by) {
  Range range = known(symbol).range;
  known(symbol).solved = by;
  for (Facts::Known& k : facts_.known_) {
    if (!k.solved || k.symbol == symbol) continue;
    k.solved = substituted(*k.solved, symbol, by);
  }
  // What was known of the symbol now holds for what replaces it.
  if (range.low && !assume_nonnegative(by - Dim(*range.low))) return false;
  return !range.high || assume_nonnegative(Dim(*range.high) - by);
}

bool FactsLearner::assume_zero(Dim dim) {
  if (dim.is_constant()) return dim.constant() == 0;
  SumView view(dim);
  // s % k == 0: a congruence of the symbol.
  if (view.constant() == 0 && view.terms().size() == 1 && view.terms()[0].monomial->kind == SymKind::mod) {
    const SymNode* m = view.terms()[0].monomial;
    if (m->args()[1].is_constant() && !m->args()[0].is_constant() && m->args()[0].node()->kind == SymKind::symbol)
      return assume_congruence(m->args()[0], m->args()[1].constant(), 0);
  }
  bool done = false;
  if (!solve(dim, done)) return false;
  if (done) return true;
  facts_.bounds_.push_back({dim, symbol_mask(dim)});
  facts_.bounds_.push_back({-dim, symbol_mask(dim)});
  return true;
}

bool FactsLearner::assume_congruence(Dim dim, int64_t modulus, int64_t residue) {
  Facts::Known& k = known(dim.node());
  auto both = intersect(k.congruence, canonical({modulus, residue}));
  if (!both) return false;
  k.congruence = *both;
  return true;
}

void Facts::set_range(const SymNode* symbol, Range range) {
  Facts copy = *this;
  FactsLearner learner(copy);
  Known& k = learner.known(symbol);
  if (k.declared < 0) {
    k.declared = static_cast<int32_t>(copy.ranges_.size());
    copy.ranges_.emplace_back(symbol, range);
    k.range = range;
  } else if (!learner.assume_range(symbol, range)) {
    throw UserError("the range of " + std::string(symbol_name(symbol)) + " is empty");
  } else {
    copy.ranges_[static_cast<size_t>(k.declared)].second = learner.known(symbol).range;
  }
  update_hints(copy);
  *this = std::move(copy);
}

bool Facts::add(const Cond& cond) {
  Truth truth = prove(cond);
  if (truth == Truth::no) return false;
  if (conditions_.size() >= kMaxConditions) throw UserError("too many conditions on symbols");
  Facts copy = *this;
  copy.conditions_.push_back(cond);
  FactsLearner learner(copy);
  for (Dim side : {cond.lhs, cond.rhs}) for_each_symbol(side, [&](const SymNode* s) { learner.known(s); });
  if (truth == Truth::unknown && !learner.assume(cond)) return false;
  update_hints(copy);
  *this = std::move(copy);
  return true;
}

class HintSearch {
 public:
  // Distinct primes from 11 on, moved into range and onto the symbol's congruence.
  static void run(Facts& facts) {
    constexpr int64_t kStart[] = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
    std::set<int64_t> used;
    for (Facts::Known& k : facts.known_) {
      if (!k.symbol || k.solved) continue;
      int64_t m = std::max<int64_t>(k.congruence.modulus, 1), r = k.congruence.residue;
      int64_t at =
          kStart[k.symbol->id % std::size(kStart)] + static_cast<int64_t>(k.symbol->id / std::size(kStart)) * 100;
      if (k.range.low) at = std::max(at, *k.range.low);
      if (k.range.high) at = std::min(at, *k.range.high);
      at += ((r - at) % m + m) % m;
      if (k.range.high && at > *k.range.high) at -= m;
      while (used.contains(at) && (!k.range.high || at + m <= *k.range.high)) at += m;
      used.insert(at);
      k.hint = at;
    }
    for (Facts::Known& k : facts.known_)
      if (k.symbol && k.solved)
        k.hint = evaluate(*k.solved, [&](const SymNode* s) { return std::optional<int64_t>(facts.hint(s)); });
  }
};

void update_hints(Facts& facts) { HintSearch::run(facts); }

int64_t Facts::hint(const SymNode* symbol) const {
  if (symbol->id < known_.size() && known_[symbol->id].hint) return *known_[symbol->id].hint;
  return 11 + 2 * static_cast<int64_t>(symbol->id);
}

std::optional<int64_t> Facts::hint(Dim dim) const {
  return evaluate(dim, [&](const SymNode* s) { return std::optional<int64_t>(hint(s)); });
}

}  // namespace lenz
