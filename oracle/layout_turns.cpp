#include "oracle/layout_turns.h"

#include "oracle/known_faults.h"

namespace lenz::oracle {

std::optional<LayoutClass> LayoutTurns::next() const {
  std::optional<LayoutClass> found;
  for (size_t k = 0; k < kLayoutClasses; ++k) {
    const auto layout = static_cast<LayoutClass>((start_ + k) % kLayoutClasses);
    if (left_.contains(layout)) continue;
    if (!found || had_[static_cast<size_t>(layout)] < had_[static_cast<size_t>(*found)]) found = layout;
  }
  return found;
}

std::set<LayoutClass> layouts_of(const Graph& graph) {
  std::set<LayoutClass> all;
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (t.is_tensor()) all.insert(layout_of(t, {}));
    for (const Type* e : t.elements()) all.insert(layout_of(*e, {}));
  }
  return all;
}

}  // namespace lenz::oracle
