// Whether a graph decides anything by numbers that rounding may move: comparisons, whole numbers made of floats,
// indices. Thread-safety: pure.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// Of what its ops are made of too. A sub-graph counts as a decision.
bool decides_by_floats(const Graph& graph);

}  // namespace lenz::oracle
