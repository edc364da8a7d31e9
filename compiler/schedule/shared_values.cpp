#include "compiler/schedule/shared_values.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/nest_writer.h"

namespace lenz::schedule {

using loops::Axis;
using loops::AxisKind;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Program;

namespace {

constexpr int64_t kFewPoints = 3;         // of an axis: what they share is not computed often
constexpr double kLeastSaved = 12;        // simple operations for each point
constexpr double kPart = 0.25;            // of what a point takes
constexpr double kKept = 1;               // a store, and a load for each point of the axis
constexpr int64_t kLeastInAll = 1 << 14;  // saved, of points that are known: kernels more are that worth

// What of a nest hangs on an axis, and what else is worth being kept.
class Sharing {
 public:
  Sharing(const Nest& nest, Dim axis) : nest_(nest), moves_(along(nest, axis).values), by_data_(nest.body.size()) {
    // A position raises where it is made, for points that there are.
    std::vector<const SymNode*> positions;
    auto mentions = [&](Dim d) {
      bool found = false;
      if (!d.is_constant())
        for_each_symbol(d,
                        [&](const SymNode* s) { found = found || std::ranges::find(positions, s) != positions.end(); });
      return found;
    };
    for (Ssa v = 0; v < nest.body.size(); ++v) {
      const Instr& i = nest.body[v];
      bool moves = moves_[v] || i.kind == InstrKind::position || (i.kind == InstrKind::scalar && may_raise(i));
      for (Ssa operand : i.operands) moves = moves || moves_[operand], by_data_[v] = by_data_[v] || by_data_[operand];
      if (i.mask != kNone) moves = moves || moves_[i.mask];
      for (Dim d : i.index) moves = moves || mentions(d);
      moves_[v] = moves;
      by_data_[v] = by_data_[v] || i.kind == InstrKind::load;
      if (i.kind == InstrKind::position) positions.push_back(i.symbol.node());
    }
    for (Ssa v = 0; v < nest.body.size(); ++v) {
      if (!moves_[v]) continue;
      for (Ssa operand : nest.body[v].operands) need(operand);
      if (nest.body[v].mask != kNone) need(nest.body[v].mask);
    }
    for (const loops::Store& s : nest.stores) need(s.value);
  }

  // Those to keep: they do not move, and what moves, or is stored, takes them.
  const std::vector<Ssa>& kept() const { return kept_; }

  // What a point saves, in simple operations, if all points of the axis share them.
  double saved() const {
    std::vector<bool> asked(nest_.body.size());
    for (Ssa v : kept_) asked[v] = true;
    double cost = 0;
    for (Ssa v = static_cast<Ssa>(nest_.body.size()); v-- > 0;) {
      if (!asked[v]) continue;
      if (by_data_[v]) cost += cost_of(nest_.body[v]);
      for (Ssa operand : nest_.body[v].operands) asked[operand] = true;
    }
    return cost - kKept * static_cast<double>(kept_.size());
  }

 private:
  // What is as quickly made again from what lies behind it is not kept itself.
  bool is_quick(const Instr& i) const {
    if (i.kind != InstrKind::scalar) return true;
    return i.row->name == "to_dtype" && is_integral(i.dtype, false) &&  // op name: of a primitive
           is_integral(nest_.body[i.operands[0]].dtype, false);
  }

  void need(Ssa v) {
    if (moves_[v] || std::ranges::find(kept_, v) != kept_.end()) return;
    const Instr& i = nest_.body[v];
    if (by_data_[v] && !is_quick(i)) return kept_.push_back(v);
    for (Ssa operand : i.operands) need(operand);
    if (i.mask != kNone) need(i.mask);
  }

  const Nest& nest_;
  std::vector<bool> moves_, by_data_;
  std::vector<Ssa> kept_;
};

class Sharer {
 public:
  Sharer(Program& program, const Target& target) : program_(program), least_(target.grained(kLeastInAll)) {}

  void block(loops::Block& b) {
    std::vector<loops::Node> made;
    for (loops::Node& node : b.nodes) {
      if (auto* n = std::get_if<loops::If>(&node.is)) block(*n->then), block(*n->otherwise);
      if (auto* n = std::get_if<loops::While>(&node.is)) block(*n->test), block(*n->body);
      if (auto* n = std::get_if<loops::Repeat>(&node.is)) block(*n->body);
      if (auto* nest = std::get_if<Nest>(&node.is)) {
        add(made, std::move(*nest));
      } else {
        made.push_back(std::move(node));
      }
    }
    b.nodes = std::move(made);
  }

 private:
  // The nest, behind those of what its points share.
  void add(std::vector<loops::Node>& nodes, Nest nest) {
    const auto axis = best_axis(nest);
    if (axis == nest.axes.size()) {
      nodes.push_back({std::move(nest)});
      return;
    }
    nest = each_once(nest);
    const std::vector<Ssa> kept = Sharing(nest, nest.axes[axis].symbol).kept();
    std::vector<Axis> others = nest.axes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(axis));
    DimVec at;
    for (const Axis& a : others) at.push_back(a.symbol);
    std::vector<BufferId> buffers;
    for (Ssa v : kept) {
      buffers.push_back(buffer(nest, nest.body[v].dtype, others));
      add(nodes, only(nest, v, buffers.back(), others, at));
    }
    nodes.push_back({reading(nest, kept, buffers, at)});
  }

