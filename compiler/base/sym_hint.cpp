// Hints: one typical value per symbol that satisfies all facts together. They are made when asked for and kept: a value
// changes only if a later fact rules it out, so that what was decided by a hint stays true of it.
#include <algorithm>
#include <set>

#include "compiler/base/chooser.h"
#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {

// What a symbol is without any fact: distinct, greater than 1, mostly prime (a size that divides nothing by accident).
int64_t free_value(uint32_t id) {
  constexpr int64_t kPrimes[] = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
  constexpr uint32_t kCount = std::size(kPrimes);
  return id < kCount ? kPrimes[id] : 101 + 2 * static_cast<int64_t>(id - kCount);
}

constexpr int kMaxWalk = 512;                    // values tried in turn for one symbol
constexpr int kMaxRepairs = 64;                  // symbols changed to satisfy conditions
constexpr int kMaxChecks = 6000;                 // conditions evaluated while doing so
constexpr int64_t kMaxPoints = 1 << 13;          // values tried where that leads nowhere
constexpr uint64_t kBroken = uint64_t{1} << 63;  // in the version of hints that no repair made satisfy all

}  // namespace

class HintSearch {
 public:
  HintSearch(const Facts& facts, Facts::Hints& hints) : facts_(facts), hints_(hints) {}

  void run() {
    if (!extend()) search();
    hints_.conditions = facts_.conditions_.size();
  }

 private:
  std::optional<int64_t>& value(uint32_t id) { return hints_.values[id].number; }
  const std::optional<int64_t>& value(uint32_t id) const { return hints_.values[id].number; }

  void make_room(const Facts::Known& k) {
    if (hints_.values.size() <= k.symbol->id) hints_.values.resize(size_t{k.symbol->id} + 1);
  }

  // The usual case, facts that agree with the values of before: looks at what is new alone, so that a chain of facts
  // costs what its links cost.
  bool extend() {
    if (hints_.version == 0 || (hints_.version & kBroken) != 0) return false;
    std::vector<uint32_t> touched(facts_.unhinted_.begin(), facts_.unhinted_.end()), fresh;
    std::ranges::sort(touched);
    touched.erase(std::ranges::unique(touched).begin(), touched.end());
    for (uint32_t id : touched) {
      const Facts::Known& k = known(id);
      make_room(k);
      if (k.solved) set_open(id, false);
    }
    bool agree = true;
    for (uint32_t id : touched) {
      const Facts::Known& k = known(id);
      if (!agree) break;
      if (!value(id)) {
        fresh.push_back(id);
        if (k.solved) continue;
        value(id) = typical(k);
        set_open(id, true);
      } else {
        agree = k.solved ? agrees(k) : allowed(k, *value(id));
      }
    }
    for (uint32_t id : fresh)
      if (const Facts::Known& k = known(id); agree && k.solved) {
        value(id) = value_of(k.symbol);
        agree = agrees(k);
      }
    for (size_t i = hints_.conditions; agree && i < facts_.conditions_.size(); ++i)
      agree = holds(facts_.conditions_[i]);
    if (agree) {
      hints_.version = facts_.version_;
    } else {
      for (uint32_t id : fresh) {
        set_open(id, false);
        value(id).reset();
      }
    }
    return agree;
  }

  // Whether others shall not have its value.
  void set_open(uint32_t id, bool open) {
    Facts::Hints::Value& v = hints_.values[id];
    if (v.open == open) return;
    v.open = open;
    const auto at = std::ranges::lower_bound(hints_.used, *v.number);
    if (open)
      hints_.used.insert(at, *v.number);
    else
      hints_.used.erase(at);
  }

  bool agrees(const Facts::Known& solved) const {
    auto now = value(solved.symbol->id);
    return now && value_of(solved.symbol) == now && (!solved.range.low || *now >= *solved.range.low) &&
           (!solved.range.high || *now <= *solved.range.high);
  }

