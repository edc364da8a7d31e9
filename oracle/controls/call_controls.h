// One call of a row, computed in legal ways: whether the judge calls any of them wrong, and how wide the bounds are
// beside what they reach. Thread-safety: one Boxed per thread.
#pragma once

#include <string>
#include <vector>

#include "oracle/controls/histogram.h"
#include "oracle/controls/subject.h"
#include "oracle/known_faults.h"

namespace lenz::oracle::controls {

// Reductions up to here count for how tight a bound is: a bound for any order grows with their length.
inline constexpr size_t kShortReduction = 32;

struct CallControls {
  int runs = 0;           // legal variants
  Histogram tightness;    // bound over the worst deviation reached: a ratio per result, of short reductions,
                          // where no part is left to eager, which computes it in a few widths alone
  std::string alarm;      // empty if no variant is called wrong
  bool known = false;     // eager is at fault in one of its parts
  std::string uncovered;  // why there is no variant, if there is none
};

// The graph's inputs are as it initialises them. `known`: eager's faults, for parts are left to eager.
CallControls control_call(const Graph& graph, Boxed& boxed, int variants, uint64_t seed,
                          std::span<const KnownFault> known);

}  // namespace lenz::oracle::controls
