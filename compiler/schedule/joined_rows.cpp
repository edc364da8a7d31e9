#include "compiler/schedule/joined_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

namespace {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;

class Joiner {
 public:
  explicit Joiner(loops::Program& program)
      : program_(program), uses_(uses_of(program)), taken_(symbols_of(program)), fresh_(*program.context, taken_) {
    joined_ = fresh_("m");
  }

  void run() {
    std::vector<Nest*> nests;
    for_each_node(program_.body, [&](loops::Node& node) {
      if (auto* nest = std::get_if<Nest>(&node.is)) nests.push_back(nest);
    });
    for (Nest* nest : nests) {
      for (const loops::Instr& i : nest->body)
        if (i.kind == InstrKind::load) touching_[i.buffer].push_back(nest);
      for (const loops::Store& s : nest->stores) touching_[s.buffer].push_back(nest);
    }
    for (Nest* nest : nests)
      if (const auto at = part_of_row(*nest)) join(*nest, *at);
  }

 private:
  // The outer one of two axes that are a row where much is read or written, while something has one value for each
  // part.
  std::optional<size_t> part_of_row(const Nest& nest) const {
    const NestFacts facts = facts_of(nest);
    if (stands_alone(nest.tag) || facts.scans || facts.combines || facts.positions) return std::nullopt;
    size_t inner = nest.axes.size();
    while (inner > 0 && nest.axes[inner - 1].kind != AxisKind::parallel) --inner;
    if (inner < 2 || nest.axes[inner - 2].kind != AxisKind::parallel) return std::nullopt;
    const size_t k = inner - 2;
    const Axis &outer = nest.axes[k], &part = nest.axes[k + 1];
    if (!part.extent.is_constant() || part.extent.constant() >= kShortPart || part.extent.constant() < 2)
      return std::nullopt;
    if (!outer.extent.is_constant() || outer.extent.constant() < 2) return std::nullopt;
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
    // Rows go along axes with longer steps. Whole rows are walked where one of these is reduced, many rows have the
    // same values, or another nest walks them so; but where each row has values of its own for its parts a point is a
    // part.
    bool as_rows = false;
    std::vector<bool> along_rows(nest.axes.size()), same(nest.axes.size()), own(nest.axes.size());
    auto fits = [&](BufferId id, const DimVec& index) {
      if (index.empty()) return true;
      const auto form = space.linear(space.simplify(address_of(program_, id, index)));
      if (!form) return false;
      const Dim of_outer = form->coefficients[k], of_part = form->coefficients[k + 1];
      const bool whole = of_part.is(1) && of_outer.is(part.extent.constant());
      as_rows = as_rows || (whole && flattened_.contains(id));
      for (size_t r = 0; r < nest.axes.size(); ++r) {
        const Dim step = form->coefficients[r];
        if (whole && step.is_constant() && step.constant() > part.extent.constant()) along_rows[r] = true;
        if (!of_outer.is(0) && step.is(0)) same[r] = true;
        if (!of_outer.is(0) && of_part.is(0) && !step.is(0)) own[r] = true;
      }
      return whole || of_part.is(0);
    };
    for (const loops::Instr& i : nest.body)
      if (i.kind == InstrKind::load && !fits(i.buffer, i.index)) return std::nullopt;
    for (const loops::Store& s : nest.stores)
      if (!fits(s.buffer, s.index)) return std::nullopt;
    for (size_t r = 0; r < nest.axes.size(); ++r)
      if (along_rows[r] && (as_rows || (same[r] && !own[r]) || nest.axes[r].kind == AxisKind::reduction)) return k;
    return std::nullopt;
  }

  void join(Nest& nest, size_t k) {
    const Dim outer = nest.axes[k].symbol, inner = nest.axes[k + 1].symbol;
    for (const loops::Store& s : nest.stores) flatten(s.buffer, outer, inner, s.index);
    collapse(program_, nest, k, joined_);
  }

  // Two dims of a buffer that these axes go along become one.
  void flatten(BufferId id, Dim outer, Dim inner, const DimVec& at) {
    const loops::Buffer& b = program_.buffers[id];
    if (b.kind != loops::BufferKind::temporary || b.placed || b.view_of != kNone || uses_.buffers[id].otherwise) return;
    size_t d = 0;
    while (d + 1 < at.size() && !(at[d] == outer && at[d + 1] == inner)) ++d;
    if (d + 1 >= at.size()) return;
    flattened_.insert(id);
    TensorType& type = program_.buffers[id].type;
    const Dim size = type.sizes[d + 1];
    auto joined = [&](const DimVec& dims, Dim value) {
      DimVec made;
      for (size_t k = 0; k < dims.size(); ++k)
        if (k != d + 1) made.push_back(k == d ? value : dims[k]);
      return made;
    };
    type.sizes = joined(type.sizes, type.sizes[d] * size);
    type.strides = contiguous_strides(type.sizes);
    auto& touching = touching_.at(id);
    std::ranges::sort(touching);
    touching.erase(std::unique(touching.begin(), touching.end()), touching.end());
    for (Nest* nest : touching) {
      loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
      for (const Axis& a : nest->axes) space.add_axis(a.symbol, a.extent);
      auto replace = [&](DimVec& index) { index = joined(index, space.simplify(index[d] * size + index[d + 1])); };
      for (loops::Instr& i : nest->body)
        if (i.kind == InstrKind::load && i.buffer == id) replace(i.index);
      for (loops::Store& s : nest->stores)
        if (s.buffer == id) replace(s.index);
    }
  }

  loops::Program& program_;
  const Uses uses_;
  const SymbolSet taken_;
  FreshSymbols fresh_;
  Dim joined_ = 0;  // of every nest, so that nests over the same rows look alike
  std::set<BufferId> flattened_;
  std::map<BufferId, std::vector<Nest*>> touching_;
};

}  // namespace

void join_parts_of_rows(loops::Program& program) { Joiner(program).run(); }

}  // namespace lenz::schedule
