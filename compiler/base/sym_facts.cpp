// Learning facts. Every new fact is reduced to one of: a range, a congruence, a solved symbol (eliminated everywhere),
// an atom or product that equals something smaller, a bound (dim >= 0) or a dim that is not 0; bounds then tighten
// ranges. The work per fact is bounded (budget_): what is left undone only makes later answers "unknown" more often.
#include "compiler/base/sym_facts.h"

#include <algorithm>

#include "compiler/base/sym_overflow.h"

namespace lenz {

namespace {

// low and high rounded inwards to numbers of the congruence; false if none is left.
bool round_inwards(Range& range, const Congruence& c) {
  if (c.modulus > 1) {
    if (range.low) {
      Wide up = *range.low + floor_rest(Wide{c.residue} - *range.low, c.modulus);
      if (!fits(up)) return false;
      range.low = static_cast<int64_t>(up);
    }
    if (range.high) {
      Wide down = *range.high - floor_rest(Wide{*range.high} - c.residue, c.modulus);
      if (!fits(down)) return false;
      range.high = static_cast<int64_t>(down);
    }
  }
  return !range.low || !range.high || *range.low <= *range.high;
}

// What the coefficients share: dim = g*X + constant.
int64_t content(Dim dim) {
  Wide g = 0;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    Wide a = magnitude(t.coefficient);
    while (a != 0) {
      Wide rest = g % a;
      g = a;
      a = rest;
    }
  }
  return fits(g) ? static_cast<int64_t>(g) : 1;
}

}  // namespace

bool mentions(Dim dim, const SymNode* symbol) {
  if (dim.is_constant()) return false;
  const SymNode* node = dim.node();
  if (!node->symbols.meets(symbol->symbols)) return false;
  switch (node->kind) {
    case SymKind::symbol: return node == symbol;
    case SymKind::sum:
      return std::ranges::any_of(node->terms(), [&](const SymTerm& t) { return mentions(Dim(t.monomial), symbol); });
    case SymKind::product:
      return std::ranges::any_of(node->factors(), [&](const SymFactor& f) { return mentions(Dim(f.atom), symbol); });
    case SymKind::floor_div:
    case SymKind::mod:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: return std::ranges::any_of(node->args(), [&](Dim d) { return mentions(d, symbol); });
  }
  return false;
}

FactsLearner::FactsLearner(Facts& facts)
    : facts_(facts),
      solved_(facts.solved_.size()),
      bounds_(facts.bounds_.size()),
      nonzero_(facts.nonzero_.size()),
      rewrites_(facts.rewrites_.size()) {}

FactsLearner::~FactsLearner() {
  if (kept_) return;
  for (size_t i = touched_.size(); i-- > 0;) {
    const auto& [id, before] = touched_[i];
    if (before.symbol == nullptr)
      facts_.known_.unmake(id);
    else
      facts_.known_.change(id) = before;
  }
  if (saved_) {
    facts_.bounds_ = std::move(saved_->bounds);
    facts_.nonzero_ = std::move(saved_->nonzero);
    facts_.rewrites_ = std::move(saved_->rewrites);
  }
  facts_.solved_.truncate(solved_);
  facts_.bounds_.truncate(bounds_);
  facts_.nonzero_.truncate(nonzero_);
  facts_.rewrites_.truncate(rewrites_);
}

void FactsLearner::keep() {
  kept_ = true;
  if (!facts_.hints_) return;  // whoever asks first looks at all symbols
  for (const auto& touched : touched_) facts_.unhinted_.push_back(touched.first);
}

Facts::Known& FactsLearner::known(const SymNode* symbol) {
  Facts::Known& k = facts_.known_.change(symbol->id);
  LENZ_CHECK(k.symbol == nullptr || k.symbol == symbol, "facts about symbols of two pools");
  touched_.emplace_back(symbol->id, k);
  k.symbol = symbol;
  return k;
}

bool FactsLearner::solved(const SymNode* symbol) const {
  const Facts::Known* k = facts_.known_.find(symbol->id);
  return k != nullptr && k->solved;
}

