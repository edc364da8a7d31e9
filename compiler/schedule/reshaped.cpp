#include "compiler/schedule/reshaped.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/base/sym_parts.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/memory_order.h"
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
  explicit Splitter(loops::Program& program)
      : program_(program), uses_(uses_of(program)), taken_(symbols_of(program)), fresh_(*program.context, taken_) {
    for_each_node(program.body, [&](loops::Node& node) {
      auto* nest = std::get_if<Nest>(&node.is);
      if (nest == nullptr) return;
      nests_.push_back(nest);
      for (const loops::Instr& i : nest->body)
        if (i.kind == InstrKind::load && (readers_[i.buffer].empty() || readers_[i.buffer].back() != nest))
          readers_[i.buffer].push_back(nest);
    });
  }

  // From the first nest on: axes by whose quotient and remainder something is read, or that go along what a nest with
  // such axes wrote.
  void split_axes() {
    for (Nest* nest : nests_) {
      if (stands_alone(nest->tag)) continue;
      for (size_t k = 0; k + 1 < nest->axes.size(); ++k)
        if (const auto number = taken_apart(*nest, nest->axes[k])) {
          split_axis(*nest, k, *number);
          ++k;
        }
      const loops::IndexSpace space = space_of(program_, *nest);
      for (const loops::Store& s : nest->stores)
        for (size_t d = 0; d < s.index.size(); ++d)
          if (const auto two = two_of(space, s.index[d])) written_[{s.buffer, d}] = two->number;
    }
  }

  // From the last nest on: what is split asks for the same of what it reads.
  void split_dims() {
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
        if (const auto number = wanted(id, d); number && may_split(nest, d, *number)) split(nest, id, d, *number);
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

  // By which number the axis is, if what it reads, or how that was written, says one.
  std::optional<int64_t> taken_apart(const Nest& nest, const Axis& axis) const {
    if (axis.kind != AxisKind::parallel || !axis.extent.is_constant()) return std::nullopt;
    std::optional<int64_t> number;
    for (const loops::Instr& i : nest.body) {
      if (i.kind != InstrKind::load) continue;
      const loops::Buffer& b = program_.buffers[i.buffer];
      if (b.kind != loops::BufferKind::temporary && !lies_turned(b)) continue;
      for (size_t d = 0; d < i.index.size(); ++d) {
        if (i.index[d].is_constant()) continue;
        std::optional<int64_t> here;
        const DimParts parts = parts_of(i.index[d]);
        if (parts.kind == SymKind::floor_div && parts.operands[0] == axis.symbol && parts.operands[1].is_constant())
          here = parts.operands[1].constant();
        if (const auto as = written_.find({i.buffer, d}); as != written_.end() && i.index[d] == axis.symbol)
          here = as->second;
        if (!here) continue;
        if (number && *number != *here) return std::nullopt;
        number = here;
      }
    }
    const bool splits =
        number && *number > 1 && axis.extent.constant() % *number == 0 && axis.extent.constant() > *number;
    return splits ? number : std::nullopt;
  }

  void split_axis(Nest& nest, size_t k, int64_t number) {
    const Axis old = nest.axes[k];
    const Axis outer{fresh_("s"), old.extent.constant() / number}, inner{fresh_("s"), number};
    nest.axes[k] = inner;
    nest.axes.insert(nest.axes.begin() + static_cast<ptrdiff_t>(k), outer);
    const loops::IndexSpace space = space_of(program_, nest);
    Replacement with(program_.context->syms);
    with.set(old.symbol, outer.symbol * number + inner.symbol);
    auto replace = [&](DimVec& index) {
      for (Dim& at : index) at = space.simplify(with(at));
    };
    for (loops::Instr& i : nest.body) replace(i.index);
    for (loops::Store& s : nest.stores) replace(s.index);
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
    // Of a single part, as what pads reads it, no axis is left.
    if (number && size.constant() <= *number) return std::nullopt;
    return number;
  }

  // Whether two axes of that number go along the dim already; or an axis by itself does, and whatever else is read
  // along it is an input or read here alone: then it is split too.
  bool may_split(const Nest& nest, size_t d, int64_t number) {
    const Dim symbol = nest.stores[0].index[d];
    if (const auto two = two_of(space_of(program_, nest), symbol)) return two->number == number;
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
        const Two two = two_of(space, i.index[d]).value();
        i.index = replaced(i.index, d, two.outer, two.inner);
      }
    }
    type.sizes = replaced(type.sizes, d, outer_size, number);
    type.strides = contiguous_strides(type.sizes);
    const auto axis = std::ranges::find(nest.axes, nest.stores[0].index[d], &Axis::symbol);
    if (axis != nest.axes.end()) split_axis(nest, static_cast<size_t>(axis - nest.axes.begin()), number);
    const Two two = two_of(space_of(program_, nest), nest.stores[0].index[d]).value();
    nest.stores[0].index = replaced(nest.stores[0].index, d, two.outer, two.inner);
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
  const SymbolSet taken_;
  FreshSymbols fresh_;
  std::vector<Nest*> nests_;
  std::unordered_map<BufferId, std::vector<Nest*>> readers_;
  std::map<std::pair<BufferId, size_t>, int64_t>
      written_;  // dims that a nest writes by two axes: the inner one's number
};

}  // namespace

void split_dims_as_read(loops::Program& program) {
  Splitter splitter(program);
  splitter.split_axes();
  splitter.split_dims();
}

}  // namespace lenz::schedule
