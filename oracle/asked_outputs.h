// What of a run has to be asked for bounds, which cost more than the run: outputs that are another's bit for bit need
// none, and the others what they are made of. Thread-safety: pure functions.
#pragma once

#include <memory>
#include <vector>

#include "compiler/graph/graph.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// Of each output, and behind them of the inputs afterwards together, whether it is to be asked.
using Asked = std::vector<bool>;

// Those in which two runs differ that look the same from outside.
Asked asked_where_different(const Execution& expected, const Execution& got);
Asked all_asked(const Graph& graph);
bool any_asked(const Asked& asked);

// The graph with nothing in the place of the other outputs, and without the nodes that only these need. What it writes
// to inputs, prints or draws stays.
std::unique_ptr<Graph> part_for(const Graph& graph, const Asked& asked);

}  // namespace lenz::oracle
