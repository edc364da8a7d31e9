#include "compiler/runtime/memory_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/loops/text.h"
#include "compiler/loops/uses.h"
#include "compiler/runtime/tape.h"

namespace lenz::runtime {

using loops::Buffer;
using loops::BufferId;
using loops::BufferKind;
using loops::Program;

Dim storage_bytes(const Buffer& buffer) {
  Dim elements = 1;
  if (buffer.placed) {
    elements += buffer.type.offset;
    for (size_t d = 0; d < buffer.type.rank(); ++d) elements += (buffer.type.sizes[d] - 1) * buffer.type.strides[d];
    elements = max(elements, Dim(0));  // without elements
  } else {
    for (Dim size : buffer.type.sizes) elements = elements * size;
  }
  return elements * static_cast<int64_t>(item_size(buffer.type.dtype));
}

namespace {

// Slots of the arena, and who is in them when.
class Arena {
 public:
  explicit Arena(const Program& program) : program_(program) {}

  // Buffers come by falling size, so that who comes first makes the slot large enough.
  uint32_t add(BufferId id, const Place& place) {
    for (uint32_t s = 0; s < slots_.size(); ++s)
      if (std::optional<Dim> size = grown(slots_[s].size, place.bytes); size && free(slots_[s], id, place)) {
        slots_[s].size = *size;
        slots_[s].by_first.emplace(place.first, std::pair(place.last, id));
        return s;
      }
    slots_.push_back({place.bytes, {}});
    slots_.back().by_first.emplace(place.first, std::pair(place.last, id));
    return static_cast<uint32_t>(slots_.size() - 1);
  }

  std::vector<Dim> sizes() const {
    std::vector<Dim> made;
    for (const Slot& s : slots_) made.push_back(s.size);
    return made;
  }

 private:
  struct Slot {
    Dim size;
    std::map<uint32_t, std::pair<uint32_t, BufferId>> by_first;  // first node -> last node and buffer
  };

  // As large as both need it; nothing if neither is known to be larger, which would make it grow with every guess.
  std::optional<Dim> grown(Dim size, Dim more) const {
    if (program_.assumptions.prove(le(more, size)) == Truth::yes) return size;
    if (program_.assumptions.prove(le(size, more)) == Truth::yes) return more;
    return std::nullopt;
  }

  bool free(const Slot& slot, BufferId id, const Place& place) const {
    auto after = slot.by_first.lower_bound(place.first);
    if (after != slot.by_first.end()) {
      if (after->first < place.last) return false;
      if (after->first == place.last && !may_overwrite(after->second.second, id, place.last)) return false;
    }
    if (after == slot.by_first.begin()) return true;
    auto before = std::prev(after);
    const auto [last, owner] = before->second;
    return last < place.first || (last == place.first && may_overwrite(id, owner, place.first));
  }

  // Whether a node may write one buffer over another one that it is the last to read: a kernel whose points read, of
  // the old one, just the elements that they write of the new one, in one nest.
  bool may_overwrite(BufferId fresh, BufferId old, uint32_t node) const {
    const auto* kernel = std::get_if<loops::Kernel>(&program_.body.nodes[node].is);
    if (kernel == nullptr) return false;
    const Buffer &a = program_.buffers[fresh], &b = program_.buffers[old];
    if (a.placed || b.placed || item_size(a.type.dtype) != item_size(b.type.dtype) || a.type.sizes != b.type.sizes)
      return false;
    const loops::Nest* where = nullptr;
    const DimVec* index = nullptr;
    auto same = [&](const loops::Nest& nest, const DimVec& at) {
      if (where == nullptr) where = &nest, index = &at;
      return where == &nest && *index == at;
    };
    for (const loops::Node& inner : kernel->body->nodes) {
      const auto& nest = std::get<loops::Nest>(inner.is);
      for (const loops::Axis& axis : nest.axes)  // with others between them, a store might come before a load
        if (axis.kind != loops::AxisKind::parallel && mentions(nest, fresh, old)) return false;
      for (const loops::Instr& i : nest.body)
        if (i.kind == loops::InstrKind::load && (i.buffer == fresh || (i.buffer == old && !same(nest, i.index))))
          return false;
      for (const loops::Store& s : nest.stores)
        if (s.buffer == old || (s.buffer == fresh && (s.mode != loops::StoreMode::assign || !same(nest, s.index))))
          return false;
    }
    return where != nullptr;
  }

  static bool mentions(const loops::Nest& nest, BufferId a, BufferId b) {
    return std::ranges::any_of(nest.body, [&](const loops::Instr& i) { return i.buffer == a || i.buffer == b; }) ||
           std::ranges::any_of(nest.stores, [&](const loops::Store& s) { return s.buffer == a || s.buffer == b; });
  }

