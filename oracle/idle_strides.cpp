#include "oracle/idle_strides.h"

#include <algorithm>

namespace lenz::oracle {

bool has_open_sizes(const Graph& graph, const Arg& value) {
  bool found = false;
  for_each_value(value, [&](ValueId v) {
    for_each_symbolic_dim(graph.type(v), [&](Dim d) { found = found || graph.assumptions.mentions_open(d); });
  });
  return found;
}

Seen with_idle_strides(Seen seen, std::span<const int64_t> strides) {
  const bool empty = std::ranges::find(seen.sizes, 0) != seen.sizes.end();
  for (size_t d = 0; d < seen.strides.size(); ++d)
    if (empty || seen.sizes[d] == 1) seen.strides[d] = d < strides.size() ? strides[d] : 0;
  return seen;
}

}  // namespace lenz::oracle
