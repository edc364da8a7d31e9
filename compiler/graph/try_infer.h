// What a call would return, without making it.
// Thread-safety: as the graph's.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace lenz {

using InferredResults = SmallVec<InferredResult, 4>;

// Nothing if eager would raise, if the op has no type rule, if a size is known to the run alone, or if the answer
// needed a condition that nothing proves (the graph gains no guard, and no fact).
std::optional<InferredResults> try_infer(Graph& graph, const OpDef& op, std::span<const Arg> args);

}  // namespace lenz
