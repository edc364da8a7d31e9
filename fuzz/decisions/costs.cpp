#include <algorithm>
#include <set>

#include "compiler/schedule/nest_facts.h"
#include "fuzz/decisions/facts.h"

namespace lenz::fuzz {

namespace {
class Counter {
 public:
  // What is left over at an end is counted as a whole tile: extents are those at the first point of the axes around.
  Counter(const loops::Program& program, const SymValues& sizes) : program_(program) {
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* kernel = std::get_if<loops::Kernel>(&node.is);
      const auto* nest = std::get_if<loops::Nest>(&node.is);
      for (const loops::Axis& axis : kernel ? kernel->axes : nest ? nest->axes : std::vector<loops::Axis>())
        axes_.insert(axis.symbol.node());
    });
    sizes_ = [this, sizes](const SymNode* symbol) {
      return axes_.contains(symbol) ? std::optional<int64_t>(0) : sizes(symbol);
    };
  }

  Costs run() {
    block(program_.body, 1);
    for (const loops::Buffer& b : program_.buffers) costs_.local += b.local;
    return costs_;
  }

 private:
  double points_of(std::span<const loops::Axis> axes) const {
    double all = 1;
    for (const loops::Axis& axis : axes) all *= static_cast<double>(evaluate(axis.extent, sizes_).value_or(1));
    return all;
  }

  // `times`: how often it runs, for each point of the kernel around it.
  void block(const loops::Block& of, double times) {
    for (const loops::Node& node : of.nodes) {
      if (const auto* nest = std::get_if<loops::Nest>(&node.is)) {
        take(*nest, times);
      } else if (const auto* kernel = std::get_if<loops::Kernel>(&node.is)) {
        ++costs_.kernels;
        axes(kernel->axes);
        block(*kernel->body, times * points_of(kernel->axes));
      } else {
        ++costs_.others;
        if (const auto* n = std::get_if<loops::If>(&node.is)) block(*n->then, times), block(*n->otherwise, times);
        if (const auto* n = std::get_if<loops::While>(&node.is)) block(*n->test, times), block(*n->body, times);
        if (const auto* n = std::get_if<loops::Repeat>(&node.is))
          block(*n->body, times * static_cast<double>(evaluate(n->count, sizes_).value_or(1)));
      }
    }
  }

  void axes(std::span<const loops::Axis> all) {
    for (const loops::Axis& axis : all) costs_.lanes += axis.lanes > 1, costs_.unrolled += axis.unroll > 1;
  }

  // What stands behind a reduction runs once for every point of the parallel axes.
  void take(const loops::Nest& nest, double times) {
    ++costs_.nests;
    axes(nest.axes);
    double all = times, outer = times;
    for (const loops::Axis& axis : nest.axes) {
      const double extent = points_of(std::span(&axis, 1));
      all *= extent;
      if (axis.kind != loops::AxisKind::reduction) outer *= extent;
    }
    const std::vector<bool> behind = loops::epilogue(nest);
    costs_.instructions += std::ssize(nest.body) + std::ssize(nest.stores);
    for (size_t i = 0; i < nest.body.size(); ++i) {
      const loops::Instr& instr = nest.body[i];
      const bool once = behind[i] && instr.kind != loops::InstrKind::reduce;
      costs_.work += (once ? outer : all) * schedule::cost_of(instr);
      if (instr.kind == loops::InstrKind::load) moves(instr.buffer, once ? outer : all);
    }
    for (const loops::Store& store : nest.stores) moves(store.buffer, behind[store.value] ? outer : all);
  }

  void moves(loops::BufferId id, double times) {
    const loops::Buffer& buffer = program_.buffers[id];
    ++costs_.accesses;
    if (!buffer.local) costs_.moved += times * static_cast<double>(item_size(buffer.type.dtype));
  }

  const loops::Program& program_;
  std::set<const SymNode*> axes_;
  SymValues sizes_;
  Costs costs_;
};
}  // namespace

Costs costs_of(const loops::Program& program, const SymValues& sizes) { return Counter(program, sizes).run(); }

Memory memory_of(const runtime::MemoryPlan& plan, const SymValues& sizes) {
  Memory made;
  made.arena = evaluate(plan.arena_bytes, sizes).value_or(-1);
  std::map<uint32_t, int64_t> change;  // by node
  for (const runtime::Place& place : plan.places) {
    if (place.kind != runtime::Place::arena) continue;
    const int64_t bytes = evaluate(place.bytes, sizes).value_or(0);
    made.all += (bytes + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment;
    change[place.first] += bytes;
    change[place.last] -= bytes;  // whoever comes next may lie where this one did
  }
  int64_t now = 0;
  for (const auto& [node, bytes] : change) made.peak = std::max(made.peak, now += bytes);
  return made;
}

}  // namespace lenz::fuzz
