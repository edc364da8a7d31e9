#include "compiler/loops/symbols.h"

#include <algorithm>

#include "compiler/base/sym_facts.h"
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

namespace {
// The value of the one open symbol that makes the dim that number. A linear dim follows from two of its values; one
// that is not shows by the third.
std::optional<int64_t> value_that_gives(Dim dim, int64_t number, const SymNode* open, const SymValues& known) {
  auto at = [&](int64_t x) {
    return evaluate(dim, [&](const SymNode* s) { return s == open ? std::optional(x) : known(s); });
  };
  std::optional<int64_t> zero = at(0), first = at(1);
  if (!zero || !first || *zero == *first || (number - *zero) % (*first - *zero) != 0) return std::nullopt;
  const int64_t x = (number - *zero) / (*first - *zero);
  return at(x) == number ? std::optional(x) : std::nullopt;
}

// Whether a dim is a multiple of the symbol beside what hangs on others alone: of a remainder, or of what is rounded,
// many numbers may be the symbol's.
bool is_linear_in(Dim dim, const SymNode* symbol) {
  for (Dim term : terms_of(dim).operands) {
    size_t powers = 0;
    for (Dim factor : factors_of(term))
      if (factor == Dim(symbol))
        ++powers;
      else if (!factor.is_constant() && mentions(factor, symbol))
        return false;
    if (powers > 1) return false;
  }
  return true;
}
}  // namespace

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
  const std::optional<int64_t> x = value_that_gives(dim, number, open, lookup());
  if (x) bind(Dim(open), *x, who);
  return x.has_value();
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

// Until no fact tells another one. What was told before is told again: a loop's next round makes other sizes.
void Symbols::follow_facts() {
  std::vector<const SymNode*> told;
  const SymValues known = [&](const SymNode* s) {
    return is_told(s) && std::ranges::find(told, s) == told.end() ? std::nullopt : find(s);
  };
  auto tell = [&](Dim dim, int64_t number) {
    std::vector<const SymNode*> open;
    for_each_symbol(dim, [&](const SymNode* s) {
      if (!known(s)) open.push_back(s);
    });
    if (open.size() != 1 || !is_linear_in(dim, open[0])) return false;
    const std::optional<int64_t> x = value_that_gives(dim, number, open[0], known);
    if (!x) return false;
    bind(Dim(open[0]), *x, &kToldByFact);
    told.push_back(open[0]);
    return true;
  };
  auto value_of = [&](Dim dim) { return dim.is_constant() ? std::optional(dim.constant()) : evaluate(dim, known); };
  for (bool more = true; more;) {
    more = false;
    for (const Cond& fact : assumptions_.facts().conditions()) {
      if (fact.rel != Rel::eq) continue;
      const std::optional<int64_t> left = value_of(fact.lhs), right = value_of(fact.rhs);
      if (left.has_value() != right.has_value()) more = (left ? tell(fact.rhs, *left) : tell(fact.lhs, *right)) || more;
    }
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
  // What is yet to be made is asked for when it is.
  const SymValues made = [&](const SymNode* s) { return is_told(s) ? std::nullopt : find(s); };
  auto told = [&](Dim dim) {  // that it has no value is no matter of symbols then
    bool all = true;
    if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { all = all && made(s).has_value(); });
    return all;
  };
  auto require = [&](const Cond& cond, const char* what) {
    if (!why.empty() || (!concerns(cond.lhs) && !concerns(cond.rhs))) return;
    const std::optional<bool> holds = evaluate(cond, made);
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
