// Proofs under facts. "d >= 0" is shown by one of (e >= 0 a known bound; k, m >= 1):
//   its range                         d - m*e >= 0                 d = m*x + c with the range of m times that of x
//   d = m*x with m >= 0 and x >= 0
//   k*d >= c*(x - k + 1) + ...        for a term c*(x // k), c > 0; c*x + ... for c < 0; then k*d > -k is enough
//   for x >= 0: a term c*(x // k) is >= 0 for c > 0, >= c*x for c < 0; for x >= 1 that k divides it is >= c for c > 0
//   a term c*k*(x // k) is >= c*(x - k + 1) for c > 0, >= c*x for c < 0; c*x where k divides x; c may have more factors
//   x // k >= n*(x // (n*k)), and <= that + n - 1, where the other quotient stands beside it
//   a term c*(x % m): >= 0 for c > 0, >= c*(m - 1) or (for x >= 0) >= c*x for c < 0
//   divisors, and sizes, are above 0 where a bound says so of a product, m*x >= 1 with m >= 0
//   for divisors below 0: x // k = (-x) // -k, x % m = -((-x) % -m)
//   a term c*max(x, y): with one of them for c > 0, with both in turn for c < 0; min the other way round; likewise all
//   terms that have it as a factor, whose other factors together have a known sign
#include "compiler/base/sym_facts.h"

#include <algorithm>

#include "compiler/base/small_vec.h"

