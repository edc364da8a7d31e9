// Convolutions and linear maps whose result is normalised by running statistics.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& batch_norm_patterns();

}  // namespace lenz