  void search() {
    all_ = facts_.known_.all();
    searching_ = true;
    for (const Facts::Known* k : all_) {
      make_room(*k);
      if (open(*k) && value(k->symbol->id)) used_.insert(*value(k->symbol->id));
    }
    for (const Facts::Known* k : all_) {
      if (!open(*k)) continue;
      auto& of = value(k->symbol->id);
      if (of && allowed(*k, *of)) continue;
      of = typical(*k);
      used_.insert(*of);
    }
    bool whole = repair() || try_all();
    hints_.used.clear();
    for (const Facts::Known* k : all_) {
      Facts::Hints::Value& v = hints_.values[k->symbol->id];
      if (k->solved) v.number = value_of(k->symbol);
      v.open = open(*k);
      if (v.open) hints_.used.push_back(*v.number);
    }
    std::ranges::sort(hints_.used);
    hints_.version = facts_.version_ | (whole ? 0 : kBroken);
  }

  const Facts::Known& known(uint32_t id) const { return *facts_.known_.find(id); }
  static bool open(const Facts::Known& k) { return !k.solved; }

  static bool allowed(const Facts::Known& k, int64_t v) {
    return (!k.range.low || v >= *k.range.low) && (!k.range.high || v <= *k.range.high) &&
           (k.congruence.modulus == 0 ? v == k.congruence.residue
                                      : floor_rest(Wide{v} - k.congruence.residue, k.congruence.modulus) == 0);
  }

  // The first value from `from` on that the symbol may have; nullopt if there is none.
  static std::optional<int64_t> next_allowed(const Facts::Known& k, Wide from) {
    if (k.range.low) from = std::max(from, Wide{*k.range.low});
    if (k.congruence.modulus > 0) from += floor_rest(Wide{k.congruence.residue} - from, k.congruence.modulus);
    if (!fits(from) || (k.range.high && from > *k.range.high)) return std::nullopt;
    return static_cast<int64_t>(from);
  }

  // From the free value upwards, else from the least (2, if possible) upwards: the first that no one else has.
  int64_t typical(const Facts::Known& k) const {
    Wide offset = k.range.low && *k.range.low > free_value(k.symbol->id) ? Wide{*k.range.low} : 0;
    for (Wide start : {offset + free_value(k.symbol->id), Wide{2}}) {
      auto v = next_allowed(k, start);
      for (int i = 0; v && i < kMaxWalk; ++i) {
        bool taken = used(*v) || (is_free_value(*v) && *v != free_value(k.symbol->id));
        if (!taken) return *v;
        v = next_allowed(k, Wide{*v} + 1);
      }
    }
    auto v = next_allowed(k, 2);
    for (int i = 0; v && i < kMaxWalk; ++i) {
      if (!used(*v)) return *v;
      v = next_allowed(k, Wide{*v} + 1);
    }
    if ((v = next_allowed(k, 2))) return *v;
    if (k.range.high) {  // everything is below 2: the greatest
      Wide down = *k.range.high;
      if (k.congruence.modulus > 0) down -= floor_rest(down - k.congruence.residue, k.congruence.modulus);
      if (fits(down) && allowed(k, static_cast<int64_t>(down))) return static_cast<int64_t>(down);
    }
    return k.range.low ? *k.range.low : 0;
  }

  // Whether an open symbol has this value.
  bool used(int64_t v) const { return searching_ ? used_.contains(v) : std::ranges::binary_search(hints_.used, v); }

  // Whether a symbol without facts may have this value.
  bool is_free_value(int64_t v) const {
    for (uint32_t id = 0; id < 64; ++id)
      if (free_value(id) == v) return true;
    return false;
  }

  std::optional<int64_t> value_of(const SymNode* symbol) const {
    const Facts::Known* k = facts_.known_.find(symbol->id);
    if (k == nullptr) return free_value(symbol->id);
    if (!k->solved) return value(symbol->id);
    return evaluate(*k->solved, [&](const SymNode* s) { return value_of(s); });
  }

  bool holds(const Cond& cond) {
    --checks_;
    return evaluate(cond, [&](const SymNode* s) { return value_of(s); }).value_or(false);
  }

  // The conditions and, for solved symbols, their ranges: all that single symbols do not ensure.
  void collect() {
    conditions_.assign(facts_.conditions_.begin(), facts_.conditions_.end());
    for (const Facts::Known* k : all_) {
      if (!k->solved) continue;
      if (k->range.low) conditions_.push_back(ge(*k->solved, *k->range.low));
      if (k->range.high) conditions_.push_back(le(*k->solved, *k->range.high));
    }
  }

