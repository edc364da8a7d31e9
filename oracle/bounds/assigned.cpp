// What an op gives, written where it belongs, in the dtype of that.
#include "compiler/scalar/rounding.h"
#include "oracle/aten.h"
#include "oracle/bounds/flows.h"

namespace lenz::oracle {

// In another dtype, as far as this run keeps account.
Planes recorded(FlowContext& in, const Planes& planes, Dtype from, Dtype to) {
  if (in.errors) return converted(planes, from, to, in.formula);
  return {planes.value.to(to_aten(widened(to))), {}, {}, planes.loose_zeros && is_inexact(to)};
}

namespace {
bool shows_whole_storage(const at::Tensor& t) {
  return t.is_contiguous() && static_cast<int64_t>(t.storage().nbytes()) == t.numel() * t.element_size();
}
}  // namespace

void assign(FlowContext& in, const at::Tensor& target, const Planes& planes, Dtype from, Dtype to, bool resized) {
  Planes p = recorded(in, planes, from, to);
  const Planes before = in.store.read(target);
  if (resized && target.sizes() != p.value.sizes()) target.resize_(p.value.sizes());
  if (!shows_whole_storage(target)) {  // what is known of all that the storage holds holds of the rest too
    p.never_negative = p.never_negative && before.never_negative;
    p.whole = p.whole && before.whole;
    p.farthest = std::max(p.farthest, before.farthest);
  }
  target.copy_(p.value);
  in.store.carry(p, target);
}

}  // namespace lenz::oracle
