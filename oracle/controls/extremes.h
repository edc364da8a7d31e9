// How far from each other legal compilations get, element by element. A compiler may compute a value anew for each of
// its readers, and an element in a vector's lanes or in the tail behind them: so what is chosen for an element of one
// reader binds no other, and every element of every result is the root of a tree whose choices are its own. What is
// found is attained by that tree; there may be values farther out that are not found.
// Thread-safety: pure functions.
#pragma once

#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

// By output of the plan, each element rounded to its dtype. NaN where a legal computation gives it.
struct Extremes {
  std::vector<Elements> least, greatest;
};
struct Pains {
  int tries = 0;  // more orders of each sum, by chance but always the same; and more units that steps are computed in
  size_t climbs = 1;  // with tries: the best order is climbed from in so many times the usual number of steps
};
Extremes find_extremes(const Plan& plan, const Pains& pains = {});

}  // namespace lenz::oracle::controls
