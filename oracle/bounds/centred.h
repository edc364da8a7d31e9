// Errors that reach farther one way than the other: rounding takes a certain number one way alone. The rules of flows.h
// know of errors that reach as far both ways; so they are asked about the middles of intervals.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include <functional>

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

using Flow = std::function<Outcome(FlowContext& in, const Call& call)>;

// What `flow` says of the call; where an operand's error leans, by what it says of the operands' middles, whose errors
// are shorter. Of calls that change nothing and give floats.
Outcome flow_about_middles(FlowContext& in, const Call& call, const Flow& flow);

}  // namespace lenz::oracle
