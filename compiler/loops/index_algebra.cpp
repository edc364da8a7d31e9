// Spaces: their axes, linear forms, and changes of axes.
#include "compiler/loops/index_algebra.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "compiler/loops/index_parts.h"

namespace lenz::loops {

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
      const DimParts quotient = positive_parts(sum.operands[i], facts);
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

// floor(a / by) by a smaller divisor, where what it has in common with some terms is more than all others add up to.
static Dim without_lesser(const DimParts& sum, int64_t by, const Facts& facts) {
  Dim all = sum.constant;
  for (size_t i = 0; i < sum.operands.size(); ++i) all += sum.operands[i] * Dim(sum.coefficients[i]);
  for (const int64_t coefficient : sum.coefficients) {
    const int64_t common = std::gcd(coefficient, by);
    if (coefficient == 0 || common == 1) continue;
    Dim multiples = sum.constant / common, lesser = sum.constant % common;
    for (size_t i = 0; i < sum.operands.size(); ++i) {
      const int64_t c = sum.coefficients[i];
      (c % common == 0 ? multiples : lesser) += sum.operands[i] * Dim(c % common == 0 ? c / common : c);
    }
    const Range range = facts.range(lesser);
    if (range.low && range.high && *range.low >= 0 && *range.high < common)
      return floor_div(multiples, Dim(by / common));
  }
  return floor_div(all, Dim(by));
}

// floor(a / b). A quotient inside becomes one with the one outside: (x//m + c)//b = (x + c*m)//(b*m), unless that
// divisor, multiplied out, is not seen to be positive any more.
Dim IndexSpace::quotient(Dim a, Dim b) const {
  const DimParts sum = terms_of(a);
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    if (sum.coefficients[i] != 1) continue;
    const DimParts inside = positive_parts(sum.operands[i], facts_);
    if (inside.kind != SymKind::floor_div || !proves(ge(inside.operands[1], 1)) || !proves(ge(b, 1))) continue;
    const Dim m = inside.operands[1];
    if (!proves(ge(b * m, 1))) continue;
    return quotient(inside.operands[0] + (a - sum.operands[i]) * m, b * m);
  }
  if (!b.is_constant() || b.constant() < 1) return floor_div(a, b);
  // Coefficients from 0 to b - 1 stay inside: then equal quotients look alike.
  const int64_t by = b.constant();
  auto outside = [&](int64_t n) { return n / by - (n % by < 0 ? 1 : 0); };
  DimParts rest = sum;
  Dim whole = outside(sum.constant);
  rest.constant -= outside(sum.constant) * by;
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    const int64_t q = outside(sum.coefficients[i]);
    rest.coefficients[i] -= q * by;
    whole += sum.operands[i] * Dim(q);
  }
  return without_lesser(rest, by, facts_) + whole;
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

// What axes move of an index; the rest may be anything: quotients of axes around them, say.
static Dim moved(Dim index, std::span<const IndexSpace::Axis> axes) {
  auto moves = [&](Dim d) {
    return std::ranges::any_of(axes, [&](const IndexSpace::Axis& a) { return mentions(d, a.symbol); });
  };
  try {
    Dim made = 0;
    const DimParts sum = terms_of(index);
    for (size_t i = 0; i < sum.operands.size(); ++i)
      if (moves(sum.operands[i])) made += sum.coefficients[i] * sum.operands[i];
    return made;
  } catch (const UserError&) {  // an overflow
    return index;
  }
}

std::optional<Dim> IndexSpace::stride(Dim address, size_t axis) const {
  const auto form = linear(moved(simplify(address), std::span(axes_).subspan(axis, 1)));
  if (!form) return std::nullopt;
  return form->coefficients[axis];
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

bool IndexSpace::mergeable(size_t axis, Dim index) const {
  const auto form = linear(moved(simplify(index), std::span(axes_).subspan(axis, 2)));
  if (!form) return false;
  Dim jump = form->coefficients[axis + 1] * axes_[axis + 1].extent;
  return form->coefficients[axis] == jump || proves(eq(form->coefficients[axis], jump));
}

}  // namespace lenz::loops
