// Factors that both sides of a condition have, or all terms of one: what is not 0 goes.
#include <algorithm>

#include "compiler/base/sym_facts.h"
#include "compiler/base/sym_overflow.h"

namespace lenz {

// A sum without a constant, divided by a positive factor of all its terms: of the same sign.
std::optional<Dim> without_common_factor(const FactsReader& reader, Dim dim) {
  SumView view(dim);
  if (view.constant() != 0 || view.terms().size() < 2) return std::nullopt;
  ProductView first(view.terms()[0].monomial);
  for (const SymFactor& candidate : first.factors()) {
    const Range r = reader.range(Dim(candidate.atom));
    if (!r.low || *r.low <= 0) continue;
    Dim rest = 0;
    bool common = true;
    for (const SymTerm& t : view.terms()) {
      Dim left = t.coefficient;
      bool found = false;
      ProductView product(t.monomial);
      for (const SymFactor& f : product.factors()) {
        const bool taken = f.atom == candidate.atom;
        found = found || taken;
        for (auto power = f.power - (taken ? 1 : 0); power > 0; --power) left = left * Dim(f.atom);
      }
      common = common && found;
      rest = rest + left;
    }
    if (common) return rest;
  }
  return std::nullopt;
}

namespace {
// The sum that multiplies this symbol, where the dim has it to the first power alone; 0 where it has it otherwise.
Dim coefficient_of(const SymNode* symbol, Dim dim) {
  Dim sum = 0;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (!mentions(monomial_dim(t), symbol)) continue;
    Dim others = t.coefficient;
    int64_t times = 0;
    ProductView product(t.monomial);
    for (const SymFactor& f : product.factors()) {
      if (f.atom == symbol) times += f.power;
      if (f.atom != symbol && mentions(Dim(f.atom), symbol)) return 0;
      for (auto power = f.atom == symbol ? 0 : f.power; power > 0; --power) others = others * Dim(f.atom);
    }
    if (times != 1) return 0;
    sum += others;
  }
  return sum;
}

}  // namespace

// a*x + b = 0 where the sum a is not 0 and divides b, as of s*(t + 1) = 4*t*(t + 1): x + b/a.
std::optional<Dim> without_common_sum(const FactsReader& reader, Dim dim) {
  if (SumView(dim).terms().size() < 4) return std::nullopt;
  std::optional<Dim> found;
  for_each_symbol(dim, [&](const SymNode* symbol) {
    if (found) return;
    const Dim a = coefficient_of(symbol, dim);
    if (a.is_constant() || SumView(a).terms().size() + (SumView(a).constant() != 0) < 2) return;
    const Range r = reader.range(a);
    if (!(r.low && *r.low > 0) && !(r.high && *r.high < 0)) return;
    try {
      const Dim b = dim - a * Dim(symbol), times = floor_div(b, a);
      if (times * a == b) found = Dim(symbol) + times;
    } catch (const DimOverflow&) {  // numbers beyond counting: nothing is learnt
    }
  });
  return found;
}

namespace {
// What a is 0 for: a symbol that it has once or minus once, as the other terms say it. Null if there is none.
std::pair<const SymNode*, Dim> root_of(Dim a) {
  SumView view(a);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != SymKind::symbol || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const Dim rest = a - monomial_dim(t);
    if (!mentions(rest, t.monomial)) return {t.monomial, rest * Dim(-t.coefficient)};
  }
  return {nullptr, 0};
}
}  // namespace

// a*x = n of two sums and a number, not multiplied out: as many elements as one view has, n, are the other's two dims.
// Where neither is negative both are at least 1, and at most n.
void FactsLearner::bound_factors(Dim dim) {
  if (SumView(dim).terms().size() < 3) return;
  const FactsReader reader(facts_);
  bool found = false;
  for_each_symbol(dim, [&](const SymNode* symbol) {
    if (found) return;
    const Dim a = coefficient_of(symbol, dim);
    if (a.is_constant()) return;
    const auto [of_a, root] = root_of(a);
    if (of_a == nullptr) return;
    try {
      const Dim b = dim - a * Dim(symbol), n = -replace_symbol(b, of_a, root);
      if (!n.is_constant() || n.constant() < 1) return;
      const Dim times = floor_div(b + n, a), x = Dim(symbol) + times;
      if (!(times * a == b + n)) return;
      const bool up = reader.nonnegative(reader.normalize(a)) || reader.nonnegative(reader.normalize(x));
      if (!up && !reader.nonnegative(reader.normalize(-a)) && !reader.nonnegative(reader.normalize(-x))) return;
      found = true;
      for (const Dim factor : {up ? a : -a, up ? x : -x}) {
        pending_.push_back({Pending::Kind::nonnegative, factor - 1, {}});
        pending_.push_back({Pending::Kind::nonnegative, n - factor, {}});
      }
    } catch (const UserError&) {  // numbers beyond counting: nothing is learnt
    }
  });
}

