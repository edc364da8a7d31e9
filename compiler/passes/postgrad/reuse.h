// Where a result may take the memory of an operand: reinplacing, recorded as candidates. A graph of values knows no
// memory, so nothing is rewritten here; a plan that places buffers may take a candidate or leave it.
// Thread-safety: as the graph's.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz {

struct Reuse {
  NodeId node = kNone;
  ValueId result = kNone;
  // Of the same type to the last stride. Either an operand that nobody reads any more, or an input that the result is
  // copied to at the end and that nobody reads from here on.
  ValueId memory = kNone;
};

// In the order of nodes. Safe each by itself and all together: an elementwise node reads each element before it writes
// it, and no other value of that memory is seen later, by a node, a sub-graph or the caller.
std::vector<Reuse> reuse_candidates(const Graph& graph);

std::string print(const Graph& graph, const std::vector<Reuse>& candidates);  // a line each

}  // namespace lenz
