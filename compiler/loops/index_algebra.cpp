// Spaces: their axes, bounds, linear forms, and changes of axes.
#include "compiler/loops/index_algebra.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "compiler/base/sym_parts.h"

namespace lenz::loops {

namespace {
constexpr int kConditionSteps = 2;
constexpr int kMostQuotients = 4;       // that are taken apart for one proof, one inside the other
constexpr size_t kMostConditions = 32;  // that are looked at for one proof
}  // namespace

// --- axes

void IndexSpace::restrict(const Cond& cond) {
  if (empty_) return;
  try {
    if (!facts_.add(cond)) empty_ = true;
  } catch (const UserError&) {  // more facts than there is room for, or an overflow: less is known
  }
}

void IndexSpace::add_axis(Dim symbol, Dim extent) {
  axes_.push_back({symbol, extent});
  restrict(ge(extent, 1));  // first: once the symbol lies below it nothing is learnt from what is proved already
  restrict(ge(symbol, 0));
  restrict(lt(symbol, extent));
}

void IndexSpace::add_position(Dim symbol, Dim extent) {
  positions_.push_back({symbol, extent});
  restrict(ge(extent, 1));  // as of an axis
  restrict(ge(symbol, 0));
  restrict(lt(symbol, extent));
}

namespace {
// The parts of a dim. Where it is x//m and m is negative, those of (-x)//(-m), which is the same: with solved symbols a
// quotient may be written so.
DimParts parts_of(Dim dim, const Facts& facts) {
  DimParts parts = lenz::parts_of(dim);
  if (parts.kind == SymKind::floor_div && facts.proves(le(parts.operands[1], -1)))
    for (Dim& operand : parts.operands) operand = -operand;
  return parts;
}

bool mentions(Dim dim, Dim symbol) {
  bool found = false;
  if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found = found || s == symbol.node(); });
  return found;
}

// What a condition says of x, where x//m stands in it by itself: x//m >= r is x >= r*m, and x//m <= r is x < (r + 1)*m.
std::vector<Cond> without_quotients(const Cond& cond, const Facts& facts) {
  std::vector<Dim> differences;  // that are at least 0
  if (cond.rel == Rel::eq) differences.push_back(cond.lhs - cond.rhs);
  if (cond.rel == Rel::le || cond.rel == Rel::eq) differences.push_back(cond.rhs - cond.lhs);
  if (cond.rel == Rel::lt) differences.push_back(cond.rhs - cond.lhs - 1);
  std::vector<Cond> made;
  for (Dim difference : differences) {
    const DimParts sum = terms_of(difference);
    for (size_t i = 0; i < sum.operands.size(); ++i) {
      const DimParts quotient = parts_of(sum.operands[i], facts);
      const int64_t sign = sum.coefficients[i];
      if (quotient.kind != SymKind::floor_div || (sign != 1 && sign != -1)) continue;
      const Dim x = quotient.operands[0], m = quotient.operands[1], rest = difference - sum.operands[i] * Dim(sign);
      if (!facts.proves(ge(m, 1))) continue;
      made.push_back(sign == 1 ? ge(x + rest * m, 0) : ge(rest * m + m - 1 - x, 0));
    }
  }
  return made;
}
}  // namespace

void IndexSpace::assume(const Cond& cond) {
  conditions_.push_back(cond);
  restrict(cond);
  try {
    for (const Cond& c : without_quotients(cond, facts_)) restrict(c);
  } catch (const UserError&) {  // an overflow
  }
}

bool IndexSpace::mentions_axis(Dim dim) const {
  if (dim.is_constant()) return false;
  bool found = false;
  for_each_symbol(dim, [&](const SymNode* symbol) {
    auto is = [&](const Axis& a) { return a.symbol.node() == symbol; };
    found = found || std::ranges::any_of(axes_, is) || std::ranges::any_of(positions_, is);
  });
  return found;
}

// --- bounds

using Ends = std::optional<std::pair<Dim, Dim>>;

