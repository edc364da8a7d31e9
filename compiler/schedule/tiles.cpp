#include "compiler/schedule/tiles.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/abreast.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/kept_columns.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Store;

namespace {

constexpr int64_t kTile = 4096;       // points of a tile: enough to pay for the turn, few enough for the cache
constexpr int64_t kColumnTile = 256;  // columns that are reduced together: a stretch that memory brings at once
constexpr int64_t kOpenColumns = 64;  // of so many rows that nobody knows yet
constexpr int64_t kFewColumns = 32;   // two lines of memory: of fewer, each brings more than is asked for
constexpr int64_t kManyPoints = 32;
constexpr double kLeastOfPoint = 64 << 10;  // bytes
// Of two axes, where memory is contiguous along one here and the other one there: wide along the one that results are
// contiguous along, so that few lines of theirs are left half written, and high enough for lines of what is turned.
constexpr int64_t kSquareTile = 256;
constexpr int64_t kSquareBytes = 256;
// Constant strides at which a few vectors have all that lanes read.
constexpr int64_t kNear = 8;
constexpr double kGather = 16;  // simple operations that other strides take
constexpr double kTurned = 3;   // and those of squares
constexpr double kAcross = 8;   // and making one value of a vector's

template <class F>
void for_each_access(const Nest& nest, F&& visit) {
  for (const loops::Instr& i : nest.body)
    if (i.kind == InstrKind::load) visit(i.buffer, i.index);
  for (const Store& s : nest.stores) visit(s.buffer, s.index);
}

loops::IndexSpace space_of(const Program& program, std::span<const Axis> axes) {
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  for (const Axis& a : axes) space.add_axis(a.symbol, a.extent);
  return space;
}

bool combines(const Nest& nest) {
  return std::ranges::any_of(
      nest.body, [](const loops::Instr& i) { return i.kind == InstrKind::reduce || i.kind == InstrKind::scan; });
}

// Where a nest's outermost parallel axes are among all.
std::vector<size_t> places_of_shared(std::span<const Axis> axes, size_t shared) {
  std::vector<size_t> at;
  for (size_t k = 0; k < axes.size() && at.size() < shared; ++k)
    if (axes[k].kind == AxisKind::parallel) at.push_back(k);
  return at;
}

class TileChooser {
 public:
  TileChooser(const Program& program, const loops::Block& block, const Uses& uses, const Group& group,
              const Target& target)
      : program_(program), block_(block), uses_(uses), group_(group), target_(target) {}

  Tiles run() {
    Tiles made;
    made.order = order();
    for (uint32_t number : group_.nests) {
      const Nest& nest = nest_of(number);
      members_.push_back({&nest, reordered(nest, made.order)});
      nests_.push_back(&nest);
    }
    if (group_.shared == 0) return made;
    const bool bare = is_bare();
    if (!bare && !in_columns()) {
      made.rows = axis_abreast(program_, nests_, made.order, group_.shared, target_);
      if (!made.rows) return made;
      made.abreast = true;
      made.row_size = target_.grained(kRowsAbreast);
      made.size = target_.grained(rows_that_stay());
      return made;
    }
    const auto innermost = static_cast<uint32_t>(group_.shared - 1);
    if (!bare) made.joined = columns_as_one(innermost);
    made.size = target_.grained(bare ? kTile : columns_of_tile(extent_of(innermost, made.joined)));
    if (!bare || group_.phases.size() != 1) return made;
    const uint32_t joined = enough_for_lanes(innermost);
    made.rows = crossing_axis(joined);
    // Squares are of vectors at least, along both axes.
    if (made.rows && !too_few(extent_of(innermost, joined))) {
      made.joined = joined;
      made.rows_joined = enough_for_lanes(*made.rows);
      made.size = target_.grained(kSquareTile);
      made.row_size = target_.grained(kSquareBytes / widest_turned(*made.rows));
      return made;
    }
    made.rows.reset();
    made.joined = joined_axes(innermost);
    if (made.joined == 1 && too_few(members_[0].axes[innermost].extent)) made.rows = longer_axis();
    if (made.rows) made.row_size = target_.grained(kTile / 4);
    return made;
  }

