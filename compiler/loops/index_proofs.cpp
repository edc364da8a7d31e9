// Proofs about accesses: how many points, injectivity, disjointness, coverage.
#include <algorithm>

#include "compiler/base/sym_parts.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::loops {

namespace {

constexpr size_t kMostSplits = 16;
constexpr size_t kMostPieces = 64;

std::string fresh_name(std::string_view stem, size_t number) {  // which no text can say
  return std::string(stem) + "#" + std::to_string(number);
}

// A quotient or remainder of just this axis anywhere in the dim: by what.
std::optional<Dim> divisor_of(Dim dim, Dim axis) {
  if (dim.is_constant()) return std::nullopt;
  DimParts parts = parts_of(dim);
  if ((parts.kind == SymKind::floor_div || parts.kind == SymKind::mod) && parts.operands[0] == axis)
    return parts.operands[1];
  if (parts.kind == SymKind::symbol) return std::nullopt;
  for (Dim operand : parts.operands)
    if (auto found = divisor_of(operand, axis)) return found;
  return std::nullopt;
}

}  // namespace

bool IndexSpace::inside(std::span<const Dim> index, std::span<const Dim> sizes) const {
  for (size_t d = 0; d < index.size(); ++d)
    if (!in_bounds(index[d], sizes[d])) return false;
  return true;
}

// --- how many points

// Cuts the intervals of the axes down to where a condition holds; false if that is no box of a known form.
bool IndexSpace::narrow(const Cond& cond, std::vector<Interval>& intervals) const {
  auto form = linear(cond.rhs - cond.lhs);  // == 0, > 0 or >= 0
  if (!form || cond.rel == Rel::ne) return false;
  std::optional<size_t> axis;
  for (size_t k = 0; k < axes_.size(); ++k) {
    if (form->coefficients[k].is(0)) continue;
    if (axis || (!form->coefficients[k].is(1) && !form->coefficients[k].is(-1))) return false;
    axis = k;
  }
  if (!axis) return base_.proves(cond);
  Interval& at = intervals[*axis];
  bool up = form->coefficients[*axis].is(1);
  Dim edge = up ? -form->constant : form->constant;  // the axis's value at which the form is 0
  Dim low = at.low, end = at.end;
  if (cond.rel == Rel::eq) {
    low = edge, end = edge + 1;
  } else if (up) {
    low = cond.rel == Rel::lt ? edge + 1 : edge;
  } else {
    end = cond.rel == Rel::lt ? edge : edge + 1;
  }
  auto tighter = [&](Dim& old, Dim fresh, const Cond& is_tighter, const Cond& is_not) {
    if (base_.proves(is_tighter)) {
      old = fresh;
      return true;
    }
    return base_.proves(is_not);
  };
  return tighter(at.low, low, ge(low, at.low), le(low, at.low)) &&
         tighter(at.end, end, le(end, at.end), ge(end, at.end));
}