  // The axis whose points save most by sharing; as many as there are axes: none saves enough.
  size_t best_axis(const Nest& nest) const {
    const NestFacts facts = facts_of(nest);
    size_t best = nest.axes.size();
    if (stands_alone(nest.tag) || !facts.a_value_each() || facts.draws || !facts.inner.empty()) return best;
    if (facts.cost <= kLeastSaved) return best;
    double most = std::max(kLeastSaved, kPart * facts.cost);
    Dim points = 1;
    for (const Axis& a : nest.axes) points = points * a.extent;
    if (points.is_constant())
      most = std::max(most, static_cast<double>(least_) / static_cast<double>(std::max<int64_t>(1, points.constant())));
    for (size_t k = 0; k < nest.axes.size() && nest.axes.size() > 1; ++k) {
      const Dim extent = nest.axes[k].extent;
      if (extent.is_constant() && extent.constant() < kFewPoints) continue;
      // What is read for its points alone need not be there where it has none.
      if (!program_.assumptions.known().proves(ge(extent, 1))) continue;
      const double saved = Sharing(nest, nest.axes[k].symbol).saved();
      if (saved <= most) continue;
      most = saved;
      best = k;
    }
    return best;
  }

  BufferId buffer(const Nest& nest, Dtype dtype, const std::vector<Axis>& axes) {
    loops::Buffer made;
    made.origin = nest.origin;
    made.type.dtype = dtype;
    for (const Axis& a : axes) made.type.sizes.push_back(a.extent);
    made.type.strides = contiguous_strides(made.type.sizes);
    made.name = "shared" + std::to_string(program_.buffers.size());
    program_.buffers.push_back(std::move(made));
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  // The nest without what it computes twice.
  static Nest each_once(const Nest& nest) {
    Nest made = nest;
    made.body.clear();
    NestWriter writer(made);
    std::vector<Ssa> values;
    for (const Instr& i : nest.body) values.push_back(writer.add(with(i, values)));
    for (loops::Store& s : made.stores) s.value = values[s.value];
    return made;
  }

  // The nest of one of its values.
  static Nest only(const Nest& nest, Ssa value, BufferId into, const std::vector<Axis>& axes, const DimVec& at) {
    Nest made;
    made.name = nest.name;
    made.origin = nest.origin;
    made.axes = axes;
    NestWriter writer(made);
    std::vector<bool> asked(nest.body.size());
    asked[value] = true;
    for (Ssa v = value + 1; v-- > 0;) {
      if (!asked[v]) continue;
      for (Ssa operand : nest.body[v].operands) asked[operand] = true;
      if (nest.body[v].mask != kNone) asked[nest.body[v].mask] = true;
    }
    std::vector<Ssa> values(nest.body.size(), kNone);
    for (Ssa v = 0; v <= value; ++v)
      if (asked[v]) values[v] = writer.add(with(nest.body[v], values));
    made.stores.push_back({into, at, values[value]});
    return made;
  }

  // The nest, which reads those values.
  Nest reading(const Nest& nest, const std::vector<Ssa>& kept, const std::vector<BufferId>& buffers,
               const DimVec& at) const {
    std::vector<bool> asked(nest.body.size());
    auto ask = [&](Ssa v) {
      if (v != kNone) asked[v] = true;
    };
    for (const loops::Store& s : nest.stores) ask(s.value), ask(s.mask);
    std::vector<BufferId> from(nest.body.size(), kNone);
    for (size_t k = 0; k < kept.size(); ++k) from[kept[k]] = buffers[k];
    for (Ssa v = static_cast<Ssa>(nest.body.size()); v-- > 0;) {
      if (nest.body[v].kind == InstrKind::position) asked[v] = true;  // indices of loads and stores mention them
      if (!asked[v] || from[v] != kNone) continue;
      for (Ssa operand : nest.body[v].operands) ask(operand);
      ask(nest.body[v].mask);
    }
    Nest made;
    made.name = nest.name;
    made.tag = nest.tag;
    made.origin = nest.origin;
    made.axes = nest.axes;
    NestWriter writer(made);
    std::vector<Ssa> values(nest.body.size(), kNone);
    for (Ssa v = 0; v < nest.body.size(); ++v) {
      if (!asked[v]) continue;
      Instr load;
      load.kind = InstrKind::load;
      load.dtype = nest.body[v].dtype;
      load.buffer = from[v];
      load.index = at;
      values[v] = writer.add(from[v] != kNone ? std::move(load) : with(nest.body[v], values));
    }
    for (loops::Store s : nest.stores) {
      s.value = values[s.value];
      if (s.mask != kNone) s.mask = values[s.mask];
      made.stores.push_back(std::move(s));
    }
    return made;
  }

  static Instr with(Instr i, const std::vector<Ssa>& values) {
    for (Ssa& operand : i.operands) operand = values[operand];
    if (i.mask != kNone) i.mask = values[i.mask];
    return i;
  }

  Program& program_;
  const int64_t least_;
};

}  // namespace

void compute_shared_values_once(Program& program, const Target& target) { Sharer(program, target).block(program.body); }

}  // namespace lenz::schedule
