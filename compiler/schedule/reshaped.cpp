#include "compiler/schedule/reshaped.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;

namespace {

loops::IndexSpace space_of(const loops::Program& program, const Nest& nest) {
  loops::IndexSpace space(program.context->syms, program.assumptions.known());
  for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
  return space;
}

// An index as axis * number + axis, the latter of so many points.
struct Two {
  Dim outer, inner;
  int64_t number = 0;
};

class Splitter {
 public:
  explicit Splitter(loops::Program& program) : program_(program), uses_(uses_of(program)), taken_(symbols_of(program)) {
    for_each_node(program.body, [&](loops::Node& node) {
      auto* nest = std::get_if<Nest>(&node.is);
      if (nest == nullptr) return;
      nests_.push_back(nest);
      for (const loops::Instr& i : nest->body)
        if (i.kind == InstrKind::load && (readers_[i.buffer].empty() || readers_[i.buffer].back() != nest))
          readers_[i.buffer].push_back(nest);
    });
  }

  // From the last nest on: what is split asks for the same of what it reads.
  void run() {
    for (size_t n = nests_.size(); n-- > 0;) {
      Nest& nest = *nests_[n];
      if (nest.stores.size() != 1 || stands_alone(nest.tag) || !facts_of(nest).plain()) continue;
      const BufferId id = nest.stores[0].buffer;
      const loops::Buffer& b = program_.buffers[id];
      const Uses::OfBuffer& use = uses_.buffers[id];
      if (b.kind != loops::BufferKind::temporary || b.placed || b.view_of != kNone || use.otherwise ||
          use.writers.size() != 1 || readers_[id].empty())
        continue;
      for (size_t d = nest.stores[0].index.size(); d-- > 0;)
        if (const auto number = wanted(id, d); number && may_split(nest, d)) split(nest, id, d, *number);
    }
  }

 private:
  static std::optional<Two> two_of(const loops::IndexSpace& space, Dim index) {
    const auto linear = space.linear(index);
    if (!linear || !linear->constant.is(0)) return std::nullopt;
    Two made;
    std::optional<size_t> inner;
    for (size_t k = 0; k < linear->coefficients.size(); ++k) {
      const Dim c = linear->coefficients[k];
      if (c.is(0)) continue;
      if (!c.is_constant()) return std::nullopt;
      if (c.is(1) && !inner) {
        inner = k;
        made.inner = space.axes()[k].symbol;
      } else if (c.constant() > 1 && made.number == 0) {
        made.number = c.constant();
        made.outer = space.axes()[k].symbol;
      } else {
        return std::nullopt;
      }
    }
    if (!inner || made.number == 0 || !space.axes()[*inner].extent.is(made.number)) return std::nullopt;
    return made;
  }

  // The number by which all readers take the dim apart.
  std::optional<int64_t> wanted(BufferId id, size_t d) {
    const Dim size = program_.buffers[id].type.sizes[d];
    std::optional<int64_t> number;
    if (!size.is_constant()) return std::nullopt;
    for (const Nest* reader : readers_[id]) {
      if (stands_alone(reader->tag)) return std::nullopt;
      const loops::IndexSpace space = space_of(program_, *reader);
      for (const loops::Instr& i : reader->body) {
        if (i.kind != InstrKind::load || i.buffer != id) continue;
        const auto two = two_of(space, i.index[d]);
        if (!two || size.constant() % two->number != 0 || (number && *number != two->number)) return std::nullopt;
        number = two->number;
      }
    }
    return number;
  }

  // Whether an axis by itself goes along the dim, and whatever else is read along it is an input or read here alone:
  // then it is split too.
  bool may_split(const Nest& nest, size_t d) {
    const Dim symbol = nest.stores[0].index[d];
    const auto axis = std::ranges::find(nest.axes, symbol, &Axis::symbol);
    if (axis == nest.axes.end() || axis->kind != AxisKind::parallel || !axis->extent.is_constant()) return false;
    if (std::ranges::count_if(nest.stores[0].index, [&](Dim at) { return at == symbol; }) != 1) return false;
    return std::ranges::all_of(nest.body, [&](const loops::Instr& i) {
      if (i.kind != InstrKind::load || program_.buffers[i.buffer].kind != loops::BufferKind::temporary) return true;
      const bool along =
          std::ranges::any_of(i.index, [&](Dim at) { return !at.is_constant() && mentions(at, symbol); });
      return !along || readers_[i.buffer].size() == 1;
    });
  }

  void split(Nest& nest, BufferId id, size_t d, int64_t number) {
    TensorType& type = program_.buffers[id].type;
    const Dim size = type.sizes[d], outer_size = Dim(size.constant() / number);
    for (Nest* reader : readers_[id]) {
      const loops::IndexSpace space = space_of(program_, *reader);
      for (loops::Instr& i : reader->body) {
        if (i.kind != InstrKind::load || i.buffer != id) continue;
        const Two two = *two_of(space, i.index[d]);
        i.index = replaced(i.index, d, two.outer, two.inner);
      }
    }
    type.sizes = replaced(type.sizes, d, outer_size, number);
    type.strides = contiguous_strides(type.sizes);
    const Dim old = nest.stores[0].index[d];
    const auto axis = std::ranges::find(nest.axes, old, &Axis::symbol);
    const Axis outer{fresh_symbol(*program_.context, taken_, "s"), outer_size},
        inner{fresh_symbol(*program_.context, taken_, "s"), number};
    *axis = inner;
    nest.axes.insert(axis, outer);
    nest.stores[0].index = replaced(nest.stores[0].index, d, outer.symbol, inner.symbol);
    const loops::IndexSpace space = space_of(program_, nest);
    Replacement with(program_.context->syms);
    with.set(old, outer.symbol * number + inner.symbol);
    for (loops::Instr& i : nest.body)
      for (Dim& at : i.index) at = space.simplify(with(at));
  }

  // Two in the place of one.
  static DimVec replaced(const DimVec& dims, size_t d, Dim outer, Dim inner) {
    DimVec made;
    for (size_t k = 0; k < dims.size(); ++k) {
      made.push_back(k == d ? outer : dims[k]);
      if (k == d) made.push_back(inner);
    }
    return made;
  }

  loops::Program& program_;
  Uses uses_;
  SymbolSet taken_;
  std::vector<Nest*> nests_;
  std::unordered_map<BufferId, std::vector<Nest*>> readers_;
};

}  // namespace

void split_dims_as_read(loops::Program& program) { Splitter(program).run(); }

}  // namespace lenz::schedule
