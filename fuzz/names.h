// Names as people and other programs give them: with dots, blanks, quotes, bytes that are no text.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// Gives some of a graph's values names, and those of its sub-graphs, which get others too. What is computed stays.
void give_names(Graph& graph, Chooser& choose);

}  // namespace lenz::fuzz
