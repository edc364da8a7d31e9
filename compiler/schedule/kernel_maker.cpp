#include "compiler/schedule/kernel_maker.h"

#include <algorithm>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/breaks.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/dead_results.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::Buffer;
using loops::InstrKind;
using loops::Nest;
using loops::Node;
using loops::Program;
using loops::Store;

KernelMaker::KernelMaker(Program& program, const Target& target, const Uses& uses, loops::Block& block,
                         const Group& group, const SymbolSet& taken)
    : program_(program), target_(target), uses_(uses), block_(block), group_(group), fresh_(*program.context, taken) {
  for (uint32_t number : group.nests) {
    auto& nest = std::get<Nest>(block.nodes[number].is);
    nest.axes = reordered(nest, group.tiles.order);
    size_t phase = 0;
    while (std::ranges::find(group.phases[phase].nests, number) == group.phases[phase].nests.end()) ++phase;
    members_.push_back({&nest, facts_of(nest), phase});
  }
  const Member& first = members_[0];
  for (size_t k = 0; k < group.shared; ++k) {
    auto axis = std::ranges::find(first.nest->axes, first.facts.parallel[k], &Axis::symbol);
    axes_.push_back({fresh_("k"), axis->extent, AxisKind::parallel});
    shared_.push_back(axes_.back().symbol);
    point_.push_back(axes_.back().symbol);
  }
}

bool KernelMaker::used_later(BufferId id, size_t phase) const {
  return std::ranges::any_of(members_, [&](const Member& m) {
    return m.phase > phase && std::ranges::find(m.facts.reads, id) != m.facts.reads.end();
  });
}

// Whether all accesses of the buffer have one constant there.
bool KernelMaker::always_at(BufferId id, size_t d, Dim at) const {
  if (!at.is_constant()) return false;
  return std::ranges::all_of(members_, [&](const Member& m) {
    return std::ranges::all_of(
               m.nest->body,
               [&](const Instr& i) { return i.kind != InstrKind::load || i.buffer != id || i.index[d] == at; }) &&
           std::ranges::all_of(m.nest->stores, [&](const Store& s) { return s.buffer != id || s.index[d] == at; });
  });
}

// The dims that the point of the kernel does not tell.
const KernelMaker::Local& KernelMaker::local_for(BufferId id, const DimVec& index) {
  auto [at, fresh] = locals_.try_emplace(id);
  if (!fresh) return at->second;
  Buffer made;
  const Buffer& b = program_.buffers[id];
  made.name = b.name;
  made.local = true;
  made.origin = b.origin;
  made.type.dtype = b.type.dtype;
  made.type.device = b.type.device;
  std::vector<Dim> told;  // by a point of the tile: the axes that are cut, once each
  if (tile_) told.assign(shared_.end() - group_.tiles.joined, shared_.end());
  for (size_t d = 0; d < index.size(); ++d) {
    if (always_at(id, d, index[d]) || std::ranges::find(point_, index[d]) != point_.end()) continue;
    if (group_.tiles.abreast && !at->second.row && index[d] == shared_[*group_.tiles.rows]) {
      at->second.row = d;
      continue;
    }
    if (auto axis = std::ranges::find(told, index[d]); axis != told.end()) {
      told.erase(axis);
      at->second.tiled.push_back(d);
      continue;
    }
    made.type.sizes.push_back(b.type.sizes[d]);
    at->second.dims.push_back(d);
  }
  if (at->second.row) made.type.sizes.push_back(rows_->extent.is_constant() ? rows_->extent : group_.tiles.row_size);
  // The tile's points are neighbours: lanes go along them, or along what lies beside them in squares.
  if (!at->second.tiled.empty()) made.type.sizes.push_back(tile_->extent);
  if (tile_)  // its extent may depend on the point: the largest one is room enough
    for (Dim& size : made.type.sizes)
      if (size == tile_->extent && !size.is_constant()) size = group_.tiles.size;
  made.type.strides = contiguous_strides(made.type.sizes);
  at->second.buffer = static_cast<BufferId>(program_.buffers.size());
  program_.buffers.push_back(std::move(made));
  return at->second;
}

DimVec KernelMaker::local_index(const Local& local, const DimVec& index) const {
  DimVec made;
  for (size_t d : local.dims) made.push_back(index[d]);
  if (local.row) made.push_back(rows_->symbol);
  if (!local.tiled.empty()) made.push_back(tile_->symbol);
  return made;
}