namespace lenz {

namespace {
constexpr int kProofDepth = 4;
constexpr int kProofBudget = 1024;  // a step costs 16, a look at a bound 1

bool at_least_zero(const Range& r) { return r.low && *r.low >= 0; }
bool at_least_one(const Range& r) { return r.low && *r.low >= 1; }

// What all terms share; 1 if nothing.
Dim common_of(const SumView& view) {
  Dim common(view.terms()[0].monomial);
  for (const SymTerm& t : view.terms())
    if (!common.is_constant()) common = common_monomial(common.node(), t.monomial);
  return common;
}
Dim divided_by(const SumView& view, Dim monomial) {
  std::vector<Dim> parts;
  for (const SymTerm& t : view.terms()) parts.push_back(divide_monomial(t.monomial, monomial.node()) * t.coefficient);
  return sum(parts);
}
}  // namespace

namespace {
// Whether one of them is as many times the other.
bool is_multiple(Dim a, Dim b) {
  auto of = [](Dim many, Dim one) {
    if (one.is(0)) return false;
    const Dim times = floor_div(many, one);
    return times.is_constant() && times.constant() >= 1 && one * times == many;
  };
  return of(a, b) || of(b, a);
}
}  // namespace

// A term n*m*(x // n), of a number n that divides x, as m*x. No proof is asked for: proofs ask for this.
Dim FactsReader::with_whole_quotients(Dim dim) const {
  if (dim.is_constant()) return dim;
  Dim made = dim;
  for (SumView view(dim); const SymTerm& t : view.terms())
    for (const ProductView product(t.monomial); const SymFactor& f : product.factors()) {
      if (f.atom->kind != SymKind::floor_div || !f.atom->args()[1].is_constant()) continue;
      const Dim x = f.atom->args()[0];
      const int64_t n = f.atom->args()[1].constant();
      if (n < 2 || t.coefficient % n != 0) continue;
      const Congruence c = congruence(x);
      if (c.modulus % n != 0 || c.residue % n != 0) continue;
      made = made - monomial_dim(t) + divide_monomial(t.monomial, f.atom) * x * Dim(t.coefficient / n);
      break;
    }
  return made;
}

// As often as a quotient in it divides: a//2 + 1 of an even a is half of a + 2.
Dim FactsReader::without_quotients(Dim k) const {
  int64_t times = 1;
  for (SumView view(k); const SymTerm& t : view.terms())
    if (const SymNode* q = t.monomial; q->kind == SymKind::floor_div && q->args()[1].is_constant())
      times = std::max(times, q->args()[1].constant());
  return times == 1 ? k : with_whole_quotients(k * times);
}

// Sizes whose product with others is no less than what is at least 1: of a bound m*x >= y with y >= 1 and m >= 0, x is
// at least 1, where m*x is all that m is a factor of. Likewise of a product m*x with neither factor below 0, and of a
// monomial m >= 0 whatever x is.
bool FactsReader::positive_by_product(Dim k) const {
  if (facts_.bounds_.empty() && facts_.rewrites_.empty()) return false;
  SymbolMask mask = symbol_mask(k);
  const Dim whole = without_quotients(k);
  auto terms_of = [](Dim dim) {
    const SumView view(dim);
    return view.terms().size() + (view.constant() != 0 ? 1 : 0);
  };
  const size_t terms_of_k = terms_of(k), terms_of_whole = terms_of(whole);
  auto fits = [&](Dim x) { return is_multiple(x, k) || (!(whole == k) && is_multiple(x, whole)); };
  const bool by_bound = facts_.bounds_.any_of(mask, [&](const Facts::Bound& bound) {
    SumView view(bound.dim);
    if (view.terms().size() < 2) return false;
    auto by_factor = [&](const SymFactor& m) {
      // Most share no factor of as many terms.
      const auto with_it = static_cast<size_t>(std::ranges::count_if(view.terms(), [&](const SymTerm& t) {
        const ProductView of(t.monomial);
        return std::ranges::find(of.factors(), m.atom, &SymFactor::atom) != of.factors().end();
      }));
      if (with_it < 2 || (with_it != terms_of_k && with_it != terms_of_whole)) return false;
      if (!at_least_zero(range(Dim(m.atom)))) return false;
      std::vector<Dim> x, y{-Dim(view.constant())};
      for (const SymTerm& t : view.terms()) {
        const Dim others = divide_monomial(t.monomial, m.atom);
        if (others.is(0))
          y.push_back(-monomial_dim(t));
        else
          x.push_back(others * Dim(t.coefficient));
      }
      return at_least_one(range(sum(y))) && fits(sum(x));
    };
    if (view.constant() < 0)
      if (const Dim common = common_of(view);
          !common.is_constant() && at_least_zero(range(common)) && fits(divided_by(view, common)))
        return true;
    return std::ranges::any_of(view.terms(), [&](const SymTerm& t) {
      const ProductView product(t.monomial);
      return std::ranges::any_of(product.factors(), by_factor);
    });
  });
  const bool monomial = !k.is_constant() && (kind_of(k) == SymKind::symbol || kind_of(k) == SymKind::product);
  if (by_bound || !monomial || !at_least_zero(range(k))) return by_bound;
  auto is_factor = [&](Dim product) {
    if (product.is_constant() || kind_of(product) != SymKind::product) return false;
    const Dim others = divide_monomial(product.node(), k.node());
    return !others.is(0) && at_least_zero(range(others));
  };
  auto by_term = [&](const Facts::Bound& bound) {
    SumView view(bound.dim);
    return std::ranges::any_of(view.terms(), [&](const SymTerm& t) {
      return t.coefficient > 0 && is_factor(Dim(t.monomial)) && at_least_one(range(monomial_dim(t) - bound.dim));
    });
  };
  auto by_terms = [&](const Facts::Bound& bound) {  // k*x + rest >= 0 with rest <= -1: k is not 0
    std::vector<Dim> with;
    for (SumView view(bound.dim); const SymTerm& t : view.terms())
      if (!divide_monomial(t.monomial, k.node()).is(0)) with.push_back(monomial_dim(t));
    return with.size() > 1 && at_least_one(range(sum(with) - bound.dim));
  };
  return facts_.bounds_.any_of(mask, by_term) || facts_.bounds_.any_of(mask, by_terms) ||
         facts_.rewrites_.any_of(mask, [&](const Facts::Rewrite& equal) {
           return (is_factor(equal.from) && at_least_one(range(equal.to))) ||
                  (is_factor(equal.to) && at_least_one(range(equal.from)));
         });
}

// 1 or -1 where that is what the sign of every value is, else 0.
int FactsReader::sign_of_divisor(Dim k, int depth, int& budget) const {
  if (at_least_one(range(k))) return 1;
  if (at_least_one(range(-k))) return -1;
  if (positive_by_product(k)) return 1;
  if (nonnegative(k - 1, depth - 1, budget)) return 1;
  return nonnegative(-k - 1, depth - 1, budget) ? -1 : 0;
}

// What x % k is at least and at most for k > 0, by what is known of x modulo a divisor of k.
std::pair<Dim, Dim> FactsReader::remainder_ends(Dim x, Dim k) const {
  if (!k.is_constant()) return {0, k - 1};
  const Congruence c = congruence(x);
  const auto common = static_cast<int64_t>(std::__gcd(magnitude(c.modulus), magnitude(k.constant())) & INT64_MAX);
  const auto rest = static_cast<int64_t>(floor_rest(c.residue, common));
  return {rest, k - common + rest};
}

// As it stands there: a proof of it would ask for one of this.
bool FactsReader::divides(Dim k, Dim x) const {
  const Dim rest = mod(x, k);
  return rest.is(0) || facts_.rewrites_.any_of(symbol_mask(rest), [&](const Facts::Rewrite& rewrite) {
    return rewrite.from == rest && rewrite.to.is(0);
  });
}

namespace {
// n > 1 if these are x // k and x // (n*k); else 0. Whatever the signs, the second is the first // n.
int64_t times_coarser(const SymNode* fine, const SymNode* coarse) {
  if (coarse->kind != SymKind::floor_div || coarse->args()[0] != fine->args()[0]) return 0;
  const Dim by = coarse->args()[1], k = fine->args()[1];
  if (!by.is_constant() && !k.is_constant()) {
    const Dim n = floor_div(by, k);
    return n.is_constant() && n * k == by && n.constant() > 1 ? n.constant() : 0;
  }
  if (!by.is_constant() || !k.is_constant() || k.is(0) || by.constant() % k.constant() != 0) return 0;
  const int64_t n = by.constant() / k.constant();
  return n > 1 ? n : 0;
}
}  // namespace

bool FactsReader::nonnegative_by_atom(Dim dim, const SymTerm& term, int depth, int& budget) const {
  const SymNode* atom = term.monomial;
  bool up = term.coefficient > 0;
  Dim others = dim - monomial_dim(term);
  auto with = [&](Dim value) { return nonnegative(add_scaled(others, value, term.coefficient), depth - 1, budget); };
  switch (atom->kind) {
    case SymKind::floor_div: {
      Dim x = atom->args()[0], k = atom->args()[1];
      for (SumView view(others); const SymTerm& t : view.terms())
        if (int64_t n = times_coarser(atom, t.monomial); n > 1 && with(n * Dim(t.monomial) + (up ? 0 : n - 1)))
          return true;
      int sign = sign_of_divisor(k, depth, budget);
      if (sign == 0) return false;
      if (sign < 0) x = -x, k = -k;  // the same quotient
      if (at_least_zero(range(x)) && with(up ? Dim(0) : x)) return true;
      if (up && at_least_one(range(x)) && divides(k, x) && with(1)) return true;
      const auto [least, greatest] = remainder_ends(x, k);
      const Dim lowest = x - (up ? greatest : least);
      const Dim times = others * k + lowest * Dim(term.coefficient) + k - 1;
      if (nonnegative(times, depth - 1, budget)) return true;
      if (k.is_constant() || budget < 0) return false;
      const Dim simpler = with_whole_quotients(times);  // a divisor with a quotient in it may be what that divides now
      return !(simpler == times) && nonnegative(simpler, depth - 1, budget);
    }
    case SymKind::mod: {
      Dim x = atom->args()[0], m = atom->args()[1];
      int sign = sign_of_divisor(m, depth, budget);
      if (sign == 0) return false;
      if (sign < 0) x = -x, m = -m;  // the remainder, negated
      if (up == (sign > 0)) return with(0);
      return with((m - 1) * Dim(sign)) || (at_least_zero(range(x)) && with(x * Dim(sign)));
    }
    case SymKind::min:
    case SymKind::max: {
      bool any = up == (atom->kind == SymKind::max);
      for (Dim arg : atom->args())
        if (with(arg) == any) return any;
      return !any;
    }
    case SymKind::product:
      for (const ProductView product(atom); const SymFactor& f : product.factors()) {
        if (f.atom->kind != SymKind::floor_div || f.power != 1) continue;
        const Dim x = f.atom->args()[0], k = f.atom->args()[1];
        if (k.is_constant()) continue;  // none stands beside its quotient
        const Dim beside = divide_monomial(atom, f.atom);
        const Dim more = beside.is_constant() ? Dim(0) : divide_monomial(beside.node(), k.node());
        if (more.is(0) || !at_least_zero(range(more))) continue;
        const bool whole = divides(k, x);
        if (!whole && sign_of_divisor(k, depth, budget) != 1) continue;
        if (with(more * (up && !whole ? x - k + 1 : x))) return true;
      }
      return false;
    case SymKind::symbol:
    case SymKind::sum:
    case SymKind::call: return false;
  }
  return false;
}

// a*max(x, y) + b, where the factor a is no number, and of one sign.
bool FactsReader::nonnegative_by_extreme_factor(Dim dim, const SumView& view, int depth, int& budget) const {
  std::vector<const SymNode*> tried;
  for (const SymTerm& term : view.terms()) {
    if (term.monomial->kind != SymKind::product) continue;
    const ProductView product(term.monomial);
    for (const SymFactor& f : product.factors()) {
      const bool is_max = f.atom->kind == SymKind::max;
      if ((!is_max && f.atom->kind != SymKind::min) || std::ranges::find(tried, f.atom) != tried.end()) continue;
      tried.push_back(f.atom);
      Dim a = 0, b = dim;
      for (const SymTerm& t : view.terms()) {
        const Dim others = divide_monomial(t.monomial, f.atom);
        if (others.is(0)) continue;
        a += others * Dim(t.coefficient);
        b = b - monomial_dim(t);
      }
      const bool up = nonnegative(a, depth - 1, budget);
      if (!up && !nonnegative(-a, depth - 1, budget)) continue;
      const bool any = up == is_max;
      auto with = [&](Dim value) { return nonnegative(b + a * value, depth - 1, budget); };
      if (any ? std::ranges::any_of(f.atom->args(), with) : std::ranges::all_of(f.atom->args(), with)) return true;
    }
  }
  return false;
}

// m*x + c, where m is what all terms share.
bool FactsReader::nonnegative_by_factor(const SumView& view, int depth, int& budget) const {
  if (view.terms().size() < 2) return false;
  const Dim common = common_of(view);
  if (common.is_constant()) return false;
  const Dim others = divided_by(view, common);
  Range m = range(common), product = multiply_ranges(m, range(others));
  if (product.low && Wide{*product.low} + view.constant() >= 0) return true;
  return view.constant() >= 0 && at_least_zero(m) && nonnegative(others, depth - 1, budget);
}

namespace {
int64_t coefficient_in(const SumView& view, const SymNode* monomial) {
  for (const SymTerm& t : view.terms())
    if (t.monomial == monomial) return t.coefficient;
  return 0;
}
// Visits the terms of a - m*b, which nobody makes a node of: most bounds lead nowhere.
template <class F>
void for_each_difference(const SumView& a, const SumView& b, int64_t m, F&& visit) {
  for (const SymTerm& t : a.terms())
    if (Wide c = t.coefficient - Wide{m} * coefficient_in(b, t.monomial); c != 0) visit(t.monomial, c);
  for (const SymTerm& t : b.terms())
    if (coefficient_in(a, t.monomial) == 0) visit(t.monomial, -Wide{m} * t.coefficient);
}
// How often one of the bound's terms goes into the same one here, but once at least.
int64_t times_within(const SumView& view, const SumView& bound) {
  int64_t most = 1;
  for (const SymTerm& t : bound.terms()) {
    const int64_t here = coefficient_in(view, t.monomial);
    const bool same = (here > 0) == (t.coefficient > 0) && here != INT64_MIN && t.coefficient != INT64_MIN;
    if (same) most = std::max(most, here / t.coefficient);
  }
  return most;
}
}  // namespace

// The symbols of which a bound must have one, to be of use. A term without a lower end whose symbol stands nowhere else
// goes away by bounds alone: they must have that symbol.
SymbolMask FactsReader::sought_in_bounds(const SumView& view) const {
  SymbolMask all;
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != SymKind::symbol) {
      all.add(symbol_mask(Dim(t.monomial)));
      continue;
    }
    SymbolMask alone;
    alone.add(t.monomial->id);
    Range r = symbol_range(t.monomial);
    bool elsewhere = std::ranges::any_of(view.terms(), [&](const SymTerm& other) {
      return other.monomial->kind != SymKind::symbol && symbol_mask(Dim(other.monomial)).meets(alone);
    });
    if (!elsewhere && !(t.coefficient > 0 ? r.low : r.high)) return alone;
    all.add(alone);
  }
  return all;
}

