// A graph's twin that writes in place: what nobody reads again is overwritten by the op that reads it last, and joined
// tensors are copied into views of an empty one. It means the same, so whatever is a legal result of the graph is one
// of its twin.
// Thread-safety: pure.
#pragma once

#include <memory>

#include "compiler/graph/graph.h"

namespace lenz::oracle::controls {

// With the same inputs and outputs. Null where nothing can be written in place.
std::unique_ptr<Graph> with_writes(const Graph& graph);

}  // namespace lenz::oracle::controls
