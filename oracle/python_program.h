// A graph as a Python program of ATen calls that anybody with PyTorch can run: for reports, and for a look from the
// other side. Inputs are written out, so that the values are the same wherever it runs.
// Thread-safety: as the graph's.
#pragma once

#include <span>
#include <string>

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

struct PythonOptions {
  std::string comment;       // lines at the head
  bool compile = true;       // runs torch.compile beside eager, and says where they differ
  std::string folder = ".";  // of constants beside the text
};

// `inputs` are the graph's. Throws Unsupported for what is no PyTorch program (Lenz's own ops of later levels), and for
// more than 2^16 elements of inputs and constants.
std::string python_program(const Graph& graph, std::span<const RunValue> inputs, const PythonOptions& options = {});

}  // namespace lenz::oracle
