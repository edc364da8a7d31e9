// A graph's values in the dtypes that its reference computes in. Internal to oracle/bounds; includes libtorch.
// Thread-safety: belongs to one thread.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <utility>

#include "oracle/aten.h"
#include "oracle/bounds/call.h"

namespace lenz::oracle {

// Widens whole storages once, so that what shared memory goes on sharing it.
class WideStorages {
 public:
  RunValue widen(const RunValue& v) {
    if (!v) return v;
    if (v->value.isTensor()) return hold(widen(v->value.toTensor()));
    if (v->value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : v->value.toTensorVector()) list.push_back(widen(t));
      return hold(std::move(list));
    }
    return v;
  }

 private:
  at::Tensor widen(const at::Tensor& t) {
    auto dtype = from_aten(t.scalar_type());
    if (!dtype) return t;
    auto key = std::pair(t.storage().unsafeGetStorageImpl(), t.scalar_type());
    auto [at, fresh] = storages_.try_emplace(key);
    if (fresh) {
      auto count = static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
      at::Tensor flat = at::empty({0}, t.options());
      flat.set_(t.storage(), 0, {count}, {1});
      at->second = at::empty({count}, to_aten(widened(*dtype)));
      at->second.copy_(flat);
    }
    return at->second.as_strided(t.sizes(), t.strides(), t.storage_offset());
  }

  std::map<std::pair<const c10::StorageImpl*, at::ScalarType>, at::Tensor> storages_;
};

}  // namespace lenz::oracle
