// Where indices lie: the ends that they reach, and proofs that they are inside.
#include <algorithm>
#include <ranges>
#include <tuple>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/index_parts.h"

namespace lenz::loops {

namespace {
constexpr int kConditionSteps = 2;
constexpr int kMostQuotients = 4;       // that are taken apart for one proof, one inside the other
constexpr size_t kMostConditions = 32;  // that are looked at for one proof
}  // namespace

using Ends = std::optional<std::pair<Dim, Dim>>;

Ends IndexSpace::atom_ends(Dim atom) const {
  for (const auto* list : {&axes_, &positions_})
    for (const Axis& a : *list)
      if (a.symbol == atom) return std::pair(Dim(0), a.extent - 1);
  if (!mentions_axis(atom)) return std::pair(atom, atom);
  DimParts parts = positive_parts(atom, facts_);
  switch (parts.kind) {
    case SymKind::floor_div: {
      Dim by = parts.operands[1];
      Ends top = ends(parts.operands[0]);
      if (!top || mentions_axis(by) || !proves(ge(by, 1))) return std::nullopt;
      return std::pair(floor_div(top->first, by), floor_div(top->second, by));
    }
    case SymKind::mod: {
      Dim by = parts.operands[1];
      if (mentions_axis(by) || !proves(ge(by, 1))) return std::nullopt;
      if (Ends top = ends(parts.operands[0]); top && proves(ge(top->first, 0)) && proves(lt(top->second, by)))
        return top;
      return std::pair(Dim(0), by - 1);
    }
    case SymKind::min:
    case SymKind::max: {
      std::vector<Dim> low, high;
      for (Dim operand : parts.operands) {
        Ends of = ends(operand);
        if (!of) return std::nullopt;
        low.push_back(of->first);
        high.push_back(of->second);
      }
      if (parts.operands.size() == 2) {  // one is at most, one at least, half of both
        if (Ends both = ends(parts.operands[0] + parts.operands[1])) {
          (parts.kind == SymKind::min ? high : low)
              .push_back(parts.kind == SymKind::min ? floor_div(both->second, 2) : ceil_div(both->first, 2));
        }
      }
      return parts.kind == SymKind::min ? std::pair(min(low), min(high)) : std::pair(max(low), max(high));
    }
    case SymKind::sum: return ends(atom);
    default: return std::nullopt;
  }
}

Ends IndexSpace::product_ends(Dim monomial) const {
  std::vector<Dim> atoms = factors_of(monomial);
  if (atoms.size() == 1) return atom_ends(atoms[0]);
  std::pair<Dim, Dim> all{1, 1};
  bool positive = true;  // all factors so far have low >= 0
  for (Dim atom : atoms) {
    Ends of = atom_ends(atom);
    if (!of) return std::nullopt;
    bool fixed = of->first == of->second, all_fixed = all.first == all.second;
    bool atom_positive = proves(ge(of->first, 0));
    if (fixed && all_fixed) {
      all = {all.first * of->first, all.first * of->first};
    } else if (atom_positive && positive) {
      all = {all.first * of->first, all.second * of->second};
    } else {
      return std::nullopt;
    }
    positive = positive && atom_positive;
  }
  return all;
}

Ends IndexSpace::ends(Dim index) const {
  try {
    DimParts sum = terms_of(index);
    Dim low = sum.constant, high = sum.constant;
    for (size_t i = 0; i < sum.operands.size(); ++i) {
      Ends term = product_ends(sum.operands[i]);
      if (!term) return std::nullopt;
      int64_t c = sum.coefficients[i];
      low += (c > 0 ? term->first : term->second) * c;
      high += (c > 0 ? term->second : term->first) * c;
    }
    return std::pair(low, high);
  } catch (const UserError&) {  // an overflow
    return std::nullopt;
  }
}

Range IndexSpace::range(Dim index) const {
  Range known = facts_.range(index);
  if (Ends of = ends(index)) {
    Range low = facts_.range(of->first), high = facts_.range(of->second);
    if (low.low && (!known.low || *known.low < *low.low)) known.low = low.low;
    if (high.high && (!known.high || *known.high > *high.high)) known.high = high.high;
  }
  return known;
}

namespace {
// dim = slope*atom + rest, where the atom may stand inside the rest or the slope all the same.
std::pair<Dim, Dim> slope_along(Dim dim, Dim atom) {
  const DimParts sum = terms_of(dim);
  Dim slope = 0, rest = sum.constant;
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    Dim others = sum.coefficients[i];
    bool along = false;
    for (Dim factor : factors_of(sum.operands[i])) {
      if (!along && factor == atom)
        along = true;
      else
        others = others * factor;
    }
    (along ? slope : rest) += others;
  }
  return {slope, rest};
}
}  // namespace

