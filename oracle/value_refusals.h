// What eager refuses by values, or wrongly, where a row's meaning does not ask: the row's `exception` quotes what eager
// says there, between backquotes. Whoever computes by the meaning need not refuse it. Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// Whether the row's `exception` has words between backquotes that eager says here.
bool quotes(const OpDef& op, std::string_view said);
// The first row with a call in the graph, or in one inside it, that quotes what was said; empty: none does.
std::string row_that_quotes(const Graph& graph, std::string_view said);

}  // namespace lenz::oracle
