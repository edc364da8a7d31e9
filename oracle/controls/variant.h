// One legal way to compute a graph: a perturbing executor in plain C++, but for parts that a plan
// leaves to eager. What it chooses, for every primitive:
//
// * where a floating result is rounded to: its dtype, f32 or f64 (f64: kept as the unevaluated sum of two);
// * whether numbers in the graph are rounded first, and narrow dtypes computed through f32;
// * how far, and which way, a function is off within its row's accuracy, or what eager is known to take where that is
//   more (the bounds grant it too), and by which formula it is computed (exp by exp2, division by reciprocal, each
//   brought back into the accuracy where it leaves it);
// * the order of a reduction, its accumulator's dtype, contraction of products;
// * whether a composite is computed by its definition or in one go: softmax online, variance by Welford's recurrence.
//
// The plainest of everything is choice 0. A mutant is a variant with one fault.
// Thread-safety: one run per thread; the plan is shared.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/chooser.h"
#include "oracle/controls/mutant.h"
#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

struct VariantOptions {
  const Mutation* mutation = nullptr;
  bool by_definition = false;                // no composite in one go: where mutants are held against what they mutate
  std::vector<std::string>* said = nullptr;  // gets a line for each primitive that is not computed in the plainest way
};

// Elements of the plan's outputs, each rounded to its dtype.
std::vector<Elements> run_variant(const Plan& plan, Chooser& choose, const VariantOptions& options = {});

}  // namespace lenz::oracle::controls
