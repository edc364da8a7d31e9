// Thread-safety: as property.h.
#pragma once

#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// Those that have a generator, and a rule to ask.
std::span<const OpDef* const> rows_that_are_drawn();

// Eager's kernels for convolutions die of calls that are legal: of half floats of large strides, say, or where the row
// says so.
bool eager_may_die(const OpDef& op, const DrawnCall& call);
bool eager_may_die(const OpDef& op, bool of_half_floats);

// Draws so many calls of these rows, and says which of them its own rule refuses, or says otherwise of than eager.
std::optional<Failure> misjudged_call(std::span<const OpDef* const> rows, uint64_t seed, int calls);

}  // namespace lenz::fuzz
