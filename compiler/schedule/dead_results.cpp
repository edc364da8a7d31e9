#include "compiler/schedule/dead_results.h"

#include <algorithm>

#include "compiler/schedule/nest_facts.h"

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

void drop_dead_results(loops::Program& program) {
  const Uses uses = uses_of(program);
  auto dead = [&](const Store& s) {
    const loops::Buffer& b = program.buffers[s.buffer];
    const Uses::OfBuffer& use = uses.buffers[s.buffer];
    return b.kind == loops::BufferKind::temporary && b.view_of == kNone && use.readers.empty() && !use.otherwise;
  };
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr || nest->stores.size() < 2) return;
    const auto count = static_cast<size_t>(std::ranges::count_if(nest->stores, dead));
    if (count == 0 || count == nest->stores.size()) return;
    std::erase_if(nest->stores, dead);
    drop_dead_instructions(*nest);
  });
}

}  // namespace lenz::schedule
