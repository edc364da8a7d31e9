// Random graphs that a compiler may honestly compute in many ways: arithmetic, activations, reductions, products,
// movement and choices, mostly in one floating dtype, with fan-out and a reduction in each. Magnitudes are bounded by
// intervals, so that results mean something. Inputs carry initialisers: the printed text is a repro.
// Thread-safety: pure, given one chooser.
#pragma once

#include <memory>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"

namespace lenz::oracle::controls {

struct GraphMakerOptions {
  Dtype dtype = Dtype::f32;
  size_t least = 3, most = 17;  // ops
};

// Outputs are the values that no node uses.
std::unique_ptr<Graph> make_graph(Chooser& choose, const GraphMakerOptions& options);
// The same graph with each node's results that are tensors as outputs, in the order of the nodes.
std::unique_ptr<Graph> with_every_result(const Graph& graph);

}  // namespace lenz::oracle::controls
