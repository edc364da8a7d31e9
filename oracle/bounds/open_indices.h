// Results that name elements by their index, where the order among these is open.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

// What an ordering call names where each element lies as low, or as high, as it may; undefined: all are exact.
struct IndicesAtEnds {
  at::Tensor low, high;
};

// Opens the indices in whose place another element of `operand` may stand, and says which may: each that may have the
// value that stands there.
void mark_indices(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& indices,
                  const IndicesAtEnds& ends = {});

// What reads elements by indices that may be other ones: each of the results is one of the elements that its own index
// may name. `results` are those of the indices as they are.
void read_by_open_indices(FlowContext& in, const Call& call, const Outcome& results);

}  // namespace lenz::oracle
