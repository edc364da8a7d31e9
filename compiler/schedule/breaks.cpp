#include "compiler/schedule/breaks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/loops/conditions.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/dead_results.h"
#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::IndexSpace;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Ssa;

namespace {

constexpr size_t kMostBreaks = 3, kMostInstrs = 40;
constexpr int64_t kShortest = 3;  // vectors of floats along an axis: worth a cut

IndexSpace space_of(const Program& program, const Nest& nest, std::span<const Axis> around) {
  IndexSpace space(program.context->syms, program.assumptions.known());
  for (const Axis& a : around) space.add_axis(a.symbol, a.extent);
  for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
  return space;
}

// Where the axis is in such a space.
size_t place_of(const IndexSpace& space, Dim symbol) {
  const auto& axes = space.axes();
  return static_cast<size_t>(std::ranges::find(axes, symbol, &IndexSpace::Axis::symbol) - axes.begin());
}

// Elements moved and little computed, as they lie along an axis.
std::optional<size_t> axis_to_cut(const Program& program, const Target& target, const Nest& nest,
                                  const IndexSpace& space) {
  if (nest.body.size() > kMostInstrs || nest.stores.empty()) return std::nullopt;
  for (const Instr& i : nest.body)
    if (i.kind != InstrKind::constant && i.kind != InstrKind::index && i.kind != InstrKind::load &&
        i.kind != InstrKind::scalar)
      return std::nullopt;
  for (size_t k = nest.axes.size(); k-- > 0;) {
    const Axis& axis = nest.axes[k];
    if (axis.kind != loops::AxisKind::parallel || !axis.extent.is_constant() ||
        axis.extent.constant() < kShortest * target.lanes(4))
      continue;
    if (std::ranges::all_of(nest.stores, [&](const loops::Store& s) {
          const auto stride = space.stride(address_of(program, s.buffer, s.index), place_of(space, axis.symbol));
          return s.mode == loops::StoreMode::assign && stride && stride->is(1);
        }))
      return k;
  }
  return std::nullopt;
}

// Points of the axis at which another part begins, of whatever the numbers between them are: a cut is right anywhere.
class Breaks {
 public:
  Breaks(const Axis& axis, std::span<const IndexSpace::Axis> all) : axis_(axis), all_(all) {}

  // Its step changes. The step after a jump is that of what follows; so is a first one that no second one is like.
  void along(Dim dim) {
    if (dim.is_constant() || !mentions(dim, axis_.symbol)) return;
    const int64_t end = axis_.extent.constant();
    for (int64_t begin = 0; begin + 2 < end && !too_many();) {
      const auto first = at(dim, begin), second = at(dim, begin + 1), third = at(dim, begin + 2);
      if (!first || !second || !third) return;
      const int64_t step = *second - *first;
      int64_t next = begin + 1;
      if (*third - *second == step)
        next = first_without(begin + 2, [&](int64_t i) { return at(dim, i) == *first + step * (i - begin); });
      if (next < end) places_.insert(next);
      begin = next;
    }
  }
  // It begins to hold, or ends.
  void of(const Cond& cond) {
    const Dim difference = cond.lhs - cond.rhs;
    if (difference.is_constant() || !mentions(difference, axis_.symbol)) return;
    if (cond.rel != Rel::le && cond.rel != Rel::lt) return;
    for (const IndexSpace::Axis& other : all_)
      if (other.symbol != axis_.symbol && mentions(difference, other.symbol)) return;
    auto holds = [&](int64_t i) {
      const auto d = at(difference, i);
      return d && (cond.rel == Rel::lt ? *d < 0 : *d <= 0);
    };
    const bool before = holds(0);
    const int64_t next = first_without(0, [&](int64_t i) { return holds(i) == before; });
    if (next < axis_.extent.constant()) places_.insert(next);
  }
  bool too_many() const { return places_.size() > kMostBreaks; }
  const std::set<int64_t>& places() const { return places_; }

 private:
  std::optional<int64_t> at(Dim dim, int64_t i) const {
    return evaluate(dim, [&](const SymNode* s) -> std::optional<int64_t> {
      if (s == axis_.symbol.node()) return i;
      for (const IndexSpace::Axis& other : all_)
        if (s == other.symbol.node()) return 0;
      return std::nullopt;
    });
  }

  // The first point for which it is not so, of points behind one for which it is; found by leaps, where it is not so
  // for all from there on, or for many.
  template <class F>
  int64_t first_without(int64_t so, const F& is_so) const {
    const int64_t end = axis_.extent.constant();
    int64_t leap = 1, not_so = end;
    while (so + 1 < not_so) {
      const int64_t tried = not_so == end ? std::min(so + leap, end - 1) : so + (not_so - so) / 2;
      if (is_so(tried))
        so = tried;
      else
        not_so = tried;
      leap *= 2;
    }
    return not_so;
  }

