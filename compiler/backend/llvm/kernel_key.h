// Which kernels of a program are one function: optimizers have one for each parameter, models one for each layer.
// Thread-safety: as the program's.
#pragma once

#include <string>

#include "compiler/loops/program.h"
#include "compiler/runtime/native_kernel.h"

namespace lenz::native {

// Equal for kernels that differ in nothing but the names of axes and in which buffers and streams they work on, and
// from where on in these: the code of one serves all, with each one's own arguments, which are in the same order.
std::string kernel_key(const loops::Program& program, const loops::Kernel& kernel,
                       const runtime::KernelArguments& arguments);

}  // namespace lenz::native
