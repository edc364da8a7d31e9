// Numbers among a call's arguments that its generator would not draw: far away ones, and those that its row singles
// out. Thread-safety: as the graph's.
#pragma once

#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// A number beside integers of so many bits that what is made of both has more, if the call takes one.
void far_number(const Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args);

// A flag or a number: what differs from another call in that alone is another call.
void change_one(Chooser& choose, const OpDef& op, std::vector<Arg>& args);

// One operand becomes a number that the row singles out, what it ignores or what swallows all else, or one beside it.
// The tensor that is filled with it, if it has to stand in one.
ValueId single_out(Graph& graph, Chooser& choose, const OpDef& op, std::vector<Arg>& args);

}  // namespace lenz::fuzz
