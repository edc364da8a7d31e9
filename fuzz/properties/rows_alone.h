// Thread-safety: as property.h.
#pragma once

#include "fuzz/property.h"

namespace lenz::fuzz {

// What goes wrong with one of so many calls of these rows, each a graph of its own; nothing, if all hold.
std::optional<Failure> call_that_fails(std::span<const OpDef* const> rows, const Setting& setting,
                                       const std::string& scratch, int calls);

}  // namespace lenz::fuzz