// --- merging

std::vector<Node> KernelMaker::run() {
  std::vector<Node> made;
  loops::Kernel kernel;
  kernel.body = std::make_unique<loops::Block>();
  for (const Member& m : members_)
    if (kernel.name.size() < 120 && !m.nest->name.empty())
      kernel.name += (kernel.name.empty() ? "" : " ") + m.nest->name;
  for (size_t p = 0; p < group_.phases.size(); ++p) {
    Nest nest = merged(p);
    if (nest.stores.empty()) continue;
    const auto fresh = [&] { return fresh_("j"); };
    std::vector<Nest> parts;
    if (lanes_) parts = cut_at_breaks(program_, target_, nest, axes_, fresh);
    if (parts.empty()) parts.push_back(std::move(nest));
    for (Nest& part : parts) {
      if (lanes_) {
        collapse_axes(program_, part, axes_, fresh);
        add_lanes(part);
      }
      kernel.body->nodes.push_back({std::move(part)});
    }
  }
  kernel.axes = axes_;
  if (!kernel.body->nodes.empty()) made.push_back({std::move(kernel)});
  return made;
}

Nest KernelMaker::merged(size_t phase) {
  phase_ = phase;
  values_.clear();
  Nest made;
  NestWriter writer(made);
  if (rows_) made.axes.push_back(*rows_);
  if (tile_) made.axes.push_back(*tile_);
  const size_t before = made.axes.size();
  bool first = true;
  for (const Member& m : members_) {
    if (m.phase != phase) continue;
    Replacement with(program_.context->syms);
    for (size_t k = 0; k < group_.shared; ++k) with.set(m.facts.parallel[k], shared_[k]);
    size_t parallel = 0, inner = before;
    for (const Axis& a : m.nest->axes) {
      if (a.kind == AxisKind::parallel && parallel++ < group_.shared) continue;
      if (first) made.axes.push_back({fresh_("j"), with(a.extent), AxisKind::parallel});
      Axis& axis = made.axes[inner++];
      if ((m.facts.reduces || m.facts.scans || !m.facts.inner.empty()) && a.kind != AxisKind::parallel)
        axis.kind = a.kind;
      with.set(a.symbol, axis.symbol);
    }
    if (made.name.empty()) made.name = m.nest->name;
    if (made.tag == loops::NestTag::none) made.tag = m.nest->tag;
    first = false;
    add_member(writer, m, with);
  }
  // A member that nobody reads was a nest beside others, which goes on: what it alone loads and computes does not.
  drop_dead_instructions(made);
  return made;
}

void KernelMaker::add_member(NestWriter& writer, const Member& member, Replacement with) {
  std::vector<Ssa> values;
  for (Instr i : member.nest->body) {
    for (Ssa& operand : i.operands) operand = values[operand];
    if (i.mask != kNone) i.mask = values[i.mask];
    i.index = with(i.index);
    i.extent = with(i.extent);
    if (i.kind == InstrKind::load) {
      if (auto known = values_.find(i.buffer); known != values_.end() && known->second.index == i.index) {
        values.push_back(known->second.value);
        continue;
      }
      if (auto local = locals_.find(i.buffer); local != locals_.end()) {
        i.index = local_index(local->second, i.index);
        i.buffer = local->second.buffer;
      }
    }
    if (i.kind == InstrKind::position) {  // two nests may have one of the same name
      const Dim symbol = fresh_("p");
      with.set(i.symbol, symbol);
      i.symbol = symbol;
    }
    values.push_back(writer.add(std::move(i)));
  }
  for (const Store& s : member.nest->stores)
    store(writer, member, with, s, values[s.value], s.mask == kNone ? kNone : values[s.mask]);
}

void KernelMaker::store(NestWriter& writer, const Member& member, const Replacement& with, const Store& from, Ssa value,
                        Ssa mask) {
  Store made = from;
  made.index = with(from.index);
  made.value = value;
  made.mask = mask;
  if (mask == kNone && from.mode == loops::StoreMode::assign) values_[from.buffer] = {value, made.index};
  const bool outside = used_outside(program_, block_, uses_, group_, from.buffer);
  if (!outside && !used_later(from.buffer, member.phase)) return;
  if (!outside) {
    const Local& local = local_for(from.buffer, made.index);
    made.index = local_index(local, made.index);
    made.buffer = local.buffer;
  }
  writer.nest().stores.push_back(std::move(made));
}

}  // namespace lenz::schedule
