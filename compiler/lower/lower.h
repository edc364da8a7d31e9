// From a graph of level core to loops: one naive nest for each value, in the graph's order. Nothing is fused, nothing
// is planned; views are copies, in-place stores are those into inputs at the end.
//
// Outputs have the strides and offsets that the graph's types say, and share storage as its values do. What lowering
// had to assume about symbols beyond the graph's facts is among the program's guards.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/loops/program.h"

namespace lenz {

struct LowerOptions {
  // What has no lowering runs as an extern kernel; else it is refused by Unsupported.
  bool externs = true;
  // Matrix products, convolutions and attention run as extern kernels too, for a host that has fast ones; but not
  // products that take less time than to call it. Their operands are views of memory where the graph has them so:
  // nothing is copied for them.
  bool products_outside = false;
};

loops::Program lower_graph(const Graph& graph, const LowerOptions& options = {});

// Whether a row's op gets to loops without an extern: by its primitive or its text.
bool lowers_to_loops(const OpDef& op);

}  // namespace lenz
