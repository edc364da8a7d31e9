// Facts as they are given: ranges that are declared and conditions, each learnt as a whole or not at all.
#include <algorithm>
#include <atomic>

#include "compiler/base/sym_facts.h"

namespace lenz {

namespace {
bool is_symbol(Dim dim) { return !dim.is_constant() && dim.node()->kind == SymKind::symbol; }

// Whether something can be learnt. What makes a divisor 0 of something that is known leaves no value.
template <typename Learn>
bool consistent(Learn&& learn) {
  try {
    return learn();
  } catch (const ZeroDivision&) {
    return false;
  }
}
}  // namespace

std::optional<std::pair<const SymNode*, Range>> as_range(const Cond& cond) {
  if (cond.rel != Rel::lt && cond.rel != Rel::le) return std::nullopt;
  int64_t strict = cond.rel == Rel::lt;
  if (is_symbol(cond.lhs) && cond.rhs.is_constant() && cond.rhs.constant() > INT64_MIN)
    return std::pair(cond.lhs.node(), Range{std::nullopt, cond.rhs.constant() - strict});
  if (is_symbol(cond.rhs) && cond.lhs.is_constant() && cond.lhs.constant() < INT64_MAX)
    return std::pair(cond.rhs.node(), Range{cond.lhs.constant() + strict, std::nullopt});
  return std::nullopt;
}

Range intersect_ranges(const Range& a, const Range& b) {
  Range out = a;
  if (b.low && (!out.low || *b.low > *out.low)) out.low = b.low;
  if (b.high && (!out.high || *b.high < *out.high)) out.high = b.high;
  return out;
}

void Facts::declare(const SymNode* symbol, const Range& first, const Range& range) {
  const Known* before = known_.find(symbol->id);
  const Range declared = intersect_ranges(before->declared.value_or(first), range);
  if (before->declared == declared) return;
  if (!before->declared) declared_.push_back(symbol->id);
  known_.change(symbol->id).declared = declared;
}

std::vector<Facts::Declared> Facts::ranges() const {
  std::vector<Declared> out;
  out.reserve(declared_.size());
  for (uint32_t id : declared_) {
    const Known& k = *known_.find(id);
    out.push_back({k.symbol, *k.declared});
  }
  return out;
}

void Facts::next_version() {
  static std::atomic<uint64_t> latest{0};
  version_ = ++latest;
}

void Facts::set_range(const SymNode* symbol, Range range) {
  constexpr Range kSize{0, std::nullopt};
  FactsLearner learner(*this);
  bool is_new = !known_.contains(symbol->id);
  if (is_new) learner.known(symbol).range = Range{};
  bool empty = range.low && range.high && *range.low > *range.high;
  if (empty || !consistent([&] { return learner.assume_range(symbol, range) && learner.settle(); }))
    throw UserError("the range of " + std::string(symbol_name(symbol)) + " leaves no value");
  learner.keep();
  declare(symbol, is_new ? Range{} : kSize, range);
  next_version();
}

namespace {
// Where the facts leave a symbol one value, earlier conditions can be computed, whatever the rules made of them.
bool holds_for_known_values(const Facts& facts, const Cond& added) {
  SymValues value = [&](const SymNode* s) -> std::optional<int64_t> {
    Range r = facts.range(Dim(s));
    return r.low && r.low == r.high ? r.low : std::nullopt;
  };
  bool any = false;
  for (Dim side : {added.lhs, added.rhs}) for_each_symbol(side, [&](const SymNode* s) { any = any || value(s); });
  if (!any) return true;
  return std::ranges::all_of(facts.conditions(), [&](const Cond& c) { return evaluate(c, value).value_or(true); });
}
}  // namespace

bool Facts::add(const Cond& cond) {
  Truth truth = prove(cond);
  if (truth == Truth::no) return false;
  if (cond.lhs.is_constant() && cond.rhs.is_constant()) return true;
  const auto bound = as_range(cond);
  bool all_stand = true, any_stands = false;  // symbols, in conditions
  const auto look = [&](const SymNode* s) {
    const Known* k = known_.find(s->id);
    const bool stands = k != nullptr && k->in_conditions;
    all_stand = all_stand && stands;
    any_stands = any_stands || stands;
  };
  for (Dim side : {cond.lhs, cond.rhs}) for_each_symbol(side, std::ref(look));
  if (!bound && all_stand)
    for (const auto run : conditions_.runs())
      if (std::ranges::find(run, cond) != run.end()) return true;
  if (conditions_.size() >= kMaxConditions) throw UserError("more than 4096 conditions on dimensions");
  FactsLearner learner(*this);
  const auto mark = [&](const SymNode* s) {
    Known& k = learner.known(s);
    k.in_conditions = k.in_conditions || !bound;
  };
  for (Dim side : {cond.lhs, cond.rhs}) for_each_symbol(side, std::ref(mark));
  if (truth == Truth::unknown) {
    if (!consistent([&] { return learner.assume(cond); })) return false;
    // A range of what no condition speaks of breaks none.
    if ((!bound || any_stands) && !holds_for_known_values(*this, cond)) return false;
  }
  learner.keep();
  if (bound)
    declare(bound->first, {0, std::nullopt}, bound->second);
  else
    conditions_.push_back(cond);
  next_version();
  return true;
}

}  // namespace lenz