bool FactsLearner::assume_range(const SymNode* symbol, const Range& range) {
  Facts::Known& k = known(symbol);
  Range next = intersect_ranges(k.range, range);
  if (!round_inwards(next, k.congruence)) return false;
  if (next == k.range) return true;
  const bool now_positive = next.low && *next.low > 0 && !(k.range.low && *k.range.low > 0);
  k.range = next;
  changed_.add(symbol->id);
  // What it is a factor of may be divided by it now.
  if (now_positive) {
    relearn_rewrites(symbol->symbols, [&](Dim atom, Dim value) {
      return mentions(atom, symbol) && (value.is_constant() || mentions(value, symbol));
    });
    facts_.bounds_.any_of(symbol->symbols, [&](const Facts::Bound& b) {
      if (mentions(b.dim, symbol)) pending_.push_back({Pending::Kind::nonnegative, b.dim, {}});
      return false;
    });
    facts_.nonzero_.any_of(symbol->symbols, [&](const Facts::Bound& b) {
      if (mentions(b.dim, symbol)) pending_.push_back({Pending::Kind::nonzero, b.dim, {}});
      return false;
    });
    if (k.solved) divide_by_solved(*k.solved);
  }
  if (k.solved) {
    if (next.low) pending_.push_back({Pending::Kind::nonnegative, *k.solved - *next.low, {}});
    if (next.high) pending_.push_back({Pending::Kind::nonnegative, Dim(*next.high) - *k.solved, {}});
  } else if (next.low && next.low == next.high) {
    pending_.push_back({Pending::Kind::fixed, Dim(symbol), {}});
  }
  return true;
}

// dim = residue (mod modulus). Where all but one symbol of a linear dim are known modulo it, that symbol learns it;
// else it is kept as "dim % modulus is residue".
bool FactsLearner::assume_congruence(Dim dim, int64_t modulus, int64_t residue) {
  if (modulus == 1) return true;
  FactsReader reader(facts_);
  if (!intersect(reader.congruence(dim), canonical({modulus, residue}))) return false;
  SumView view(dim);
  SymTerm open{};
  Wide target = Wide{residue} - view.constant();
  for (const SymTerm& t : view.terms()) {
    Congruence c = reader.congruence(monomial_dim(t));
    if (c.modulus % modulus == 0) {
      target -= c.residue;
    } else if (open.monomial == nullptr && t.monomial->kind == SymKind::symbol) {
      open = t;
    } else {
      keep_remainder(dim, modulus, residue);
      return true;
    }
  }
  if (open.monomial == nullptr) return true;
  auto solution = solve_congruence(open.coefficient, static_cast<int64_t>(floor_rest(target, modulus)), modulus);
  if (!solution) return false;
  Facts::Known& k = known(open.monomial);
  auto both = intersect(k.congruence, *solution);
  if (!both) return false;
  if (k.congruence == *both) return true;
  k.congruence = *both;
  facts_.rewrites_.any_of(open.monomial->symbols, [&](const Facts::Rewrite& r) {  // others may learn from it now
    const SymNode* atom = r.from.node();
    if (atom->kind == SymKind::mod && atom->args()[1].is_constant() && r.to.is_constant() &&
        mentions(r.from, open.monomial))
      pending_.push_back({Pending::Kind::congruent, atom->args()[0], {atom->args()[1].constant(), r.to.constant()}});
    return false;
  });
  Range range = k.range;
  return round_inwards(range, *both) && assume_range(open.monomial, range);
}

void FactsLearner::keep_remainder(Dim dim, int64_t modulus, int64_t residue) {
  Dim rest = mod(dim, modulus);
  SumView view(rest);
  if (view.terms().size() != 1 || view.terms()[0].monomial->kind != SymKind::mod) return;
  SymTerm t = view.terms()[0];
  int64_t value = static_cast<int64_t>(floor_rest(residue, modulus)) - view.constant();
  if (value % t.coefficient != 0) return;
  const Facts::Rewrite fact{Dim(t.monomial), Dim(value / t.coefficient), t.monomial->symbols};
  const bool stands = facts_.rewrites_.any_of(
      fact.symbols, [&](const Facts::Rewrite& r) { return r.from == fact.from && r.to == fact.to; });
  if (!stands) facts_.rewrites_.push_back(fact);
}

