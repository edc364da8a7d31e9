// Inputs and results of a run as .npz files: a key per input name, `out0`, `out1`, ... for outputs, and an entry `lenz`
// of JSON that says of each the dtype, strides, offset and with whom it shares memory.
// Thread-safety: free functions.
#pragma once

#include <string>

#include "oracle/execute.h"

namespace lenz::oracle {

// The graph's inputs from a file, in the layout that their types say; symbols are read off the arrays' shapes. Inputs
// that the file has not keep what `otherwise` holds. UserError for arrays of other names, dtypes or shapes.
std::vector<RunValue> read_inputs(const std::string& path, const Graph& graph, Boxed& boxed, Binding& binding,
                                  uint64_t seed);
void write_results(const std::string& path, const Graph& graph, const Execution& execution);

}  // namespace lenz::oracle
