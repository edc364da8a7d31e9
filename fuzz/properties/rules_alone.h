// Thread-safety: as property.h.
#pragma once

#include "fuzz/property.h"

namespace lenz::fuzz {

// What goes wrong with one of so many graphs, each of one rewrite rule in turn; nothing, if all hold.
std::optional<Failure> rule_that_fails(const Setting& setting, const std::string& scratch, int graphs);

}  // namespace lenz::fuzz