// Whether view - m*bound, by the range of each of its terms, is not below 0.
bool FactsReader::differs_by_ranges(const SumView& view, const SumView& bound, int64_t m) const {
  Wide low = Wide{view.constant()} - Wide{m} * bound.constant();
  bool bounded = true;
  for_each_difference(view, bound, m, [&](const SymNode* monomial, Wide c) {
    if (!bounded) return;
    const Range r = range(Dim(monomial));
    const auto& end = c > 0 ? r.low : r.high;
    Wide least;
    bounded = end && !__builtin_mul_overflow(c, Wide{*end}, &least) && !__builtin_add_overflow(low, least, &low);
  });
  return bounded && low >= 0;
}

bool FactsReader::nonnegative_by_bound(Dim dim, const SumView& view, int depth, int& budget) const {
  if (facts_.bounds_.empty()) return false;
  SymbolMask mask = sought_in_bounds(view);
  SmallVec<Dim, 16> met;
  facts_.bounds_.any_of(mask, [&](const Facts::Bound& bound) {
    met.push_back(bound.dim);
    return false;
  });
  for (const Dim bound : met) {  // as the last step
    if (--budget < 0) break;
    SumView subtracted(bound);
    const int64_t often = times_within(view, subtracted);
    if (differs_by_ranges(view, subtracted, often) || (often > 1 && differs_by_ranges(view, subtracted, 1)))
      return true;
  }
  auto without = [&](Dim bound, int64_t often) {
    size_t terms = 0;
    for_each_difference(view, SumView(bound), often, [&](const SymNode*, Wide) { ++terms; });
    if (terms > view.terms().size()) return false;  // they have nothing in common
    return nonnegative(dim - bound * often, depth - 1, budget);
  };
  for (const Dim bound : met) {
    if (--budget < 0) break;
    if (without(bound, 1)) return true;
    if (const int64_t often = times_within(view, SumView(bound)); often > 1 && without(bound, often)) return true;
  }
  return false;
}