Ends IndexSpace::atom_ends(Dim atom) const {
  for (const auto* list : {&axes_, &positions_})
    for (const Axis& a : *list)
      if (a.symbol == atom) return std::pair(Dim(0), a.extent - 1);
  if (!mentions_axis(atom)) return std::pair(atom, atom);
  DimParts parts = parts_of(atom, facts_);
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

// dim >= 0 with one axis after the other at the end where dim is least, from the innermost: how far that one reaches
// depends on those around it.
bool IndexSpace::least_from_inside(Dim dim) const {
  for (size_t k = axes_.size(); k-- > 0;) {
    const Axis& axis = axes_[k];
    const auto [slope, rest] = slope_along(dim, axis.symbol);
    if (slope.is(0)) continue;
    const bool up = proves(ge(slope, 0));
    if (mentions(slope, axis.symbol) || mentions(rest, axis.symbol) || (!up && !proves(le(slope, 0)))) return false;
    dim = up ? rest : rest + slope * (axis.extent - 1);
    if (proves(ge(dim, 0))) return true;
  }
  return false;
}

// dim >= 0 where, for some condition g >= 0 and k > 0, dim - k*g >= 0.
bool IndexSpace::at_least_zero(Dim dim, int depth) const {
  if (proves(ge(dim, 0))) return true;
  if (Ends of = ends(dim); of && proves(ge(of->first, 0))) return true;
  if (depth == kConditionSteps && least_from_inside(dim)) return true;
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
        const DimParts parts = parts_of(sum.operands[i], facts_);
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

// --- strides

std::optional<LinearForm> IndexSpace::linear(Dim index) const {
  LinearForm form;
  form.coefficients.assign(axes_.size(), Dim(0));
  try {
    DimParts sum = terms_of(index);
    form.constant = sum.constant;
    for (size_t i = 0; i < sum.operands.size(); ++i) {
      Dim rest = sum.coefficients[i];
      std::optional<size_t> axis;
      for (Dim factor : factors_of(sum.operands[i])) {
        auto at = std::ranges::find(axes_, factor, &Axis::symbol);
        if (at != axes_.end() && !axis) {
          axis = static_cast<size_t>(at - axes_.begin());
        } else if (at != axes_.end() || mentions_axis(factor)) {
          return std::nullopt;
        } else {
          rest = rest * factor;
        }
      }
      (axis ? form.coefficients[*axis] : form.constant) += rest;
    }
  } catch (const UserError&) {
    return std::nullopt;
  }
  return form;
}

// floor(a / b). A quotient inside becomes one with the one outside: (x//m + c)//b = (x + c*m)//(b*m), unless that
// divisor, multiplied out, is not seen to be positive any more.
Dim IndexSpace::quotient(Dim a, Dim b) const {
  const DimParts sum = terms_of(a);
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    if (sum.coefficients[i] != 1) continue;
    const DimParts inside = parts_of(sum.operands[i], facts_);
    if (inside.kind != SymKind::floor_div || !proves(ge(inside.operands[1], 1)) || !proves(ge(b, 1))) continue;
    const Dim m = inside.operands[1];
    if (!proves(ge(b * m, 1))) continue;
    return quotient(inside.operands[0] + (a - sum.operands[i]) * m, b * m);
  }
  if (!b.is_constant() || b.constant() < 1) return floor_div(a, b);
  // Coefficients from 0 to b - 1 stay inside: then equal quotients look alike.
  const int64_t by = b.constant();
  auto outside = [&](int64_t n) { return n / by - (n % by < 0 ? 1 : 0); };
  Dim rest = sum.constant - outside(sum.constant) * by, whole = outside(sum.constant);
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    const int64_t q = outside(sum.coefficients[i]);
    rest += sum.operands[i] * Dim(sum.coefficients[i] - q * by);
    whole += sum.operands[i] * Dim(q);
  }
  return floor_div(rest, b) + whole;
}

// Without remainders, and without quotients of quotients: the digits of a number cancel where they are added up.
Dim IndexSpace::flattened(Dim dim) const {
  if (dim.is_constant()) return dim;
  const DimParts parts = parts_of(dim);
  switch (parts.kind) {
    case SymKind::sum: {
      Dim total = parts.constant;
      for (size_t i = 0; i < parts.operands.size(); ++i)
        total += flattened(parts.operands[i]) * Dim(parts.coefficients[i]);
      return total;
    }
    case SymKind::product: {
      Dim total = 1;
      for (Dim operand : parts.operands) total = total * flattened(operand);
      return total;
    }
    case SymKind::floor_div: return quotient(flattened(parts.operands[0]), parts.operands[1]);
    case SymKind::mod: {
      const Dim a = flattened(parts.operands[0]);
      return a - parts.operands[1] * quotient(a, parts.operands[1]);
    }
    case SymKind::symbol:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: return dim;
  }
  return dim;
}