// That dim - least is not below 0. An end near those of 64 bits may leave it without a number: then nothing is learnt.
void FactsLearner::keep_difference(Dim dim, Dim least) {
  try {
    pending_.push_back({Pending::Kind::nonnegative, dim - least, {}});
  } catch (const DimOverflow&) {
  }
}

// c*(a % k) + r = 0 with c = 1 or -1 is a congruence, which says all.
bool FactsLearner::assume_remainder(Dim dim, bool& done) {
  SumView view(dim);
  if (view.terms().size() != 1) return true;
  SymTerm t = view.terms()[0];
  if (t.monomial->kind != SymKind::mod || (t.coefficient != 1 && t.coefficient != -1)) return true;
  Dim a = t.monomial->args()[0], k = t.monomial->args()[1];
  if (!k.is_constant() || a.is_constant()) return true;
  int64_t residue = narrow(-Wide{view.constant()} * t.coefficient);
  done = true;
  return residue >= 0 && residue < k.constant() && assume_congruence(a, k.constant(), residue);
}

bool FactsLearner::stands_in(const ListBySymbols<Facts::Bound>& list, Dim dim) {
  return list.any_of(symbol_mask(dim), [&](const Facts::Bound& b) { return b.dim == dim; });
}

void FactsLearner::keep_bound(Dim dim) {
  if (stands_in(facts_.bounds_, dim)) return;
  facts_.bounds_.push_back({dim, symbol_mask(dim)});
  pending_.push_back({Pending::Kind::tighten, dim, {}});
  const bool is_not_0 = facts_.nonzero_.any_of(
      symbol_mask(dim), [&](const Facts::Bound& other) { return other.dim == dim || other.dim == -dim; });
  if (is_not_0) pending_.push_back({Pending::Kind::nonnegative, dim - 1, {}});
}

namespace {
// The symbol of a sum of its powers, all of one sign, if it is not negative: the sum only grows with it, or falls.
const SymNode* growing_in(const FactsReader& reader, Dim dim) {
  const SymNode* symbol = nullptr;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    ProductView product(t.monomial);
    if (product.factors().size() != 1 || product.factors()[0].atom->kind != SymKind::symbol) return nullptr;
    const SymNode* s = product.factors()[0].atom;
    if ((symbol != nullptr && s != symbol) || (t.coefficient > 0) != (view.terms()[0].coefficient > 0)) return nullptr;
    symbol = s;
  }
  if (symbol == nullptr) return nullptr;
  Range r = reader.symbol_range(symbol);
  return r.low && *r.low >= 0 ? symbol : nullptr;
}
}  // namespace

// dim >= 0 or, if `exactly`, dim = 0, for a sum of powers of one symbol: says in which range the symbol lies.
bool FactsLearner::assume_power(Dim dim, bool exactly, bool& done) {
  FactsReader reader(facts_);
  const SymNode* symbol = growing_in(reader, dim);
  if (symbol == nullptr) return true;
  bool up = SumView(dim).terms()[0].coefficient > 0;
  // An overflow is far beyond 0, on the side that the terms grow to.
  auto at = [&](int64_t x) { return evaluate(up ? dim : -dim, [&](const SymNode*) { return std::optional(x); }); };
  int64_t low = *reader.symbol_range(symbol).low, high = int64_t{1} << 62;
  while (low < high) {  // the least value from which on the sum is not below 0
    int64_t middle = low + (high - low) / 2;
    auto value = at(middle);
    (value && *value < 0 ? low : high) = value && *value < 0 ? middle + 1 : middle;
  }
  bool zero = at(low) == 0;
  done = true;
  if (exactly) return zero && assume_range(symbol, {low, low});
  if (up) return assume_range(symbol, {low, std::nullopt});
  return assume_range(symbol, {std::nullopt, zero ? low : low - 1});
}

