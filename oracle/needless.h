// A refusal that nobody asked for: eager runs every node, and raises at one whose results nobody needs. A compiler
// drops such a node, and with it the error: what is pure and unseen is no effect. So a graph that raises there may also
// end as it does without that node. Thread-safety: pure functions.
#pragma once

#include <memory>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// The graph without a node of its outermost level and all that is made of it; null where anybody could tell: an output,
// an input, an effect or a size depends on it, or it draws from the ambient generator.
std::unique_ptr<Graph> without_needless(const Graph& graph, NodeId node);

}  // namespace lenz::oracle