Dim IndexSpace::simplify(Dim index) const {
  const Dim simple = facts_.simplify(index);
  const DimParts sum = terms_of(simple);
  const auto divides = std::ranges::count_if(sum.operands, [](Dim d) {
    return std::ranges::any_of(factors_of(d), [](Dim f) {
      const SymKind kind = parts_of(f).kind;
      return kind == SymKind::mod || kind == SymKind::floor_div;
    });
  });
  if (divides < 2) return simple;
  try {
    const Dim flat = facts_.simplify(flattened(simple));
    if (linear(flat)) return flat;
  } catch (const UserError&) {  // an overflow
  }
  return simple;
}

std::optional<Dim> IndexSpace::stride(Dim address, size_t axis) const {
  auto form = linear(simplify(address));
  if (!form) return std::nullopt;
  return form->coefficients[axis];
}

bool IndexSpace::contiguous(Dim address, size_t axis) const {
  auto step = stride(address, axis);
  return step && (step->is(1) || proves(eq(*step, 1)));
}

std::vector<size_t> IndexSpace::order_by_stride(Dim address) const {
  std::vector<size_t> order(axes_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto form = linear(simplify(address));
  if (!form) return order;
  auto less = [&](size_t a, size_t b) {
    Dim x = form->coefficients[a], y = form->coefficients[b];
    return proves(lt(max(x, -x), max(y, -y)));
  };
  for (size_t i = 1; i < order.size(); ++i)  // insertion: equal and incomparable ones stay
    for (size_t k = i; k > 0 && less(order[k - 1], order[k]); --k) std::swap(order[k - 1], order[k]);
  return order;
}

// --- other axes

// The same points over other axes, where each replaced symbol is the expression given for it.
void IndexSpace::rebuild(const std::vector<Axis>& axes, const std::vector<std::pair<Dim, Dim>>& replaced) {
  auto with = [&](Dim d) {
    if (d.is_constant()) return d;
    return substitute(d, *pool_, [&](const SymNode* symbol) -> std::optional<Dim> {
      for (const auto& [from, to] : replaced)
        if (from.node() == symbol) return to;
      return std::nullopt;
    });
  };
  IndexSpace fresh(*pool_, base_);
  for (const Axis& a : axes) fresh.add_axis(a.symbol, a.extent);
  for (const Axis& p : positions_) fresh.add_position(p.symbol, p.extent);
  for (const Cond& c : conditions_) fresh.assume({c.rel, with(c.lhs), with(c.rhs)});
  fresh.opaque_ = opaque_;
  fresh.empty_ = fresh.empty_ || empty_;
  *this = std::move(fresh);
}

std::optional<Dim> IndexSpace::split(size_t axis, Dim factor, Dim outer, Dim inner) {
  Axis old = axes_[axis];
  bool exact = base_.proves(ge(factor, 1)) && base_.proves(eq(mod(old.extent, factor), 0));
  if (!exact) return std::nullopt;
  std::vector<Axis> axes = axes_;
  axes[axis] = {outer, base_.simplify(floor_div(old.extent, factor))};
  axes.insert(axes.begin() + static_cast<ptrdiff_t>(axis) + 1, {inner, factor});
  Dim whole = outer * factor + inner;
  rebuild(axes, {{old.symbol, whole}});
  return whole;
}

std::pair<Dim, Dim> IndexSpace::merge(size_t axis, Dim symbol) {
  Axis outer = axes_[axis], inner = axes_[axis + 1];
  std::vector<Axis> axes = axes_;
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(axis));
  axes[axis] = {symbol, outer.extent * inner.extent};
  // An inner extent of 0 has no points, and no coordinates to speak of.
  Dim by = base_.proves(ge(inner.extent, 1)) ? inner.extent : max(inner.extent, 1);
  Dim high = floor_div(symbol, by), low = mod(symbol, by);
  rebuild(axes, {{outer.symbol, high}, {inner.symbol, low}});
  return {high, low};
}

bool IndexSpace::mergeable(size_t axis, Dim index) const {
  const Dim simple = simplify(index);
  if (!mentions(simple, axes_[axis].symbol) && !mentions(simple, axes_[axis + 1].symbol)) return true;
  auto form = linear(simple);
  if (!form) return false;
  Dim jump = form->coefficients[axis + 1] * axes_[axis + 1].extent;
  return form->coefficients[axis] == jump || proves(eq(form->coefficients[axis], jump));
}

void IndexSpace::reorder(std::span<const size_t> order) {
  std::vector<Axis> axes;
  for (size_t k : order) axes.push_back(axes_[k]);
  axes_ = std::move(axes);
}

}  // namespace lenz::loops
