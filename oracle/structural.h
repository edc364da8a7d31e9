// Lenz's own ops, which libtorch has not: constants, elements of lists, control flow, effects.
// Thread-safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/binding.h"

namespace lenz::oracle {

// What eager would raise; an outcome, not a fault.
struct Refusal {
  std::string text;
};

class NodeMachine;  // oracle/execute.h

// Runs sub-graphs, and hears of effects.
class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  virtual std::vector<RunValue> run_graph(const Graph& graph, std::span<const RunValue> inputs, Binding binding) = 0;
  virtual RunValue constant(const ConstantData& data) = 0;
  virtual void print(std::string_view format, std::span<const RunValue> values) = 0;
  virtual uint64_t loop_limit() const = 0;
  virtual NodeMachine& machine() = 0;  // what copies tensors and decides predicates
};

struct StructuralCall {
  const Graph& graph;
  const Node& node;
  std::span<const RunValue> values;
  const Binding& binding;
  GraphRunner& runner;
};
using Structural = std::vector<RunValue> (*)(const StructuralCall& call);

// Null: an op of libtorch's.
Structural find_structural(const OpDef& op);

// An argument that is a value or a number, as a value.
RunValue literal_or_value(const Arg& arg, std::span<const RunValue> values, const Binding& binding);

}  // namespace lenz::oracle