// A product that is not 0 has no factor that is 0.
void FactsLearner::none_is_zero(const SymTerm& term) {
  FactsReader reader(facts_);
  ProductView product(term.monomial);
  if (product.factors().size() < 2) return;  // a power says so by itself
  for (const SymFactor& f : product.factors()) {
    const Range r = reader.range(Dim(f.atom));
    if (r.low && *r.low == 0) pending_.push_back({Pending::Kind::nonnegative, Dim(f.atom) - 1, {}});
  }
}

bool FactsLearner::assume_zero(Dim dim) {
  if (dim.is_constant()) return dim.constant() == 0;
  if (auto rest = without_common_factor(FactsReader(facts_), dim)) return assume_zero(*rest);
  if (auto rest = without_common_sum(FactsReader(facts_), dim)) return assume_zero(*rest);
  if (auto rest = without_solved_factor(dim)) return assume_zero(*rest);
  if (--budget_ > 0 && FactsReader(facts_).prove(eq(dim, 0)) == Truth::no) return false;
  SumView view(dim);
  int64_t g = content(dim);
  if (g < 1 || view.constant() % g != 0) return false;  // of something open it is 1 at least
  if (view.terms().size() == 1 && view.constant() != 0) none_is_zero(view.terms()[0]);
  if (g > 1) return assume_zero(floor_div(dim, g));
  bool done = false;
  if (!assume_remainder(dim, done)) return false;
  if (done || solve(dim)) return true;
  if (!assume_power(dim, true, done)) return false;
  if (done) return true;
  for (const SymTerm& t : view.terms()) {  // c*m + rest = 0: c divides the rest
    if (t.coefficient == 1 || t.coefficient == -1 || t.coefficient == INT64_MIN) continue;
    if (!assume_congruence(dim - monomial_dim(t), static_cast<int64_t>(magnitude(t.coefficient)), 0)) return false;
  }
  // Of two products that are one number a positive factor that both have goes.
  if (view.terms().size() == 1)
    facts_.rewrites_.any_of(symbol_mask(dim), [&](const Facts::Rewrite& r) {
      const Dim other = view.terms()[0].coefficient < 0 ? dim + r.from - r.to : dim - r.from + r.to;
      if (auto rest = without_common_factor(FactsReader(facts_), other))
        pending_.push_back({Pending::Kind::zero, *rest, {}});
      return false;
    });
  rewrite(dim);
  keep_bound(dim);
  keep_bound(-dim);
  bound_quotient(dim);
  bound_quotient(-dim);
  bound_factors(dim);
  bound_factors(-dim);
  bound_extreme(dim);
  bound_extreme(-dim);
  bound_remainders(view);
  return true;
}

// a//k - b//k + n = 0 with a = b + c says where b % k lies, and a % k, which whatever one of the quotients is rewritten
// to would not.
void FactsLearner::bound_remainders(const SumView& view) {
  if (view.terms().size() != 2) return;
  const SymTerm &plus = view.terms()[view.terms()[0].coefficient < 0 ? 1 : 0],
                &minus = view.terms()[view.terms()[0].coefficient < 0 ? 0 : 1];
  if (plus.coefficient != 1 || minus.coefficient != -1) return;
  const SymNode *a = plus.monomial, *b = minus.monomial;
  if (a->kind != SymKind::floor_div || b->kind != SymKind::floor_div || !(a->args()[1] == b->args()[1])) return;
  const Dim by = a->args()[1], between = a->args()[0] - b->args()[0];
  if (!by.is_constant() || by.constant() < 2 || !between.is_constant()) return;
  const Wide k = by.constant(), c = between.constant(), n = view.constant();
  auto at_least = [&](Dim x, Wide least) {
    if (fits(least)) pending_.push_back({Pending::Kind::nonnegative, x - static_cast<int64_t>(least), {}});
  };
  auto remainder_from = [&](const SymNode* quotient, Wide low) {  // low <= x % k < low + k
    const Dim x = quotient->args()[0];
    for (const Dim rest : {x - Dim(quotient) * by, mod(x, by)}) {  // proofs ask for either
      if (low < 0) at_least(-rest, -(low + k - 1));
      if (low > 0) at_least(rest, low);
    }
  };
  remainder_from(b, -n * k - c);
  remainder_from(a, n * k + c);
}

