// Thread-safety: as property.h.
#pragma once

#include "compiler/ops/op_table.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// Breaks so many calls of these rows, and says which of them a rule takes as eager doesn't.
std::optional<Failure> wrongly_taken_call(std::span<const OpDef* const> rows, uint64_t seed, int calls);

}  // namespace lenz::fuzz