bool FactsReader::nonnegative(Dim dim, int depth, int& budget) const {
  if (dim.is_constant()) return dim.constant() >= 0;
  if (at_least_zero(range(dim))) return true;
  budget -= 16;
  if (depth == 0 || budget < 0) return false;
  SumView view(dim);
  const bool one = view.terms().size() == 1 && view.constant() == -1 && view.terms()[0].coefficient == 1;
  if ((one || depth == kProofDepth) && positive_by_product(dim + 1)) return true;
  if (nonnegative_by_factor(view, depth, budget) || nonnegative_by_bound(dim, view, depth, budget)) return true;
  for (const SymTerm& t : view.terms())
    if (nonnegative_by_atom(dim, t, depth, budget)) return true;
  return nonnegative_by_extreme_factor(dim, view, depth, budget);
}

bool FactsReader::nonnegative(Dim dim) const {
  SymScratch steps(dim, 0);
  int budget = kProofBudget;
  try {
    if (nonnegative(dim, kProofDepth, budget)) return true;
    if (budget >= 0) return false;
    // Many bounds lead nowhere: what they left no budget for may be a shorter proof.
    for (int depth = 2; depth < kProofDepth; ++depth)
      if (budget = 2 * kProofBudget; nonnegative(dim, depth, budget)) return true;
    return false;
  } catch (const UserError&) {
    return false;  // a step overflowed or grew too large
  }
}

