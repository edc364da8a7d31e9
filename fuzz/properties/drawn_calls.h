// Thread-safety: as property.h.
#pragma once

#include "compiler/ops/op_table.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// Draws so many calls of these rows, and says which of them its own rule refuses.
std::optional<Failure> refused_call(std::span<const OpDef* const> rows, uint64_t seed, int calls);

}  // namespace lenz::fuzz
