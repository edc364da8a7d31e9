// A graph again with other types of its inputs, or other arguments: every type is inferred anew, names, facts,
// initialisers and flags stay. Sub-graphs are copied as they are.
// Thread-safety: as the graph's context.
#pragma once

#include <functional>
#include <memory>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// What becomes of a node's result in the new graph: the value that stands for it there.
using ResultMap = std::function<ValueId(Graph& graph, ValueId made)>;

// Null if a rule refuses. `argument` and `result` may change what they are given.
std::unique_ptr<Graph> rebuilt(const Graph& graph, std::span<const Type* const> inputs,
                               const std::function<Arg(const Arg&, const ParamType&)>& argument = {},
                               const ResultMap& result = {});

// The graph with every float widened to float64 and complex64 to complex128: inputs, dtypes among arguments, constants.
// Null if that is no graph: an op without a type rule, sub-graphs, ops that take no float64.
std::unique_ptr<Graph> widened_graph(const Graph& graph);

}  // namespace lenz::oracle