  // The open symbols that a condition depends on, also through solved ones.
  std::vector<const SymNode*> symbols_of(const Cond& cond) const {
    std::vector<const SymNode*> out;
    auto note = [&](const SymNode* s) {
      const Facts::Known* k = facts_.known_.find(s->id);
      if (k != nullptr && open(*k) && std::ranges::count(out, s) == 0) out.push_back(s);
    };
    for (Dim side : {cond.lhs, cond.rhs})
      for_each_symbol(side, [&](const SymNode* s) {
        note(s);
        if (const Facts::Known* k = facts_.known_.find(s->id); k != nullptr && k->solved)
          for_each_symbol(*k->solved, note);
      });
    return out;
  }

  int broken_with(const SymNode* symbol) {
    int broken = 0;
    for (size_t i : about_[symbol->id]) broken += !holds(conditions_[i]);
    return broken;
  }

  // Values worth trying for a symbol to mend a condition: where a linear condition changes, and what is typical.
  std::vector<int64_t> candidates(const Facts::Known& k, const Cond& cond) {
    std::vector<int64_t> out;
    auto offer = [&](Wide v) {
      if (auto a = next_allowed(k, v)) out.push_back(*a);
    };
    auto& tried = value(k.symbol->id);
    int64_t now = *tried;
    auto gap = [&](int64_t at) -> std::optional<Wide> {
      tried = at;
      auto get = [&](const SymNode* s) { return value_of(s); };
      auto a = evaluate(cond.lhs, get), b = evaluate(cond.rhs, get);
      tried = now;
      if (!a || !b) return std::nullopt;
      return Wide{*a} - *b;
    };
    auto here = gap(now), there = now < INT64_MAX ? gap(now + 1) : std::nullopt;
    if (here && there && *here != *there) {
      Wide crossing = now - floor_quotient(*here, *there - *here);
      for (int d : {0, -1, 1, 2, -2}) offer(crossing + d);
    }
    for (Wide v : {Wide{now} + 1, Wide{now} - 1, Wide{now} * 2, Wide{now} / 2}) offer(v);
    Wide v = k.range.low ? Wide{*k.range.low} : Wide{2};
    for (int i = 0; i < 24; ++i) {
      auto a = next_allowed(k, v);
      if (!a) break;
      out.push_back(*a);
      v = Wide{*a} + 1;
    }
    return out;
  }

  // Changes one symbol at a time, to the value that breaks the fewest conditions.
  bool repair() {
    collect();
    about_.assign(hints_.values.size(), {});
    for (size_t i = 0; i < conditions_.size(); ++i)
      for (const SymNode* s : symbols_of(conditions_[i])) about_[s->id].push_back(i);
    RandomChooser choose(1);
    for (int round = 0; round < kMaxRepairs && checks_ > 0; ++round) {
      std::vector<size_t> broken;
      for (size_t i = 0; i < conditions_.size(); ++i)
        if (!holds(conditions_[i])) broken.push_back(i);
      if (broken.empty()) return true;
      mend(conditions_[broken[choose.below(broken.size())]], choose);
    }
    return false;
  }

  // A symbol that gets values in turn, and the conditions of which it is the last symbol to get one: those that are
  // linear in it say which, as an equation does of the last factor of a product.
  struct Place {
    const SymNode* symbol;
    std::vector<size_t> decided, linear;
  };

  // An equation of products may have one solution, which no step from symbol to symbol leads to. Of symbols that have
  // few values all are tried, those of conditions that are broken, then those of what is said of these too: hints that
  // break a fact decide what facts exclude. What an equation says by these needs no trying, however many values it has.
  bool try_all() {
    if (hints_.tried_all) return false;
    std::vector<const SymNode*> symbols;
    auto note = [&](const Cond& cond) {
      for (const SymNode* s : symbols_of(cond))
        if (std::ranges::find(symbols, s) == symbols.end()) symbols.push_back(s);
    };
    for (const Cond& cond : conditions_)
      if (!holds(cond)) note(cond);
    const auto before = hints_.values;
    int64_t left = kMaxPoints;
    for (size_t tried = 0; tried < symbols.size() && left > 0;) {
      tried = symbols.size();
      if (place(places_of(symbols), 0, left)) return true;
      hints_.values = before;
      for (size_t i = 0; i < tried; ++i)
        for (size_t c : about_[symbols[i]->id]) note(conditions_[c]);
    }
    hints_.tried_all = true;
    return false;
  }

