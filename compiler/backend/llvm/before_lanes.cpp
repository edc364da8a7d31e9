// What all lanes of a nest share, before the loops along them.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

using loops::Instr;
using loops::InstrKind;
using loops::Ssa;
using loops::Store;

// Whether what is stored to one may be read from the other by what the program says, not by where they are put.
bool KernelEmitter::may_share(loops::BufferId a, loops::BufferId b) const {
  auto owner = [&](loops::BufferId id) {
    const loops::BufferId of = program_.buffers[id].view_of;
    return of == kNone ? id : of;
  };
  a = owner(a), b = owner(b);
  return a == b || (program_.buffers[a].alias && program_.buffers[a].alias == program_.buffers[b].alias);
}

// Tiles of an open size have some wherever there is a tile.
bool KernelEmitter::always_has_points(Dim extent) const {
  if (facts_->proves(ge(extent, 1))) return true;
  loops::IndexSpace space(program_.context->syms, *facts_);
  for (const loops::Axis& a : kernel_->axes) space.add_axis(a.symbol, a.extent);
  return space.in_bounds(0, extent);
}

// What all lanes share, and no store of the nest's changes, is read once for all of them: the optimiser does not know
// that what is stored lies elsewhere. As many as leave registers to the rest. So are places that they share, and the
// arithmetic that tells them, which would stand before each of the loops along the lanes.
void KernelEmitter::load_before_lanes(Frame& f) {
  constexpr int kMost = 8;
  if (!always_has_points(lane_axis_->extent)) return;
  const bool tells_places =
      std::ranges::any_of(nest_->body, [](const Instr& i) { return i.kind == InstrKind::position; });
  int loaded = 0;
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (inner_[i] || late_[i] || instr.mask != kNone || known_by_column(i)) continue;
    if (instr.kind == InstrKind::load) {
      if (loaded == kMost) continue;
      if (std::ranges::any_of(nest_->stores, [&](const Store& s) { return may_share(s.buffer, instr.buffer); }))
        continue;
    } else if (!tells_places || !is_shared_arithmetic(instr, f)) {
      continue;
    }
    bool here = true;
    for (Dim d : instr.index)
      if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { here = here && f.dims.bound(Dim(s)); });
    if (!here || f.dims.bound(lane_axis_->symbol)) continue;
    instruction(i, f);
    if (instr.kind == InstrKind::load) ++loaded;
  }
}

// Of what is there already, and as exact for one as for many.
bool KernelEmitter::is_shared_arithmetic(const Instr& instr, const Frame& f) {
  const bool of_numbers = instr.kind == InstrKind::constant || instr.kind == InstrKind::index;
  if (!of_numbers && instr.kind != InstrKind::scalar && instr.kind != InstrKind::position) return false;
  if (is_reduced_float(instr.dtype) || is_complex(instr.dtype)) return false;
  if (instr.row && instr.row->accuracy.of(instr.compute) == AccuracyClass::ulps) return false;
  return std::ranges::all_of(instr.operands, [&](Ssa operand) { return f.values[operand].lanes.value != nullptr; });
}

}  // namespace lenz::native
