#include "compiler/schedule/staged.h"

#include <algorithm>
#include <optional>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::BufferId;
using loops::Nest;
using loops::Store;

namespace {

constexpr int64_t kLine = 64;    // bytes that memory takes at once
constexpr uint32_t kUnroll = 4;  // vectors that a row is copied in

class Stager {
 public:
  explicit Stager(loops::Program& program) : program_(program), taken_(symbols_of(program)) {}

  void run() {
    for (loops::Node& node : program_.body.nodes)
      if (auto* kernel = std::get_if<loops::Kernel>(&node.is)) stage(*kernel);
  }

 private:
  void stage(loops::Kernel& kernel) {
    FreshSymbols fresh(*program_.context, taken_);  // in this kernel: others may have the same names
    for (const Axis& a : kernel.axes) fresh.take(a.symbol);
    std::vector<loops::Node> made;
    for (loops::Node& node : kernel.body->nodes) {
      auto& nest = std::get<Nest>(node.is);
      std::vector<Nest> copies;
      if (in_squares(nest))
        for (Store& s : nest.stores)
          if (begins_anywhere(nest, s)) copies.push_back(through_local(nest, s, fresh));
      made.push_back(std::move(node));
      for (Nest& copy : copies) made.push_back({std::move(copy)});
    }
    kernel.body->nodes = std::move(made);
  }

  static bool in_squares(const Nest& nest) {
    const bool plain = nest.axes.size() == 2 &&
                       std::ranges::all_of(nest.axes, [](const Axis& a) { return a.kind == AxisKind::parallel; });
    return plain && nest.axes[1].lanes > 1 && nest.axes[0].unroll == nest.axes[1].lanes;
  }

  // Whether it goes along the lanes, to a buffer that is always far, and nobody knows that its rows begin with a line.
  bool begins_anywhere(const Nest& nest, const Store& s) const {
    const loops::Buffer& b = program_.buffers[s.buffer];
    if (!b.far || *b.far != loops::kAlways || s.mode != loops::StoreMode::assign || s.mask != kNone) return false;
    const Dim address = address_of(program_, s.buffer, s.index);
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
    const auto along = space.stride(address, 1);
    if (!along || !along->is(1)) return false;
    const Dim first = replaced(address, nest.axes[1].symbol, 0);
    return !program_.assumptions.known().proves(eq(mod(first, kLine / item_size(b.type.dtype)), 0));
  }

  Dim replaced(Dim dim, Dim symbol, Dim by) const {
    return substitute(dim, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
      return s == symbol.node() ? std::optional(by) : std::nullopt;
    });
  }

  // The nest stores to a local tile from here on; gives what copies that.
  Nest through_local(Nest& nest, Store& s, FreshSymbols& fresh) {
    const Store last = s;
    const loops::Buffer& b = program_.buffers[s.buffer];
    loops::Buffer tile;
    tile.name = b.name;
    tile.local = true;
    tile.origin = b.origin;
    tile.type.dtype = b.type.dtype;
    tile.type.device = b.type.device;
    for (const Axis& a : nest.axes) tile.type.sizes.push_back(*program_.assumptions.known().range(a.extent).high);
    tile.type.strides = contiguous_strides(tile.type.sizes);
    s.buffer = static_cast<BufferId>(program_.buffers.size());
    s.index = {nest.axes[0].symbol, nest.axes[1].symbol};

    Nest copy;
    copy.name = nest.name;
    copy.origin = nest.origin;
    copy.axes = nest.axes;
    copy.axes[0].unroll = 1;
    copy.axes[1].unroll = kUnroll;
    Store to = last;
    to.value = 0;
    for (Axis& a : copy.axes) {
      const Dim own = fresh("i");
      for (Dim& d : to.index) d = replaced(d, a.symbol, own);
      a.symbol = own;
    }
    loops::Instr load;
    load.kind = loops::InstrKind::load;
    load.dtype = tile.type.dtype;
    load.buffer = s.buffer;
    load.index = {copy.axes[0].symbol, copy.axes[1].symbol};
    copy.body.push_back(std::move(load));
    copy.stores.push_back(std::move(to));
    program_.buffers.push_back(std::move(tile));
    return copy;
  }

  loops::Program& program_;
  const SymbolSet taken_;
};

}  // namespace

void stage_squares(loops::Program& program) { Stager(program).run(); }

}  // namespace lenz::schedule
