// Changes one thing of a legal call, mostly into something that eager refuses: a dtype, a size, a rank, a dim that is
// out of range, a number beyond a dtype's, a list of the wrong length. What it makes may still be legal; who asks must
// look. Thread-safety: one call per thread.
#pragma once

#include <string>

#include "compiler/ops/call_maker.h"

namespace lenz {

// Says what was changed; empty if the call has nothing to change. Tensors of indices are refilled with zeros, so that a
// refusal is the arguments' doing and not that of values which no longer fit.
std::string break_call(DrawnCall& call, Chooser& chooser);

}  // namespace lenz
