// Rules of a few nodes that keep every bit.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& idiom_patterns();

}  // namespace lenz
