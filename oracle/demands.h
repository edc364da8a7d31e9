// What a graph's ops ask of the values that they read, carried back to the graph's inputs: indices inside the dim that
// they index, sorted sequences, probabilities, what logarithms and divisions are defined for. Rows say it of their own
// operands (`Domain`, `wants`, the domains of scalar primitives); composites through their definitions. It goes back
// through views, movement and casts as it is, through elementwise ops by trying ranges on their scalar primitive, and
// through sums of any kind by sign and number of terms, and out of sub-graphs to what they are first handed.
// Thread-safety: pure functions; as the graph's context, for the graph is cloned.
#pragma once

#include <limits>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

struct Demand {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool nonzero = false, sorted = false;
  bool strict = false;    // eager raises otherwise, or reads where it must not
  bool counted = false;   // eager takes a step for each unit
  bool hopeless = false;  // no element serves: an index into a dim of no elements
  Domain usual;           // where those who read it are smooth

  bool open() const { return low < -1e300 && high > 1e300 && !nonzero; }
  bool indexes() const { return strict && !hopeless && low > -1e9 && high < 1e15; }  // of integers: places in a dim
  bool admits(double x) const { return x >= low && x <= high && !(nonzero && x == 0); }
  // Both at once; where they contradict each other the strict one stays, else the one that was here.
  void narrow(const Demand& other);
};

// One per input of the graph. `sizes` gives the sizes of symbols.
std::vector<Demand> input_demands(const Graph& graph, const SymValues& sizes);
// Whether the graph itself gives indices, in a constant or an input's initialiser, that lie beyond what is asked of
// them at these sizes: eager reads and writes where they point.
bool says_indices_beyond(const Graph& graph, const SymValues& sizes);

}  // namespace lenz::oracle
