// A graph's values in the dtypes that its reference computes in. Internal to oracle/bounds; includes libtorch.
// Thread-safety: belongs to one thread.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <utility>

#include "oracle/aten.h"
#include "oracle/bounds/call.h"
#include "oracle/bounds/carried.h"
#include "oracle/bounds/shared_bits.h"

namespace lenz::oracle {

// Widens whole storages once, so that what shared memory goes on sharing it: complex numbers with their parts; of
// other dtypes each has a storage of its own, and `shared` relates them.
class WideStorages {
 public:
  explicit WideStorages(SharedBits* shared = nullptr) : shared_(shared) {}

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
    const Dtype part = to_real(*dtype);
    auto& [native, seen] = storages_[t.storage().unsafeGetStorageImpl()];
    native = t.storage();  // is held, so that nobody else has its address
    auto [at, fresh] = seen.try_emplace(part);
    if (fresh) {
      const auto count = static_cast<int64_t>(t.storage().nbytes()) / item_size(part);
      at::Tensor flat = at::empty({0}, at::TensorOptions().dtype(to_aten(part)));
      flat.set_(t.storage(), 0, {count}, {1});
      at->second = carried(flat, to_aten(widened(part)));
      for (const auto& [other, wide] : seen)
        if (shared_ && other != part) shared_->relate(wide, other, at->second, part);
    }
    return at::empty({0}, at::TensorOptions().dtype(to_aten(widened(*dtype))))
        .set_(at->second.storage(), t.storage_offset(), t.sizes(), t.strides());
  }

  SharedBits* shared_;
  std::map<const c10::StorageImpl*, std::pair<c10::Storage, std::map<Dtype, at::Tensor>>> storages_;
};

}  // namespace lenz::oracle
