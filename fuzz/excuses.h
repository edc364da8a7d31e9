// Ops of a graph of which it is known that eager's values are at fault, or that they leave something open: lines of
// oracle/values_known.txt and oracle/loops_known.txt. A graph that calls one proves nothing by its values.
// Thread-safety: constant data.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// "aten.avg_pool3d.out: writes in the order of a contiguous tensor"; empty: there is none.
std::string excuse_of(const Graph& graph, const SymValues& sizes);
// Where one run raised and another did not: the row whose `exception` quotes what was said, for values decide there.
std::string refusal_excuse(const Graph& graph, std::string_view said);

}  // namespace lenz::fuzz
