// Convolutions and linear maps whose result is normalised by running statistics.
// Thread-safety: constant.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

const RuleSet& batch_norm_patterns();
// Whether rules look for such a call: normalisation by running statistics.
bool may_be_folded(const OpDef& op, std::span<const Arg> args);

}  // namespace lenz
