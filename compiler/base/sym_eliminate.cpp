// Eliminates symbols from conditions. g = rest puts the rest in the place of g, whatever has it; a*g + x >= 0 and
// y - b*g >= 0, for a and b above 0, say b*x + a*y >= 0 (Fourier and Motzkin). What has g in a product or a quotient
// and no equation to replace it says what is known of ranges.
#include "compiler/base/sym_eliminate.h"

#include <algorithm>

#include "compiler/base/sym_facts.h"
#include "compiler/base/sym_overflow.h"

namespace lenz {

namespace {
constexpr size_t kMostItems = 256;  // pairs may square their number with each symbol: the rest is given up

struct Item {  // dim >= 0, or == 0, or != 0
  Rel rel = Rel::le;
  Dim dim;
  bool derived = false;  // from another condition
};

// By what number the symbol is multiplied, if it stands nowhere else; 0 if it does.
int64_t coefficient_of(Dim dim, const SymNode* symbol) {
  int64_t found = 0;
  SumView view(dim);
  for (const SymTerm& t : view.terms()) {
    if (t.monomial == symbol)
      found = t.coefficient;
    else if (mentions(Dim(t.monomial), symbol))
      return 0;
  }
  return found == INT64_MIN ? 0 : found;
}

class Elimination {
 public:
  Elimination(const Facts& facts, const std::function<bool(const SymNode*)>& stays) : facts_(facts), stays_(stays) {}

  void take(const Cond& c) {
    attempt([&] {
      const Dim gap = c.rhs - c.lhs;
      add({c.rel == Rel::lt ? Rel::le : c.rel, c.rel == Rel::lt ? gap - 1 : gap, false});
    });
  }

  std::vector<Cond> run() {
    const std::vector<const SymNode*> beside = others();
    while (const SymNode* symbol = next()) eliminate(symbol);
    for (const SymNode* s : beside) at_ends(Dim(s), facts_.range(Dim(s)));
    std::vector<Cond> said;
    for (const Item& i : items_)
      if (i.derived) attempt([&] { said.push_back(as_written(i)); });
    return said;
  }

 private:
  // Numbers beyond 64 bits, and what is too large to be worth it: nothing is said then.
  template <class F>
  static void attempt(F&& make) {
    try {
      make();
    } catch (const UserError&) {
    }
  }

  void add(Item item) {
    if (item.dim.is_constant() || items_.size() >= kMostItems) return;
    if (std::ranges::none_of(items_, [&](const Item& i) { return i.rel == item.rel && i.dim == item.dim; }))
      items_.push_back(item);
  }

  // Who stands beside what goes.
  std::vector<const SymNode*> others() const {
    std::vector<const SymNode*> beside;
    for (const Item& i : items_) {
      bool goes = false;
      for_each_symbol(i.dim, [&](const SymNode* s) { goes = goes || !stays_(s); });
      if (!goes) continue;
      for_each_symbol(i.dim, [&](const SymNode* s) {
        if (stays_(s) && std::ranges::find(beside, s) == beside.end()) beside.push_back(s);
      });
    }
    return beside;
  }

  // What is subtracted stands on the left.
  static Cond as_written(const Item& item) {
    SumView view(item.dim);
    Dim left = 0;
    for (const SymTerm& t : view.terms())
      if (t.coefficient < 0) left = left - monomial_dim(t);
    if (view.constant() < 0) left = left - view.constant();
    return {item.rel, left, item.dim + left};
  }

  void at_ends(Dim dim, const Range& range) {
    attempt([&] {
      if (range.low) add({Rel::le, dim - *range.low, true});
      if (range.high) add({Rel::le, Dim(*range.high) - dim, true});
    });
  }

  static bool replaces(const Item& item, const SymNode* symbol) {
    const int64_t c = item.rel == Rel::eq ? coefficient_of(item.dim, symbol) : 0;
    return c == 1 || c == -1;
  }

  // What an equation replaces goes first: nothing is lost with it.
  const SymNode* next() const {
    const SymNode* any = nullptr;
    const SymNode* replaced = nullptr;
    for (const Item& i : items_)
      for_each_symbol(i.dim, [&](const SymNode* s) {
        if (stays_(s)) return;
        if (!any) any = s;
        if (!replaced && replaces(i, s)) replaced = s;
      });
    return replaced ? replaced : any;
  }

  void eliminate(const SymNode* symbol) {
    std::vector<Item> with;
    std::erase_if(items_, [&](const Item& i) {
      const bool has = mentions(i.dim, symbol);
      if (has) with.push_back(i);
      return has;
    });
    const Range range = facts_.range(Dim(symbol));
    const auto equation = std::ranges::find_if(with, [&](const Item& i) { return replaces(i, symbol); });
    if (equation != with.end()) {
      attempt([&] {
        const int64_t c = coefficient_of(equation->dim, symbol);
        const Dim rest = equation->dim - Dim(symbol) * c;
        const Dim by = c == 1 ? -rest : rest;
        at_ends(by, range);
        for (const Item& i : with)
          if (&i != &*equation) attempt([&] { add({i.rel, replace_symbol(i.dim, symbol, by), true}); });
      });
      return;
    }
    if (range.low) attempt([&] { with.push_back({Rel::le, Dim(symbol) - *range.low, true}); });
    if (range.high) attempt([&] { with.push_back({Rel::le, Dim(*range.high) - Dim(symbol), true}); });
    std::vector<Dim> lower, upper;
    for (const Item& i : with) {
      const int64_t c = i.rel == Rel::ne ? 0 : coefficient_of(i.dim, symbol);
      if (c > 0 || (c < 0 && i.rel == Rel::eq)) attempt([&] { lower.push_back(c > 0 ? i.dim : -i.dim); });
      if (c < 0 || (c > 0 && i.rel == Rel::eq)) attempt([&] { upper.push_back(c < 0 ? i.dim : -i.dim); });
    }
    for (const Dim low : lower)
      for (const Dim high : upper)
        attempt([&] {
          const Dim a = coefficient_of(low, symbol), b = -coefficient_of(high, symbol);
          add({Rel::le, low * b + high * a, true});
        });
  }

  const Facts& facts_;
  const std::function<bool(const SymNode*)>& stays_;
  std::vector<Item> items_;
};
}  // namespace

std::vector<Cond> said_of_others(const Facts& facts, const SharedList<Cond>& more,
                                 const std::function<bool(const SymNode* symbol)>& stays) {
  Elimination elimination(facts, stays);
  for (const Cond& c : facts.conditions()) elimination.take(c);
  for (const Cond& c : more) elimination.take(c);
  return elimination.run();
}

}  // namespace lenz
