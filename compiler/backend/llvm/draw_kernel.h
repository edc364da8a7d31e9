// Random draws as a kernel by itself: elements 0, 1, 2, ... of a stream into an array, as they are held.
// Thread-safety: a kernel may run on several threads at once.
#pragma once

#include <memory>

#include "compiler/backend/llvm/jit.h"
#include "compiler/loops/program.h"

namespace lenz::native {

class DrawKernel {
 public:
  DrawKernel(loops::DrawKind kind, Dtype dtype, const CpuTarget& target, int lanes, bool consecutive);
  // `count` is a multiple of the lanes.
  void run(void* out, uint64_t seed, uint64_t offset, int64_t count) const { function_(out, seed, offset, count); }

 private:
  using Function = void(void*, uint64_t, uint64_t, int64_t);
  std::unique_ptr<Jit> jit_;
  Function* function_ = nullptr;
};

}  // namespace lenz::native
