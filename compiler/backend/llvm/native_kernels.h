// The kernels of a realised program as machine code, run in the interpreter's stead: everything around them (inputs,
// sizes, control flow, externs, memory) stays the interpreter's, so that what differs is the code alone.
//
// Thread-safety: run() from one thread at a time; with several threads it runs a kernel's points on as many.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/loops/interpret.h"

namespace lenz::native {

class NativeKernels {
 public:
  // Compiles every kernel of the program, which outlives this. Kernels without code are left to the interpreter.
  NativeKernels(const loops::Program& program, const CpuTarget& target, int threads = 1);

  bool run(const loops::KernelCall& call);

  size_t compiled() const { return kernels_.size(); }
  const std::vector<std::string>& refused() const { return refused_; }  // why a kernel has no code

 private:
  struct Compiled {
    KernelArguments arguments;
    KernelFunction* function = nullptr;
  };
  const loops::Program& program_;
  int threads_;
  Jit jit_;
  std::unordered_map<const loops::Kernel*, Compiled> kernels_;
  std::vector<std::string> refused_;
};

// The program's kernels as text: LLVM's IR, or the target's assembly.
std::string kernels_as_text(const loops::Program& program, const CpuTarget& target, bool assembly);

}  // namespace lenz::native
