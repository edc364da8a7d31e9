// Cuts a kernel's points as its group says, and decides lanes.
#include <algorithm>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/abreast.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/kernel_maker.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;
using loops::Store;

namespace {

constexpr size_t kMostUnrolled = 160;  // instructions of an unrolled body
constexpr double kMostDrawn = 320;     // what one that draws costs: its code is as much
constexpr int64_t kLeastScanned = 2;   // vectors of a row that is scanned in lanes
constexpr double kFewOfColumn = 3;     // simple operations, which need no registers of their own beside a sum's
constexpr uint32_t kMostBytes = 32;    // lanes of these
constexpr uint32_t kFewVectors = 8;    // of bytes: what is left of a row may go byte by byte

// Simple operations for each number that is combined: not what is made of the result, nor what is there once.
double cost_of_column(const Nest& nest) {
  std::vector<bool> inner(nest.body.size());
  for (const Axis& a : nest.axes) {
    if (a.kind == AxisKind::parallel) continue;
    const Along moving = along(nest, a.symbol);
    for (size_t v = 0; v < inner.size(); ++v) inner[v] = inner[v] || moving.values[v];
  }
  const std::vector<bool> late = loops::epilogue(nest);
  double cost = 0;
  for (size_t v = 0; v < nest.body.size(); ++v)
    if (nest.body[v].kind == InstrKind::reduce || (inner[v] && !late[v])) cost += cost_of(nest.body[v]);
  return cost;
}

}  // namespace

void KernelMaker::tile() {
  lanes_ = true;
  const Tiles& t = group_.tiles;
  if (t.size == 0) return;
  // The innermost ones first: that moves none before them.
  tile_ = cut_as_one(axes_.size() - 1, t.joined, t.size);
  if (!t.rows) return;
  const size_t before = axes_.size();
  rows_ = cut_as_one(*t.rows, t.rows_joined, t.row_size);
  // What those that go abreast share stays where it is until all of them have been there.
  if (t.abreast && axes_.size() == before) {
    const auto rows = axes_.begin() + static_cast<ptrdiff_t>(*t.rows);
    std::rotate(rows, rows + 1, axes_.end());
  }
}

// So many of the kernel's axes, which are those of the group still, in tiles as if they were one.
Axis KernelMaker::cut_as_one(size_t innermost, uint32_t joined, int64_t size) {
  std::vector<Dim> extents;  // from the innermost
  for (size_t n = 0; n < joined; ++n) extents.push_back(axes_[innermost - n].extent);
  const size_t outermost = innermost + 1 - joined;
  const auto gone = static_cast<ptrdiff_t>(outermost + 1), behind = static_cast<ptrdiff_t>(innermost + 1);
  axes_.erase(axes_.begin() + gone, axes_.begin() + behind);
  point_.erase(point_.begin() + gone, point_.begin() + behind);
  axes_[outermost].extent = numel(extents);
  auto [inside, rest] = cut(outermost, size);
  for (size_t n = 0; n < joined; ++n) {
    Dim& at = shared_[innermost - n];
    if (n + 1 == joined) {
      at = rest;  // the outermost one may have no points: nothing is divided by it
    } else {
      at = mod(rest, extents[n]);
      rest = floor_div(rest, extents[n]);
    }
  }
  return inside;
}

// Axis k of the kernel in tiles: which tile stays outside, unless there is but one. Gives what is inside, and where a
// point is.
std::pair<Axis, Dim> KernelMaker::cut(size_t k, int64_t size) {
  const Dim extent = axes_[k].extent;
  Axis inner{fresh_("i"), extent, AxisKind::parallel};
  const auto at = static_cast<ptrdiff_t>(k);
  if (extent.is_constant() && extent.constant() <= size) {
    axes_.erase(axes_.begin() + at);
    point_.erase(point_.begin() + at);
    return {inner, inner.symbol};
  }
  const Dim number = fresh_("t");
  axes_[k] = {number, ceil_div(extent, size), AxisKind::parallel};
  point_[k] = number;
  const bool whole = extent.is_constant() && extent.constant() % size == 0;
  inner.extent = whole ? Dim(size) : min(Dim(size), extent - number * size);
  return {inner, number * size + inner.symbol};
}

// Whether points along an axis may run in lanes: they are in order then, all at once.
bool KernelMaker::may_have_lanes(const Nest& nest, const Axis& axis) const {
  if (axis.kind == AxisKind::scan && !may_scan_in_lanes(nest, axis)) return false;
  for (const loops::Instr& i : nest.body)
    if (i.ordered && axis.kind == AxisKind::reduction) return false;
  return std::ranges::all_of(nest.stores, [&](const Store& s) {
    return s.mode == loops::StoreMode::assign || loops::lanes_apart(program_, nest, s, axis);
  });
}