 private:
  struct Member {
    const Nest* nest;
    std::vector<Axis> axes;
  };

  const Nest& nest_of(uint32_t number) const { return std::get<Nest>(block_.nodes[number].is); }

  // So many rows, of the axis that the others go along, that a core's cache keeps them until those come by again.
  int64_t rows_that_stay() const {
    constexpr double kRowsKept = 128 << 10;  // bytes
    constexpr int64_t kMost = 64;
    double most = 1;
    for (const Member& m : members_) {
      if (m.axes.size() == group_.shared) continue;
      double bytes = 4;
      for (size_t k = group_.shared; k < m.axes.size(); ++k)
        bytes *=
            m.axes[k].extent.is_constant() ? static_cast<double>(m.axes[k].extent.constant()) : kRowsKept / kMost / 4;
      most = std::max(most, bytes);
    }
    const auto rows = static_cast<uint64_t>(std::max(1.0, kRowsKept / most));
    return std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(rows)), target_.lanes(4), kMost);
  }

  bool is_bare() const {
    return std::ranges::all_of(members_, [&](const Member& m) { return m.axes.size() == group_.shared; });
  }

  // From the axis with the longest steps in memory to the one with the shortest, as what the group writes lies. Points
  // of a kernel may run in any order.
  std::vector<uint32_t> order() const {
    if (group_.shared < 2) return {};
    std::vector<uint32_t> found;
    for (size_t n = group_.nests.size(); n-- > 0 && found.empty();) {
      const Nest& nest = nest_of(group_.nests[n]);
      const std::vector<size_t> shared = places_of_shared(nest.axes, group_.shared);
      const loops::IndexSpace space = space_of(program_, nest.axes);
      for (const Store& s : nest.stores) {
        const Dim address = address_of(program_, s.buffer, s.index);
        if (!used_outside(program_, block_, uses_, group_, s.buffer) || !space.linear(address)) continue;
        for (size_t k : space.order_by_stride(address))
          if (auto at = std::ranges::find(shared, k); at != shared.end())
            found.push_back(static_cast<uint32_t>(at - shared.begin()));
        break;
      }
    }
    if (std::ranges::is_sorted(found)) found.clear();
    return found;
  }

  // For a vector.
  bool too_few(Dim extent) const { return extent.is_constant() && extent.constant() < target_.lanes(4); }

  // How many axes are one, of which this one is the innermost: by itself where it has points for a vector.
  uint32_t enough_for_lanes(uint32_t axis) const {
    return too_few(members_[0].axes[axis].extent) ? joined_axes(axis) : 1;
  }

  // Of so many axes as one, of which this one is the innermost.
  Dim extent_of(uint32_t axis, uint32_t joined) const {
    Dim made = 1;
    for (uint32_t n = 0; n < joined; ++n) made *= members_[0].axes[axis - n].extent;
    return made;
  }

  // Of shared axes, the one along which vectors take least time; none if it is the innermost.
  std::optional<uint32_t> longer_axis() const {
    std::optional<uint32_t> best;
    auto cost = [&](uint32_t k) {
      double sum = 0;
      for (const Member& m : members_) sum += lane_cost(program_, *m.nest, m.axes, k, target_);
      return sum;
    };
    double least = cost(group_.shared - 1);
    for (uint32_t k = 0; k + 1 < group_.shared; ++k) {
      const double here = cost(k);
      if (here >= least) continue;
      best = k;
      least = here;
    }
    return best;
  }

  // What only the group sees lies as lanes have it.
  double contiguity_outside(const Member& m, size_t axis) const {
    return contiguity(program_, *m.nest, m.axes, axis,
                      [&](BufferId id) { return used_outside(program_, block_, uses_, group_, id); });
  }

  // Beside that, columns lie within the nest: what crosses them is turned in registers where nothing is combined.
  double cost_in_lanes(const Member& m, size_t axis) const {
    const bool turns = m.axes[axis].kind == AxisKind::parallel && !combines(*m.nest);
    const loops::IndexSpace space = space_of(program_, m.axes);
    return lane_cost(
        program_, *m.nest, m.axes, axis, target_, [&](BufferId id, const DimVec& index) -> std::optional<double> {
          if (!used_outside(program_, block_, uses_, group_, id)) return 1;
          if (!turns) return std::nullopt;
          const Dim address = address_of(program_, id, index);
          for (size_t k = group_.shared; k < m.axes.size(); ++k)
            if (const auto stride = space.stride(address, k); stride && stride->is(1) && !too_few(m.axes[k].extent))
              return kTurned;
          return std::nullopt;
        });
  }

  // Of one point of the shared axes, as far as that is known.
  double inner_points(const Member& m) const {
    double points = 1;
    for (const Axis& a : m.axes)
      if (a.extent.is_constant()) points *= static_cast<double>(a.extent.constant());
    for (size_t k : places_of_shared(m.axes, group_.shared))
      if (const Dim shared = m.axes[k].extent; shared.is_constant() && !shared.is(0))
        points /= static_cast<double>(shared.constant());
    return points;
  }

  // So many columns that a cache keeps all their rows, where another phase walks these again; of all that there are.
  int64_t columns_of_tile(Dim all) const {
    if (group_.phases.size() == 1) return kColumnTile;
    double most = 1;  // bytes of one column
    for (const Member& m : members_) {
      for (const Axis& a : m.axes)
        if (!a.extent.is_constant() && !shares(m, a)) return kOpenColumns;
      int64_t item_bytes = 1;
      for (const loops::Instr& i : m.nest->body)
        if (i.kind == InstrKind::load) item_bytes = std::max<int64_t>(item_bytes, item_size(i.dtype));
      most = std::max(most, inner_points(m) * static_cast<double>(item_bytes));
    }
    const auto columns = static_cast<uint64_t>(std::max(1.0, static_cast<double>(kKeptColumns) / most));
    int64_t tile = std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(columns)), target_.lanes(4), kColumnTile);
    auto worth_starting = [&](int64_t half) { return static_cast<double>(half) * most >= kLeastOfPoint; };
    while (tile > kFewColumns && worth_starting(tile / 2) && few_points(tile)) tile /= 2;
    // No end of the last tile is another loop, if whole vectors come out even.
    for (int64_t even = tile; all.is_constant() && even > tile / 2; even -= target_.lanes(4))
      if (all.constant() % even == 0) return even;
    return tile;
  }

  // Whether the columns are so few tiles of this size that many cores had none. However many there are: results are the
  // same on each number of them.
  bool few_points(int64_t tile) const {
    Dim all = 1;
    for (size_t k : places_of_shared(members_[0].axes, group_.shared)) all *= members_[0].axes[k].extent;
    return all.is_constant() && all.constant() / tile < kManyPoints;
  }

  bool shares(const Member& m, const Axis& axis) const {
    return std::ranges::any_of(places_of_shared(m.axes, group_.shared),
                               [&](size_t k) { return m.axes[k].symbol == axis.symbol; });
  }

  // How many shared axes are columns beside each other, of which this one is the innermost: where they stand outside of
  // all others. That points stay apart is proved of one store by itself, and of no two places that coordinates tell by
  // quotients.
  uint32_t columns_as_one(uint32_t innermost) const {
    const bool outside = std::ranges::all_of(
        members_, [&](const Member& m) { return places_of_shared(m.axes, group_.shared).back() == innermost; });
    return outside && stores_are_read_by_none() ? joined_axes(innermost) : 1;
  }

  // Nor written by another store: of what others see, the rest is a point's own. No two names of one memory are in a
  // group.
  bool stores_are_read_by_none() const {
    std::map<BufferId, int> accesses;
    std::set<BufferId> stored;
    for (const Member& m : members_) {
      for_each_access(*m.nest, [&](BufferId id, const DimVec&) { ++accesses[id]; });
      for (const Store& s : m.nest->stores)
        if (used_outside(program_, block_, uses_, group_, s.buffer)) stored.insert(s.buffer);
    }
    return std::ranges::all_of(stored, [&](BufferId id) { return accesses.at(id) == 1; });
  }

  // The inner axis that lanes would go along: the last one, or, where that has too few points for a vector, as windows
  // have, the one along which vectors take least time.
  size_t lanes_inside(const Member& m, size_t last) const {
    if (!too_few(m.axes[last].extent)) return last;
    size_t best = last;
    double least = cost_in_lanes(m, last);
    const std::vector<size_t> shared = places_of_shared(m.axes, group_.shared);
    for (size_t k = 0; k < m.axes.size(); ++k) {
      if (too_few(m.axes[k].extent) || std::ranges::find(shared, k) != shared.end()) continue;
      if (const double cost = cost_in_lanes(m, k); cost < least) {
        best = k;
        least = cost;
      }
    }
    return best;
  }

  // Whether memory is contiguous along the innermost shared axis rather than along those that only some nests have.
  bool in_columns() const {
    double along_shared = 0, along_inner = 0, cost_shared = 0, cost_inner = 0;
    bool few = false;
    for (const Member& m : members_) {
      if (m.axes.size() == group_.shared) {  // one point, which has no lanes where the shared axis has none
        const double cost = facts_of(*m.nest).cost;
        cost_shared += cost;
        cost_inner += cost * target_.lanes(4);
        continue;
      }
      const size_t shared = places_of_shared(m.axes, group_.shared).back(), last = m.axes.size() - 1;
      // How far an inner axis goes hangs on where the shared one is: that one stays outside.
      for (const Axis& a : m.axes)
        if (mentions(a.extent, m.axes[shared].symbol)) return false;
      if (scans_beside(program_, *m.nest, m.axes, shared, target_)) return true;
      along_shared += contiguity_outside(m, shared);
      const size_t inner = lanes_inside(m, last == shared ? 0 : last);
      along_inner += contiguity_outside(m, inner);
      few = few || too_few(m.axes[inner].extent);
      const double points = inner_points(m);
      cost_shared += points * cost_in_lanes(m, shared);
      cost_inner += points * cost_in_lanes(m, inner);
    }
    if (few) return cost_shared < cost_inner;
    return along_shared > along_inner;
  }

  // The shared axis, beside so many innermost ones, along which most of what is strange to the innermost one is
  // contiguous.
  std::optional<uint32_t> crossing_axis(uint32_t joined) const {
    std::vector<int> along(group_.shared);
    for (const Member& m : members_) {
      const loops::IndexSpace space = space_of(program_, m.axes);
      for_each_access(*m.nest, [&](BufferId id, const DimVec& index) {
        const Dim address = address_of(program_, id, index);
        auto innermost = space.stride(address, group_.shared - 1);
        if (!innermost || innermost->is(0) || innermost->is(1)) return;
        for (size_t k = 0; k + joined < group_.shared; ++k)
          if (auto stride = space.stride(address, k); stride && stride->is(1)) ++along[k];
      });
    }
    std::optional<uint32_t> best;
    for (uint32_t k = 0; k + joined < group_.shared; ++k)
      if (along[k] > 0 && !too_few(extent_of(k, enough_for_lanes(k))) && (!best || along[k] > along[*best])) best = k;
    return best;
  }

  // Bytes of the largest element of what is contiguous along that axis.
  int64_t widest_turned(uint32_t rows) const {
    int64_t most = 1;
    for (const Member& m : members_) {
      const loops::IndexSpace space = space_of(program_, m.axes);
      for_each_access(*m.nest, [&](BufferId id, const DimVec& index) {
        if (auto stride = space.stride(address_of(program_, id, index), rows); stride && stride->is(1))
          most = std::max<int64_t>(most, item_size(program_.buffers[id].type.dtype));
      });
    }
    return most;
  }

  // How many axes, of which this shared one is the innermost, are one axis for all members.
  uint32_t joined_axes(uint32_t innermost) const {
    for (uint32_t n = 1; n <= innermost; ++n)
      for (const Member& m : members_) {
        const size_t outer = innermost - n;
        if (!collapsible(program_, *m.nest, m.axes, outer) ||
            !proved_as_one(program_, *m.nest, m.axes, outer, n + 1, {}))
          return n;
      }
    return innermost + 1;
  }

  const Program& program_;
  const loops::Block& block_;
  const Uses& uses_;
  const Group& group_;
  const Target& target_;
  std::vector<Member> members_;  // in the order of the group's nests
  std::vector<const Nest*> nests_;
};

}  // namespace

