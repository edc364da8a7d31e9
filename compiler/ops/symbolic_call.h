// A generated call as a graph: inputs, one node, its results as outputs.
// Thread-safety: one call per thread.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz {

// As it was drawn, of this row, which may be another one than drew it.
std::unique_ptr<Graph> as_graph(const OpDef& op, DrawnCall call);

// With its sizes open: a symbol in each place of a size from 2 on, the same for equal ones, of the range if one is
// given; operands are dense and declare no initialiser. Null where the op needs numbers, or where no size became a
// symbol.
std::unique_ptr<Graph> with_symbolic_sizes(const DrawnCall& call, std::optional<Range> range = std::nullopt);

}  // namespace lenz