// a//k + c >= 0 says a + k*c >= 0, and c - a//k >= 0 says k*c + k-1 - a >= 0, for k > 0: where c is a number, or k is
// none, for then no step of a proof has both. Where c has the quotient too, as in (k + 1)*(a//k) - a//k, what that says
// would have it once more, and so on for ever.
void FactsLearner::bound_quotient(Dim dim) {
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial->kind != SymKind::floor_div || (t.coefficient != 1 && t.coefficient != -1)) continue;
    if (std::ranges::count_if(view.terms(),
                              [&](const SymTerm& o) { return !divide_monomial(o.monomial, t.monomial).is(0); }) > 1)
      continue;
    const Dim a = t.monomial->args()[0], k = t.monomial->args()[1];
    const Range by = FactsReader(facts_).range(k);
    if ((k.is_constant() && view.terms().size() > 1) || !by.low || *by.low < 1) continue;
    try {
      const Dim c = dim - monomial_dim(t);
      pending_.push_back({Pending::Kind::nonnegative, t.coefficient == 1 ? a + k * c : k * c + k - 1 - a, {}});
    } catch (const UserError&) {  // too large to be worth it
    }
  }
}

bool FactsLearner::assume_nonzero(Dim dim) {
  if (dim.is_constant()) return dim.constant() != 0;
  if (auto rest = without_common_factor(FactsReader(facts_), dim)) return assume_nonzero(*rest);
  if (auto rest = without_solved_factor(dim)) return assume_nonzero(*rest);
  FactsReader reader(facts_);
  if (--budget_ > 0 && reader.prove(eq(dim, 0)) == Truth::yes) return false;
  Range r = reader.range(dim);
  if (r.low && *r.low == 0) return assume_nonnegative(dim - 1);
  if (r.high && *r.high == 0) return assume_nonnegative(-dim - 1);
  if (--budget_ > 0) {  // of one sign by what bounds say of several symbols
    if (reader.nonnegative(dim)) return assume_nonnegative(dim - 1);
    if (reader.nonnegative(-dim)) return assume_nonnegative(-dim - 1);
  }
  if (!stands_in(facts_.nonzero_, dim)) facts_.nonzero_.push_back({dim, symbol_mask(dim)});
  return true;
}

bool FactsLearner::assume_nonnegative(Dim dim) {
  if (dim.is_constant()) return dim.constant() >= 0;
  if (auto rest = without_common_factor(FactsReader(facts_), dim)) return assume_nonnegative(*rest);
  if (auto rest = without_solved_factor(dim)) return assume_nonnegative(*rest);
  int64_t g = content(dim);
  if (g > 1) return assume_nonnegative(floor_div(dim, g));  // g*X + c >= 0: X + c//g >= 0
  SumView view(dim);
  SymTerm t = view.terms()[0];
  if (view.terms().size() == 1 && t.monomial->kind == SymKind::symbol) {
    if (t.coefficient == 1) return assume_range(t.monomial, {narrow(-Wide{view.constant()}), std::nullopt});
    return assume_range(t.monomial, {std::nullopt, view.constant()});
  }
  FactsReader reader(facts_);
  Range r = reader.range(dim);
  if (r.high && *r.high < 0) return false;
  if (r.low && *r.low >= 0) return true;
  if (view.terms().size() == 1 && t.coefficient == 1 && view.constant() < 0) none_is_zero(t);
  bool done = false;
  if (!assume_power(dim, false, done)) return false;
  if (done) return true;
  if (--budget_ > 0) {
    if (reader.nonnegative(-dim - 1)) return false;
    if (reader.nonnegative(-dim)) return assume_zero(dim);
  }
  keep_bound(dim);
  bound_quotient(dim);
  bound_extreme(dim);
  return true;
}

