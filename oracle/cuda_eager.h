// Eager libtorch on a GPU, for graphs that are written for a CPU: inputs and constants are copied there, whatever makes
// a tensor makes it there, and what is left of outputs and inputs comes back. Floats of 32 bits are computed as such
// (no TF32) and sums of narrow ones in them, as bounds expect. libtorch's CUDA half is loaded the first time.
// Thread-safety: one thread.
#pragma once

#include <span>

#include "oracle/execute.h"

namespace lenz::oracle {

// As Executor::run; the inputs stay as they are. Results share memory as they do on the GPU. No guarded memory. Throws
// Unsupported, and says why, where no GPU is.
Execution run_on_cuda(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                      const ExecuteOptions& options);

}  // namespace lenz::oracle
