// What a graph does beside its results: it prints, and says what must hold. A chain of tokens keeps these in order,
// also through branches and loops. Thread-safety: as the graph's.
#pragma once

#include "fuzz/graph_calls.h"

namespace lenz::fuzz {

// One more line that is printed, or one more thing that must hold, behind all that are there.
void add_effect(Growth& growth, Chooser& choose);

}  // namespace lenz::fuzz
