// Views that are lazily conjugated: the storage holds the conjugates of what the view shows, and eager remembers it
// with a bit. No type says so; the chain of views does.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

// Whether this value, a complex tensor, is a lazily conjugated view.
bool is_lazily_conjugated(const Graph& graph, ValueId v);

}  // namespace lenz
