// Structural equality of graphs, across contexts too.
//
// Two graphs are equal when they do the same ops in the same order: nodes are compared one by one in the order of the
// list, with their arguments, result types and storage; then outputs, inputs (types, flags, initialisers, which share
// an alias class), level, facts and guards (as sets). Names do not count: those of values, graphs, sub-graphs, alias
// classes and origins. The names of symbols do: they are what facts and callers know sizes by. A list of integers is
// the same list whichever kind of Arg holds it, and an integer given to a float parameter is that float.
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace lenz {

// `why`, if not null, gets the first difference.
bool structurally_equal(const Graph& a, const Graph& b, std::string* why = nullptr);

// Consistent with structurally_equal, and the same on every machine.
uint64_t structural_hash(const Graph& graph);

// Pieces, for comparisons of parts.
bool same_type(const Type& a, const Type& b);
std::vector<uint32_t> value_numbers(const Graph& graph);  // of each id, in order of definition; kNone for a dead one

}  // namespace lenz
