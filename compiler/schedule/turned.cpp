#include "compiler/schedule/turned.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/nest_facts.h"

namespace lenz::schedule {

namespace {

using loops::Axis;
using loops::Nest;

// The nest's axes in the order in which the element is read, if each is a coordinate of its own.
std::optional<std::vector<Axis>> order_of(const Nest& nest, const DimVec& index) {
  if (index.size() != nest.axes.size()) return std::nullopt;
  std::vector<Axis> order;
  for (Dim at : index) {
    const auto axis = std::ranges::find(nest.axes, at, &Axis::symbol);
    if (axis == nest.axes.end() || std::ranges::find(order, at, &Axis::symbol) != order.end()) return std::nullopt;
    order.push_back(*axis);
  }
  return order;
}

// As all of them are read that nests compute.
std::optional<std::vector<Axis>> order_as_read(const loops::Program& program, const Uses& uses, const Nest& nest) {
  std::optional<std::vector<Axis>> order;
  auto same = [](const Axis& a, const Axis& b) { return a.symbol == b.symbol; };
  for (const loops::Instr& i : nest.body) {
    if (i.kind != loops::InstrKind::load || program.buffers[i.buffer].kind != loops::BufferKind::temporary) continue;
    if (uses.buffers[i.buffer].writers.empty()) continue;
    std::optional<std::vector<Axis>> here = order_of(nest, i.index);
    if (!here || (order && !std::ranges::equal(*order, *here, same))) return std::nullopt;
    order = std::move(here);
  }
  return order;
}

}  // namespace

void order_axes_as_read(loops::Program& program) {
  const Uses uses = uses_of(program);
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<Nest>(&node.is);
    if (nest == nullptr || nest->stores.size() != 1 || stands_alone(nest->tag) || !facts_of(*nest).plain()) return;
    if (!uses.buffers[nest->stores[0].buffer].readers.empty()) return;
    if (auto order = order_as_read(program, uses, *nest)) nest->axes.assign(order->begin(), order->end());
  });
}

}  // namespace lenz::schedule
