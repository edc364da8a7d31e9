// Memory that a graph sees in several dtypes. The reference holds it once for each, for it holds floats wider, and what
// is written to one has to reach the others.
// Internal to oracle/bounds; includes libtorch. Thread-safety: one per run.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "compiler/base/dtype.h"
#include "oracle/bounds/planes.h"

namespace lenz::oracle {

class SharedBits {
 public:
  // The storages of both are one of the graph's, which it sees in these dtypes.
  void relate(const at::Tensor& a, Dtype a_dtype, const at::Tensor& b, Dtype b_dtype);
  // The others follow what was written to this storage: bit for bit where all of it is certain, else they are open.
  void written(PlaneStore& store, const at::Tensor& value);
  bool any() const { return !groups_.empty(); }

 private:
  struct Member {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    const c10::StorageImpl* key;
    Dtype dtype;  // the graph's own
  };
  using Group = std::vector<Member>;
  Group* group_of(const at::Tensor& value);

  std::vector<Group> groups_;
};

}  // namespace lenz::oracle
