// Convolutions that are matrix products.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& convolution_patterns();

}  // namespace lenz
