// A value in another shape or dtype: what carries data from one call to the next where they don't fit.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/base/chooser.h"
#include "compiler/ops/call_maker.h"

namespace lenz::fuzz {

// New nodes, or the value itself; kNone if it can't be done. Values are moved, dropped or repeated.
ValueId with_sizes(Graph& graph, ValueId v, const Sizes& sizes, Chooser& choose);
ValueId with_dtype(Graph& graph, ValueId v, Dtype dtype);
ValueId as_plain(Graph& graph, ValueId v);  // contiguous at offset 0

}  // namespace lenz::fuzz
