#include "compiler/graph/assumptions.h"

#include <algorithm>
#include <utility>

#include "compiler/base/sym_eliminate.h"
#include "compiler/graph/simplified.h"

namespace lenz {

DataDependent::DataDependent(const Cond& cond, const std::string& who)
    : UserError(who + ": whether " + to_string(cond) + " decides what is made, and only the run knows it", {},
                "say which behind the graph's `where`, as `" + to_string(cond) + "` or `" + to_string(negate(cond)) +
                    "`: the run then checks it") {}

bool Assumptions::suppose(const Cond& cond) {
  if (!started_) {
    known_ = declared_;
    started_ = true;
  }
  if (!known_.add(cond)) return false;
  guards_.push_back(cond);
  return true;
}

bool Assumptions::record(const Cond& cond) {
  if (!(is_open(cond) ? declare(cond) : suppose(cond))) return false;
  relied_.push_back(cond);
  return true;
}

// What stands there literally needs no proof: later facts may have taken the shape from an earlier one by which the
// prover would find it.
Truth Assumptions::truth(const Cond& cond) const {
  Truth truth = prove(cond);
  if (truth != Truth::unknown) return truth;
  Cond opposite = negate(cond);
  for (const auto* list : {&guards_, &declared_.conditions()})
    for (const Cond& c : *list)
      if (c == cond || c == opposite) return c == cond ? Truth::yes : Truth::no;
  return Truth::unknown;
}

bool Assumptions::likely(const Cond& cond) const {
  auto lhs = known().hint(cond.lhs), rhs = known().hint(cond.rhs);
  if (!lhs || !rhs) return false;
  switch (cond.rel) {
    case Rel::eq: return *lhs == *rhs;
    case Rel::ne: return *lhs != *rhs;
    case Rel::lt: return *lhs < *rhs;
    case Rel::le: return *lhs <= *rhs;
  }
  return false;
}

bool Assumptions::decide(const Cond& cond) {
  Truth known = truth(cond);
  if (known != Truth::unknown) return known == Truth::yes;
  if (is_open(cond)) throw DataDependent(simplified(cond, this->known()), "a size");
  bool holds = likely(cond);
  return record(holds ? cond : negate(cond)) ? holds : !holds;  // what contradicts the facts is refuted by them
}

bool Assumptions::assume(const Cond& cond) {
  Truth known = truth(cond);
  return known == Truth::unknown ? record(cond) : known == Truth::yes;
}

bool Assumptions::declare(const Cond& cond) {
  if (declared_.proves(cond)) return true;
  if (!declared_.add(cond) || (started_ && !known_.add(cond))) return false;
  // No guard says what is known without it.
  const SharedList<Cond> guards = std::exchange(guards_, {});
  started_ = false;
  return std::ranges::all_of(guards, [&](const Cond& guard) {
    Truth known = truth(guard);
    return known == Truth::unknown ? suppose(guard) : known == Truth::yes;
  });
}

void Assumptions::declare_range(const SymNode* symbol, Range range) {
  declared_.set_range(symbol, range);
  if (started_) known_.set_range(symbol, range);
}

bool Assumptions::mentions_open(Dim dim) const {
  bool found = false;
  if (!dim.is_constant() && !open_.empty())
    for_each_symbol(dim, [&](const SymNode* s) { found = found || open_.contains(symbol_id(s)); });
  return found;
}

void Assumptions::open(const SymNode* symbol) {
  if (open_.contains(symbol_id(symbol))) return;
  open_.change(symbol_id(symbol)) = symbol;
  std::vector<Cond> asserted;
  guards_.erase_if([&](const Cond& c) {
    if (is_open(c)) asserted.push_back(c);
    return is_open(c);
  });
  for (const Cond& c : asserted) LENZ_CHECK(declare(c), "a guard contradicts the facts: " + to_string(c));
}

void Assumptions::open_as(const Assumptions& other) {
  for (const SymNode* const* symbol : other.open_.all()) open(*symbol);
}

void Assumptions::keep(const std::function<bool(const SymNode*)>& stays) {
  auto speaks = [&](const Cond& c) {
    bool all = true;
    for (Dim side : {c.lhs, c.rhs}) for_each_symbol(side, [&](const SymNode* s) { all = all && stays(s); });
    return all;
  };
  auto ranges = [&](const Facts::Declared& r) { return stays(r.symbol); };
  if (std::ranges::all_of(declared_.ranges(), ranges) && std::ranges::all_of(declared_.conditions(), speaks) &&
      std::ranges::all_of(guards_, speaks))
    return;
  Assumptions kept;
  kept.open_ = open_;
  for (const auto& [symbol, range] : declared_.ranges())
    if (stays(symbol)) kept.facts().set_range(symbol, range);
  for (const Cond& c : declared_.conditions())
    if (speaks(c)) kept.facts().add(c);
  for (const Cond& c : guards_)
    if (speaks(c)) kept.assume(c);
  for (const Cond& c : said_of_others(known(), guards_, stays)) kept.assume(c);
  *this = std::move(kept);
}

}  // namespace lenz
