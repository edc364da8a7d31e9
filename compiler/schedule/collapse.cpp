#include "compiler/schedule/collapse.h"

#include <algorithm>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::InstrKind;

bool collapsible(const loops::Program& program, const loops::Nest& nest, std::span<const Axis> axes, size_t k) {
  const Axis &outer = axes[k], &inner = axes[k + 1];
  if (outer.kind != inner.kind || outer.kind == loops::AxisKind::scan) return false;
  // Orders that mean something, and coordinates that have to stand alone.
  if (std::ranges::any_of(nest.stores, [](const loops::Store& s) { return s.mode != loops::StoreMode::assign; }))
    return false;
  const Facts& facts = program.assumptions.known();
  if (!facts.proves(ge(inner.extent, 1))) return false;
  loops::IndexSpace space(program.context->syms, facts);
  for (const Axis& a : axes) space.add_axis(a.symbol, a.extent);
  if (space.mentions_axis(outer.extent) || space.mentions_axis(inner.extent)) return false;
  // How far a part goes hangs on which one it is: its number has to be an axis around the nest.
  if (std::ranges::any_of(nest.axes, [&](const Axis& a) {
        return mentions(a.extent, outer.symbol) || mentions(a.extent, inner.symbol);
      }))
    return false;
  auto one = [&](Dim value) { return space.mergeable(k, value); };
  for (const loops::Instr& i : nest.body) {
    if (i.ordered) return false;
    if (i.kind == InstrKind::load && !one(address_of(program, i.buffer, i.index))) return false;
    if ((i.kind == InstrKind::index || i.kind == InstrKind::draw) && !one(i.index[0])) return false;
  }
  return std::ranges::all_of(nest.stores,
                             [&](const loops::Store& s) { return one(address_of(program, s.buffer, s.index)); });
}

bool proved_as_one(const loops::Program& program, const loops::Nest& nest, std::span<const Axis> axes, size_t k,
                   size_t count, std::span<const Axis> around) {
  // A tile of an axis that is stored along, and a part of another one beside it: too much for the proof that the
  // kernel's points stay apart.
  for (const loops::Store& s : nest.stores)
    for (Dim d : s.index)
      if (!d.is_constant() && mentions(d, axes[k].symbol) &&
          std::ranges::any_of(around, [&](const Axis& a) { return mentions(d, a.symbol); }))
        return false;
  const auto inner = axes.subspan(k + 1, count - 1);
  if (std::ranges::all_of(inner, [](const Axis& a) { return a.extent.is_constant(); })) return true;
  loops::Nest joined = nest;
  joined.axes.assign(axes.begin(), axes.end());
  for (size_t n = k + count - 1; n-- > k;)
    collapse(program, joined, n, program.context->syms.symbol("one#" + std::to_string(n)));  // which no text can say
  loops::AccessProofs proofs(program);
  return proofs.inside(joined, around) || !proofs.inside(nest, around);
}

void collapse(const loops::Program& program, loops::Nest& nest, size_t k, Dim symbol) {
  const Axis outer = nest.axes[k], inner = nest.axes[k + 1];
  Replacement with(program.context->syms);
  with.set(outer.symbol, floor_div(symbol, inner.extent));
  with.set(inner.symbol, mod(symbol, inner.extent));
  // What is told of both axes is told by ranges, which no longer see through quotients.
  loops::IndexSpace apart(program.context->syms, program.assumptions.known());
  for (const Axis& a : nest.axes) apart.add_axis(a.symbol, a.extent);
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  nest.axes.erase(nest.axes.begin() + static_cast<ptrdiff_t>(k));
  nest.axes[k] = {symbol, outer.extent * inner.extent, outer.kind};
  for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
  auto replace = [&](DimVec& index) {
    for (Dim& d : index) d = space.simplify(with(apart.simplify(d)));
  };
  for (loops::Instr& i : nest.body) replace(i.index);
  for (loops::Store& s : nest.stores) replace(s.index);
}

}  // namespace lenz::schedule
