// A kernel of a realised program as one function of machine code. The kernel says everything: which axes there are,
// which of them run in lanes and unrolled; here it is only spelled.
//
// Thread-safety: as the module's.
#pragma once

#include <string_view>

#include "compiler/backend/llvm/jit.h"
#include "compiler/runtime/native_kernel.h"

namespace lenz::native {

using runtime::KernelArguments;
using runtime::KernelFunction;
using runtime::KernelStatus;

// Throws Unsupported for what has no code.
KernelArguments emit_kernel(CodeModule& module, const Compiler& compiler, const loops::Program& program,
                            const loops::Kernel& kernel, std::string_view symbol);

// What it takes, without its code.
KernelArguments arguments_of(const loops::Program& program, const loops::Kernel& kernel);

// Where an element lies, in elements from where the argument of its buffer points.
Dim address_of(const loops::Program& program, const KernelArguments& arguments, loops::BufferId id,
               const DimVec& index);

}  // namespace lenz::native
