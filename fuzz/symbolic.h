// A graph of constant sizes with symbols in the place of some, so that one program has to serve many sizes.
// Thread-safety: as the graph's context.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// Null where no size can be left open. Equal sizes often become one symbol; the chooser says which stay numbers.
// `sizes`: those that the symbols stand for, "s0=4,s1=2".
std::unique_ptr<Graph> with_symbols(const Graph& graph, Chooser& choose, std::string& sizes);

}  // namespace lenz::fuzz
