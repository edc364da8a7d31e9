// Arguments on their way from one graph to another.
// Thread-safety: as the context's.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

// The argument where value v is ids[v].
Arg renumbered(Context& context, const Arg& arg, std::span<const ValueId> ids);

}  // namespace lenz
