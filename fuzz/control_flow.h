// Branches and loops over sub-graphs that grow as their graph does.
// Thread-safety: as the graph's.
#pragma once

#include <functional>

#include "fuzz/graph_calls.h"

namespace lenz::fuzz {

// Grows this many more steps.
using GrowSteps = std::function<void(Growth& growth, size_t steps)>;

// A node with sub-graphs, its results among the growth's values. Nothing where its values don't allow one.
void control_flow(Growth& growth, Chooser& choose, const GrowSteps& grow);

}  // namespace lenz::fuzz
