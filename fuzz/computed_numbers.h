// Numbers and sizes that a graph computes, from sizes of what it has and from numbers that are handed over to it.
// Thread-safety: as the graph's.
#pragma once

#include <vector>

#include "fuzz/graph_calls.h"

namespace lenz::fuzz {

// Instead of the same as literals, among a call's arguments; now and then a truth instead of a number. `outermost`: the
// graph is no sub-graph, whose inputs are what its call has; it may get a few that are numbers.
void compute_numbers(Growth& growth, Chooser& choose, bool outermost, const OpDef& op, std::vector<Arg>& args);

// One number among a call's arguments becomes one that only the run knows: what decides steps, what a dtype can't hold.
void number_of_the_run(Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args);

// A tensor as long as another one of which only the run knows how long it is.
void as_long_as(Graph& graph, ValueId v);

}  // namespace lenz::fuzz
