// Algebra as rules: what holds bit for bit, in the dtypes where it does.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& algebraic_patterns();

// (sizes, number, *, dtype, layout, device, pin_memory): every element is this number.
std::string_view filled_form();

}  // namespace lenz
