// The planes of a run: beside the storage of each value there may be a storage of errors and one of marks, laid out as
// the value's is. A view of a value is thereby a view of its errors, and what is written through one view shows in all.
// Internal to oracle/bounds; includes libtorch. Thread-safety: one store per run.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>

namespace lenz::oracle {

struct Planes {
  at::Tensor value;
  at::Tensor error;      // float64, of the value's sizes (of a complex number: the radius of a disc); undefined: zero
  at::Tensor ambiguous;  // bool; undefined: nowhere
};

class PlaneStore {
 public:
  Planes read(const at::Tensor& value) const;  // views of the planes
  bool certain(const at::Tensor& value) const { return !read(value).error.defined(); }
  // Sets the planes of what `value` shows; undefined ones are zero.
  void write(const at::Tensor& value, const at::Tensor& error, const at::Tensor& ambiguous);
  void collect();  // forgets storages that nobody holds any more

  // Whether a zero's sign is what it must be, wherever the storage has zeros: until something writes to it whose zeros
  // may have either sign.
  bool zeros_signed(const at::Tensor& value) const { return !loose_.contains(value.storage().unsafeGetStorageImpl()); }
  void loosen_zeros(const at::Tensor& value);

 private:
  // Slots are as wide as an element, at most 8 bytes: a complex number has two, and its parts one each.
  struct Beside {
    c10::weak_intrusive_ptr<c10::StorageImpl> alive;
    int64_t slot_bytes;
    bool discs;  // of complex numbers: both slots hold the radius, which is no box of two sides
    at::Tensor error, ambiguous;
  };
  at::Tensor view(const at::Tensor& slots, const at::Tensor& value, int64_t slot_bytes, int64_t part = 0) const;

  std::unordered_map<const c10::StorageImpl*, Beside> beside_;
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> loose_;
};

}  // namespace lenz::oracle
