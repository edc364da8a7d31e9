// What a case draws beside its own graph: small graphs that stand alone, each judged by a few properties.
// Thread-safety: as property.h.
#pragma once

#include "fuzz/case.h"

namespace lenz::fuzz {

// What is wrong with one of them, as `property` says it: blamed, and with the graph for whoever reduces it
// (Failure::inner). Nothing: it holds. `of`: what it was drawn for, for people.
std::optional<Failure> failure_of_drawn(std::string_view property, std::string_view of, const Graph& graph,
                                        const Setting& setting, CaseRunner& runner);

}  // namespace lenz::fuzz
