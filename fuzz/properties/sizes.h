// Sizes without a graph around them: expressions of symbols and conditions on them, each built as the compiler builds
// it and computed beside that in plain arithmetic, which knows no rule. Thread-safety: as property.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/base/sym.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

inline constexpr size_t kSizeSymbols = 4;
using SizePoint = std::vector<int64_t>;  // a value for each of the symbols s0, s1, ...

// An expression as a tree that nothing simplifies.
struct PlainSize {
  enum Op : uint8_t { number, symbol, add, subtract, multiply, floor_div, mod, min, max } op = number;
  int64_t value = 0;  // number: itself; symbol: which
  std::shared_ptr<const PlainSize> a = {}, b = {};

  std::optional<int64_t> at(const SizePoint& point) const;  // none: divides by zero, or lies far out
  std::string text() const;
};
struct PlainCond {
  enum Rel : uint8_t { eq, ne, lt, le } rel = eq;
  PlainSize a, b;

  std::optional<bool> at(const SizePoint& point) const;
  std::string text() const;
};

// Facts that one point keeps at least, and other points that keep them too.
struct PlainFacts {
  SizePoint low, high;  // ranges
  std::vector<PlainCond> conditions;
  std::vector<SizePoint> points;

  std::string graph() const;  // a graph whose sizes these are
};
PlainFacts draw_facts(Chooser& choose);
PlainSize draw_size(Chooser& choose, int depth);
PlainCond draw_condition(Chooser& choose);

// What is wrong, in words; empty: nothing is. `dim` is held to be the expression, wherever the facts hold, and `truth`
// the condition's.
std::string wrong_dim(const PlainFacts& facts, const PlainSize& size, Dim dim);
std::string wrong_range(const PlainFacts& facts, const PlainSize& size, const Range& range);
std::string wrong_congruence(const PlainFacts& facts, const PlainSize& size, const Congruence& congruence);
std::string wrong_truth(const PlainFacts& facts, const PlainCond& cond, Truth truth);

// For those who judge more (sizes_used.h).
int64_t floor_of(int64_t x, int64_t by);
size_t which(const SymNode* symbol);
SymValues values_at(const SizePoint& point);  // which must outlive it
std::string where_it_stands(const PlainFacts& facts, const SizePoint& point);
std::string shown(std::optional<int64_t> x);

struct WrongSizes {
  std::string step;  // empty: nothing is wrong
  std::string text;
};
// Of a graph with such facts: that it is valid, and what it makes of a few expressions and conditions.
WrongSizes wrong_sizes(Chooser& choose);

Property sizes();

}  // namespace lenz::fuzz
