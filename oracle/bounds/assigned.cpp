// What an op gives, written where it belongs, in the dtype of that.
#include "compiler/scalar/rounding.h"
#include "oracle/aten.h"
#include "oracle/bounds/flows.h"
#include "oracle/bounds/plane_numbers.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

void stand_at_the_end(Planes& made, Dtype to) {
  if (!made.lean.defined() || !made.error.defined() || !is_floating(to) || to == Dtype::f64) return;
  const Numbers errors(made.error, made.value), leans(made.lean, made.value);
  const double end = overflow_threshold(to);
  at::Tensor moved;
  for (int64_t i = 0; i < made.value.numel(); ++i) {
    if (!std::isinf(errors[i]) || !std::isinf(leans[i])) continue;
    if (!moved.defined()) moved = made.value.to(at::kDouble, false, true).contiguous();
    numbers_of(moved)[i] = std::copysign(end, leans[i]);
  }
  if (moved.defined()) made.value = moved;
}

// In another dtype, as far as this run keeps account.
Planes recorded(FlowContext& in, const Planes& planes, Dtype from, Dtype to) {
  if (in.errors) {
    Planes made = converted(planes, from, to, in.formula);
    stand_at_the_end(made, to);
    return made;
  }
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
