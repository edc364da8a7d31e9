// Zeros of elementwise primitives whose sign is nobody's promise: what they make of those of their operands.
// Thread-safety: pure functions.
#pragma once

#include "oracle/bounds/elementwise.h"

namespace lenz::oracle {

// Where a certain zero of an operand may have either sign, the row gives what it gives for both: opens what differs.
// Says whether a zero takes its sign from there, of what may be zero too.
void open_loose_zeros(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                      int64_t count, ElementsOut& out);

}  // namespace lenz::oracle