  const Axis& axis_;
  std::span<const IndexSpace::Axis> all_;
  std::set<int64_t> places_;
};

// Truths that are known at all of its points are numbers, and what asks them is not there.
void fold_truths(Nest& nest, const IndexSpace& space) {
  Nest made = nest;
  made.body.clear();
  NestWriter writer(made);
  std::vector<Ssa> values;
  auto known = [&](Ssa value) -> std::optional<bool> {
    const Instr& i = made.body[value];
    if (i.kind != InstrKind::constant || i.dtype != Dtype::b8) return std::nullopt;
    return i.value.integer() != 0;
  };
  auto without_true = [&](Ssa& mask) {
    if (mask != kNone && known(mask) == true) mask = kNone;
  };
  for (size_t n = 0; n < nest.body.size(); ++n) {
    Instr i = nest.body[n];
    for (Ssa& operand : i.operands) operand = values[operand];
    if (i.mask != kNone) i.mask = values[i.mask];
    without_true(i.mask);
    std::optional<bool> truth;
    if (i.kind == InstrKind::scalar && i.dtype == Dtype::b8)
      if (const auto cond = loops::condition(nest, static_cast<Ssa>(n)))
        truth = space.proves(*cond) ? std::optional(true) : space.proves(negate(*cond)) ? std::optional(false) : truth;
    if (!truth && loops::is_conjunction(i)) {
      const auto a = known(i.operands[0]), b = known(i.operands[1]);
      if (a == false || b == false) {
        truth = false;
      } else if (a == true || b == true) {
        values.push_back(i.operands[a == true ? 1 : 0]);
        continue;
      }
    }
    if (i.kind == InstrKind::scalar && i.row->name == "where")
      if (const auto chosen = known(i.operands[0]); chosen && made.body[i.operands[*chosen ? 1 : 2]].dtype == i.dtype) {
        values.push_back(i.operands[*chosen ? 1 : 2]);
        continue;
      }
    if (truth) {
      i = Instr{};
      i.dtype = Dtype::b8;
      i.value = ScalarValue(int64_t{*truth});
    }
    values.push_back(writer.add(std::move(i)));
  }
  for (loops::Store& s : made.stores) {
    s.value = values[s.value];
    if (s.mask != kNone) s.mask = values[s.mask];
    without_true(s.mask);
  }
  drop_dead_instructions(made);
  nest = std::move(made);
}

// Its points from one of the axis' on, before another one.
Nest part_of(const Program& program, const Nest& nest, std::span<const Axis> around, size_t k, int64_t begin,
             int64_t end, Dim symbol) {
  Nest made = nest;
  Replacement with(program.context->syms);
  with.set(nest.axes[k].symbol, end - begin == 1 ? Dim(begin) : symbol + begin);
  if (end - begin == 1)
    made.axes.erase(made.axes.begin() + static_cast<ptrdiff_t>(k));
  else
    made.axes[k].symbol = symbol, made.axes[k].extent = end - begin;
  const IndexSpace space = space_of(program, made, around);
  auto replace = [&](DimVec& index) {
    for (Dim& d : index) d = space.simplify(with(d));
  };
  for (Instr& i : made.body) replace(i.index);
  for (loops::Store& s : made.stores) replace(s.index);
  fold_truths(made, space);
  return made;
}

// Whether no coordinate along the axis turns, and no condition: what is loaded lies at a fixed step, or nowhere.
bool is_straight(const Program& program, const Nest& nest, std::span<const Axis> around, Dim symbol) {
  const IndexSpace space = space_of(program, nest, around);
  std::vector<bool> along;  // whether a value hangs on where on the axis it is
  for (const Instr& i : nest.body) {
    if (i.kind == InstrKind::load &&
        ((i.mask != kNone && along[i.mask]) ||
         !space.stride(address_of(program, i.buffer, i.index), place_of(space, symbol)).has_value()))
      return false;
    along.push_back(std::ranges::any_of(i.index, [&](Dim d) { return mentions(d, symbol); }) ||
                    std::ranges::any_of(i.operands, [&](Ssa operand) { return along[operand]; }));
  }
  return true;
}

}  // namespace

std::vector<Nest> cut_at_breaks(const Program& program, const Target& target, const Nest& nest,
                                std::span<const Axis> around, const std::function<Dim()>& fresh) {
  const IndexSpace space = space_of(program, nest, around);
  const auto k = axis_to_cut(program, target, nest, space);
  if (!k) return {};
  const Axis& axis = nest.axes[*k];
  Breaks breaks(axis, space.axes());
  for (size_t n = 0; n < nest.body.size(); ++n) {
    const Instr& i = nest.body[n];
    if (i.kind == InstrKind::load &&
        !space.stride(address_of(program, i.buffer, i.index), place_of(space, axis.symbol)))
      for (Dim d : i.index) breaks.along(d);
    if (i.kind == InstrKind::scalar && i.dtype == Dtype::b8)
      if (const auto cond = loops::condition(nest, static_cast<Ssa>(n))) breaks.of(*cond);
  }
  if (breaks.too_many() || breaks.places().empty()) return {};
  std::vector<int64_t> ends(breaks.places().begin(), breaks.places().end());
  ends.push_back(axis.extent.constant());
  std::vector<Nest> parts;
  bool worth = false;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    const Dim symbol = fresh();
    parts.push_back(part_of(program, nest, around, *k, begin, end, symbol));
    // The longest is more than half of it.
    if ((end - begin) * 2 > axis.extent.constant()) worth = is_straight(program, parts.back(), around, symbol);
    begin = end;
  }
  return worth ? parts : std::vector<Nest>{};
}

}  // namespace lenz::schedule
