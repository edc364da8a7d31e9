// Signs of the zeros that a call gives, by what its op does and what its operands hold. Those of a scalar row's results
// its own rule knows (zero_signs.h).
// Internal to oracle/bounds; includes libtorch. Thread-safety: as PlaneStore.
#pragma once

#include "oracle/bounds/call.h"
#include "oracle/bounds/planes.h"

namespace lenz::oracle {

// Whether the op's zeros have the signs that its operands' have, or ones that it promises.
bool keeps_zero_signs(const PlaneStore& store, const Call& call);

// Whether the zeros of a sum, or of what picks among elements, are positive for certain. A sum may begin with 0 or with
// a term, and of two zeros either may be picked: that shows where one is negative. With no elements a sum is where it
// begins.
bool zeros_are_positive(const PlaneStore& store, const Call& call);

}  // namespace lenz::oracle