// dim >= 0 with an axis, a quotient or a remainder, whose factor is of one sign but no number, at the end that a
// condition gives it.
bool IndexSpace::least_by_conditions(Dim dim, int depth) const {
  std::vector<Dim> atoms;
  for (Dim monomial : terms_of(dim).operands)
    for (Dim factor : factors_of(monomial)) {
      const SymKind kind = parts_of(factor).kind;
      const bool along = kind == SymKind::floor_div || kind == SymKind::mod ||
                         std::ranges::any_of(axes_, [&](const Axis& a) { return a.symbol == factor; });
      if (along && std::ranges::find(atoms, factor) == atoms.end()) atoms.push_back(factor);
    }
  return std::ranges::any_of(atoms, [&](Dim atom) {
    const auto [slope, rest] = slope_along(dim, atom);
    if (slope.is_constant()) return false;
    const bool up = proves(ge(slope, 0));
    if (!up && !proves(le(slope, 0))) return false;
    auto at_end =
        [&](Dim gap) {  // gap >= 0 and has the atom once: the atom is no less, or no more, than what that leaves
          if (!slope_along(gap, atom).first.is(up ? 1 : -1)) return false;
          return at_least_zero(rest + slope * (up ? atom - gap : atom + gap), depth - 1);
        };
    return std::ranges::any_of(std::span(conditions_).first(std::min(conditions_.size(), kMostConditions)),
                               [&](const Cond& c) {
                                 if (c.rel == Rel::ne) return false;
                                 const Dim gap = c.rhs - c.lhs;
                                 return at_end(c.rel == Rel::lt ? gap - 1 : gap) || (c.rel == Rel::eq && at_end(-gap));
                               });
  });
}

// No more than the dim (or, if not `least`, no less), without the axis, which lies within 0 .. top.
std::optional<Dim> IndexSpace::end_along(Dim dim, Dim axis, Dim top, bool least) const {
  if (!mentions(dim, axis)) return dim;
  auto [slope, rest] = slope_along(dim, axis);
  auto rises = [&](Dim by) -> std::optional<bool> {
    if (mentions(by, axis)) return std::nullopt;
    if (proves(ge(by, 0))) return true;
    return proves(le(by, 0)) ? std::optional(false) : std::nullopt;
  };
  if (!slope.is(0)) {
    const auto up = rises(slope);
    if (!up) return std::nullopt;
    dim = *up == least ? rest : rest + slope * top;
  }
  for (Dim monomial : terms_of(dim).operands)
    for (Dim atom : factors_of(monomial)) {
      if (!mentions(atom, axis)) continue;
      const DimParts parts = positive_parts(atom, facts_);
      if (parts.kind != SymKind::floor_div || !proves(ge(parts.operands[1], 1))) return std::nullopt;
      std::tie(slope, rest) = slope_along(dim, atom);
      const auto up = rises(slope);
      if (!up || mentions(parts.operands[1], axis)) return std::nullopt;
      const auto end = end_along(parts.operands[0], axis, top, *up == least);
      if (!end) return std::nullopt;
      dim = rest + slope * floor_div(*end, parts.operands[1]);
    }
  return mentions(dim, axis) ? std::nullopt : std::optional(dim);
}

// dim >= 0 with one of the first axes after the other at the end where dim is least, from the innermost: how far that
// one reaches depends on those around it, and of a tile whichever of its bounds is less.
bool IndexSpace::least_from_inside(Dim dim, size_t count) const {
  for (size_t k = count; k-- > 0;) {
    const Axis& axis = axes_[k];
    if (!mentions(dim, axis.symbol)) continue;
    std::vector<Dim> extents{axis.extent};
    if (is_tile(axis)) extents = parts_of(axis.extent).operands;
    return std::ranges::any_of(extents, [&](Dim extent) {
      const auto least = end_along(dim, axis.symbol, extent - 1, true);
      return least && (proves(ge(*least, 0)) || least_from_inside(*least, k));
    });
  }
  return false;
}

// dim >= 0 where, for some condition g >= 0 and k > 0, dim - k*g >= 0.
bool IndexSpace::at_least_zero(Dim dim, int depth) const {
  if (proves(ge(dim, 0))) return true;
  if (Ends of = ends(dim); of && proves(ge(of->first, 0))) return true;
  if (depth == kConditionSteps && least_from_inside(dim, axes_.size())) return true;
  if (depth == 0) return false;
  if (least_by_conditions(dim, depth)) return true;
  DimParts target = terms_of(dim);
  auto less = [&](Dim g) {
    DimParts parts = terms_of(g);
    SmallVec<int64_t, 4> tried;
    for (size_t i = 0; i < parts.operands.size(); ++i) {
      auto at = std::ranges::find(target.operands, parts.operands[i]);
      if (at == target.operands.end()) continue;
      int64_t have = target.coefficients[static_cast<size_t>(at - target.operands.begin())],
              one = parts.coefficients[i];
      if (have % one != 0 || have / one <= 0 || std::ranges::find(tried, have / one) != tried.end()) continue;
      tried.push_back(have / one);
      if (at_least_zero(dim - g * Dim(have / one), depth - 1)) return true;
    }
    return false;
  };
  auto by = [&](const Cond& c) {
    if (c.rel == Rel::ne) return false;
    const Dim gap = c.rhs - c.lhs;
    return less(c.rel == Rel::lt ? gap - 1 : gap) || (c.rel == Rel::eq && less(-gap));
  };
  // Of facts those that could not be solved for a symbol: 5*a*b == 2*c, as views of open sizes leave them.
  auto any = [&](const auto& conditions) {
    return std::ranges::any_of(conditions | std::views::take(static_cast<ptrdiff_t>(kMostConditions)), by);
  };
  return any(conditions_) || any(base_.conditions());
}

