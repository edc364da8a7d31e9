// What a case draws beside its own graph: small graphs that stand alone, each judged by a few properties.
// Thread-safety: as property.h.
#pragma once

#include "fuzz/case.h"

namespace lenz::fuzz {

// What is wrong with one of them, as `property` says it: blamed, and with the graph for whoever reduces it
// (Failure::inner). Nothing: it holds. `of`: what it was drawn for, for people.
std::optional<Failure> failure_of_drawn(std::string_view property, std::string_view of, const Graph& graph,
                                        const Setting& setting, CaseRunner& runner);

// Graphs that a property draws beside each case.
struct Drawn {
  std::string_view property;
  About about = About::rules;
  int graphs = 1;
  std::vector<const Property*> asked;
  size_t most = GrowOptions{}.most;  // ops
  bool control = false;              // some branch, or go round
};
// What goes wrong with one of them; nothing, if all hold. Of those that eager may die of, none is asked anything: whose
// death it is shows where they are the case.
std::optional<Failure> drawn_that_fails(const Drawn& drawn, const Setting& setting, const std::string& scratch);

}  // namespace lenz::fuzz
