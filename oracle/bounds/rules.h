// By which rule the errors of a call's results follow from those of its operands: its row says so, or its traits do.
// Internal to oracle/bounds. Thread-safety: pure functions.
#pragma once

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

using Rule = Outcome (*)(FlowContext& in, const Call& call);

Rule rule_for(const Call& call);
bool is_scalar_row(const OpDef& op);  // it has a rule of its own, its primitive's

}  // namespace lenz::oracle
