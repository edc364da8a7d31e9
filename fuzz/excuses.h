// Ops of a graph of which it is known that eager's values are at fault, or that they leave something open: lines of
// oracle/values_known.txt and oracle/loops_known.txt.
// Thread-safety: constant data.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace lenz::fuzz {

// What may be excused by what is known: how a run ended and what eager's own values led to, anything; elements of what
// passes made, as eager computes it, faults that no leeway bounds (oracle::Rewritten has given leeway already);
// elements of loops, of code, and eager's beside the reference, what was left open alone: eager's faults are in none of
// them, or have been asked for (wrong(), eager_against_reference()).
enum class Excused : uint8_t { anything, unbounded, left_open };
Excused excused(std::string_view symptom, bool by_eager);

// "aten.avg_pool3d.out: writes in the order of a contiguous tensor"; empty: there is none.
std::string excuse_of(const Graph& graph, const SymValues& sizes, Excused what);
// Where one run raised and another did not: the row whose `exception` quotes what was said, for values decide there.
std::string refusal_excuse(const Graph& graph, std::string_view said);

}  // namespace lenz::fuzz
