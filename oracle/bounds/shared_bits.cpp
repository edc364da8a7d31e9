#include "oracle/bounds/shared_bits.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oracle/aten.h"
#include "oracle/bounds/call.h"
#include "oracle/bounds/carried.h"

namespace lenz::oracle {

namespace {
// All of a storage, as the reference holds it.
at::Tensor whole(const c10::intrusive_ptr<c10::StorageImpl>& storage, Dtype dtype) {
  const at::ScalarType wide = to_aten(widened(dtype));
  const auto count = static_cast<int64_t>(storage->nbytes() / c10::elementSize(wide));
  return at::empty({0}, at::TensorOptions().dtype(wide)).set_(c10::Storage(storage), 0, {count}, {1});
}

// Whether the bits in the graph's own dtype are known: NaN has many, and a zero may have either sign.
bool bits_are_known(const PlaneStore& store, const at::Tensor& all) {
  const Planes planes = store.read(all);
  if (planes.error.defined() && at::any(planes.error != 0).item<bool>()) return false;
  if (planes.loose_zeros && may_hold_zero(planes)) return false;
  return !(all.is_floating_point() || all.is_complex()) || !at::isnan(all).any().item<bool>();
}
}  // namespace

SharedBits::Group* SharedBits::group_of(const at::Tensor& value) {
  const c10::StorageImpl* key = value.storage().unsafeGetStorageImpl();
  for (Group& group : groups_) {
    std::erase_if(group, [](const Member& m) { return m.storage.expired(); });
    if (std::ranges::find(group, key, &Member::key) != group.end()) return &group;
  }
  return nullptr;
}

void SharedBits::relate(const at::Tensor& a, Dtype a_dtype, const at::Tensor& b, Dtype b_dtype) {
  auto member = [](const at::Tensor& t, Dtype dtype) {
    auto* storage = t.storage().unsafeGetStorageImpl();
    auto held = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage);
    return Member{c10::weak_intrusive_ptr<c10::StorageImpl>(held), storage, dtype};
  };
  Group* group = group_of(a);
  if (!group) group = &groups_.emplace_back(Group{member(a, a_dtype)});
  const Member other = member(b, b_dtype);
  if (std::ranges::find(*group, other.key, &Member::key) == group->end()) group->push_back(other);
}

void SharedBits::written(PlaneStore& store, const at::Tensor& value) {
  Group* group = any() ? group_of(value) : nullptr;
  if (!group || group->size() < 2) return;
  const c10::StorageImpl* key = value.storage().unsafeGetStorageImpl();
  const Member& source = *std::ranges::find(*group, key, &Member::key);
  const at::Tensor from = whole(source.storage.lock(), source.dtype);
  const bool known = bits_are_known(store, from);
  const at::Tensor bits = carried(from, to_aten(source.dtype));
  for (const Member& other : *group) {
    if (other.key == key) continue;
    const at::Tensor to = whole(other.storage.lock(), other.dtype);
    at::Tensor seen = at::zeros(to.sizes(), at::TensorOptions().dtype(to_aten(other.dtype)));
    const bool fits = seen.nbytes() <= bits.nbytes();
    if (fits) {  // values alone follow what is uncertain too
      if (seen.numel()) std::memcpy(seen.mutable_data_ptr(), bits.const_data_ptr(), seen.nbytes());
      to.copy_(carried(seen, to.scalar_type()));
    }
    if (known && fits) {
      store.write(to, {}, {});
    } else {
      store.write(to, at::full(to.sizes(), HUGE_VAL, at::kDouble), at::ones(to.sizes(), at::kBool));
    }
    store.may_be_any(to);
  }
}

}  // namespace lenz::oracle
