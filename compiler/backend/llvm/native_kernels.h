// The kernels of a realised program as machine code, run in the interpreter's stead: everything around them (inputs,
// sizes, control flow, externs, memory) stays the interpreter's, so that what differs is the code alone.
//
// Thread-safety: run() from one thread at a time; with several threads it runs a kernel's points on as many.
#pragma once

#include <string>
#include <vector>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/loops/interpret.h"

namespace lenz::native {

class NativeKernels {
 public:
  // Compiles every kernel of the program, which outlives this. Kernels without code are left to the interpreter.
  NativeKernels(const loops::Program& program, const CpuTarget& target, int threads = 1, bool quick = false);

  bool run(const loops::KernelCall& call);

  size_t compiled() const { return code_.kernels.size(); }
  const std::vector<std::string>& refused() const { return code_.refused; }

 private:
  const loops::Program& program_;
  int threads_;
  runtime::KernelCode code_;
};

}  // namespace lenz::native
