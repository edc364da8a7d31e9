#include "fuzz/properties/shared_memory.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/loops/uses.h"

namespace lenz::fuzz {

namespace {
using loops::BufferId;
using loops::Program;

BufferId owner(const Program& program, BufferId id) {
  const BufferId of = program.buffers[id].view_of;
  return of == kNone ? id : of;
}

// Nodes of the main block from the first to the last that mentions a buffer, or a view of it.
struct Needed {
  size_t first = SIZE_MAX, last = 0;
};

std::vector<Needed> needed(const Program& program) {
  std::vector<Needed> all(program.buffers.size());
  for (size_t at = 0; at < program.body.nodes.size(); ++at)
    loops::for_each_buffer(program.body.nodes[at], [&](BufferId id) {
      id = owner(program, id);
      all[id].first = std::min(all[id].first, at);
      all[id].last = at;
    });
  return all;
}

// Runs through the points of a kernel and notes who reads the old buffer where, and who writes the new one.
class Meeting {
 public:
  Meeting(const Program& program, BufferId old, BufferId fresh, const SymValues& sizes)
      : program_(program), old_(old), fresh_(fresh) {
    values_ = [this, sizes](const SymNode* symbol) {
      const auto at = axes_.find(symbol);
      return at != axes_.end() ? std::optional<int64_t>(at->second) : sizes(symbol);
    };
  }

  // Whether some point's element is overwritten before, or while, it is read.
  bool overwrites(const loops::Kernel& kernel) {
    points(kernel.axes, 0, [&] {
      for (const loops::Node& node : kernel.body->nodes) {
        const auto* nest = std::get_if<loops::Nest>(&node.is);
        if (nest == nullptr) return;  // nobody shares there
        points(nest->axes, 0, [&] { point(*nest); });
      }
    });
    if (too_many_) return false;
    if (opaque_) return true;
    return std::ranges::any_of(reads_, [&](const auto& read) {
      const auto at = writes_.find(read.first);
      return at != writes_.end() && at->second != read.second;
    });
  }

 private:
  static constexpr size_t kMost = 1 << 14;  // points

  template <class Each>
  void points(std::span<const loops::Axis> axes, size_t from, Each&& each) {
    if (from == axes.size()) return each();
    const int64_t extent = evaluate(axes[from].extent, values_).value_or(0);
    for (int64_t i = 0; i < extent && !too_many_; ++i) {
      axes_[axes[from].symbol.node()] = i;
      points(axes, from + 1, each);
    }
  }

  // All that a reduction reads it has read before it writes: its points are one.
  void point(const loops::Nest& nest) {
    if (too_many_ = ++seen_ > kMost; too_many_) return;
    std::vector<int64_t> who{static_cast<int64_t>(reinterpret_cast<intptr_t>(&nest))};
    for (const auto& [symbol, at] : axes_)
      if (std::ranges::none_of(nest.axes, [&](const loops::Axis& axis) {
            return axis.symbol.node() == symbol && axis.kind == loops::AxisKind::reduction;
          }))
        who.push_back(at);
    for (const loops::Instr& i : nest.body)
      if (i.kind == loops::InstrKind::load && owner(program_, i.buffer) == old_)
        for_each_byte(i.buffer, i.index, [&](int64_t byte) { reads_.emplace_back(byte, who); });
    for (const loops::Store& s : nest.stores)
      if (owner(program_, s.buffer) == fresh_)
        for_each_byte(s.buffer, s.index, [&](int64_t byte) { writes_.emplace(byte, who); });
  }

  template <class Each>
  void for_each_byte(BufferId buffer, std::span<const Dim> index, Each&& each) {
    const loops::Buffer& b = program_.buffers[buffer];
    const TensorType& type = b.type;
    // Nobody says how others lie: dense.
    const DimVec strides = b.placed ? type.strides : contiguous_strides(type.sizes);
    int64_t element = b.placed ? evaluate(type.offset, values_).value_or(0) : 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const auto at = evaluate(index[d], values_), stride = evaluate(strides[d], values_);
      if (!at || !stride) {  // as data say
        opaque_ = true;
        return;
      }
      element += *at * *stride;
    }
    const int64_t size = item_size(type.dtype);
    for (int64_t byte = 0; byte < size; ++byte) each(element * size + byte);
  }

  const Program& program_;
  const BufferId old_, fresh_;
  SymValues values_;
  std::map<const SymNode*, int64_t> axes_;
  std::vector<std::pair<int64_t, std::vector<int64_t>>> reads_;
  std::map<int64_t, std::vector<int64_t>> writes_;
  size_t seen_ = 0;
  bool too_many_ = false, opaque_ = false;
};
}  // namespace

std::string overwritten(const Program& program, const runtime::MemoryPlan& plan, const SymValues& sizes) {
  const std::vector<Needed> when = needed(program);
  std::map<uint32_t, std::vector<BufferId>> slots;
  for (BufferId id = 0; id < plan.places.size(); ++id)
    if (plan.places[id].kind == runtime::Place::arena && when[id].first != SIZE_MAX)
      slots[plan.places[id].number].push_back(id);
  for (const auto& [slot, buffers] : slots)
    for (const BufferId old : buffers)
      for (const BufferId fresh : buffers) {
        if (old == fresh || when[old].last < when[fresh].first || when[fresh].first < when[old].first) continue;
        if (when[fresh].first == when[old].first && fresh < old) continue;  // asked the other way round
        const auto* kernel = when[old].last == when[fresh].first
                                 ? std::get_if<loops::Kernel>(&program.body.nodes[when[old].last].is)
                                 : nullptr;
        if (kernel && !Meeting(program, old, fresh, sizes).overwrites(*kernel)) continue;
        return program.buffers[fresh].name + " lies where " + program.buffers[old].name + " is needed still, in slot " +
               std::to_string(slot);
      }
  return {};
}

}  // namespace lenz::fuzz
