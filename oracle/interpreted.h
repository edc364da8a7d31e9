// A graph's loops on the interpreter, with libtorch's tensors going in and coming out: what the compiler's middle makes
// of a graph, run as the graph itself is run by eager.
// Thread-safety: as Boxed.
#pragma once

#include "compiler/loops/interpret.h"
#include "oracle/execute.h"

namespace lenz::oracle {

using KernelRunner = std::function<bool(const loops::KernelCall&)>;

// `kernels`, if there is one, runs the kernels instead of the interpreter. Inputs are mutated as the program says. Ops
// without loops are run by `boxed`. Random numbers come from Lenz's stream, seeded as LenzRandom seeds it. Throws
// UserError for inputs that the program does not take.
Execution run_interpreted(const loops::Program& program, std::span<const RunValue> inputs, Boxed& boxed,
                          const ExecuteOptions& options = {}, loops::Counters* counters = nullptr,
                          KernelRunner kernels = {});

// Files what a program gives: as an output, or as what an input is from now on.
void show(const loops::Output& output, RunValue value, Execution& run);

// What a run ends with for which there is not enough memory; `limit` of 0: none but the machine's.
Execution out_of_memory(std::span<const RunValue> inputs, uint64_t limit);

}  // namespace lenz::oracle
