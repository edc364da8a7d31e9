// Storages on either side of the door between libtorch and compiled programs, so that what shares memory on one shares
// it on the other. Only .cpp files of this room include it.
// Thread-safety: one per run.
#pragma once

#include <ATen/core/Tensor.h>

#include <new>
#include <unordered_map>

#include "compiler/loops/interpret.h"
#include "oracle/boxed.h"

namespace lenz::oracle {

class StorageBridge {
 public:
  // Lazy conjugation and negation are done: such a tensor comes as a copy.
  loops::Tensor in(const at::Tensor& given);
  at::Tensor out(const loops::Tensor& t);
  // Room for a call's operands by buffer. One for all calls: a program has many more buffers than a call has operands.
  std::vector<RunValue>& operands(size_t buffers) {
    operands_.resize(buffers);
    return operands_;
  }

 private:
  // What came in lives as long as somebody has it, so that its memory serves again within the same run.
  std::unordered_map<const c10::StorageImpl*, std::weak_ptr<loops::Storage>> known_;
  std::unordered_map<const loops::Storage*, c10::Storage> back_;
  std::vector<RunValue> operands_;
};

// What `make` allocates by libtorch. std::bad_alloc where its allocator has no memory.
template <class F>
auto allocated(F&& make) {
  try {
    return make();
  } catch (const c10::Error& error) {
    if (Outcome::says_no_memory(error.what())) throw std::bad_alloc();
    throw;
  }
}

// A tensor of these elements in the storage.
at::Tensor tensor_in(const c10::Storage& storage, Dtype dtype, std::span<const int64_t> sizes,
                     std::span<const int64_t> strides, int64_t offset);

// Runs an extern node; its results lie as the program's buffers want it. UserError where the op raises; std::bad_alloc.
std::vector<loops::Tensor> run_extern(const loops::ExternCall& call, const loops::Program& program, Boxed& boxed,
                                      StorageBridge& bridge);

}  // namespace lenz::oracle
