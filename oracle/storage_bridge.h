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

 private:
  std::unordered_map<const c10::StorageImpl*, std::shared_ptr<loops::Storage>> known_;
  std::unordered_map<const loops::Storage*, c10::Storage> back_;
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