Truth FactsReader::prove_zero(Dim dim) const {
  if (dim.is_constant()) return dim.constant() == 0 ? Truth::yes : Truth::no;
  Congruence c = congruence(dim);
  if (c.residue != 0) return Truth::no;
  Dim negated = -dim;
  if (facts_.nonzero_.any_of(symbol_mask(dim),
                             [&](const Facts::Bound& other) { return other.dim == dim || other.dim == negated; }))
    return Truth::no;
  // What is at least 1 is at least 0: the weaker proofs first, for most questions stay open.
  if (nonnegative(dim)) return nonnegative(dim - 1) ? Truth::no : nonnegative(negated) ? Truth::yes : Truth::unknown;
  return nonnegative(negated) && nonnegative(negated - 1) ? Truth::no : Truth::unknown;
}

namespace {
Truth opposite(Truth t) { return t == Truth::unknown ? t : t == Truth::yes ? Truth::no : Truth::yes; }
}  // namespace

Truth FactsReader::prove_gap(Rel rel, Dim gap) const {
  switch (rel) {
    case Rel::eq: return prove_zero(gap);
    case Rel::ne: return opposite(prove_zero(gap));
    case Rel::lt: return nonnegative(gap - 1) ? Truth::yes : nonnegative(-gap) ? Truth::no : Truth::unknown;
    case Rel::le: return nonnegative(gap) ? Truth::yes : nonnegative(-gap - 1) ? Truth::no : Truth::unknown;
  }
  return Truth::unknown;
}

