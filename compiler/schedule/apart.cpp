#include "compiler/schedule/apart.h"

#include <algorithm>
#include <map>

namespace lenz::schedule {

bool keeps_apart(const loops::Nest& nest, Dim axis) {
  std::map<loops::BufferId, size_t> dims;
  for (const loops::Store& s : nest.stores) {
    if (s.mode == loops::StoreMode::assign) continue;
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
      return a.kind == loops::AxisKind::parallel && keeps_apart(*nest, a.symbol);
    });
  });
}

}  // namespace lenz::schedule
