// Calls that return an operand for some of their arguments, as rules: what a row alone can't say.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& noop_patterns();

}  // namespace lenz
