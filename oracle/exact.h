// Exact mode: inputs of small integers, chosen so that every floating operation of a graph is exact in its dtype,
// whatever the order of its sums, and contracted or not. Then any legal compilation gives the same bits.
//
// Magnitudes are carried through the graph: of elementwise ops by their scalar primitive at the corners of the box, of
// what moves or picks elements by the greatest operand, of what accumulates by running the op on constants of the
// operands' magnitudes, after it gave integers for integers. All must stay below 2^(p-1).
// Thread-safety: free functions over the caller's values.
#pragma once

#include <span>
#include <string>

#include "oracle/binding.h"
#include "oracle/boxed.h"
#include "oracle/demands.h"

namespace lenz::oracle {

struct ExactPlan {
  int range = 0;    // floating inputs may hold integers in [-range, range]; 0: nothing keeps the graph exact
  std::string why;  // then: the node and what is wrong with it
  bool possible() const { return range > 0; }
};

ExactPlan plan_exact(const Graph& graph, Boxed& boxed, const Binding& binding);
// `demands`: of the graph at these sizes (demands.h).
ExactPlan plan_exact(const Graph& graph, Boxed& boxed, const Binding& binding, std::span<const Demand> demands);

}  // namespace lenz::oracle
