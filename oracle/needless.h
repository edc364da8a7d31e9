// A refusal that nobody asked for: eager runs every node, and raises at one whose results nobody needs. A compiler
// drops such a node, and with it the error: what is pure and unseen is no effect. So a graph that raises there may also
// end as it does without that node; and so where results are made of it but no result's value hangs on what it gives
// (x - x of integers): told by running with several numbers in its place; or where a size alone is asked for that hangs
// on other operands (of `x[mask, i]` on the mask): told by running with other indices. What is
// written over before anybody reads it is such a value. A fact about a size is such an error too: it
// goes with the node that makes the size, if nobody says that size. Thread-safety: pure functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "compiler/graph/graph.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// The graph without a node of its outermost level and all that is made of it; null where anybody could tell: an output,
// an input, an effect or a size depends on it, or it draws from the ambient generator. Of control flow that somebody
// needs: without what its sub-graphs make for nobody.
std::unique_ptr<Graph> without_needless(const Graph& graph, NodeId node);
// The same of a node that makes a size of which the fact speaks.
std::unique_ptr<Graph> without_needless(const Graph& graph, const Cond& fact);

// How a graph ends once nothing raises any more that nobody needs.
struct NeededRun {
  std::unique_ptr<Graph> left;  // what was run; null: all of it
  Execution ended;
  std::optional<Execution> refusal;  // how all of it ended, if not so
};
// `run` runs a graph with these options, on inputs made anew.
NeededRun run_needed(const Graph& graph, const ExecuteOptions& options,
                     const std::function<Execution(const Graph& graph, const ExecuteOptions& options)>& run);

}  // namespace lenz::oracle
