// Finds where a rule's match stands in a graph.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/pattern.h"
#include "compiler/graph/pattern_functions.h"

namespace lenz {

struct Match {
  const Rule* rule = nullptr;
  std::vector<NodeId> nodes;  // by Rule::nodes
  Bindings bound;
  std::vector<bool> exchanged;  // nodes whose first two operands stand the other way round
};

// The first match of `rule` whose root is `root`, in a fixed order of trying; nothing if there is none. Nodes of the
// match are distinct; a matched value that is neither replaced nor shared has no user outside the match.
std::optional<Match> match(const Graph& graph, const RuleSet& rules, const Rule& rule, NodeId root);

}  // namespace lenz
