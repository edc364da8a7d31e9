#include "compiler/loops/symbols.h"

#include <algorithm>

#include "compiler/base/sym_parts.h"

namespace lenz::loops {

namespace {
constexpr const char* kFact = "the fact";
constexpr char kToldByFact = 0;  // who bound a symbol that is yet to be made, and then bound again
}  // namespace

std::optional<int64_t> Symbols::find(const SymNode* symbol) const {
  const uint32_t id = symbol_id(symbol);
  if (id >= by_.size() || by_[id] == nullptr) return std::nullopt;
  return values_[id];
}

std::optional<int64_t> Symbols::try_value(Dim dim) const {
  return dim.is_constant() ? dim.constant() : evaluate(dim, lookup());
}

int64_t Symbols::value(Dim dim) const {
  if (std::optional<int64_t> value = try_value(dim)) return *value;
  if (const std::string why = why_no_value(dim, lookup()); !why.empty()) throw UserError(why);
  throw InternalError("'" + to_string(dim) + "' has no value here: a symbol is not bound");
}

bool Symbols::is_told(const SymNode* symbol) const { return bound_by(Dim(symbol), &kToldByFact); }

bool Symbols::bound_by(Dim symbol, const void* who) const {
  const uint32_t id = symbol_id(symbol.node());
  return id < by_.size() && by_[id] == who;
}

void Symbols::bind(Dim symbol, int64_t value, const void* who) {
  const uint32_t id = symbol_id(symbol.node());
  if (id >= by_.size()) {
    values_.resize(id + 1);
    by_.resize(id + 1);
  }
  if (by_[id] == nullptr) order_.push_back(id);
  values_[id] = value;
  by_[id] = who;
}

void Symbols::unbind_all(const void* who) {
  for (const void*& by : by_)
    if (by == who) by = nullptr;
  while (!order_.empty() && by_[order_.back()] == nullptr) order_.pop_back();
}

void Symbols::unwind(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) by_[order_.back()] = nullptr;
}

std::optional<bool> Symbols::match(Dim dim, int64_t number, const void* who) {
  const SymNode* open = nullptr;
  size_t count = 0;
  if (!dim.is_constant())
    for_each_symbol(dim, [&](const SymNode* symbol) {
      if (find(symbol) && !is_told(symbol)) return;
      ++count;
      open = symbol;
    });
  if (count == 0) return try_value(dim) == number;
  if (count > 1) return std::nullopt;
  // A linear dim follows from two of its values; one that is not shows by the third.
  auto at = [&](int64_t x) {
    return evaluate(dim, [&](const SymNode* s) { return s == open ? std::optional(x) : find(s); });
  };
  std::optional<int64_t> zero = at(0), first = at(1);
  if (!zero || !first || *zero == *first || (number - *zero) % (*first - *zero) != 0) return false;
  const int64_t x = (number - *zero) / (*first - *zero);
  if (at(x) != number) return false;
  bind(Dim(open), x, who);
  return true;
}

void Symbols::take_sizes(std::span<const Dim> sizes, std::span<const int64_t> numbers, const void* who) {
  for (size_t d = 0; d < std::min(sizes.size(), numbers.size()); ++d) {
    match(sizes[d], numbers[d], who);
    if (sizes[d].is_constant()) continue;
    for_each_symbol(sizes[d], [&](const SymNode* s) {
      if (bound_by(Dim(s), who)) check(s);
    });
  }
  follow_facts();
}

void Symbols::take_made(Dim symbol, int64_t value, const void* who) {
  bind(symbol, value, who);
  check(symbol.node());
  follow_facts();
}

void Symbols::follow_facts() {
  auto known = [&](Dim dim) {
    return dim.is_constant() ? std::optional(dim.constant())
                             : evaluate(dim, [&](const SymNode* s) { return is_told(s) ? std::nullopt : find(s); });
  };
  for (const Cond& fact : assumptions_.facts().conditions()) {
    if (fact.rel != Rel::eq) continue;
    const std::optional<int64_t> left = known(fact.lhs), right = known(fact.rhs);
    if (left.has_value() != right.has_value())
      left ? match(fact.rhs, *left, &kToldByFact) : match(fact.lhs, *right, &kToldByFact);
  }
}

void Symbols::check(const SymNode* symbol) const {
  if (const std::string why = broken(symbol); !why.empty()) throw UserError(why);
}

bool Symbols::tells_of_fact(std::string_view refusal) { return refusal.starts_with(kFact); }

std::string Symbols::broken(const SymNode* symbol) const {
  std::string why;
  auto concerns = [&](Dim dim) {
    bool found = symbol == nullptr;
    if (!found && !dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found = found || s == symbol; });
    return found;
  };
  auto told = [&](Dim dim) {  // that it has no value is no matter of symbols then
    bool all = true;
    if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { all = all && find(s).has_value(); });
    return all;
  };
  auto require = [&](const Cond& cond, const char* what) {
    if (!why.empty() || (!concerns(cond.lhs) && !concerns(cond.rhs))) return;
    const std::optional<bool> holds = evaluate(cond, lookup());
    if (holds ? *holds : !told(cond.lhs) || !told(cond.rhs)) return;
    auto number = [&](Dim dim) {
      const std::optional<int64_t> n = try_value(dim);
      return n ? std::to_string(*n) : "beyond 64 bits";
    };
    why = std::string(what) + " " + to_string(cond) + " does not hold: it is " + number(cond.lhs) + " against " +
          number(cond.rhs);
  };
  bool declared = false;
  for (const auto& [about, range] : assumptions_.facts().ranges()) {
    declared = declared || about == symbol;
    if (range.low) require(le(*range.low, Dim(about)), kFact);
    if (range.high) require(le(Dim(about), *range.high), kFact);
  }
  if (symbol != nullptr && !declared) require(le(0, Dim(symbol)), kFact);  // it is a size
  for (const Cond& fact : assumptions_.facts().conditions()) require(fact, kFact);
  // Guards are for those who choose a program by its inputs; of a size that data made nobody may ask so much.
  if (symbol == nullptr)
    for (const Cond& guard : assumptions_.guards()) require(guard, "the guard");
  return why;
}

}  // namespace lenz::loops