bool IndexSpace::tried_out(Dim index, Dim size) const {
  constexpr int64_t kMostPoints = 1 << 12;
  struct Digit {  // what a symbol may be: an axis, or a size of few values
    const SymNode* symbol;
    int64_t low, count;
  };
  std::vector<Digit> digits;
  std::vector<Cond> conditions;  // of the points
  int64_t points = 1;
  auto spanned = [](const std::vector<Digit>& in, const SymNode* s) {
    return std::ranges::find(in, s, &Digit::symbol) != in.end();
  };
  // Whether all that the dims say has a number at each point, of few.
  auto spans = [&](std::vector<Dim> dims) {
    auto grown = digits;
    auto held = conditions;
    int64_t count = points;
    bool known = true;
    while (known && !dims.empty()) {
      const Dim dim = dims.back();
      dims.pop_back();
      for_each_symbol(dim, [&](const SymNode* s) {
        if (!known || spanned(grown, s)) return;
        Range range = facts_.range(Dim(s));
        for (const auto* list : {&axes_, &positions_})
          for (const Axis& a : *list) {
            if (!(a.symbol == Dim(s))) continue;
            range = {0, facts_.range(a.extent).high};
            if (range.high) --*range.high;
            if (a.extent.is_constant()) continue;
            held.push_back(lt(a.symbol, a.extent));
            dims.push_back(a.extent);
          }
        known = range.low && range.high && *range.high < *range.low + kMostPoints;
        if (!known) return;
        const int64_t values = std::max<int64_t>(0, *range.high - *range.low + 1);
        known = (count *= values) <= kMostPoints;
        grown.push_back({s, *range.low, values});
      });
    }
    if (!known) return false;
    digits = std::move(grown);
    conditions = std::move(held);
    points = count;
    return true;
  };
  const Dim end = facts_.simplify(size);
  if (!spans({index, end})) return false;
  // A condition may say an axis that the index, simplified, has no more.
  for (const Cond& c : conditions_)
    if (spans({c.lhs, c.rhs})) conditions.push_back(c);
  for (const Cond& c : base_.conditions()) {
    bool all = true;
    for (const Dim side : {c.lhs, c.rhs}) for_each_symbol(side, [&](const SymNode* s) { all &= spanned(digits, s); });
    if (all) conditions.push_back(c);
  }
  for (int64_t p = 0; p < points; ++p) {
    const SymValues point = [&](const SymNode* s) -> std::optional<int64_t> {
      int64_t rest = p;
      for (const Digit& digit : digits) {
        if (digit.symbol == s) return digit.low + rest % digit.count;
        rest /= digit.count;
      }
      return std::nullopt;
    };
    if (std::ranges::any_of(conditions, [&](const Cond& c) { return evaluate(c, point) == false; })) continue;
    const auto at = evaluate(index, point), most = evaluate(end, point);
    if (!at || !most || *at < 0 || *at >= *most) return false;
  }
  return true;
}

bool IndexSpace::in_bounds(Dim index, Dim size) const { return in_bounds(index, size, kMostQuotients); }

bool IndexSpace::in_bounds(Dim index, Dim size, int quotients) const {
  if (empty_) return true;
  if (proves(ge(index, 0)) && proves(lt(index, size))) return true;
  try {
    const Dim given = index;
    index = simplify(index);
    auto by_ends = [&](Dim form) {
      return at_least_zero(form, kConditionSteps) && at_least_zero(size - 1 - form, kConditionSteps);
    };
    // What a condition makes simpler may end later without it: i//m + 1 is more than (i + 1)//m where m is no divisor.
    if (by_ends(index) || (index != given && by_ends(given))) return true;
    // x//m + r < size is x + r*m < size*m. The digits of a number may add up to such a quotient.
    for (Dim form : {index, facts_.simplify(flattened(index))}) {
      const DimParts sum = terms_of(form);
      for (size_t i = 0; i < sum.operands.size() && quotients > 0; ++i) {
        const DimParts parts = positive_parts(sum.operands[i], facts_);
        if (sum.coefficients[i] != 1 || parts.kind != SymKind::floor_div || !proves(ge(parts.operands[1], 1))) continue;
        const Dim m = parts.operands[1], rest = form - sum.operands[i];
        if (in_bounds(parts.operands[0] + rest * m, size * m, quotients - 1)) return true;
      }
    }
    if (has_tiles()) {
      IndexSpace joined = *this;
      std::vector<Dim> at{index};
      size_t fresh = axes_.size();  // another name than in the spaces that this one was joined from
      if (joined.join_tiles(at, fresh)) return joined.in_bounds(at[0], size, quotients);
    }
    return tried_out(index, size);
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace lenz::loops
