// Compiled programs on libtorch's tensors: the executor, with libtorch for what has no loops.
// Thread-safety: one NativeRun per thread; they may share an executable.
#pragma once

#include "compiler/runtime/executable.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// As run_interpreted: inputs are mutated as the program says, random numbers come from Lenz's stream. `folder` holds
// constants beside the text.
Execution run_native(runtime::Executable& executable, std::span<const RunValue> inputs, Boxed& boxed,
                     const ExecuteOptions& options = {});

// What loads the constants of a program whose text lies in this folder.
std::function<loops::Tensor(const ConstantData&)> constants_in(const std::string& folder);

}  // namespace lenz::oracle
