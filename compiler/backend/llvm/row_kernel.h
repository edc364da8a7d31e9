// A row of the scalar table as a kernel by itself, over contiguous arrays: what `lenz ulp` verifies.
// Thread-safety: a kernel may run on several threads at once.
#pragma once

#include <memory>
#include <string>

#include "compiler/backend/llvm/jit.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

class RowKernel {
 public:
  // Throws Unsupported for a row without code. `target` has to run here. lanes 0: two of the target's vectors.
  RowKernel(const ScalarRow& row, Dtype compute, Dtype result, const CpuTarget& target, int lanes = 0);

  // `in`: for each operand its array, for a complex one two, of parts; `out` likewise. `raised`: a byte for each
  // element. Elements beyond `count`, up to a multiple of lanes(), are computed too.
  void run(const void* const* in, void* const* out, uint8_t* raised, int64_t count) const {
    function_(in, out, raised, count);
  }
  int lanes() const { return lanes_; }

 private:
  using Function = void(const void* const*, void* const*, uint8_t*, int64_t);
  int lanes_;
  std::unique_ptr<Jit> jit_;
  Function* function_ = nullptr;
};

// The kernel's module, for whoever wants its text.
CodeModule row_module(const ScalarRow& row, Dtype compute, Dtype result, const Compiler& compiler, int lanes);

}  // namespace lenz::native