  static bool few_in(const Range& r) { return r.low && r.high && Wide{*r.high} - *r.low < kMaxPoints; }
  bool few(const SymNode* symbol) const { return few_in(known(symbol->id).range); }

  bool depends_on(Dim dim, const SymNode* symbol) const {
    bool found = false;
    for_each_symbol(dim, [&](const SymNode* s) {
      const Facts::Known* k = facts_.known_.find(s->id);
      found = found || s == symbol || (k != nullptr && k->solved && mentions(*k->solved, symbol));
    });
    return found;
  }

  // Whether a dim is c*symbol + r, where nothing in c and r depends on it.
  bool linear_in(Dim dim, const SymNode* symbol) const {
    if (dim.is_constant()) return true;
    SumView view(dim);
    return std::ranges::all_of(view.terms(), [&](const SymTerm& t) {
      ProductView product(t.monomial);
      return std::ranges::all_of(product.factors(), [&](const SymFactor& f) {
        return f.atom == symbol ? f.power == 1 : !depends_on(Dim(f.atom), symbol);
      });
    });
  }
  bool linear_in(const Cond& cond, const SymNode* symbol) const {
    return cond.rel != Rel::ne && linear_in(cond.lhs, symbol) && linear_in(cond.rhs, symbol);
  }
  bool says(const Cond& cond, const SymNode* symbol) const { return cond.rel == Rel::eq && linear_in(cond, symbol); }

  // What an equation says comes as soon as it does; in turn comes first what no equation says. Others stay as they are.
  std::vector<Place> places_of(const std::vector<const SymNode*>& symbols) const {
    std::vector<Place> places;
    std::vector<const SymNode*> open = symbols;
    auto is_last = [&](const SymNode* s, const Cond& cond) {
      return std::ranges::none_of(symbols_of(cond),
                                  [&](const SymNode* o) { return o != s && std::ranges::find(open, o) != open.end(); });
    };
    auto take = [&](const SymNode* s) {
      Place& place = places.emplace_back(Place{s, {}, {}});
      for (size_t c : about_[s->id]) {
        if (!is_last(s, conditions_[c])) continue;
        place.decided.push_back(c);
        if (linear_in(conditions_[c], s)) place.linear.push_back(c);
      }
      std::erase(open, s);
    };
    auto said = [&](const SymNode* s) {
      return std::ranges::any_of(about_[s->id],
                                 [&](size_t c) { return is_last(s, conditions_[c]) && says(conditions_[c], s); });
    };
    auto may_be_said = [&](const SymNode* s) {
      return std::ranges::any_of(about_[s->id], [&](size_t c) { return says(conditions_[c], s); });
    };
    for (;;) {
      auto next = std::ranges::find_if(open, said);
      if (next == open.end())
        next = std::ranges::find_if(open, [&](const SymNode* s) { return few(s) && !may_be_said(s); });
      if (next == open.end()) next = std::ranges::find_if(open, [&](const SymNode* s) { return few(s); });
      if (next == open.end()) return places;
      take(*next);
    }
  }

