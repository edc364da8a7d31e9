// What the program around a compiled one provides while it runs: memory of outputs, ops that have no loops, printing.
// Thread-safety: one host per call; its functions are called by the caller's thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/loops/interpret.h"

namespace lenz::runtime {

// A tensor as its owner lays it out: elements count from the start of the storage.
struct TensorRef {
  std::byte* storage = nullptr;
  uint64_t bytes = 0;  // of the storage
  Dtype dtype = Dtype::f32;
  std::span<const int64_t> sizes, strides;
  int64_t offset = 0;

  std::byte* first() const { return storage + offset * item_size(dtype); }
};

class Host {
 public:
  virtual ~Host() = default;
  // Memory for an output's storage, at a multiple of 64; the host keeps it for the caller. std::bad_alloc.
  virtual std::byte* output(uint32_t storage, uint64_t bytes) = 0;
  // One tensor for each of node.results (none where it is not wanted), lying as its buffer's type says. They live until
  // the call is over, and for the caller's use behind it where an output shows them. UserError where the op raises.
  virtual std::vector<loops::Tensor> run_extern(const loops::ExternCall& call) = 0;
  virtual void print(const loops::Print& node, std::span<const loops::Tensor> values) = 0;
};

}  // namespace lenz::runtime