namespace {
// dim / by, if that is a whole number whatever the symbols are.
std::optional<Dim> divided(Dim dim, Dim by) {
  try {
    const Dim times = floor_div(dim, by);
    if (times * by == dim) return times;
  } catch (const DimOverflow&) {  // numbers beyond counting: nothing is learnt
  }
  return std::nullopt;
}

// A sum of single symbols is no product of two sums.
bool has_products(Dim dim) {
  SumView view(dim);
  return std::ranges::any_of(view.terms(), [](const SymTerm& t) {
    ProductView product(t.monomial);
    return product.factors().size() > 1 || product.factors()[0].power > 1;
  });
}
}  // namespace

// The same by a sum that a positive symbol stands for: of s*t = 10*s, once s is u - 1 everywhere, there is left
// u*t - t - 10*u + 10 = 0.
std::optional<Dim> FactsLearner::without_solved_factor(Dim dim) const {
  if (SumView(dim).terms().size() < 2 || !has_products(dim)) return std::nullopt;
  const SymbolMask symbols = symbol_mask(dim);
  for (const auto run : facts_.solved_.runs())
    for (const uint32_t id : run) {
      const Facts::Known& k = *facts_.known_.find(id);
      if (k.solved->is_constant() || !symbols.covers(symbol_mask(*k.solved))) continue;
      const Range r = intersect_ranges(k.range, FactsReader(facts_).range(*k.solved));
      if (!r.low || *r.low < 1) continue;
      const SumView sum(*k.solved);
      if (sum.terms().size() + (sum.constant() != 0) < 2) continue;
      if (auto left = divided(dim, *k.solved)) return left;
    }
  return std::nullopt;
}

// What was learnt before that sum was known to be positive.
void FactsLearner::divide_by_solved(Dim value) {
  const SymbolMask symbols = symbol_mask(value);
  auto again = [&](Pending::Kind kind) {
    return [&, kind](const Facts::Bound& b) {
      if (b.symbols.covers(symbols)) pending_.push_back({kind, b.dim, {}});
      return false;
    };
  };
  facts_.bounds_.any_of(symbols, again(Pending::Kind::nonnegative));
  facts_.nonzero_.any_of(symbols, again(Pending::Kind::nonzero));
}

// Once solved symbols are replaced, a product is a sum that shows its factors no more: s*t = 10*s for s = u - 1 is
// u*t - t - 10*u + 10 = 0. So what a positive factor, or a product that is not 0, says is taken from a condition as it
// stands. Gives what is left of right minus left.
Dim FactsLearner::without_factors(const Cond& cond) {
  const FactsReader reader(facts_);
  Dim gap = cond.rhs - cond.lhs;
  while (auto rest = without_common_factor(reader, gap)) gap = *rest;
  const SumView view(gap);
  if ((cond.rel == Rel::ne || cond.rel == Rel::lt) && view.terms().size() == 1 && view.constant() == 0)
    none_is_zero(view.terms()[0]);
  return gap;
}

// c - max(a, b) >= 0 says c - a >= 0 and c - b >= 0; of a minimum that is added likewise.
void FactsLearner::bound_extreme(Dim dim) {
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != (t.coefficient > 0 ? SymKind::min : SymKind::max)) continue;
    try {
      const Dim rest = dim - monomial_dim(t);
      for (Dim a : t.monomial->args()) pending_.push_back({Pending::Kind::nonnegative, rest + a * t.coefficient, {}});
    } catch (const UserError&) {  // too large to be worth it
    }
  }
}

}  // namespace lenz