namespace {
bool holds(const Cond& cond) {  // of constants
  const int64_t a = cond.lhs.constant(), b = cond.rhs.constant();
  switch (cond.rel) {
    case Rel::eq: return a == b;
    case Rel::ne: return a != b;
    case Rel::lt: return a < b;
    case Rel::le: return a <= b;
  }
  return false;
}
}  // namespace

Truth FactsReader::prove(const Cond& cond) const {
  if (cond.lhs.is_constant() && cond.rhs.is_constant())  // whose difference may overflow
    return holds(cond) ? Truth::yes : Truth::no;
  SymScratch steps(cond.lhs, cond.rhs);
  // By the facts' own rewriting, and as it stands: a fact more must not hide what fewer have proven. A gap that
  // overflows proves nothing.
  std::optional<Dim> normal;
  Truth truth = Truth::unknown;
  try {
    normal = normalize(normalize(cond.rhs) - normalize(cond.lhs));
    truth = prove_gap(cond.rel, *normal);
  } catch (const UserError&) {
  }
  if (truth != Truth::unknown) return truth;
  try {
    Dim plain = cond.rhs - cond.lhs;
    return plain == normal ? Truth::unknown : prove_gap(cond.rel, plain);
  } catch (const UserError&) {
    return Truth::unknown;
  }
}

// Type rules ask the same of one size again and again: what was answered since the last fact is kept.
Truth Facts::prove(const Cond& cond) const {
  constexpr size_t kKept = 64;
  if (cond.lhs.is_constant() && cond.rhs.is_constant()) return holds(cond) ? Truth::yes : Truth::no;
  if (!proven_) proven_ = std::make_shared<Proven[]>(kKept);
  size_t hash = cond.lhs.hash() * 31 + cond.rhs.hash() * 7 + static_cast<size_t>(cond.rel) + version_;
  Proven& kept = proven_[(hash ^ hash >> 32) % kKept];
  if (kept.version != version_ || !(kept.cond == cond)) kept = {cond, FactsReader(*this).prove(cond), version_};
  return kept.truth;
}
Range Facts::range(Dim dim) const { return FactsReader(*this).range(dim); }
Congruence Facts::congruence(Dim dim) const { return FactsReader(*this).congruence(dim); }

int64_t Facts::divisor(Dim dim) const {
  Congruence c = congruence(dim);
  return static_cast<int64_t>(std::__gcd(magnitude(c.modulus), magnitude(c.residue)) & INT64_MAX);
}

}  // namespace lenz
