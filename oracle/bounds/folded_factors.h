// Where a factor may be folded into the product before it. Terms that are multiplied first overflow, and vanish, sooner
// or later than their sum would: where such a product is at its range's end, nothing is promised of what is normalised.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as PlaneStore.
#pragma once

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

// Opens the results of a normalisation by running statistics where its operand is at its dtype's ends, or may be; that
// of NaN stays NaN. Nothing for other calls.
void open_folded_ends(FlowContext& in, const Call& call, const Outcome& out);

}  // namespace lenz::oracle
