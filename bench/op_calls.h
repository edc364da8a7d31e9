// Calls of a row as a user makes them: generated ones (compiler/ops/call_maker.h), grown to the sizes of ordinary work.
// Thread-safety: pure functions over a constant table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz::bench {

struct OpCalls {
  std::vector<std::unique_ptr<Graph>> graphs;  // inputs, one node, its results as outputs
  std::string none;                            // why there are no calls
};

// At most `count` calls, each another one. Operands are dense, those of floats of this dtype where the row takes it,
// else of the plainest that it takes. The largest operand or result has `elements` elements or somewhat fewer: all
// sizes of a generated call grow by one factor, for so they keep what rows ask of them. A row's variants are its own
// kernels.
OpCalls large_calls(const OpDef& op, const OpTable& table, Dtype dtype, int64_t elements, size_t count);

// Of the largest operand or result.
int64_t elements_of(const Graph& graph);

}  // namespace lenz::bench
