// Writes that nobody sees: all that they wrote is written again, from end to end, before anybody reads it.
// Thread-safety: pure functions.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// Nodes that do nothing else: they may go, whoever uses their results taking what these are written to.
std::vector<NodeId> overwritten(const Graph& graph);
void erase_overwritten(Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace lenz::oracle
