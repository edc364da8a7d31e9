// Runs any graph in eager libtorch: nodes in their order, views and mutation as eager makes them, sub-graphs, symbolic
// numbers, effects. The graph's own text is the program; nothing of it is rewritten.
//
// An error of eager's is an outcome: where it arose and in which words. Memory follows liveness: a value is let go
// after its last user.
// Thread-safety: one Executor per thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oracle/binding.h"
#include "oracle/boxed.h"
#include "oracle/guarded.h"

namespace lenz::oracle {

// What runs nodes and moves tensors: eager as it is, or a machine that carries more than values along (bounds/).
class NodeMachine {
 public:
  virtual ~NodeMachine() = default;
  // A node that is one of ATen's; the graph has the types of its values. `outcome` is made anew in its own memory,
  // which small calls would else spend a twentieth of their time on.
  virtual void run(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
                   Outcome& outcome) = 0;
  virtual RunValue constant(const ConstantData& data, const std::string& folder);
  virtual RunValue copied(const RunValue& tensor);
  virtual RunValue stacked(std::span<const RunValue> tensors, const Type& like, const SymValues& symbols);
  virtual RunValue placed(const RunValue& tensor, const Type& like, const SymValues& symbols);
  virtual void become(const RunValue& target,
                      const RunValue& like);         // the tensor itself gets sizes, places and elements
  virtual bool truth(const RunValue& predicate);     // of control flow
  virtual bool holds(const RunValue& condition);     // what is asserted
  virtual void chosen(std::span<const RunValue>) {}  // results of control flow, which truths decided on
  virtual void prints() {}                           // a line
  virtual bool widens() const { return false; }      // floats have other dtypes than the graph says
  // Tensors are on another device than the graph says, and lie there as they do.
  virtual bool elsewhere() const { return false; }
  virtual void seed(uint64_t ambient) = 0;
  virtual void within(const std::function<void()>& nodes) { nodes(); }  // what a whole run is done in
};

struct ExecuteOptions {
  uint64_t memory_limit = 0;      // bytes of storage alive at once; 0: no limit
  uint64_t ambient_seed = 0;      // of the generator that random ops without a seed draw from
  uint64_t loop_limit = 1 << 20;  // iterations of one loop
  bool guard = false;             // poison fresh memory, watch what no element covers: guarded.h
  std::string folder;             // where the files of external constants are
  std::function<void(const std::string& line)> print;
  // After each node of the outermost graph.
  std::function<void(NodeId node, std::span<const RunValue> results)> on_node;
};

enum class Ending : uint8_t { finished, raised, out_of_memory };

struct Printed {
  std::string format;
  std::vector<RunValue> values;  // copies
};

struct Execution {
  Ending ending = Ending::finished;
  std::string text;                  // what eager said, its first line
  std::string where;                 // the node: its result's name and its op
  std::optional<Cond> contradicted;  // where it raised: a fact about a size that was not so by then
  std::vector<RunValue> outputs;
  std::vector<RunValue> inputs;  // one per input of the graph, as they are afterwards
  std::vector<Printed> printed;  // in order; not by machines that widen
  uint64_t peak_memory = 0;      // bytes of storage alive at once; counted where there is a limit
  std::vector<Damage> damage;    // with `guard`: what was written beside elements
};

class Executor {
 public:
  explicit Executor(Boxed& boxed, ExecuteOptions options = {});
  explicit Executor(NodeMachine& machine, ExecuteOptions options = {});
  ~Executor();
  // `inputs`: one per input of the graph, mutated as the graph says. Throws Unsupported for an op that libtorch has
  // not.
  Execution run(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding = {});

 private:
  struct Impl;  // one run
  std::unique_ptr<NodeMachine> own_;
  NodeMachine& machine_;
  ExecuteOptions options_;
};

// The graph's own initial values for its inputs (Initialiser), one per input. `seed` is mixed into each initialiser's;
// inputs that have none are drawn from their dtype's ordinary values.
std::unique_ptr<Graph> with_initial_values(const Graph& graph, uint64_t seed);  // the graph that says so itself
// Those that `filled` says get zeros: somebody writes all of their elements.
using Filled = std::function<bool(size_t input)>;
std::vector<RunValue> initial_inputs(const Graph& graph, Boxed& boxed, const Binding& binding, uint64_t seed = 0,
                                     const Filled& filled = {});

}  // namespace lenz::oracle
