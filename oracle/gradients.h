// A graph's gradients by eager autograd in float64: a reference without a bound, for no backward graph says yet what
// errors may pass through it.
//
// Inputs that `requires_grad` are leaves, every float is widened; outputs that hang on them in a differentiable way get
// a gradient, given or drawn in [-1, 1), and the sum of outputs times gradients is differentiated. What eager refuses
// (a leaf that is written to, an op without a derivative) is an outcome with its text.
// Thread-safety: free functions over the caller's values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/execute.h"

namespace lenz::oracle {

struct GradientOptions {
  ExecuteOptions execute;
  uint64_t seed = 0;                                    // of gradients of outputs
  std::map<std::string, std::vector<std::byte>> given;  // "out0": float64 (or complex128) elements in logical order
};

struct NamedGradient {
  std::string name;  // "x" of input %x, "out0"
  RunValue value;    // float64; null: nothing that is differentiated depends on it
};

struct Gradients {
  Ending ending = Ending::finished;
  std::string text, where;
  std::vector<NamedGradient> inputs;            // those that require it, in order
  std::vector<NamedGradient> outputs;           // what was given or drawn
  std::vector<std::string> not_differentiable;  // outputs, each with the reason: "out1: i64[3]", "out2: detached"
};

// `inputs`: one per input of the graph, in its own dtypes; not written to. Throws UserError if no input requires a
// gradient, Unsupported where the graph can't be widened.
Gradients gradients(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                    const GradientOptions& options);

// The inputs of a graph as those of its widened_graph: the same elements and layouts.
std::vector<RunValue> widened_inputs(const Graph& widened, Boxed& boxed, std::span<const RunValue> inputs,
                                     const Binding& binding);

// Arrays `grad_x` for each input %x that has one (`grad_%out0` of one that is called as an output), and `grad_out0` for
// what outputs were given; the entry `lenz` says which outputs are not differentiable, and that nothing bounds the
// gradients.
void write_gradients(const std::string& path, const Gradients& gradients);

}  // namespace lenz::oracle
