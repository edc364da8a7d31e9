#include "compiler/schedule/dead_results.h"

#include <algorithm>
#include <set>

#include "compiler/schedule/plan.h"

namespace lenz::schedule {

using loops::Combine;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Store;

namespace {

// What it is without the index.
std::optional<Combine> of_values_alone(Combine combine) {
  switch (combine) {
    case Combine::argmin:
    case Combine::argmin_last: return Combine::minimum;
    case Combine::argmax:
    case Combine::argmax_last: return Combine::maximum;
    default: return std::nullopt;
  }
}

}  // namespace

void drop_dead_instructions(Nest& nest) {
  std::vector<bool> used(nest.body.size());
  for (const Store& s : nest.stores) {
    used[s.value] = true;
    if (s.mask != kNone) used[s.mask] = true;
  }
  std::vector<bool> parts(nest.body.size());  // of which somebody asks for more than the first part
  for (Ssa i = static_cast<Ssa>(nest.body.size()); i-- > 0;) {
    Instr& instr = nest.body[i];
    used[i] = used[i] || may_raise(instr);
    if (!used[i]) continue;
    if (instr.kind == InstrKind::part && instr.part > 0) parts[instr.operands[0]] = true;
    if ((instr.kind == InstrKind::reduce || instr.kind == InstrKind::scan) && !parts[i])
      if (auto alone = of_values_alone(instr.combine)) {
        instr.combine = *alone;
        instr.operands.resize(1);
      }
    for (Ssa operand : instr.operands) used[operand] = true;
    if (instr.mask != kNone) used[instr.mask] = true;
  }
  std::vector<Ssa> numbers(nest.body.size(), kNone);
  std::vector<Instr> kept;
  for (Ssa i = 0; i < nest.body.size(); ++i) {
    if (!used[i]) continue;
    Instr& instr = nest.body[i];
    for (Ssa& operand : instr.operands) operand = numbers[operand];
    if (instr.mask != kNone) instr.mask = numbers[instr.mask];
    numbers[i] = static_cast<Ssa>(kept.size());
    kept.push_back(std::move(instr));
  }
  nest.body = std::move(kept);
  for (Store& s : nest.stores) {
    s.value = numbers[s.value];
    if (s.mask != kNone) s.mask = numbers[s.mask];
  }
}

namespace {

// Who reads what, while nests go.
class DeadStores {
 public:
  explicit DeadStores(const loops::Program& program) : program_(program), uses_(uses_of(program)) {
    for (const Uses::OfBuffer& use : uses_.buffers) readers_.push_back(use.readers.size());
  }

  bool dead(const Store& s) const {
    const loops::Buffer& b = program_.buffers[s.buffer];
    return b.kind == loops::BufferKind::temporary && b.view_of == kNone && readers_[s.buffer] == 0 &&
           !uses_.buffers[s.buffer].otherwise;
  }
  bool dead(const loops::Node& node) const {
    const auto* nest = std::get_if<Nest>(&node.is);
    return nest != nullptr && std::ranges::all_of(nest->stores, [&](const Store& s) { return dead(s); });
  }
  void gone(const Nest& nest) {
    std::set<BufferId> read;
    for (const Instr& i : nest.body)
      if (i.kind == InstrKind::load) read.insert(i.buffer);
    for (BufferId id : read) --readers_[id];
  }

 private:
  const loops::Program& program_;
  const Uses uses_;
  std::vector<size_t> readers_;
};

// From the last on: who reads what goes may go with it.
void drop_dead_nests(loops::Block& block, DeadStores& stores) {
  std::vector<bool> gone(block.nodes.size());
  for (size_t i = block.nodes.size(); i-- > 0;) {
    gone[i] = stores.dead(block.nodes[i]);
    if (gone[i]) stores.gone(std::get<Nest>(block.nodes[i].is));
  }
  size_t at = 0;
  std::erase_if(block.nodes, [&](const loops::Node&) { return gone[at++]; });
}

}  // namespace

void drop_dead_results(loops::Program& program) {
  DeadStores stores(program);
  const std::vector<loops::Block*> blocks = blocks_of(program);
  for (size_t b = blocks.size(); b-- > 0;) drop_dead_nests(*blocks[b], stores);
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr) return;
    if (std::erase_if(nest->stores, [&](const Store& s) { return stores.dead(s); }) > 0) drop_dead_instructions(*nest);
  });
}

}  // namespace lenz::schedule
