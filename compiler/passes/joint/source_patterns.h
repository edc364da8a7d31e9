// Calls whose result holds the same elements as their first operand: in other strides, or repeated by broadcasting.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& source_patterns();  // each replaces %r with %x; none is ever applied as a rewrite

}  // namespace lenz
