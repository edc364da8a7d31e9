// Thread-safety: as property.h.
#pragma once

#include "compiler/ops/op_table.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// Those that have a generator, and a rule to ask.
std::span<const OpDef* const> rows_that_are_drawn();

// Draws so many calls of these rows, and says which of them its own rule refuses.
std::optional<Failure> refused_call(std::span<const OpDef* const> rows, uint64_t seed, int calls);

}  // namespace lenz::fuzz
