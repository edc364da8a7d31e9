#include "compiler/schedule/apart.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "compiler/graph/overlap.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/kept_columns.h"

namespace lenz::schedule {

bool keeps_apart(const loops::Program& program, const loops::Nest& nest, Dim axis) {
  std::map<loops::BufferId, size_t> dims;
  for (const loops::Store& s : nest.stores) {
    if (s.mode == loops::StoreMode::assign) continue;
    const loops::Buffer& b = program.buffers[s.buffer];
    if (b.placed && may_meet(program.assumptions.known(), b.type.sizes, b.type.strides)) return false;
    auto found = std::ranges::find(s.index, axis);
    if (found == s.index.end()) return false;
    const auto dim = static_cast<size_t>(found - s.index.begin());
    if (dims.try_emplace(s.buffer, dim).first->second != dim) return false;
  }
  return true;
}

void move_out_axes_apart(loops::Program& program) {
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<loops::Nest>(&node.is);
    if (nest == nullptr) return;
    std::ranges::stable_partition(nest->axes, [&](const loops::Axis& a) {
      return a.kind == loops::AxisKind::parallel && keeps_apart(program, *nest, a.symbol);
    });
  });
}

namespace {

// Buffers that hold what a reduction gave, or what was made of that element by element.
std::unordered_set<loops::BufferId> statistics_of(const loops::Program& program) {
  std::unordered_set<loops::BufferId> found;
  for_each_node(program.body, [&](const loops::Node& node) {
    const auto* nest = std::get_if<loops::Nest>(&node.is);
    if (nest == nullptr) return;
    auto tells_every_axis = [&](const DimVec& index) {
      return std::ranges::all_of(
          nest->axes, [&](const loops::Axis& a) { return std::ranges::find(index, a.symbol) != index.end(); });
    };
    const bool is = std::ranges::any_of(nest->body, [&](const loops::Instr& i) {
      return i.kind == loops::InstrKind::reduce ||
             (i.kind == loops::InstrKind::load && found.contains(i.buffer) && tells_every_axis(i.index));
    });
    for (const loops::Store& s : nest->stores)
      if (is) found.insert(s.buffer);
  });
  return found;
}

constexpr int64_t kRow = 256;                  // bytes of neighbours that are worth a visit
constexpr int64_t kKept = int64_t{256} << 10;  // that a cache keeps of a kernel's point

// Whether the axes that a statistic has are columns, which a cache keeps between a kernel's phases: they are long
// enough in memory by themselves.
bool are_columns(const loops::Program& program, const loops::Nest& nest, const std::vector<Dim>& of_statistic,
                 int64_t item_bytes) {
  Dim rows = 1, columns = 1;
  std::vector<loops::Axis> inner, axes;
  for (const loops::Axis& a : nest.axes) {
    const bool has = std::ranges::find(of_statistic, a.symbol) != of_statistic.end();
    (has ? columns : rows) *= a.extent;
    (has ? axes : inner).push_back(a);
  }
  if (!columns_stay(rows, inner.size(), columns, item_bytes)) return false;
  Dim run = axes.back().extent;
  for (size_t k = axes.size() - 1; k-- > 0 && collapsible(program, nest, axes, k);) run *= axes[k].extent;
  return !run.is_constant() || run.constant() * item_bytes >= kRow;
}

// The axes that index what the load reads, if these are some of the nest's axes. Where the innermost is one of them it
// moves if they are columns; else it stays, and the others move only if a point of the kernel would have more between
// its phases than caches keep.
std::vector<Dim> axes_of(const loops::Program& program, const loops::Nest& nest, const loops::Instr& load,
                         int64_t item_bytes) {
  std::vector<Dim> made;
  for (Dim d : load.index) {
    if (d.is_constant()) continue;
    auto axis = std::ranges::find(nest.axes, d, &loops::Axis::symbol);
    if (axis == nest.axes.end() || std::ranges::find(made, d) != made.end()) return {};
    made.push_back(d);
  }
  auto innermost = std::ranges::find(made, nest.axes.back().symbol);
  if (innermost == made.end() || are_columns(program, nest, made, item_bytes)) return made;
  made.erase(innermost);
  Dim bytes = item_bytes;
  size_t shared = 0;
  while (shared < made.size() && nest.axes[shared].symbol == made[shared]) ++shared;
  for (size_t k = shared; k < nest.axes.size(); ++k) bytes *= nest.axes[k].extent;
  const Dim row = nest.axes.back().extent * item_bytes;
  const bool worth_while = bytes.is_constant() && bytes.constant() > kKept && row.constant() >= kRow;
  return worth_while ? made : std::vector<Dim>{};
}

}  // namespace

void move_out_axes_of_statistics(loops::Program& program) {
  const std::unordered_set<loops::BufferId> statistics = statistics_of(program);
  std::map<loops::BufferId, std::vector<size_t>> moved;  // which dims, of buffers whose nests were changed
  for_each_node(program.body, [&](loops::Node& node) {
    auto* nest = std::get_if<loops::Nest>(&node.is);
    if (nest == nullptr || nest->axes.empty() || stands_alone(nest->tag)) return;
    auto parallel = [](const loops::Axis& a) { return a.kind == loops::AxisKind::parallel; };
    auto assigns = [](const loops::Store& s) { return s.mode == loops::StoreMode::assign; };
    if (!std::ranges::all_of(nest->axes, parallel) || !std::ranges::all_of(nest->stores, assigns)) return;
    std::vector<Dim> first;
    for (const loops::Instr& i : nest->body) {
      if (auto of = moved.find(i.buffer); i.kind == loops::InstrKind::load && of != moved.end()) {
        first.clear();
        for (size_t d : of->second) first.push_back(i.index[d]);
        break;
      }
      if (first.empty() && i.kind == loops::InstrKind::load && statistics.contains(i.buffer))
        first = axes_of(program, *nest, i, item_size(i.dtype));
    }
    auto is_axis = [&](Dim d) { return std::ranges::find(nest->axes, d, &loops::Axis::symbol) != nest->axes.end(); };
    if (first.empty() || !std::ranges::all_of(first, is_axis)) return;
    std::ranges::stable_sort(nest->axes, {},
                             [&](const loops::Axis& a) { return std::ranges::find(first, a.symbol) - first.begin(); });
    for (const loops::Store& s : nest->stores)
      for (Dim f : first)
        if (auto d = std::ranges::find(s.index, f); d != s.index.end())
          moved[s.buffer].push_back(static_cast<size_t>(d - s.index.begin()));
  });
}

}  // namespace lenz::schedule
