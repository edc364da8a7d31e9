// Where a factor may be folded into the product before it. Terms that are multiplied first overflow, and vanish, sooner
// or later than their sum would: where such a product is at its range's end, nothing is promised of what is normalised.
// And each weight is rounded once more, and the sum has what it is moved by among its terms.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as PlaneStore.
#pragma once

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

// Of the first result of a normalisation by running statistics: opens it where its operand is at its dtype's ends, or
// may be (that of NaN stays NaN), and adds what folding rounds where the operand is a sum of products. Nothing for
// other calls.
void allow_folding(FlowContext& in, const Call& call, const Outcome& out);

// Of a contraction's step that adds something to its products: who adds that first rounds it at each of them.
void allow_bias_first(FlowContext& in, const Call& step, const Outcome& out);

}  // namespace lenz::oracle
