// The kernels of a program as machine code in this process: what the executor and the interpreter call.
// Thread-safety: pure functions; the code may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include "compiler/backend/llvm/target.h"
#include "compiler/runtime/native_kernel.h"

namespace lenz::native {

class KeptObjects;

struct CompileOptions {
  int threads = 1;
  std::string cache = {};                  // a folder of objects (object_cache.h); empty: none
  bool quick = false;                      // code that is made sooner and runs slower
  std::shared_ptr<KeptObjects> kept = {};  // those of this process are asked first (kept_objects.h)
};

struct CompileStatistics {
  size_t kernels = 0, compiled = 0, from_cache = 0, repeated = 0;  // repeated: like one that was compiled
};

// What has no code is listed in `refused`.
runtime::KernelCode compile_kernels(const loops::Program& program, const CpuTarget& target,
                                    const CompileOptions& options = {}, CompileStatistics* statistics = nullptr);

// The program's kernels as text: LLVM's IR, or the target's assembly.
std::string kernels_as_text(const loops::Program& program, const CpuTarget& target, bool assembly);

}  // namespace lenz::native
