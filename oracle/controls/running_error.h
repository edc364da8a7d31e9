// The running-error bound with a probabilistic constant, as the literature has it: an independent criterion to hold our
// bounds against. A sum of n terms may be off by min(n, lambda sqrt(n)) roundings; it is likely, not certain.
// Thread-safety: pure functions.
#pragma once

#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

// One bound per element of the plan's outputs.
std::vector<Elements> running_errors(const Plan& plan, double lambda = 4);

}  // namespace lenz::oracle::controls
