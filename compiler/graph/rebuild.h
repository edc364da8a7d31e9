// A graph again with other types of its inputs, other arguments, or other facts: every type is inferred anew; names,
// initialisers and flags stay.
// Thread-safety: as the graph's context.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "compiler/graph/graph.h"

namespace lenz {

struct Rebuild {
  std::span<const Type* const> inputs = {};                        // their types; empty: those that they have
  std::function<Arg(const Arg&, const ParamType&)> argument = {};  // what becomes of a node's argument
  std::function<ValueId(Graph&, ValueId)> result = {};  // which value stands for a node's result in the new graph
  // Appends what stands for a node, given its arguments there, and says which values its results are. Nothing: the node
  // itself, as the others say.
  std::function<std::optional<SmallVec<ValueId, 4>>(Graph&, const Node&, std::span<const Arg>)> node = {};
};

// Sub-graphs are copied as they are. Null if a rule refuses.
std::unique_ptr<Graph> rebuilt(const Graph& graph, const Rebuild& how);

// A type, or an argument, with other dims in it: sizes, strides, offsets, numbers.
const Type* with_dims(Context& context, const Type& type, const std::function<Dim(Dim)>& other);
Arg with_dims(Context& context, const Arg& arg, const std::function<Dim(Dim)>& other);

// An argument that is a size, or a list of sizes, with others in their place; any other argument as it is.
Arg with_sizes(Context& context, const Arg& arg, const ParamType& type, const std::function<Dim(Dim)>& other);

// Declares a fact, and in sub-graphs what it says of their symbols, where each call says the same. False if it
// contradicts what the graph knows.
bool declare_everywhere(Graph& graph, const Cond& fact);

// The graph for sizes that its guards exclude: the contrary of those that they break is among its facts, also in
// sub-graphs. Null where all guards hold, and the graph itself is right. UserError where these sizes are no graph: a
// rule refuses them.
std::unique_ptr<Graph> specialised(const Graph& graph, const SymValues& sizes);

}  // namespace lenz
