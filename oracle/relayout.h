// The same graph with other layouts of its inputs. Eager's kernels choose their paths by layout, compilers more so.
// Thread-safety: as the graph's context.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"

namespace lenz::oracle {

struct Relayout {
  std::unique_ptr<Graph> graph;  // null: no input can lie in another way
  std::string what;              // "%x permuted, %w sliced": for people
};

// Some inputs get strides and an offset of the classes of compiler/ops/layouts.h: permuted, sliced, channels-last,
// expanded, overlapping and so on. All types are inferred anew; names, facts, initialisers, flags
// and sub-graphs stay. Inputs that share memory, or have symbols for sizes, keep their layout; inputs that are written
// to get none in which elements share memory; and if a rule refuses a layout, the input keeps its own.
Relayout with_other_layouts(const Graph& graph, Chooser& choose);

}  // namespace lenz::oracle
