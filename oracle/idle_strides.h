// Where only a run knows a tensor's sizes, its type's strides are right for dims of several elements; of one or none
// eager may have others, and no element's place depends on them.
// Thread-safety: pure functions.
#pragma once

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

// Whether a value's type speaks of such sizes.
bool has_open_sizes(const Graph& graph, const Arg& value);
// The same with these strides (none: zeros) where no element's place depends on them.
Seen with_idle_strides(Seen seen, std::span<const int64_t> strides);

}  // namespace lenz::oracle
