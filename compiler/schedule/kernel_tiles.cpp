// How a kernel's points are cut: the order of its axes, tiles, lanes.
#include <algorithm>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/kernel_maker.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;
using loops::Store;

namespace {

constexpr int64_t kColumnTile = 64;    // columns that are reduced together: four vectors of accumulators
constexpr int64_t kSquareTile = 64;    // of two axes, where memory is contiguous along one here and the other one there
constexpr size_t kMostUnrolled = 160;  // instructions of an unrolled body

}  // namespace

void KernelMaker::tile() {
  lanes_ = true;
  if (group_.shared == 0) return;
  // Inside goes the innermost shared axis, where the nests have no other axes, or where it is the one along which
  // memory is contiguous.
  bool bare = std::ranges::all_of(members_, [&](const Member& m) { return m.nest->axes.size() == group_.shared; });
  bool column = false;
  if (!bare) {
    double along_shared = 0, along_inner = 0;
    bool ragged = false;  // how far an inner axis goes hangs on where the shared one is: that one stays outside
    for (const Member& m : members_) {
      if (m.facts.scans) return;
      if (m.nest->axes.size() == group_.shared) continue;
      size_t shared_axis = SIZE_MAX, last = m.nest->axes.size() - 1;
      const Dim shared = m.facts.parallel[group_.shared - 1];
      for (size_t k = 0; k < m.nest->axes.size(); ++k) {
        if (m.nest->axes[k].symbol == shared) shared_axis = k;
        ragged = ragged || mentions(m.nest->axes[k].extent, shared);
      }
      along_shared += contiguity(*m.nest, shared_axis);
      along_inner += contiguity(*m.nest, last == shared_axis ? 0 : last);
    }
    column = along_shared > along_inner && !ragged;
  }
  if (!bare && !column) return;
  const bool single = bare && group_.phases.size() == 1;
  if (std::optional<size_t> rows = single ? crossing_axis() : std::nullopt) {
    std::tie(tile_, shared_.back()) = cut(axes_.size() - 1, kSquareTile);
    std::tie(rows_, shared_[*rows]) = cut(*rows, kSquareTile);
    return;
  }
  const size_t joined = single ? joined_axes() : 1;
  std::vector<Dim> extents;  // of the axes that become one, from the innermost
  for (size_t n = 0; n < joined; ++n) extents.push_back(axes_[axes_.size() - 1 - n].extent);
  axes_.resize(axes_.size() - (joined - 1));
  point_.resize(axes_.size());
  axes_.back().extent = numel(extents);
  Dim rest;
  std::tie(tile_, rest) = cut(axes_.size() - 1, column ? kColumnTile : kTile);
  shared_.back() = rest;
  for (size_t n = 0; n < joined; ++n) {
    Dim& at = shared_[shared_.size() - 1 - n];
    if (n + 1 == joined) {
      at = rest;  // the outermost one may have no points: nothing is divided by it
    } else {
      at = mod(rest, extents[n]);
      rest = floor_div(rest, extents[n]);
    }
  }
}

// Axis k of the kernel in tiles: which tile stays outside, unless there is but one. Gives what is inside, and where a
// point is.
std::pair<Axis, Dim> KernelMaker::cut(size_t k, int64_t size) {
  const Dim extent = axes_[k].extent;
  Axis inner{fresh("i"), extent, AxisKind::parallel};
  const auto at = static_cast<ptrdiff_t>(k);
  if (extent.is_constant() && extent.constant() <= size) {
    axes_.erase(axes_.begin() + at);
    point_.erase(point_.begin() + at);
    return {inner, inner.symbol};
  }
  const Dim number = fresh("t");
  axes_[k] = {number, ceil_div(extent, size), AxisKind::parallel};
  point_[k] = number;
  const bool whole = extent.is_constant() && extent.constant() % size == 0;
  inner.extent = whole ? Dim(size) : min(Dim(size), extent - number * size);
  return {inner, number * size + inner.symbol};
}

// The shared axes from the one with the longest steps in memory to the one with the shortest. Points of a kernel may
// run in any order; this one is how what it writes lies.
void KernelMaker::order_axes() {
  if (group_.shared < 2) return;
  auto shared_of = [&](const Nest& nest) {  // where they are
    std::vector<size_t> at;
    for (size_t k = 0; k < nest.axes.size() && at.size() < group_.shared; ++k)
      if (nest.axes[k].kind == AxisKind::parallel) at.push_back(k);
    return at;
  };
  std::vector<size_t> order;  // of the shared axes, by number
  for (size_t n = group_.nests.size(); n-- > 0 && order.empty();) {
    const auto& nest = std::get<Nest>(block_.nodes[group_.nests[n]].is);
    const std::vector<size_t> shared = shared_of(nest);
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
    for (const Store& s : nest.stores) {
      const Dim address = address_of(program_, s.buffer, s.index);
      if (!used_outside(s.buffer) || !space.linear(address)) continue;
      for (size_t k : space.order_by_stride(address))
        if (auto found = std::ranges::find(shared, k); found != shared.end())
          order.push_back(static_cast<size_t>(found - shared.begin()));
      break;
    }
  }
  if (order.empty() || std::ranges::is_sorted(order)) return;
  for (uint32_t number : group_.nests) {
    auto& nest = std::get<Nest>(block_.nodes[number].is);
    const std::vector<size_t> shared = shared_of(nest);
    const std::vector<Axis> before = nest.axes;
    for (size_t k = 0; k < order.size(); ++k) nest.axes[shared[k]] = before[shared[order[k]]];
  }
}

