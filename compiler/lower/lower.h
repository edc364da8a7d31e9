// From a graph of level core to loops: one naive nest for each value, in the graph's order. Nothing is fused, nothing
// is planned; views are copies, in-place stores are those into inputs at the end.
//
// Outputs have the strides and offsets that the graph's types say, and share storage as its values do. What lowering
// had to assume about symbols beyond the graph's facts is among the program's guards.
// Thread-safety: as the graph's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/loops/program.h"
#include "compiler/loops/verify.h"

namespace lenz {

struct LowerOptions {
  // What has no lowering runs as an extern kernel; else it is refused by Unsupported.
  bool externs = true;
  // Matrix products, convolutions and attention run as extern kernels too, for a host that has fast ones; but not
  // products that take less time than to call it. Their operands are views of memory where the graph has them so:
  // nothing is copied for them.
  bool products_outside = false;
  // Nodes of this origin, and of this op if it is named, run as extern kernels too.
  struct OfHost {
    uint32_t origin = 0;
    std::string op;
  };
  std::vector<OfHost> by_host = {};
  bool proved = false;  // asked of whoever lowers a graph on the way to something else: by lower_proved()
};

loops::Program lower_graph(const Graph& graph, const LowerOptions& options = {});

// The same for whoever runs the loops: every rule of programs is proved of them. Nodes whose loops nothing proves run
// as extern kernels; Unsupported, with what is not proved, where that is not enough.
loops::Program lower_proved(const Graph& graph, const LowerOptions& options = {},
                            const std::function<loops::ProgramVerdict(const loops::Program&)>& verify = loops::verify);

// Whether a row's op gets to loops without an extern: by its primitive or its text.
bool lowers_to_loops(const OpDef& op);

}  // namespace lenz
