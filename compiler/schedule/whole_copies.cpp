#include "compiler/schedule/whole_copies.h"

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/graph/overlap.h"
#include "compiler/schedule/nest_facts.h"

namespace lenz::schedule {

using loops::InstrKind;
using loops::Nest;

namespace {

struct Copy {
  BufferId from, to;
};

// What the nest copies, element by element, whole.
std::optional<Copy> copy_of(const loops::Program& program, const Nest& nest) {
  if (nest.body.size() != 1 || nest.body[0].kind != InstrKind::load || nest.stores.size() != 1) return std::nullopt;
  const loops::Instr& load = nest.body[0];
  const loops::Store& store = nest.stores[0];
  if (load.mask != kNone || store.mask != kNone || store.mode != loops::StoreMode::assign || store.distinct)
    return std::nullopt;
  const loops::Buffer &from = program.buffers[load.buffer], &to = program.buffers[store.buffer];
  if (from.type.dtype != to.type.dtype || !std::ranges::equal(from.type.sizes, to.type.sizes) ||
      !std::ranges::equal(load.index, store.index))
    return std::nullopt;
  // Each dim has an axis of its own, or but one place.
  size_t axes = 0;
  for (size_t d = 0; d < load.index.size(); ++d) {
    const auto axis = std::ranges::find(nest.axes, load.index[d], &loops::Axis::symbol);
    if (axis == nest.axes.end() ? !(load.index[d].is(0) && from.type.sizes[d].is(1))
                                : axis->kind != loops::AxisKind::parallel || !(axis->extent == from.type.sizes[d]))
      return std::nullopt;
    if (axis != nest.axes.end() && std::count(load.index.begin(), load.index.end(), load.index[d]) > 1)
      return std::nullopt;
    axes += axis != nest.axes.end();
  }
  return axes == nest.axes.size() ? std::optional(Copy{load.buffer, store.buffer}) : std::nullopt;
}

class Builder {
 public:
  explicit Builder(loops::Program& program) : program_(program), uses_(uses_of(program)) {
    for (const loops::Buffer& b : program.buffers)
      if (b.view_of != kNone) viewed_.insert(b.view_of);
  }

  void run() {
    std::set<std::pair<const loops::Block*, uint32_t>> gone;
    for (BufferId id = 0; id < program_.buffers.size(); ++id)
      if (const auto to = copied_to(id)) {
        gone.insert({uses_.buffers[id].readers[0].block, uses_.buffers[id].readers[0].node});
        moved_.resize(program_.buffers.size(), kNone);
        moved_[id] = *to;
      }
    if (gone.empty()) return;
    take_out(program_.body, gone);
  }

 private:
  std::optional<BufferId> copied_to(BufferId id) const {
    const loops::Buffer& from = program_.buffers[id];
    const Uses::OfBuffer& use = uses_.buffers[id];
    if (!is_own(id) || from.placed || use.otherwise || use.readers.size() != 1 || use.writers.size() < 2)
      return std::nullopt;
    const Uses::Place at = use.readers[0];
    const auto copy = copy_of(program_, std::get<Nest>(at.block->nodes[at.node].is));
    if (!copy || !is_own(copy->to) || uses_.buffers[copy->to].writes != 1) return std::nullopt;
    // Whoever combines with what is there reads it, in the block where all are written.
    if (!std::ranges::all_of(use.writers,
                             [&](const Uses::Place& w) { return w.block == at.block && w.node < at.node; }))
      return std::nullopt;
    const loops::Buffer& to = program_.buffers[copy->to];
    if (to.placed && may_meet(program_.assumptions.known(), to.type.sizes, to.type.strides)) return std::nullopt;
    return copy->to;
  }

  // Memory that the program takes for this buffer alone.
  bool is_own(BufferId id) const {
    const loops::Buffer& b = program_.buffers[id];
    return b.kind == loops::BufferKind::temporary && b.view_of == kNone && !b.alias && !viewed_.contains(id);
  }

  void take_out(loops::Block& block, const std::set<std::pair<const loops::Block*, uint32_t>>& gone) {
    auto name = [&](BufferId& id) {
      if (id != kNone && moved_[id] != kNone) id = moved_[id];
    };
    std::vector<loops::Node> kept;
    for (uint32_t i = 0; i < block.nodes.size(); ++i) {
      if (gone.contains({&block, i})) continue;
      loops::Node& node = block.nodes[i];
      if (auto* nest = std::get_if<Nest>(&node.is)) {
        for (loops::Instr& instr : nest->body) name(instr.buffer);
        for (loops::Store& s : nest->stores) name(s.buffer);
      } else if (auto* choice = std::get_if<loops::If>(&node.is)) {
        take_out(*choice->then, gone);
        take_out(*choice->otherwise, gone);
      } else if (auto* loop = std::get_if<loops::While>(&node.is)) {
        take_out(*loop->test, gone);
        take_out(*loop->body, gone);
      } else if (auto* loop = std::get_if<loops::Repeat>(&node.is)) {
        take_out(*loop->body, gone);
      }
      kept.push_back(std::move(block.nodes[i]));
    }
    block.nodes = std::move(kept);
  }

  loops::Program& program_;
  Uses uses_;
  std::set<BufferId> viewed_;
  std::vector<BufferId> moved_;
};

}  // namespace

void build_in_place(loops::Program& program) { Builder(program).run(); }

}  // namespace lenz::schedule