namespace {
constexpr Wide kBeyond = Wide{1} << 64;  // all numbers of 64 bits
// x^p of an x above 0, or kBeyond where it is more.
Wide power_of(Wide x, int64_t p) {
  Wide all = 1;
  for (; p > 0 && x > 1 && all < kBeyond; --p) all = std::min(all * x, kBeyond);
  return all;
}
// The least x above 0 whose power is as much as that.
int64_t root_of(Wide much, int64_t p) {
  int64_t low = 1, high = INT64_MAX;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (power_of(middle, p) >= much)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
}  // namespace

namespace {
// Of a symbol, a multiple of which is rounded to within this range: the one grows with the other. An overflow is
// beyond.
Range range_before_rounding(const SymNode* call, const Range& range) {
  constexpr int64_t kFar = int64_t{1} << 61;
  auto from_where = [&](int64_t wanted) {  // the least value that gives as much
    int64_t low = -kFar, high = kFar;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const auto value = apply_call(call->fn, middle, call->factor());
      const bool less = value ? *value < wanted : middle < 0;
      (less ? low : high) = less ? middle + 1 : middle;
    }
    return low;
  };
  Range made;
  if (range.low)
    if (const int64_t least = from_where(*range.low); least > -kFar) made.low = least;
  if (range.high && *range.high < INT64_MAX)
    if (const int64_t beyond = from_where(*range.high + 1); beyond < kFar) made.high = beyond - 1;
  return made;
}
}  // namespace

// From a range of a product of symbols that are above 0: what the others leave of it is the power of each. Or of what
// rounds multiples of a symbol.
bool FactsLearner::tighten_factors(const SymNode* monomial, const Range& range) {
  if (monomial->kind == SymKind::call && monomial->factor() > 0 && !monomial->args()[0].is_constant())
    if (const SymNode* symbol = monomial->args()[0].node(); symbol->kind == SymKind::symbol)
      return assume_range(symbol, range_before_rounding(monomial, range));
  ProductView product(monomial);
  std::vector<Range> ranges;
  for (const SymFactor& f : product.factors()) {
    if (f.atom->kind != SymKind::symbol) return true;
    ranges.push_back(FactsReader(facts_).symbol_range(f.atom));
    if (!ranges.back().low || *ranges.back().low < 1) return true;
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SymFactor& f = product.factors()[i];
    Wide least = 1, greatest = 1;  // of the others
    for (size_t k = 0; k < ranges.size(); ++k) {
      if (k == i || !fits(least) || !fits(greatest)) continue;
      const int64_t power = product.factors()[k].power;
      least *= std::min(power_of(*ranges[k].low, power), Wide{INT64_MAX});
      greatest *= ranges[k].high ? std::min(power_of(*ranges[k].high, power), Wide{INT64_MAX}) : Wide{INT64_MAX};
    }
    Range next;
    if (range.high && *range.high >= 0) next.high = root_of(floor_quotient(*range.high, least) + 1, f.power) - 1;
    if (range.low && *range.low > 0 && fits(greatest))
      next.low = root_of(-floor_quotient(-Wide{*range.low}, greatest), f.power);
    if (!assume_range(f.atom, next)) return false;
  }
  return true;
}

