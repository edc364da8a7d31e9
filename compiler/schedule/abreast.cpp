#include "compiler/schedule/abreast.h"

#include <algorithm>
#include <vector>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/tiles.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;

namespace {

constexpr double kMostComputed = 12;  // simple operations for each two numbers that are combined

// Of one nest: which of its shared axes tell each row that it reads. Nothing where it is none that goes along rows.
class Rows {
 public:
  Rows(const loops::Program& program, const Nest& nest, std::span<const uint32_t> order, size_t shared,
       const Target& target)
      : axes_(reordered(nest, order)), shared_(shared) {
    const NestFacts facts = facts_of(nest);
    if (axes_.size() == shared) {  // one point
      is_point_ = !facts.reduces && !facts.scans;
      return;
    }
    const Axis& last = axes_.back();
    if (!facts.reduces || facts.scans || facts.draws || facts.positions || facts.cost > kMostComputed ||
        last.kind != AxisKind::reduction || (last.extent.is_constant() && last.extent.constant() < target.lanes(4)) ||
        !may_go_abreast(nest, last))
      return;
    for (size_t k = 0; k < axes_.size(); ++k)
      if ((k < shared) != (axes_[k].kind == AxisKind::parallel)) return;
    goes_along_ = find(program, nest);
  }

  bool is_point() const { return is_point_; }
  bool goes_along() const { return goes_along_; }
  Dim extent(size_t k) const { return axes_[k].extent; }
  // Whether some row is another one for each of the axis' points, and some other row the same for all.
  bool shares(size_t k) const {
    const auto moves = [&](const std::vector<bool>& row) { return bool{row[k]}; };
    return std::ranges::any_of(rows_, moves) && !std::ranges::all_of(rows_, moves);
  }

 private:
  bool find(const loops::Program& program, const Nest& nest) {
    loops::IndexSpace space(program.context->syms, program.assumptions.known());
    for (const Axis& a : axes_) space.add_axis(a.symbol, a.extent);
    for (const Instr& i : nest.body) {
      if (i.kind == InstrKind::index) return false;
      if (i.kind != InstrKind::load || i.index.empty()) continue;
      const Dim address = address_of(program, i.buffer, i.index);
      const auto along = space.stride(address, axes_.size() - 1);
      if (!along || !(along->is(0) || along->is(1))) return false;
      if (along->is(0)) continue;
      std::vector<bool> told;
      for (size_t k = 0; k < shared_; ++k) {
        const auto step = space.stride(address, k);
        if (!step) return false;
        told.push_back(!step->is(0));
      }
      // What every axis tells is read once, and memory is what takes time.
      if (std::ranges::all_of(told, [](bool by) { return by; })) return false;
      rows_.push_back(std::move(told));
    }
    return !rows_.empty();
  }

  std::vector<Axis> axes_;
  size_t shared_;
  bool is_point_ = false, goes_along_ = false;
  std::vector<std::vector<bool>> rows_;  // by shared axes
};

}  // namespace

bool may_go_abreast(const Nest& nest, const Axis& lanes) {
  if (lanes.kind != AxisKind::reduction) return false;
  // Truths are combined in mask registers, of which there are few.
  const auto alone = [](const Instr& i) {
    return i.kind == InstrKind::scan || i.kind == InstrKind::draw ||
           (i.kind == InstrKind::reduce && i.dtype == Dtype::b8);
  };
  if (std::ranges::any_of(nest.body, alone)) return false;
  const auto once_for_a_row = [&](const loops::Store& s) {
    return s.mode == loops::StoreMode::assign && s.mask == kNone && std::ranges::none_of(nest.axes, [&](const Axis& a) {
             return a.kind != AxisKind::parallel &&
                    std::ranges::any_of(s.index, [&](Dim d) { return along(nest, a.symbol).move(d); });
           });
  };
  return std::ranges::all_of(nest.stores, once_for_a_row);
}

std::optional<uint32_t> axis_abreast(const loops::Program& program, std::span<const Nest* const> nests,
                                     std::span<const uint32_t> order, size_t shared, const Target& target) {
  std::vector<Rows> along_rows;
  for (const Nest* nest : nests) {
    Rows rows(program, *nest, order, shared, target);
    if (rows.is_point()) continue;
    if (!rows.goes_along()) return std::nullopt;
    along_rows.push_back(std::move(rows));
  }
  if (along_rows.empty()) return std::nullopt;
  // The outermost one: the rows that all its points share are the most that is read again and again. Not the innermost
  // one, of which the others are.
  for (uint32_t k = 0; k + 1 < shared; ++k) {
    const Dim extent = along_rows[0].extent(k);
    if (extent.is_constant() && extent.constant() < target.grained(kRowsAbreast)) continue;
    if (std::ranges::all_of(along_rows, [&](const Rows& r) { return r.shares(k); })) return k;
  }
  return std::nullopt;
}

}  // namespace lenz::schedule
