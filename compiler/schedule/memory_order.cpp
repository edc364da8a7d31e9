#include "compiler/schedule/memory_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/loops/index_algebra.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/nest_facts.h"

namespace lenz::schedule {

namespace {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;

using Order = std::vector<size_t>;  // places among a nest's axes

class Orderer {
 public:
  explicit Orderer(loops::Program& program) : program_(program), uses_(uses_of(program)) {
    for_each_node(program.body, [&](loops::Node& node) {
      if (auto* nest = std::get_if<Nest>(&node.is)) nests_.push_back(nest);
    });
  }

  void run() {
    if (std::ranges::none_of(program_.buffers, lies_turned)) return;
    for (Nest* nest : nests_) {
      for (const loops::Instr& i : nest->body)
        if (i.kind == InstrKind::load) note(i.buffer, nest);
      for (const loops::Store& s : nest->stores) note(s.buffer, nest);
    }
    for (const Nest* nest : nests_) note_short_rows(*nest);
    for (Nest* nest : nests_)
      if (may_be_ordered(*nest)) order(*nest);
  }

 private:
  // What is reduced along rows that hardly fill a vector: beside each other, along other axes, that goes faster.
  void note_short_rows(const Nest& nest) {
    constexpr int64_t kShort = 32;
    auto reduced = [](const Axis& a) { return a.kind == AxisKind::reduction; };
    const auto row = std::ranges::find_if(nest.axes, reduced);
    if (std::ranges::count_if(nest.axes, reduced) != 1 || !row->extent.is_constant()) return;
    if (row->extent.constant() >= kShort || row->extent.constant() < 2) return;
    const loops::IndexSpace space = space_of(nest);
    for (const loops::Instr& i : nest.body)
      if (i.kind == InstrKind::load)
        if (const auto order = order_of(nest, space, i.buffer, i.index))
          if (order->back() == static_cast<size_t>(row - nest.axes.begin())) of_short_rows_.insert(i.buffer);
  }

  loops::IndexSpace space_of(const Nest& nest) const {
    loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
    for (const Axis& a : nest.axes) space.add_axis(a.symbol, a.extent);
    return space;
  }

  void note(BufferId id, Nest* nest) {
    std::vector<Nest*>& list = touching_[id];
    if (list.empty() || list.back() != nest) list.push_back(nest);
  }

  static bool may_be_ordered(const Nest& nest) {
    const NestFacts facts = facts_of(nest);
    return !stands_alone(nest.tag) && !facts.scans && !facts.combines;
  }

  // Axes of more than one point from the longest steps in memory to neighbours, if it has an element for each of them.
  std::optional<Order> order_of(const Nest& nest, const loops::IndexSpace& space, BufferId id,
                                const DimVec& index) const {
    if (index.empty()) return std::nullopt;
    const Dim address = space.simplify(address_of(program_, id, index));
    const auto linear = space.linear(address);
    if (!linear) return std::nullopt;
    Order made;
    for (size_t k : space.order_by_stride(address)) {
      if (nest.axes[k].extent.is(1)) continue;
      if (linear->coefficients[k].is(0)) return std::nullopt;
      made.push_back(k);
    }
    if (made.empty() || !linear->coefficients[made.back()].is(1)) return std::nullopt;
    return made;
  }

  // That of most; as they are where it is one of several.
  std::optional<Order> wanted(const Nest& nest) const {
    const loops::IndexSpace space = space_of(nest);
    std::map<Order, int> votes;
    for (const loops::Instr& i : nest.body)
      if (i.kind == InstrKind::load && !of_short_rows_.contains(i.buffer))
        if (auto order = order_of(nest, space, i.buffer, i.index)) ++votes[*order];
    for (const loops::Store& s : nest.stores)
      if (program_.buffers[s.buffer].placed || laid_.contains(s.buffer))
        if (auto order = order_of(nest, space, s.buffer, s.index)) ++votes[*order];
    if (votes.empty()) return std::nullopt;
    const auto most = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
    if (std::ranges::count_if(votes, [&](const auto& v) { return v.second == most->second; }) != 1) return std::nullopt;
    return most->first;
  }