std::optional<Dim> IndexSpace::points() const {
  if (empty_) return Dim(0);
  if (opaque_) return std::nullopt;
  try {
    if (has_tiles()) {
      IndexSpace joined = *this;
      std::vector<Dim> none;
      size_t fresh = 0;
      if (joined.join_tiles(none, fresh)) return joined.points();
    }
    std::vector<Interval> intervals;
    for (const Axis& a : axes_) intervals.push_back({0, a.extent});
    for (const Cond& c : conditions_)
      if (!narrow(c, intervals)) return std::nullopt;
    Dim count = 1;
    for (const Interval& i : intervals) {
      if (!base_.proves(le(i.low, i.end))) return std::nullopt;
      count = count * (i.end - i.low);
    }
    return count;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// --- injectivity

// Replaces an axis that stands alone under // or % by its quotient and remainder. The new box may have more points.
bool IndexSpace::take_apart(std::vector<Dim>& index, size_t& fresh) {
  for (size_t k = 0; k < axes_.size(); ++k) {
    Axis old = axes_[k];
    std::optional<Dim> by;
    for (size_t d = 0; d < index.size() && !by; ++d) by = divisor_of(index[d], old.symbol);
    if (!by || mentions_axis(*by) || !base_.proves(ge(*by, 1))) continue;
    Dim quotient = pool_->symbol(fresh_name("q", fresh)), rest = pool_->symbol(fresh_name("r", fresh));
    ++fresh;
    std::vector<Axis> axes = axes_;
    axes[k] = {quotient, ceil_div(old.extent, *by)};
    axes.push_back({rest, *by});
    Dim whole = quotient * *by + rest;
    rebuild(std::move(axes), {{old.symbol, whole}});
    replace(index, {{old.symbol, whole}});
    return true;
  }
  return false;
}

// Whether the value of the form tells the axes in it that are not known yet; they are then.
bool IndexSpace::separated(const LinearForm& form, std::vector<bool>& known) const {
  struct Digit {
    Dim stride, extent;
    size_t axis;
  };
  std::vector<Digit> digits;
  for (size_t k = 0; k < axes_.size(); ++k) {
    Dim c = form.coefficients[k];
    if (known[k] || c.is(0)) continue;
    if (proves(ge(c, 1))) {
      digits.push_back({c, axes_[k].extent, k});
    } else if (proves(le(c, -1))) {
      digits.push_back({-c, axes_[k].extent, k});
    } else {
      return false;
    }
  }
  if (digits.empty()) return false;
  for (size_t i = 1; i < digits.size(); ++i)
    for (size_t k = i; k > 0 && proves(le(digits[k].stride, digits[k - 1].stride)); --k)
      std::swap(digits[k], digits[k - 1]);
  Dim reach = 0;  // of the lesser digits
  for (const Digit& digit : digits) {
    if (!proves(lt(reach, digit.stride))) return false;
    reach += digit.stride * (digit.extent - 1);
  }
  for (const Digit& digit : digits) known[digit.axis] = true;
  return true;
}

bool IndexSpace::is_tile(const Axis& axis) {
  return !axis.extent.is_constant() && kind_of(axis.extent) == SymKind::min;
}
bool IndexSpace::has_tiles() const { return std::ranges::any_of(axes_, is_tile); }

// An axis that runs over the tiles of another one, i < min(B, N - B*b) and b < ceil(N / B), becomes one with it.
bool IndexSpace::join_tiles(std::vector<Dim>& index, size_t& fresh) {
  for (size_t i = 0; i < axes_.size(); ++i) {
    Axis inner = axes_[i];
    if (!is_tile(inner)) continue;
    DimParts parts = parts_of(inner.extent);
    if (parts.operands.size() != 2) continue;
    for (size_t which : {size_t{0}, size_t{1}}) {
      Dim tile = parts.operands[which], rest = parts.operands[1 - which];
      if (mentions_axis(tile) || !base_.proves(ge(tile, 1))) continue;
      auto form = linear(rest);
      if (!form || mentions_axis(form->constant)) continue;
      auto outer = std::ranges::find_if(form->coefficients, [](Dim c) { return !c.is(0); });
      if (outer == form->coefficients.end() ||
          std::find_if(outer + 1, form->coefficients.end(), [](Dim c) { return !c.is(0); }) != form->coefficients.end())
        continue;
      auto b = static_cast<size_t>(outer - form->coefficients.begin());
      Dim whole = form->constant, tiles = ceil_div(whole, tile);
      bool all = *outer == -tile && (axes_[b].extent == tiles || base_.proves(eq(axes_[b].extent, tiles)));
      if (!all) continue;
      Axis old = axes_[b];
      Dim joined = pool_->symbol(fresh_name("t", fresh++));
      std::vector<std::pair<Dim, Dim>> replaced = {{old.symbol, floor_div(joined, tile)},
                                                   {inner.symbol, mod(joined, tile)}};
      std::vector<Axis> axes = axes_;
      axes[b] = {joined, whole};
      axes.erase(axes.begin() + static_cast<ptrdiff_t>(i));
      rebuild(std::move(axes), replaced);
      replace(index, replaced);
      return true;
    }
  }
  return false;
}

void IndexSpace::replace(std::vector<Dim>& index, const std::vector<std::pair<Dim, Dim>>& replaced) const {
  for (Dim& d : index)
    if (!d.is_constant())
      d = simplify(substitute(d, *pool_, [&](const SymNode* s) -> std::optional<Dim> {
        for (const auto& [from, to] : replaced)
          if (from.node() == s) return to;
        return std::nullopt;
      }));
}

// Dims tell of themselves, and as digits of one number: all of them, or the innermost ones, whose number may be linear
// where that of all, times sizes, is not.
bool IndexSpace::injective(std::span<const Dim> index, std::span<const DimVec> radices) const {
  if (tells_axes(index)) return true;
  return std::ranges::any_of(radices, [&](const DimVec& radix) {
    if (radix.size() != index.size()) return false;
    for (size_t first = 0; first + 1 < std::max<size_t>(index.size(), 2); ++first) {
      try {
        Dim number = 0;
        for (size_t d = first; d < index.size(); ++d) number += index[d] * radix[d];
        std::vector<Dim> told(index.begin(), index.begin() + static_cast<ptrdiff_t>(first));
        told.push_back(number);
        if (tells_axes(told)) return true;
      } catch (const UserError&) {  // beyond counting
      }
    }
    return false;
  });
}

bool IndexSpace::tells_axes(std::span<const Dim> given) const {
  if (empty_) return true;
  try {
    IndexSpace space = *this;
    std::vector<Dim> index;
    for (Dim d : given) index.push_back(simplify(d));
    size_t fresh = 0;
    while (fresh < kMostSplits && space.join_tiles(index, fresh)) {
    }
    while (fresh < kMostSplits && space.take_apart(index, fresh)) {
    }
    if (space.empty_) return true;
    std::vector<bool> known;
    for (const Axis& a : space.axes_) {
      Range r = space.facts_.range(a.symbol);
      known.push_back((r.low && r.low == r.high) || space.proves(le(a.extent, 1)));
    }
    std::vector<std::optional<LinearForm>> forms;
    for (Dim d : index) forms.push_back(space.linear(d));
    for (bool progress = true; progress;) {
      progress = false;
      for (const auto& form : forms) progress = (form && space.separated(*form, known)) || progress;
    }
    return std::ranges::all_of(known, [](bool k) { return k; });
  } catch (const UserError&) {
    return false;
  }
}

// --- disjointness and coverage

bool disjoint(const IndexSpace& a, std::span<const Dim> index_a, const IndexSpace& b, std::span<const Dim> index_b) {
  if (a.empty_ || b.empty_) return true;
  try {
    IndexSpace both = a;
    std::vector<std::pair<Dim, Dim>> renamed;
    auto rename = [&](Dim symbol) {
      renamed.emplace_back(symbol, both.pool_->symbol(fresh_name("d", renamed.size())));
      return renamed.back().second;
    };
    auto with = [&](Dim d) {
      if (d.is_constant()) return d;
      return substitute(d, *both.pool_, [&](const SymNode* symbol) -> std::optional<Dim> {
        for (const auto& [from, to] : renamed)
          if (from.node() == symbol) return to;
        return std::nullopt;
      });
    };
    for (const auto& axis : b.axes_) both.add_axis(rename(axis.symbol), axis.extent);
    for (const auto& p : b.positions_) both.add_position(rename(p.symbol), with(p.extent));
    for (const Cond& c : b.conditions_) both.assume({c.rel, with(c.lhs), with(c.rhs)});
    if (both.empty_) return true;
    for (size_t d = 0; d < index_a.size(); ++d) {
      Dim x = both.simplify(index_a[d]), y = both.simplify(with(index_b[d]));
      if (both.proves(ne(x, y))) return true;
      auto gap = both.ends(y - x);
      if (gap && (both.proves(ge(gap->first, 1)) || both.proves(le(gap->second, -1)))) return true;
    }
  } catch (const UserError&) {
  }
  return false;
}

namespace {
// Where the digits of one number stand at all of the coordinates, that number tells pieces apart which rows share.
std::optional<Dim> number_of(std::span<const Dim> index, const DimVec& radix) {
  if (index.size() < 2 || radix.size() != index.size()) return std::nullopt;
  Dim number = 0;
  for (size_t d = 0; d < index.size(); ++d) number += index[d] * radix[d];
  return number;
}

bool disjoint(const Piece& a, const Piece& b, std::span<const DimVec> radices) {
  if (disjoint(a.space, a.index, b.space, b.index)) return true;
  return std::ranges::any_of(radices, [&](const DimVec& radix) {
    const auto x = number_of(a.index, radix), y = number_of(b.index, radix);
    return x && y && disjoint(a.space, std::span(&*x, 1), b.space, std::span(&*y, 1));
  });
}
}  // namespace

bool partition(std::span<const Piece> pieces, std::span<const Dim> sizes, const Facts& facts,
               std::span<const DimVec> radices) {
  if (pieces.size() > kMostPieces) return false;
  try {
    Dim total = 0;
    for (const Piece& p : pieces) {
      auto count = p.space.points();
      if (!count || !p.space.injective(p.index, radices) || !p.space.inside(p.index, sizes)) return false;
      total += *count;
    }
    Dim elements = numel(sizes);
    if (total != elements && !facts.proves(eq(total, elements))) return false;
    for (size_t i = 0; i < pieces.size(); ++i)
      for (size_t k = i + 1; k < pieces.size(); ++k)
        if (!disjoint(pieces[i], pieces[k], radices)) return false;
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace lenz::loops
