#include "compiler/passes/regions.h"

#include "compiler/graph/alias.h"
#include "compiler/graph/symbol_makers.h"

namespace lenz {

std::vector<uint32_t> regions(const Graph& graph) {
  std::vector<uint32_t> region(graph.node_capacity(), 0);
  uint32_t current = 1;
  graph.for_each_node([&](NodeId id) {
    Effects e = effects(graph, graph.node(id));
    if (e.any()) {
      region[id] = 0;  // stays
      ++current;
    } else {
      region[id] = current;
    }
  });
  SymbolMakers(graph).for_each([&](NodeId id) { region[id] = 0; });
  return region;
}

}  // namespace lenz