Tiles choose_tiles(const Program& program, const loops::Block& block, const Uses& uses, const Group& group,
                   const Target& target) {
  return TileChooser(program, block, uses, group, target).run();
}

std::vector<Axis> reordered(const Nest& nest, std::span<const uint32_t> order) {
  std::vector<Axis> made = nest.axes;
  const std::vector<size_t> shared = places_of_shared(nest.axes, order.size());
  for (size_t k = 0; k < order.size(); ++k) made[shared[k]] = nest.axes[shared[order[k]]];
  return made;
}

bool used_outside(const Program& program, const loops::Block& block, const Uses& uses, const Group& group,
                  BufferId id) {
  const loops::Buffer& b = program.buffers[id];
  if (b.kind != loops::BufferKind::temporary || b.view_of != kNone) return true;
  const Uses::OfBuffer& use = uses.buffers[id];
  auto inside = [&](const Uses::Place& p) {
    return p.block == &block && std::ranges::binary_search(group.nests, p.node);
  };
  return use.otherwise || !std::ranges::all_of(use.readers, inside) || !std::ranges::all_of(use.writers, inside);
}

namespace {
// How far apart in memory neighbours along one of a nest's axes are: nothing where no number says it.
class Steps {
 public:
  Steps(const Program& program, const Nest& nest, std::span<const Axis> axes, size_t axis)
      : program_(program), space_(space_of(program, axes)), axis_(axis), along_(along(nest, axes[axis].symbol)) {}
  std::optional<Dim> of(BufferId id, const DimVec& index) const {
    const Dim address = address_of(program_, id, index);
    if (along_.decides(address)) return std::nullopt;
    return space_.stride(address, axis_);
  }

