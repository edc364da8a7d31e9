// Refusals of eager's that values decide, or that are faults: a row's `exception` quotes what eager says there, between
// backquotes; its clauses are parted by semicolons. Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

// Whether the row's `exception` has words between backquotes that eager says here.
bool quotes(const OpDef& op, std::string_view said);
// The first row with a call in the graph, or in one inside it, that quotes what was said; empty: none does.
std::string row_that_quotes(const Graph& graph, std::string_view said);
// The same of words in a clause that says what the row's meaning does `not ask`: whoever computes by it finishes.
std::string row_that_does_not_ask(const Graph& graph, std::string_view said);

}  // namespace lenz::oracle
