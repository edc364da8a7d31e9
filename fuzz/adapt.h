// A value in another shape or dtype: what carries data from one call to the next where they don't fit.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/base/chooser.h"
#include "compiler/ops/call_maker.h"

namespace lenz::fuzz {

// New nodes, or the value itself; kNone if it can't be done. Values are moved, dropped or repeated.
ValueId with_sizes(Graph& graph, ValueId v, const Sizes& sizes, Chooser& choose);
ValueId with_dtype(Graph& graph, ValueId v, Dtype dtype);
ValueId spread(Graph& graph, ValueId v, Chooser& choose);  // with a dim more, along which it is the same
ValueId as_plain(Graph& graph, ValueId v);                 // contiguous at offset 0

// Whether a product's operands do not meet, as most that are drawn do not: its rule would refuse them too, by an
// exception that takes longer than all else of a call.
bool do_not_meet(const Graph& graph, const OpDef& op, std::span<const Arg> args);

}  // namespace lenz::fuzz
