// A graph with the definitions of its ops in their place, for analyses: what holds of few primitives then holds of all.
// Types and layouts of what a definition gives may differ from its op's, so the result is not for running.
// Thread-safety: as the graph's.
#pragma once

#include <functional>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// Where a definition refuses its arguments, mutates, or there are 20,000 nodes already, the op stays. `before` is
// called with each node that is about to be expanded.
void expand_definitions(Graph& graph, const std::function<void(const Node&)>& before = {});

}  // namespace lenz::oracle