  // The values of a symbol by which a condition holds that is linear in it.
  Range solutions(const SymNode* symbol, const Cond& cond) {
    constexpr Range kNone{1, 0};
    auto& of = value(symbol->id);
    const auto before = of;
    auto gap = [&](int64_t at) -> std::optional<Wide> {
      of = at;
      auto get = [&](const SymNode* s) { return value_of(s); };
      const auto a = evaluate(cond.lhs, get), b = evaluate(cond.rhs, get);
      return a && b ? std::optional(Wide{*a} - *b) : std::nullopt;
    };
    const auto none = gap(0), one = gap(1);
    of = before;
    if (!none || !one) return kNone;
    const Wide by = *one - *none, most = (cond.rel == Rel::lt ? -1 : 0) - *none;  // by*x is it, or at most
    if (by == 0) return (cond.rel == Rel::eq ? most == 0 : most >= 0) ? Range{} : kNone;
    const Wide end = by > 0 ? floor_quotient(most, by) : -floor_quotient(most, -by);
    if (cond.rel == Rel::eq && end * by != most) return kNone;
    if (!fits(end)) return cond.rel == Rel::eq ? kNone : Range{};
    const auto x = static_cast<int64_t>(end);
    if (cond.rel == Rel::eq) return {x, x};
    return by > 0 ? Range{std::nullopt, x} : Range{x, std::nullopt};
  }

  // Values for the symbols from this place on, with which all conditions hold that they decide; 0 and 1 come last.
  bool place(const std::vector<Place>& places, size_t at, int64_t& left) {
    if (at == places.size()) return true;
    const auto& [symbol, decided, linear] = places[at];
    const Facts::Known& k = known(symbol->id);
    auto fits_here = [&](int64_t v) {
      if (!allowed(k, v) || left-- <= 0) return false;
      value(symbol->id) = v;
      return std::ranges::all_of(decided, [&](size_t c) { return holds(conditions_[c]); }) &&
             place(places, at + 1, left);
    };
    Range range = k.range;
    for (size_t c : linear) range = intersect_ranges(range, solutions(symbol, conditions_[c]));
    if (!few_in(range)) return fits_here(*value(symbol->id));
    if (*range.low > *range.high) return false;
    const int64_t low = *range.low, count = *range.high - low + 1, first = std::clamp<int64_t>(2 - low, 0, count);
    for (int64_t i = 0; i < count && left > 0; ++i)
      if (fits_here(low + (i + first) % count)) return true;
    return false;
  }

  void mend(const Cond& cond, Chooser& choose) {
    struct Move {
      const SymNode* symbol;
      int64_t value;
    };
    std::vector<Move> best;
    int best_cost = INT32_MAX;
    for (const SymNode* s : symbols_of(cond)) {
      auto& tried = value(s->id);
      int64_t now = *tried;
      int before = broken_with(s);
      for (int64_t v : candidates(known(s->id), cond)) {
        if (v == now || checks_ <= 0) continue;
        tried = v;
        int cost = 4 * (broken_with(s) - before) + (v < 2) + 2 * shared(s, v);
        if (cost < best_cost) best.clear();
        if (cost <= best_cost) best.push_back({s, v});
        best_cost = std::min(best_cost, cost);
      }
      tried = now;
    }
    if (best.empty()) return;
    const Move& move = choose.pick(best);
    value(move.symbol->id) = move.value;
  }

  bool shared(const SymNode* symbol, int64_t v) const {
    return std::ranges::any_of(
        all_, [&](const Facts::Known* k) { return open(*k) && k->symbol != symbol && value(k->symbol->id) == v; });
  }

  const Facts& facts_;
  Facts::Hints& hints_;
  bool searching_ = false;
  std::vector<const Facts::Known*> all_;  // where it searches: of all symbols
  std::set<int64_t> used_;                // and the values of open ones
  std::vector<Cond> conditions_;
  std::vector<std::vector<size_t>> about_;  // by symbol id: which conditions depend on it
  int checks_ = kMaxChecks;
};

int64_t Facts::hint(const SymNode* symbol) const {
  if (!known_.contains(symbol->id)) return free_value(symbol->id);
  if (!hints_ || (hints_->version & ~kBroken) != version_) {
    if (!hints_ || hints_.use_count() > 1)
      hints_ = hints_ ? std::make_shared<Hints>(*hints_) : std::make_shared<Hints>();
    HintSearch(*this, *hints_).run();
    unhinted_.clear();
  }
  return hints_->values[symbol->id].number.value_or(free_value(symbol->id));
}

std::optional<int64_t> Facts::hint(Dim dim) const {
  return evaluate(dim, [&](const SymNode* s) { return std::optional<int64_t>(hint(s)); });
}

}  // namespace lenz