// Whether neighbours along a scan axis may be computed at once: each has a place of its own, nothing is read that an
// earlier one wrote, and a row has more of them than take less time one by one.
bool KernelMaker::may_scan_in_lanes(const Nest& nest, const Axis& axis) const {
  if (axis.extent.is_constant() && axis.extent.constant() < int64_t{kLeastScanned} * target_.lanes(4)) return false;
  for (size_t k = 0; k < nest.axes.size(); ++k)
    if (nest.axes[k].kind == AxisKind::parallel && scans_beside(program_, nest, nest.axes, k, target_)) return false;
  loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
  space.add_axis(axis.symbol, axis.extent);
  const std::vector<BufferId> storages = storages_of(program_);
  // Where the best so far stands takes few steps one by one, where few are better, but many in vectors. Floats that are
  // added or multiplied with their neighbours first are rounded in another order: what no number below zero was added
  // to could be less than before, and what overflows there may meet a zero, or its contrary, that stands before it.
  auto in_vectors = [](const loops::Instr& i) {
    if (i.combine == loops::Combine::sum || i.combine == loops::Combine::product) return is_integral(i.dtype, true);
    return loops::row_of(i.combine).parts == 1 || i.combine == loops::Combine::log_sum_exp;
  };
  for (const loops::Instr& i : nest.body)
    if (i.kind == InstrKind::scan && (i.ordered || i.combine == loops::Combine::last || !in_vectors(i))) return false;
  return std::ranges::all_of(nest.stores, [&](const Store& s) {
    const auto stride = space.stride(address_of(program_, s.buffer, s.index), 0);
    if (s.mode != loops::StoreMode::assign || !stride || !stride->is(1)) return false;
    return std::ranges::none_of(nest.body, [&](const loops::Instr& i) {
      return i.kind == InstrKind::load && storages[i.buffer] == storages[s.buffer] &&
             (i.buffer != s.buffer || i.index != s.index);
    });
  });
}

// Bytes of the largest value that lanes along the axis have one each of. A coordinate made of what is narrower is none:
// it is what an address is told by, in as many vectors as that takes.
int64_t KernelMaker::widest(const Nest& nest, const Axis& axis) {
  int64_t most = 4;
  const Along moving = along(nest, axis.symbol);
  std::vector<bool> tells(nest.body.size(), true);  // nothing but coordinates
  std::vector<bool> told(nest.body.size());         // by coordinates alone
  bool looked_up = false;                           // at places that are so told: each is worked out once for all rows
  auto is_read = [&](Ssa by, Ssa v) {
    const loops::Instr& i = nest.body[by];
    if (i.kind != InstrKind::position) tells[v] = false;
  };
  for (Ssa v = 0; v < nest.body.size(); ++v) {
    for (Ssa operand : nest.body[v].operands) is_read(v, operand);
    if (nest.body[v].mask != kNone) is_read(v, nest.body[v].mask);
  }
  std::vector<bool> stored(nest.body.size());
  for (const Store& s : nest.stores) tells[s.value] = false, stored[s.value] = true;
  for (Ssa v = 0; v < nest.body.size(); ++v) {
    const loops::Instr& i = nest.body[v];
    told[v] = i.kind == InstrKind::constant || i.kind == InstrKind::index ||
              ((i.kind == InstrKind::scalar || i.kind == InstrKind::position) && i.mask == kNone &&
               std::ranges::all_of(i.operands, [&](Ssa operand) { return told[operand]; }));
    looked_up = looked_up || (i.kind == InstrKind::position && told[v] && moving.values[v]);
  }
  auto converts = [&](const loops::Instr& i) {
    return i.kind == InstrKind::scalar && i.operands.size() == 1 && item_size(nest.body[i.operands[0]].dtype) <= 4;
  };
  for (Ssa v = 0; v < nest.body.size(); ++v) {
    const loops::Instr& i = nest.body[v];
    if (!moving.values[v] || i.kind == InstrKind::index || i.kind == InstrKind::position) continue;
    if ((tells[v] && converts(i)) || (looked_up && told[v] && !stored[v] && i.dtype == Dtype::i64)) continue;
    most = std::max(most, std::min<int64_t>(item_size(i.dtype), 8));
  }
  return most;
}