// From c*s + rest >= 0: s >= -high(rest)/c, or s <= high(rest)/-c; the same of a product of symbols.
bool FactsLearner::tighten(Dim bound) {
  FactsReader reader(facts_);
  SumView view(bound);
  Wide total = view.constant();
  const SymNode* unbounded = nullptr;
  std::vector<Range> ranges;
  for (const SymTerm& t : view.terms()) {
    ranges.push_back(reader.range(monomial_dim(t)));
    if (ranges.back().high) {
      if (__builtin_add_overflow(total, Wide{*ranges.back().high}, &total)) return true;
    } else if (unbounded != nullptr) {
      return true;  // two open ends: nothing follows for anyone
    } else {
      unbounded = t.monomial;
    }
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SymTerm& t = view.terms()[i];
    if (unbounded != nullptr && unbounded != t.monomial) continue;
    Wide rest = unbounded != nullptr ? total : total - *ranges[i].high;
    Range next;
    Wide end = t.coefficient > 0 ? -floor_quotient(rest, t.coefficient) : floor_quotient(rest, -Wide{t.coefficient});
    if (!fits(end)) continue;
    (t.coefficient > 0 ? next.low : next.high) = static_cast<int64_t>(end);
    const bool symbol = t.monomial->kind == SymKind::symbol;
    if (!(symbol ? assume_range(t.monomial, next) : tighten_factors(t.monomial, next))) return false;
  }
  return true;
}

bool FactsLearner::take_in(const Pending& pending) {
  if (pending.kind == Pending::Kind::fixed) {  // what is known of it by now has its value already: nothing to simplify
    const SymNode* symbol = pending.dim.node();
    if (!solved(symbol)) replace(symbol, *known(symbol).range.low);
    return true;
  }
  Dim dim = FactsReader(facts_).normalize(pending.dim);
  switch (pending.kind) {
    case Pending::Kind::zero: return assume_zero(dim);
    case Pending::Kind::nonzero: return assume_nonzero(dim);
    case Pending::Kind::nonnegative: return assume_nonnegative(dim);
    case Pending::Kind::congruent:
      return assume_congruence(dim, pending.congruence.modulus, pending.congruence.residue);
    case Pending::Kind::tighten: return dim.is_constant() || tighten(dim);
    case Pending::Kind::fixed: break;  // above
  }
  return true;
}

bool FactsLearner::settle() {
  for (;;) {
    if (!pending_.empty()) {
      Pending next = pending_.back();
      pending_.pop_back();
      if (!take_in(next)) return false;
    } else if (!changed_.empty() && budget_ > 0) {
      SymbolMask mask = changed_;
      changed_ = {};
      const bool broken = facts_.bounds_.any_of(mask, [&](const Facts::Bound& b) {
        if (--budget_ < 0) return false;
        Dim simpler = FactsReader(facts_).normalize(b.dim);
        if (!(simpler == b.dim)) pending_.push_back({Pending::Kind::nonnegative, simpler, {}});
        return !tighten(b.dim);
      });
      if (broken) return false;
      facts_.nonzero_.any_of(mask, [&](const Facts::Bound& b) {  // what is not 0 may now be smaller, or end at 0
        if (--budget_ < 0) return false;
        Dim simpler = FactsReader(facts_).normalize(b.dim);
        if (!(simpler == b.dim)) pending_.push_back({Pending::Kind::nonzero, simpler, {}});
        Range r = FactsReader(facts_).range(b.dim);
        if (r.low && *r.low == 0) pending_.push_back({Pending::Kind::nonnegative, b.dim - 1, {}});
        if (r.high && *r.high == 0) pending_.push_back({Pending::Kind::nonnegative, -b.dim - 1, {}});
        return false;
      });
    } else {
      return true;
    }
  }
}

bool FactsLearner::assume(const Cond& cond) {
  // A bound of what stands for a sum by now is one of that sum, and the symbol's own: factors ask for it.
  if (const auto bound = as_range(cond); bound && solved(bound->first))
    return assume_range(bound->first, bound->second) && settle();
  FactsReader reader(facts_);
  Dim gap;
  try {
    gap = reader.normalize(without_factors(cond));
  } catch (const DimOverflow&) {  // sides that are simpler by themselves
    gap = reader.normalize(reader.normalize(cond.rhs) - reader.normalize(cond.lhs));
  }
  bool consistent = true;
  switch (cond.rel) {
    case Rel::eq: consistent = assume_zero(gap); break;
    case Rel::ne: consistent = assume_nonzero(gap); break;
    case Rel::lt: consistent = assume_nonnegative(gap - 1); break;
    case Rel::le: consistent = assume_nonnegative(gap); break;
  }
  return consistent && settle();
}

}  // namespace lenz
