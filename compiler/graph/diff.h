// A diff of two graphs for a person to read. Nodes are matched by what they compute, then by name and op, so that a
// renamed value is no difference and a changed node does not drag along all that uses it.
//
//     ... 12 unchanged
//     %a = aten.gelu(%h)
//   ~ %m = aten.mean(%a, [-dim=[1]-]{+dim=[2]+})
//   - %d = aten.dropout(%m)
//   + %e = aten.clone(%m)
//     return %m
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace lenz {

struct DiffOptions {
  size_t context = 2;  // unchanged lines around each change
};

// Empty if the graphs are structurally equal.
std::string diff(const Graph& a, const Graph& b, const DiffOptions& options = {});

}  // namespace lenz
