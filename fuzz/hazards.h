// Reads and writes of one memory in some order, each of all of it or through a look of its own: what moves past
// another, or takes its place, has to see where they meet. Thread-safety: as the graph's.
#pragma once

#include <functional>

#include "fuzz/graph_calls.h"

namespace lenz::fuzz {

// Appends a call of a row with this operand, and with others from `beside` where they fit.
using CallWith = std::function<void(const OpDef& op, ValueId operand, std::optional<ValueId> beside)>;
void grow_hazards(Growth& growth, Chooser& choose, const Pool& pool, bool write, const CallWith& call);

// Draws beside each other, of which some read what others drew: none may take another's turn in the stream.
void grow_draws(Growth& growth, Chooser& choose, const Pool& pool, const CallWith& call);

// Another input in the memory of one that is there: the same places, some of them, or in another order. That one, and
// the new one, kNone where there is none.
std::pair<ValueId, ValueId> input_in_memory_of_another(Growth& growth, Chooser& choose);

}  // namespace lenz::fuzz
