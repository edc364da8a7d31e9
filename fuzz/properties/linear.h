// Graphs that are larger by standing many times beside themselves. Thread-safety: as the graph's.
#pragma once

#include <memory>

#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// The graph so many times beside itself, with inputs of each copy's own. Null: it has sub-graphs, or makes numbers that
// only the run knows, which belong to one node each.
std::unique_ptr<Graph> beside_itself(const Graph& graph, size_t times);

}  // namespace lenz::fuzz
