// Handing a node another operand, where nobody can tell from its results.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"

namespace lenz {

// Whether `user`, of an op with one of these traits, may read `to` where it reads `from`: both hold the same elements
// (the caller knows that), perhaps in other strides or before they are broadcast, and the results' types and aliasing
// stay as they are.
bool may_read(Graph& graph, NodeId user, ValueId from, ValueId to, Traits users = Trait::elementwise);
// Does it.
void read_instead(Graph& graph, NodeId user, ValueId from, ValueId to);

// Every user with one of these traits reads what its operand was copied or expanded from (source_patterns.h).
void read_sources(Graph& graph, PassContext& context, Traits users);

}  // namespace lenz