// Of a nest that does nothing but compute with bytes and truths what lies beside each other in memory: as many lanes as
// a vector has bytes. None: it is no such nest, or its rows are short. (Of two bytes memory takes as long as half a
// vector.)
std::optional<uint32_t> KernelMaker::lanes_of_bytes(const Nest& nest, const Axis& axis) const {
  auto is_byte = [](Dtype dtype) { return item_size(dtype) == 1 && is_integral(dtype, true); };
  auto is_plain = [&](const loops::Instr& i) {
    if (i.mask != kNone || !is_byte(i.dtype)) return false;
    if (i.kind == InstrKind::scalar) return is_byte(i.compute) && !may_raise(i);
    return i.kind == InstrKind::load || i.kind == InstrKind::constant;
  };
  loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
  space.add_axis(axis.symbol, axis.extent);
  auto is_neighbour = [&](const Store& s) {
    const auto stride = space.stride(address_of(program_, s.buffer, s.index), 0);
    return s.mode == loops::StoreMode::assign && s.mask == kNone && stride && stride->is(1) &&
           is_byte(program_.buffers[s.buffer].type.dtype);
  };
  if (axis.kind != AxisKind::parallel || !std::ranges::all_of(nest.body, is_plain) ||
      !std::ranges::all_of(nest.stores, is_neighbour) || in_steps(program_, nest, axis))
    return std::nullopt;
  const uint32_t lanes = std::min(kMostBytes, target_.vector_bytes);
  const auto most_points = program_.assumptions.known().range(axis.extent).high;
  if (most_points && *most_points < target_.grained(int64_t{kFewVectors} * lanes)) return std::nullopt;
  return lanes;
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
    double score = contiguity(program_, nest, nest.axes, k);
    if (best && score <= most) continue;
    best = k;
    most = score;
  }
  if (!best || (scans && most <= 0 && !scans_beside(program_, nest, nest.axes, *best, target_))) return;
  const Dim extent = nest.axes[*best].extent;
  if (extent.is_constant() && extent.constant() < target_.lanes(4)) {  // too few for a vector: others may be better
    double least = lane_cost(program_, nest, nest.axes, *best, target_);
    for (size_t k = nest.axes.size(); k-- > 0;) {
      if (!may_have_lanes(nest, nest.axes[k])) continue;
      const double cost = lane_cost(program_, nest, nest.axes, k, target_);
      if (cost >= least) continue;
      best = k;
      least = cost;
    }
  }
  Axis& axis = nest.axes[*best];
  axis.lanes = target_.lanes(widest(nest, axis));
  auto too_few = [&](const Axis& a) { return a.extent.is_constant() && a.extent.constant() < axis.lanes; };
  // As many rows as lanes: squares, turned in registers.
  if (rows_ && !group_.tiles.abreast && !too_few(*rows_) && !too_few(*tile_)) {
    for (Axis& a : nest.axes)
      if (&a != &axis && (a.symbol == rows_->symbol || a.symbol == tile_->symbol)) a.unroll = axis.lanes;
    return;
  }
  if (!rows_ && !reduces && !scans)
    if (const auto rows = crossing_axis(program_, nest, *best);
        rows && may_have_lanes(nest, nest.axes[*rows]) && !too_few(nest.axes[*rows]) && !too_few(axis)) {
      nest.axes[*rows].unroll = axis.lanes;
      return;
    }
  if (const auto lanes = lanes_of_bytes(nest, axis)) axis.lanes = *lanes;
  // Columns that are summed together: each vector is a sum of its own, which stays in a register, and the more of a row
  // is read at once, the better memory follows.
  const NestFacts facts = facts_of(nest);
  const bool columns = reduces && axis.kind == AxisKind::parallel;
  const bool wide = columns && cost_of_column(nest) <= kFewOfColumn && !in_steps(program_, nest, axis);
  // Numbers that are drawn come four to a block of 32-bit words, and whole vectors of blocks cost as much as parts.
  const uint32_t plain = facts.draws ? std::max(2U, 4 * target_.lanes(4) / axis.lanes) : 2;
  const uint32_t all = wide ? target_.registers() / 2 : 4;
  const uint32_t unrolled = !reduces ? plain : put_abreast(nest, axis) ? all_abreast() : all;
  const size_t body = nest.body.size() * static_cast<size_t>(std::max<int64_t>(1, loops::few_inner_points(nest)));
  // Of an axis whose end is open no more than its tile has: less than a turn would go vector by vector.
  const auto most_points = program_.assumptions.known().range(axis.extent).high;
  auto fits = [&](uint32_t turns) {
    if (facts.draws && turns * facts.cost > kMostDrawn) return false;
    return axis.extent.is_constant() || !most_points || int64_t{turns} * axis.lanes <= *most_points;
  };
  while (axis.unroll < unrolled && body * axis.unroll * 2 <= kMostUnrolled && fits(axis.unroll * 2)) axis.unroll *= 2;
}

// Several rows go along several others together, each of one with each of the other, with sums of its own.
bool KernelMaker::put_abreast(Nest& nest, const Axis& lanes) const {
  if (!group_.tiles.abreast || !may_go_abreast(nest, lanes)) return false;
  const auto rows = std::ranges::find(nest.axes, rows_->symbol, &Axis::symbol);
  if (rows == nest.axes.end()) return false;
  rows->unroll = static_cast<uint32_t>(group_.tiles.row_size);
  const auto others = std::ranges::find(nest.axes, tile_->symbol, &Axis::symbol);
  if (others != nest.axes.end()) others->unroll = kOthersAbreast;
  return true;
}

// So many vectors of each of these rows that their sums stay in registers.
uint32_t KernelMaker::all_abreast() const {
  return std::max<uint32_t>(1, target_.registers() / 2 / kOthersAbreast / static_cast<uint32_t>(group_.tiles.row_size));
}

}  // namespace lenz::schedule
