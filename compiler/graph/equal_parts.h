// Structural equality of the pieces that IRs share (equal.h says what equal means).
// Thread-safety: pure functions.
#pragma once

#include <functional>
#include <string>

#include "compiler/graph/graph.h"

namespace lenz {

bool same_op(const OpDef& a, const OpDef& b);
bool same_assumptions(const Assumptions& a, const Assumptions& b, std::string& why);
// `for_float`: of a float parameter. `same_reference` compares values and sub-graphs.
bool same_arg(const Arg& a, const Arg& b, bool for_float,
              const std::function<bool(const Arg&, const Arg&)>& same_reference);

}  // namespace lenz
