// What is cast to a float8: that is asked for to have the fewer digits, so no compiler keeps it wider, as it may
// keep what is stored in another narrow dtype, and each number is one of the dtype's own, or what the dtype makes of
// one that is too large. Internal to oracle/bounds; includes libtorch. Thread-safety: pure functions.
#pragma once

#include "oracle/bounds/planes.h"

namespace lenz::oracle {

// Real numbers of `from` in a float8: values, and errors to both sides.
void quantise(const Planes& given, Dtype from, Dtype to, Planes& made);

}  // namespace lenz::oracle
