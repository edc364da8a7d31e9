// A kernel of a realised program as one function of machine code. The kernel says everything: which axes there are,
// which of them run in lanes and unrolled; here it is only spelled.
//
// Thread-safety: as the module's.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/backend/llvm/jit.h"
#include "compiler/loops/program.h"

namespace lenz::native {

// What a kernel's function takes, in this order.
struct KernelArguments {
  std::vector<loops::BufferId> buffers;  // pointers to the first element; local ones with dims: memory for one point
  std::vector<Dim> symbols;              // values
  std::vector<uint32_t> streams;         // seed and offset of each
};

enum class KernelStatus : int32_t {
  finished = 0,
  division_by_zero = 1,
  index_out_of_range = 2,
};

// Runs the points begin <= p < end of the kernel's axes, the last axis fastest. Every point runs but for an error.
using KernelFunction = int32_t(void* const* buffers, const int64_t* symbols, const uint64_t* streams, int64_t begin,
                               int64_t end);

// Throws Unsupported for what has no code.
KernelArguments emit_kernel(CodeModule& module, const Compiler& compiler, const loops::Program& program,
                            const loops::Kernel& kernel, std::string_view symbol);

}  // namespace lenz::native