  void order(Nest& nest) {
    const std::optional<Order> found = wanted(nest);
    size_t last = nest.axes.size();
    while (last > 0 && nest.axes[last - 1].extent.is(1)) --last;
    if (!found || found->back() + 1 == last) return;
    std::vector<size_t> rank(nest.axes.size());  // those of one point stay in front of what follows them
    for (size_t place = 0; place < found->size(); ++place) rank[(*found)[place]] = place + 1;
    for (size_t k = nest.axes.size(); k-- > 0;)
      if (rank[k] == 0) rank[k] = k + 1 < nest.axes.size() ? rank[k + 1] : nest.axes.size();
    std::vector<size_t> order(nest.axes.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, {}, [&](size_t k) { return rank[k]; });
    // Parallel ones in the places of parallel ones.
    const bool all = !reduces_in_order(nest);
    std::vector<Axis> made = nest.axes;
    for (const bool parallel : {true, false}) {
      if (!parallel && !all) continue;
      std::vector<size_t> places;
      auto is = [&](size_t k) { return (nest.axes[k].kind == AxisKind::parallel) == parallel; };
      for (size_t k = 0; k < nest.axes.size(); ++k)
        if (is(k)) places.push_back(k);
      size_t next = 0;
      for (size_t k : order)
        if (is(k)) made[places[next++]] = nest.axes[k];
    }
    nest.axes.assign(made.begin(), made.end());
    for (const loops::Store& s : nest.stores) lay(nest, s.buffer);
  }

  static bool reduces_in_order(const Nest& nest) {
    return std::ranges::any_of(nest.body, [](const loops::Instr& i) {
      return i.kind == InstrKind::reduce && (i.ordered || !loops::primitive(i.combine));
    });
  }

  // Dims in the order of the axes that tell them.
  void lay(const Nest& nest, BufferId id) {
    const loops::Buffer& b = program_.buffers[id];
    const Uses::OfBuffer& use = uses_.buffers[id];
    if (b.kind != loops::BufferKind::temporary || b.placed || b.view_of != kNone || use.otherwise) return;
    if (laid_.contains(id)) return;
    const auto store = std::ranges::find(nest.stores, id, &loops::Store::buffer);
    auto place = [&](size_t d) {
      for (size_t k = 0; k < nest.axes.size(); ++k)
        if (!store->index[d].is_constant() && mentions_axis(store->index[d], nest.axes[k])) return k;
      return nest.axes.size();
    };
    std::vector<size_t> order(store->index.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    // Dims of one element stay in front of what follows them.
    std::vector<size_t> rank(order.size());
    for (size_t d = order.size(); d-- > 0;) {
      rank[d] = place(d);
      if (rank[d] == nest.axes.size() && d + 1 < order.size()) rank[d] = rank[d + 1];
    }
    std::ranges::stable_sort(order, {}, [&](size_t d) { return rank[d]; });
    if (std::ranges::is_sorted(order)) return;
    if (std::ranges::any_of(touching_.at(id), [](const Nest* n) { return !may_be_ordered(*n); })) return;
    laid_.insert(id);
    auto permute = [&](DimVec& dims) {
      DimVec made;
      for (size_t d : order) made.push_back(dims[d]);
      dims = made;
    };
    TensorType& type = program_.buffers[id].type;
    permute(type.sizes);
    type.strides = contiguous_strides(type.sizes);
    for (Nest* n : touching_.at(id)) {
      for (loops::Instr& i : n->body)
        if (i.kind == InstrKind::load && i.buffer == id) permute(i.index);
      for (loops::Store& s : n->stores)
        if (s.buffer == id) permute(s.index);
    }
  }

  static bool mentions_axis(Dim d, const Axis& a) {
    bool found = false;
    for_each_symbol(d, [&](const SymNode* s) { found = found || s == a.symbol.node(); });
    return found;
  }

  loops::Program& program_;
  const Uses uses_;
  std::vector<Nest*> nests_;
  std::map<BufferId, std::vector<Nest*>> touching_;
  std::set<BufferId> laid_;  // with dims in another order than before
  std::set<BufferId> of_short_rows_;
};

}  // namespace

bool lies_turned(const loops::Buffer& b) {
  return b.placed && b.type.rank() > 1 && !b.type.strides.back().is(1) && !b.type.sizes.back().is(1);
}

void order_axes_as_memory(loops::Program& program) { Orderer(program).run(); }

}  // namespace lenz::schedule
