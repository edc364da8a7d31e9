// min, max and opaque calls. Rules, for every integer value of the symbols:
//   min(min(a, b), c) = min(a, b, c)     min(a, b) = min(b, a)     min(a, a) = a     min(3, 5) = 3
//   min(a, b) = a, if b - a >= 0 everywhere (a + 1, a % 8 against 8, ...)
//   min(a, max(b, c)) = a, if b - a >= 0 everywhere      and all of them with min and max, <= and >= exchanged
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/base/sym_node.h"

namespace lenz {

namespace {

// A lower bound of a - b over every value of the symbols, if there is one. No nodes are made: this runs for all pairs.
std::optional<Wide> lowest_gap(Dim a, Dim b) {
  SumView va(a), vb(b);
  std::span<const SymTerm> ta = va.terms(), tb = vb.terms();
  Wide gap = Wide{va.constant()} - vb.constant();
  size_t i = 0, j = 0;
  while (i < ta.size() || j < tb.size()) {
    int order = i == ta.size() ? 1 : j == tb.size() ? -1 : compare_monomials(ta[i].monomial, tb[j].monomial);
    const SymNode* monomial = order <= 0 ? ta[i].monomial : tb[j].monomial;
    Wide coefficient = 0;
    if (order <= 0) coefficient += ta[i++].coefficient;
    if (order >= 0) coefficient -= tb[j++].coefficient;
    if (coefficient == 0) continue;
    if (monomial->kind == SymKind::symbol || !fits(coefficient)) return std::nullopt;
    Range range = range_of(Dim(monomial), nullptr);
    auto end = coefficient > 0 ? range.low : range.high;
    if (!end || __builtin_add_overflow(gap, coefficient * *end, &gap)) return std::nullopt;
  }
  return gap;
}

// Whether `keep` makes `drop` superfluous as a fellow argument.
bool dominates(SymKind kind, Dim keep, Dim drop) {
  auto beyond = [&](Dim d) {
    if (d == keep) return true;
    auto gap = kind == SymKind::min ? lowest_gap(d, keep) : lowest_gap(keep, d);
    return gap && *gap >= 0;
  };
  if (beyond(drop)) return true;
  // Of a max in a min one argument is enough: so that what an argument drops is dropped by whatever drops that one too.
  SymKind other = kind == SymKind::min ? SymKind::max : SymKind::min;
  return !drop.is_constant() && drop.node()->kind == other && std::ranges::any_of(drop.node()->args(), beyond);
}

// The arguments of a dim as a min or max, sorted; none of them makes another one superfluous.
std::vector<Dim> arguments(SymKind kind, Dim dim) {
  if (dim.is_constant() || dim.node()->kind != kind) return {dim};
  return {dim.node()->args().begin(), dim.node()->args().end()};
}

std::vector<Dim> merge(SymKind kind, const std::vector<Dim>& a, const std::vector<Dim>& b) {
  // Of two that make each other superfluous the first in order stays, whichever side it comes from.
  auto superfluous = [&](Dim candidate, const std::vector<Dim>& others) {
    for (Dim o : others)
      if (o != candidate && dominates(kind, o, candidate) &&
          (compare(o, candidate) < 0 || !dominates(kind, candidate, o)))
        return true;
    return false;
  };
  std::vector<Dim> from_a, from_b, out;
  for (Dim d : a)
    if (!superfluous(d, b)) from_a.push_back(d);
  for (Dim d : b)
    if (!superfluous(d, a)) from_b.push_back(d);
  std::set_union(from_a.begin(), from_a.end(), from_b.begin(), from_b.end(), std::back_inserter(out),
                 [](Dim x, Dim y) { return compare(x, y) < 0; });
  return out;
}

Dim choose(SymKind kind, std::span<const Dim> dims) {
  std::vector<Dim> kept;
  for (Dim d : dims) {
    kept = kept.empty() ? arguments(kind, d) : merge(kind, kept, arguments(kind, d));
    if (kept.size() > kMaxArguments)
      throw UserError("dimension expression has too many terms", "", "name a part of it as a symbol");
  }
  if (kept.size() == 1) return kept[0];
  return pool_of(kept[0], kept[1]).make(kind, kept);
}

}  // namespace

Dim min(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  Dim dims[] = {a, b};
  return a == b ? a : choose(SymKind::min, dims);
}

Dim max(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  Dim dims[] = {a, b};
  return a == b ? a : choose(SymKind::max, dims);
}

Dim min(std::span<const Dim> dims) {
  LENZ_CHECK(!dims.empty(), "the minimum of nothing");
  return choose(SymKind::min, dims);
}

Dim max(std::span<const Dim> dims) {
  LENZ_CHECK(!dims.empty(), "the maximum of nothing");
  return choose(SymKind::max, dims);
}

std::optional<int64_t> apply_call(SymFn fn, int64_t a, double factor) {
  double scaled = static_cast<double>(a) * factor, result = 0;
  switch (fn) {
    case SymFn::floor_scale: result = std::floor(scaled); break;
    case SymFn::ceil_scale: result = std::ceil(scaled); break;
    case SymFn::round_scale: result = scaled - std::remainder(scaled, 1.0); break;
  }
  if (!(result >= -0x1p63 && result < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(result);
}

Dim call(SymFn fn, Dim a, double factor) {
  if (!std::isfinite(factor)) throw UserError("dimension is scaled by a number that is not finite");
  if (a.is_constant()) {
    std::optional<int64_t> value = apply_call(fn, a.constant(), factor);
    if (!value) throw_overflow();
    return *value;
  }
  if (factor == 0) return 0;
  return a.node()->pool->make(SymKind::call, {&a, 1}, fn, std::bit_cast<int64_t>(factor));
}

}  // namespace lenz
