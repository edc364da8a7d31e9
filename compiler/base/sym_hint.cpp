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
constexpr uint64_t kBroken = uint64_t{1} << 63;  // in the version of hints that no repair made satisfy all

}  // namespace

class HintSearch {
 public:
  explicit HintSearch(const Facts& facts) : facts_(facts), values_(facts.hints_.values) {}

  void run() {
    if (!extend()) search();
  }

 private:
  // The usual case, facts that agree with the values of before: looks at what is new alone, so that a chain of facts
  // costs what its links cost. Every fact adds one condition at most: those added since are among the last ones.
  bool extend() {
    uint64_t before = facts_.hints_.version;
    if (before == 0 || (before & kBroken) != 0) return false;
    values_.resize(facts_.known_.size());
    std::vector<uint32_t> fresh;
    bool agree = true;
    for (const Facts::Known& k : facts_.known_) {
      if (k.symbol == nullptr || !agree) continue;
      auto& value = values_[k.symbol->id];
      if (!value) {
        fresh.push_back(k.symbol->id);
        if (!k.solved) value = typical(k);
      } else {
        agree = k.solved ? agrees(k) : allowed(k, *value);
      }
    }
    for (uint32_t id : fresh)
      if (const Facts::Known& k = facts_.known_[id]; agree && k.solved) {
        values_[id] = value_of(k.symbol);
        agree = agrees(k);
      }
    size_t count = facts_.conditions_.size();
    for (size_t i = count - std::min<uint64_t>(facts_.version_ - before, count); agree && i < count; ++i)
      agree = holds(facts_.conditions_[i]);
    if (agree) {
      facts_.hints_.version = facts_.version_;
    } else {
      for (uint32_t id : fresh) values_[id].reset();
    }
    return agree;
  }

  bool agrees(const Facts::Known& solved) const {
    auto value = values_[solved.symbol->id];
    return value && value_of(solved.symbol) == value && (!solved.range.low || *value >= *solved.range.low) &&
           (!solved.range.high || *value <= *solved.range.high);
  }

  void search() {
    values_.resize(facts_.known_.size());
    listed_ = true;
    for (const Facts::Known& k : facts_.known_)
      if (open(k) && values_[k.symbol->id]) used_.insert(*values_[k.symbol->id]);
    for (const Facts::Known& k : facts_.known_) {
      if (!open(k)) continue;
      auto& value = values_[k.symbol->id];
      if (value && allowed(k, *value)) continue;
      value = typical(k);
      used_.insert(*value);
    }
    bool whole = repair();
    for (const Facts::Known& k : facts_.known_)
      if (k.symbol != nullptr && k.solved) values_[k.symbol->id] = value_of(k.symbol);
    facts_.hints_.version = facts_.version_ | (whole ? 0 : kBroken);
  }

  static bool open(const Facts::Known& k) { return k.symbol != nullptr && !k.solved; }

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

  // Whether an open symbol has this value. Who asks about few symbols makes no list.
  bool used(int64_t v) const {
    if (listed_) return used_.contains(v);
    return std::ranges::any_of(facts_.known_, [&](const auto& k) { return open(k) && values_[k.symbol->id] == v; });
  }

  // Whether a symbol without facts may have this value.
  bool is_free_value(int64_t v) const {
    for (uint32_t id = 0; id < 64; ++id)
      if (free_value(id) == v) return true;
    return false;
  }

  std::optional<int64_t> value_of(const SymNode* symbol) const {
    if (symbol->id >= facts_.known_.size() || facts_.known_[symbol->id].symbol == nullptr)
      return free_value(symbol->id);
    const Facts::Known& k = facts_.known_[symbol->id];
    if (!k.solved) return values_[symbol->id];
    return evaluate(*k.solved, [&](const SymNode* s) { return value_of(s); });
  }

  bool holds(const Cond& cond) {
    --checks_;
    return evaluate(cond, [&](const SymNode* s) { return value_of(s); }).value_or(false);
  }

  // The conditions and, for solved symbols, their ranges: all that single symbols do not ensure.
  void collect() {
    conditions_ = facts_.conditions_;
    for (const Facts::Known& k : facts_.known_) {
      if (k.symbol == nullptr || !k.solved) continue;
      if (k.range.low) conditions_.push_back(ge(*k.solved, *k.range.low));
      if (k.range.high) conditions_.push_back(le(*k.solved, *k.range.high));
    }
  }

  // The open symbols that a condition depends on, also through solved ones.
  std::vector<const SymNode*> symbols_of(const Cond& cond) const {
    std::vector<const SymNode*> out;
    auto note = [&](const SymNode* s) {
      if (s->id < facts_.known_.size() && open(facts_.known_[s->id]) && std::ranges::count(out, s) == 0)
        out.push_back(s);
    };
    for (Dim side : {cond.lhs, cond.rhs})
      for_each_symbol(side, [&](const SymNode* s) {
        note(s);
        if (s->id < facts_.known_.size() && facts_.known_[s->id].solved)
          for_each_symbol(*facts_.known_[s->id].solved, note);
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
    auto& value = values_[k.symbol->id];
    int64_t now = *value;
    auto gap = [&](int64_t at) -> std::optional<Wide> {
      value = at;
      auto get = [&](const SymNode* s) { return value_of(s); };
      auto a = evaluate(cond.lhs, get), b = evaluate(cond.rhs, get);
      value = now;
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
    about_.assign(facts_.known_.size(), {});
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

  void mend(const Cond& cond, Chooser& choose) {
    struct Move {
      const SymNode* symbol;
      int64_t value;
    };
    std::vector<Move> best;
    int best_cost = INT32_MAX;
    for (const SymNode* s : symbols_of(cond)) {
      auto& value = values_[s->id];
      int64_t now = *value;
      int before = broken_with(s);
      for (int64_t v : candidates(facts_.known_[s->id], cond)) {
        if (v == now || checks_ <= 0) continue;
        value = v;
        int cost = 4 * (broken_with(s) - before) + (v < 2) + 2 * shared(s, v);
        if (cost < best_cost) best.clear();
        if (cost <= best_cost) best.push_back({s, v});
        best_cost = std::min(best_cost, cost);
      }
      value = now;
    }
    if (best.empty()) return;
    const Move& move = choose.pick(best);
    values_[move.symbol->id] = move.value;
  }

  bool shared(const SymNode* symbol, int64_t v) const {
    for (const Facts::Known& k : facts_.known_)
      if (open(k) && k.symbol != symbol && values_[k.symbol->id] == v) return true;
    return false;
  }

  const Facts& facts_;
  std::vector<std::optional<int64_t>>& values_;
  bool listed_ = false;
  std::set<int64_t> used_;  // once listed_: the values of open symbols
  std::vector<Cond> conditions_;
  std::vector<std::vector<size_t>> about_;  // by symbol id: which conditions depend on it
  int checks_ = kMaxChecks;
};

int64_t Facts::hint(const SymNode* symbol) const {
  if (symbol->id >= known_.size() || known_[symbol->id].symbol == nullptr) return free_value(symbol->id);
  if ((hints_.version & ~kBroken) != version_) HintSearch(*this).run();
  return hints_.values[symbol->id].value_or(free_value(symbol->id));
}

std::optional<int64_t> Facts::hint(Dim dim) const {
  return evaluate(dim, [&](const SymNode* s) { return std::optional<int64_t>(hint(s)); });
}

}  // namespace lenz
