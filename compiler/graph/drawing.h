// Whether calls ask a generator for numbers: what rows say of it, before anybody looks at what becomes of the results.
// Thread-safety: pure functions.
#pragma once

#include <span>

#include "compiler/graph/graph.h"

namespace lenz {

// A random op always does; one that draws by its definition only where the parameter that its `sampling` names is above
// 0, or not known.
bool draws_numbers(const OpDef& op, std::span<const Arg> args);

}  // namespace lenz
