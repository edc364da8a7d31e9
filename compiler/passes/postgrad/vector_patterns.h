// Matrix products that have a vector for a factor.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& vector_patterns();

}  // namespace lenz