// The shared axis along which most of what is strange to the innermost one is contiguous.
std::optional<size_t> KernelMaker::crossing_axis() const {
  std::vector<int> along(group_.shared);
  auto too_few = [&](size_t k) {
    return axes_[k].extent.is_constant() && axes_[k].extent.constant() < target_.lanes(4);
  };
  for (const Member& m : members_) {
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const Axis& a : m.nest->axes) space.add_axis(a.symbol, a.extent);
    auto access = [&](BufferId id, const DimVec& index) {
      const Dim address = address_of(program_, id, index);
      auto innermost = space.stride(address, group_.shared - 1);
      if (!innermost || innermost->is(0) || innermost->is(1)) return;
      for (size_t k = 0; k + 1 < group_.shared; ++k)
        if (auto stride = space.stride(address, k); stride && stride->is(1)) ++along[k];
    };
    for (const loops::Instr& i : m.nest->body)
      if (i.kind == InstrKind::load) access(i.buffer, i.index);
    for (const Store& s : m.nest->stores) access(s.buffer, s.index);
  }
  std::optional<size_t> best;
  for (size_t k = 0; k + 1 < group_.shared; ++k)
    if (along[k] > 0 && !too_few(k) && (!best || along[k] > along[*best])) best = k;
  if (best && too_few(group_.shared - 1)) best.reset();
  return best;
}

// How many of the innermost shared axes are one axis for all members.
size_t KernelMaker::joined_axes() const {
  for (size_t n = 1; n < group_.shared; ++n) {
    const size_t k = group_.shared - 1 - n;
    for (const Member& m : members_)
      if (!collapsible(program_, *m.nest, k)) return n;
  }
  return std::max<size_t>(group_.shared, 1);
}

// How well accesses go along an axis: neighbours, or one element for all, against strides.
double KernelMaker::contiguity(const Nest& nest, size_t axis) const {
  loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
  for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
  double score = 0;
  auto access = [&](BufferId id, const DimVec& index) {
    if (index.empty()) return;
    auto stride = space.stride(address_of(program_, id, index), axis);
    score += !stride ? -2 : stride->is(1) ? 1 : stride->is(0) ? 0 : -1;
  };
  for (const loops::Instr& i : nest.body)
    if (i.kind == InstrKind::load) access(i.buffer, i.index);
  for (const Store& s : nest.stores) access(s.buffer, s.index);
  return score;
}

// Whether points along an axis may run in lanes: they are in order then, all at once.
bool KernelMaker::may_have_lanes(const Nest& nest, const Axis& axis) const {
  if (axis.kind == AxisKind::scan) return false;
  for (const loops::Instr& i : nest.body)
    if (i.ordered && axis.kind == AxisKind::reduction) return false;
  return std::ranges::all_of(nest.stores, [&](const Store& s) {
    return s.mode == loops::StoreMode::assign || loops::lanes_apart(program_, nest, s, axis);
  });
}

// Bytes of the largest value that lanes along the axis have one each of.
int64_t KernelMaker::widest(const Nest& nest, const Axis& axis) {
  int64_t most = 4;
  std::vector<const SymNode*> symbols{axis.symbol.node()};
  std::vector<bool> varies;
  for (const loops::Instr& i : nest.body) {
    bool here = i.kind == InstrKind::scan || (i.mask != kNone && varies[i.mask]);
    for (Ssa operand : i.operands) here = here || varies[operand];
    for (Dim d : i.index)
      if (!d.is_constant())
        for_each_symbol(d, [&](const SymNode* s) { here = here || std::ranges::find(symbols, s) != symbols.end(); });
    varies.push_back(here);
    if (here && i.kind == InstrKind::position) symbols.push_back(i.symbol.node());
    if (here && i.kind != InstrKind::index) most = std::max(most, std::min<int64_t>(item_size(i.dtype), 8));
  }
  return most;
}

void KernelMaker::add_lanes(Nest& nest) const {
  bool reduces = false, scans = false;
  for (const loops::Instr& i : nest.body) {
    reduces = reduces || i.kind == InstrKind::reduce;
    scans = scans || i.kind == InstrKind::scan;
  }
  std::optional<size_t> best;
  double most = 0;
  for (size_t k = nest.axes.size(); k-- > 0;) {
    if (!may_have_lanes(nest, nest.axes[k])) continue;
    double score = contiguity(nest, k);
    if (best && score <= most) continue;
    best = k;
    most = score;
  }
  if (!best || (scans && most <= 0)) return;
  Axis& axis = nest.axes[*best];
  axis.lanes = target_.lanes(widest(nest, axis));
  if (rows_) {  // as many rows as lanes, so that squares of elements can be turned in registers
    for (Axis& a : nest.axes)
      if (&a != &axis && (a.symbol == rows_->symbol || a.symbol == tile_->symbol)) a.unroll = axis.lanes;
    return;
  }
  while (axis.unroll < (reduces ? 4U : 2U) && nest.body.size() * axis.unroll * 2 <= kMostUnrolled) axis.unroll *= 2;
}

}  // namespace lenz::schedule