 private:
  const Program& program_;
  const loops::IndexSpace space_;
  size_t axis_;
  Along along_;
};
}  // namespace

double contiguity(const Program& program, const Nest& nest, std::span<const Axis> axes, size_t axis,
                  const std::function<bool(BufferId)>& counts) {
  const Steps steps(program, nest, axes, axis);
  double score = 0;
  for_each_access(nest, [&](BufferId id, const DimVec& index) {
    if (index.empty() || (counts && !counts(id))) return;
    auto stride = steps.of(id, index);
    score += stride && stride->is(1) ? 1 : stride && stride->is(0) ? 0 : -1;
  });
  return score;
}

double lane_cost(const Program& program, const Nest& nest, std::span<const Axis> axes, size_t axis,
                 const Target& target, const std::function<std::optional<double>(BufferId, const DimVec&)>& known) {
  const Steps steps(program, nest, axes, axis);
  double cost = facts_of(nest).cost;
  for_each_access(nest, [&](BufferId id, const DimVec& index) {
    if (index.empty()) return;
    if (const auto here = known ? known(id, index) : std::nullopt) {
      cost += *here;
      return;
    }
    auto stride = steps.of(id, index);
    const bool near = stride && stride->is_constant() && std::abs(stride->constant()) <= kNear;
    cost += near ? static_cast<double>(std::abs(stride->constant())) : kGather;
  });
  if (axes[axis].kind == AxisKind::reduction)
    for (const loops::Instr& i : nest.body)
      if (i.kind == InstrKind::reduce) cost += kAcross;
  const Dim extent = axes[axis].extent;
  const auto lanes = static_cast<double>(target.lanes(4));
  return extent.is_constant()
             ? cost * std::max(1.0, lanes / static_cast<double>(std::max<int64_t>(1, extent.constant())))
             : cost;
}

