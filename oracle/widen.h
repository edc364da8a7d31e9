// A graph in float64.
// Thread-safety: as the graph's context.
#pragma once

#include <memory>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// The graph with every float widened to float64 and complex64 to complex128: inputs, dtypes among arguments, constants.
// Random ops draw in the dtypes that the graph has, for in others they draw other numbers.
// Null if that is no graph: an op without a type rule, sub-graphs, ops that take no float64.
std::unique_ptr<Graph> widened_graph(const Graph& graph);

// Whether what an op gives are its operand's bits, read as another dtype: of what is widened they are others.
bool reads_bits(const OpDef& op);

}  // namespace lenz::oracle
