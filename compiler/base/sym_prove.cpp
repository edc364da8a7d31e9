// Proofs under facts. "d >= 0" is shown by one of (e >= 0 a known bound; k, m >= 1):
//   its range                         d - e >= 0                   d = m*x + c with the range of m times that of x
//   d = m*x with m >= 0 and x >= 0
//   k*d >= c*(x - k + 1) + ...        for a term c*(x // k), c > 0; c*x + ... for c < 0; then k*d > -k is enough
//   for x >= 0: a term c*(x // k) is >= 0 for c > 0, >= c*x for c < 0
//   a term c*(x % m): >= 0 for c > 0, >= c*(m - 1) or (for x >= 0) >= c*x for c < 0
//   a term c*max(x, y): with one of them for c > 0, with both in turn for c < 0; min the other way round
#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {
constexpr int kProofDepth = 4;
constexpr int kProofBudget = 1024;  // a step costs 16, a look at a bound 1

bool at_least_zero(const Range& r) { return r.low && *r.low >= 0; }
bool at_least_one(const Range& r) { return r.low && *r.low >= 1; }
}  // namespace

bool FactsReader::nonnegative_by_atom(Dim dim, const SymTerm& term, int depth, int& budget) const {
  const SymNode* atom = term.monomial;
  bool up = term.coefficient > 0;
  Dim others = dim - monomial_dim(term);
  auto with = [&](Dim value) { return nonnegative(add_scaled(others, value, term.coefficient), depth - 1, budget); };
  switch (atom->kind) {
    case SymKind::floor_div: {
      Dim x = atom->args()[0], k = atom->args()[1];
      if (!at_least_one(range(k))) return false;
      if (at_least_zero(range(x)) && with(up ? Dim(0) : x)) return true;
      Dim lowest = up ? x - k + 1 : x;
      return nonnegative(others * k + lowest * Dim(term.coefficient) + k - 1, depth - 1, budget);
    }
    case SymKind::mod: {
      Dim x = atom->args()[0], m = atom->args()[1];
      if (!at_least_one(range(m))) return false;
      if (up) return with(0);
      return with(m - 1) || (at_least_zero(range(x)) && with(x));
    }
    case SymKind::min:
    case SymKind::max: {
      bool any = up == (atom->kind == SymKind::max);
      for (Dim arg : atom->args())
        if (with(arg) == any) return any;
      return !any;
    }
    case SymKind::symbol:
    case SymKind::sum:
    case SymKind::product:
    case SymKind::call: return false;
  }
  return false;
}

// m*x + c, where m is what all terms share.
bool FactsReader::nonnegative_by_factor(const SumView& view, int depth, int& budget) const {
  if (view.terms().size() < 2) return false;
  Dim common(view.terms()[0].monomial);
  for (const SymTerm& t : view.terms())
    if (!common.is_constant()) common = common_monomial(common.node(), t.monomial);
  if (common.is_constant()) return false;
  std::vector<Dim> parts;
  for (const SymTerm& t : view.terms())
    parts.push_back(divide_monomial(t.monomial, common.node()) * Dim(t.coefficient));
  Dim others = sum(parts);
  Range m = range(common), product = multiply_ranges(m, range(others));
  if (product.low && Wide{*product.low} + view.constant() >= 0) return true;
  return view.constant() >= 0 && at_least_zero(m) && nonnegative(others, depth - 1, budget);
}

bool FactsReader::nonnegative(Dim dim, int depth, int& budget) const {
  if (dim.is_constant()) return dim.constant() >= 0;
  if (at_least_zero(range(dim))) return true;
  if (depth == 0 || (budget -= 16) < 0) return false;
  SumView view(dim);
  if (nonnegative_by_factor(view, depth, budget)) return true;
  SymbolMask mask = symbol_mask(dim);
  for (bool last_step : {true, false})
    for (const Facts::Bound& bound : facts_.bounds_) {
      if (!bound.symbols.meets(mask) || --budget < 0) continue;
      Dim rest = dim - bound.dim;
      size_t terms = SumView(rest).terms().size();
      if (terms > view.terms().size()) continue;  // they have nothing in common
      if (last_step ? at_least_zero(range(rest)) : nonnegative(rest, depth - 1, budget)) return true;
    }
  for (const SymTerm& t : view.terms())
    if (nonnegative_by_atom(dim, t, depth, budget)) return true;
  return false;
}

bool FactsReader::nonnegative(Dim dim) const {
  SymScratch steps(dim, 0);
  int budget = kProofBudget;
  try {
    return nonnegative(dim, kProofDepth, budget);
  } catch (const UserError&) {
    return false;  // a step overflowed or grew too large
  }
}

Truth FactsReader::prove_zero(Dim dim) const {
  if (dim.is_constant()) return dim.constant() == 0 ? Truth::yes : Truth::no;
  Congruence c = congruence(dim);
  if (c.residue != 0) return Truth::no;
  for (Dim other : facts_.nonzero_)
    if (other == dim || other == -dim) return Truth::no;
  if (nonnegative(dim - 1) || nonnegative(-dim - 1)) return Truth::no;
  if (nonnegative(dim) && nonnegative(-dim)) return Truth::yes;
  return Truth::unknown;
}

namespace {
Truth opposite(Truth t) { return t == Truth::unknown ? t : t == Truth::yes ? Truth::no : Truth::yes; }
}  // namespace

// `gap` gives right minus left, unless that overflows.
template <class Gap>
Truth FactsReader::prove_gap(Rel rel, Gap&& gap_of) const {
  try {
    Dim gap = gap_of();
    switch (rel) {
      case Rel::eq: return prove_zero(gap);
      case Rel::ne: return opposite(prove_zero(gap));
      case Rel::lt: return nonnegative(gap - 1) ? Truth::yes : nonnegative(-gap) ? Truth::no : Truth::unknown;
      case Rel::le: return nonnegative(gap) ? Truth::yes : nonnegative(-gap - 1) ? Truth::no : Truth::unknown;
    }
  } catch (const UserError&) {
  }
  return Truth::unknown;
}

Truth FactsReader::prove(const Cond& cond) const {
  if (cond.lhs.is_constant() && cond.rhs.is_constant())  // whose difference may overflow
    return *evaluate(cond, [](const SymNode*) { return std::nullopt; }) ? Truth::yes : Truth::no;
  SymScratch steps(cond.lhs, cond.rhs);
  // By the facts' own rewriting, and as it stands: a fact more must not hide what fewer have proven.
  Truth truth = prove_gap(cond.rel, [&] { return normalize(normalize(cond.rhs) - normalize(cond.lhs)); });
  return truth == Truth::unknown ? prove_gap(cond.rel, [&] { return cond.rhs - cond.lhs; }) : truth;
}

Truth Facts::prove(const Cond& cond) const { return FactsReader(*this).prove(cond); }
Range Facts::range(Dim dim) const { return FactsReader(*this).range(dim); }
Congruence Facts::congruence(Dim dim) const { return FactsReader(*this).congruence(dim); }

int64_t Facts::divisor(Dim dim) const {
  Congruence c = congruence(dim);
  return static_cast<int64_t>(std::__gcd(magnitude(c.modulus), magnitude(c.residue)) & INT64_MAX);
}

}  // namespace lenz