  const Program& program_;
  std::vector<Slot> slots_;
};

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), early_(loops::early_symbols(program)) {
    plan_.places.resize(program.buffers.size());
  }

  MemoryPlan run() {
    for (uint32_t i = 0; i < program_.inputs.size(); ++i)
      if (BufferId id = program_.inputs[i].buffer; id != kNone) set(id, Place::input, i);
    find_uses();
    place_buffers();
    pack();
    return std::move(plan_);
  }

 private:
  void set(BufferId id, Place::Kind kind, uint32_t number = 0) {
    plan_.places[id].kind = kind;
    plan_.places[id].number = number;
  }
  BufferId owner(BufferId id) const {
    const Buffer& b = program_.buffers[id];
    return b.view_of == kNone ? id : b.view_of;
  }

  void find_uses() {
    used_.resize(program_.buffers.size());
    for (uint32_t i = 0; i < program_.body.nodes.size(); ++i)
      for_each_buffer(program_.body.nodes[i], [&](BufferId id) {
        Place& p = plan_.places[owner(id)];
        if (!used_[owner(id)]) p.first = i;
        p.last = i;
        used_[owner(id)] = true;
      });
    loops::for_each_output_buffer(program_, [&](BufferId id) { shown_.push_back(owner(id)); });
  }

  void place_buffers() {
    loops::for_each_node(program_.body, [&](const loops::Node& node) {
      if (const auto* e = std::get_if<loops::Extern>(&node.is))
        for (BufferId r : e->results)
          if (r != kNone && plan_.places[owner(r)].kind == Place::none) set(owner(r), Place::external);
    });
    for (BufferId id : shown_) {
      Place& p = plan_.places[id];
      if (p.kind != Place::none || program_.buffers[id].kind != BufferKind::temporary) continue;
      set(id, Place::output, static_cast<uint32_t>(plan_.outputs.size()));
      plan_.outputs.push_back(id);
    }
    for (BufferId id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& b = program_.buffers[id];
      Place& p = plan_.places[id];
      if (b.view_of != kNone) {
        set(id, Place::view, b.view_of);
      } else if (b.kind == BufferKind::constant) {
        set(id, Place::constant);
      } else if (p.kind == Place::output) {
        p.bytes = storage_bytes(b);
      } else if (p.kind == Place::none && b.kind == BufferKind::temporary && !b.local && used_[id]) {
        p.bytes = storage_bytes(b);
        set(id, loops::all_in(p.bytes, early_) ? Place::arena : Place::late);
      }
    }
  }

  // The largest first: they make slots, smaller ones fit in.
  void pack() {
    std::vector<std::pair<int64_t, BufferId>> order;
    for (BufferId id = 0; id < plan_.places.size(); ++id)
      if (plan_.places[id].kind == Place::arena)
        order.emplace_back(program_.assumptions.known().hint(plan_.places[id].bytes).value_or(0), id);
    std::ranges::stable_sort(order, std::greater(), &std::pair<int64_t, BufferId>::first);
    Arena arena(program_);
    for (auto [size, id] : order) plan_.places[id].number = arena.add(id, plan_.places[id]);
    plan_.slots = arena.sizes();
    for (Dim size : plan_.slots) plan_.arena_bytes += ceil_div(size, kAlignment) * kAlignment;
  }

  const Program& program_;
  MemoryPlan plan_;
  std::vector<bool> used_;
  std::vector<BufferId> shown_;
  loops::SymbolSet early_;
};

}  // namespace

MemoryPlan plan_memory(const Program& program) { return Planner(program).run(); }

std::string print(const MemoryPlan& plan, const Program& program) {
  constexpr std::string_view kinds[] = {"", "input", "constant", "slot", "output", "external", "view", "late"};
  std::string out = "memory @" + program.name + " arena " + to_string(plan.arena_bytes) + " {\n";
  for (uint32_t s = 0; s < plan.slots.size(); ++s)
    out += "  slot " + std::to_string(s) + ": " + to_string(plan.slots[s]) + " bytes\n";
  loops::ProgramText text(program);
  for (BufferId id = 0; id < plan.places.size(); ++id) {
    const Place& p = plan.places[id];
    if (p.kind != Place::arena && p.kind != Place::output && p.kind != Place::external && p.kind != Place::late)
      continue;
    out += "  " + text.buffer(id) + ": " + std::string(kinds[p.kind]);
    if (p.kind == Place::arena || p.kind == Place::output) out += " " + std::to_string(p.number);
    if (p.kind != Place::external) out += ", " + to_string(p.bytes) + " bytes";
    out += ", nodes " + std::to_string(p.first) + " to " + std::to_string(p.last) + "\n";
  }
  return out + "}\n";
}

}  // namespace lenz::runtime