bool scans_beside(const Program& program, const Nest& nest, std::span<const Axis> axes, size_t axis,
                  const Target& target) {
  constexpr double kWorth = 4;  // what rows that lie apart take is not all in what an access of theirs takes
  const NestFacts facts = facts_of(nest);
  return facts.scans && lane_cost(program, nest, axes, axis, target) * kWorth < facts.cost * target.lanes(4);
}

std::optional<size_t> crossing_axis(const Program& program, const Nest& nest, size_t axis) {
  const loops::IndexSpace space = space_of(program, nest.axes);
  std::optional<size_t> found;
  for_each_access(nest, [&](BufferId id, const DimVec& index) {
    const Dim address = address_of(program, id, index);
    const auto along = space.stride(address, axis);
    if (!along || along->is(0) || (along->is_constant() && std::abs(along->constant()) <= kNear)) return;
    for (size_t k = 0; k < nest.axes.size(); ++k)
      if (const auto stride = space.stride(address, k);
          k != axis && nest.axes[k].kind == AxisKind::parallel && stride && stride->is(1))
        found = k;
  });
  return found;
}

bool in_steps(const Program& program, const Nest& nest, const Axis& axis) {
  const loops::IndexSpace space = space_of(program, std::span(&axis, 1));
  return std::ranges::any_of(nest.body, [&](const loops::Instr& i) {
    if (i.kind != InstrKind::load || i.index.empty()) return false;
    const auto stride = space.stride(address_of(program, i.buffer, i.index), 0);
    return !stride || !(stride->is(0) || stride->is(1));
  });
}

