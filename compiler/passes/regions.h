// Where nodes may move.
// Thread-safety: as the graph's.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace lenz {

// Between two writes, or two other effects, order is free but for data and symbols. Regions are numbered from 1 on,
// from the start of the graph, by NodeId; a node may only move inside its own, and one of region 0 not at all: it has
// an effect, or later nodes may say a symbol that it makes.
std::vector<uint32_t> regions(const Graph& graph);

}  // namespace lenz