std::string why_not_cut(const Program& program, const loops::Block& block, const Group& group) {
  const Tiles& t = group.tiles;
  if (!t.order.empty()) {
    std::vector<uint32_t> sorted = t.order;
    std::ranges::sort(sorted);
    for (size_t k = 0; k < sorted.size(); ++k)
      if (sorted.size() != group.shared || sorted[k] != k) return "its order does not name each shared axis once";
  }
  if (t.size == 0) return t.joined != 1 || t.rows ? "nothing is joined or turned where nothing is cut" : "";
  if (group.shared == 0) return "there is no shared axis to be cut";
  if (t.size < 2 || t.size > kLargestTile) return "a tile has 2 to " + std::to_string(kLargestTile) + " points";
  if (t.joined < 1 || t.joined > group.shared) return "more axes are joined than are shared";
  if (t.abreast && (!t.rows || t.joined != 1 || t.rows_joined != 1)) return "rows go abreast along one axis each";
  if (t.abreast && t.row_size > kMostAbreast)
    return "no more than " + std::to_string(kMostAbreast) + " rows go abreast: each has registers of its own";
  if (t.rows && int64_t{*t.rows} + t.joined >= group.shared) return "squares are of one other shared axis";
  if (t.rows_joined < 1 || (t.rows_joined > 1 && (!t.rows || t.rows_joined > *t.rows + 1)))
    return "more axes are joined than are shared";
  if (t.rows && (t.row_size < 2 || t.row_size > kLargestTile))
    return "squares have 2 to " + std::to_string(kLargestTile) + " rows";
  for (uint32_t number : group.nests) {
    const auto& nest = std::get<Nest>(block.nodes[number].is);
    const std::vector<Axis> axes = reordered(nest, t.order);
    const bool bare = axes.size() == group.shared;
    if (t.rows && !t.abreast && (!bare || group.phases.size() != 1))
      return "axes are turned where they are all there is, in one phase";
    if (t.joined > 1 && places_of_shared(axes, group.shared).back() + 1 != group.shared)
      return "other axes of nest " + std::to_string(number) + " stand between those that are joined";
    bool one = true;
    for (size_t n = 1; n < t.joined; ++n) one = one && collapsible(program, nest, axes, group.shared - 1 - n);
    for (size_t n = 1; n < t.rows_joined; ++n) one = one && collapsible(program, nest, axes, *t.rows - n);
    if (!one) return "the joined axes are not one in all memory of nest " + std::to_string(number);
    const std::vector<size_t> shared = places_of_shared(axes, group.shared);
    for (const Axis& a : axes)
      if (mentions(a.extent, axes[shared.back()].symbol) ||
          (t.abreast && mentions(a.extent, axes[shared[*t.rows]].symbol)))
        return "how far nest " + std::to_string(number) + " goes hangs on the axis that is cut";
  }
  return {};
}

}  // namespace lenz::schedule
