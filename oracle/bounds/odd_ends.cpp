#include "oracle/bounds/odd_ends.h"

#include <ATen/Functions.h>

#include <bit>
#include <cmath>
#include <limits>

namespace lenz::oracle {

double with_odd_end(int64_t v) {
  const uint64_t size = v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const int lost = std::max(64 - std::countl_zero(size) - std::numeric_limits<double>::digits, 0);
  uint64_t kept = size >> lost;
  if (kept << lost != size) kept |= 1;
  const double made = std::ldexp(static_cast<double>(kept), lost);
  return v < 0 ? -made : made;
}

at::Tensor with_odd_ends(const at::Tensor& value, Dtype to) {
  if (value.scalar_type() != at::kLong || value.numel() == 0 || !is_inexact(to) || to_real(to) == Dtype::f64)
    return value;
  constexpr int64_t kHeld = int64_t{1} << std::numeric_limits<double>::digits;
  const auto [least, most] = at::aminmax(value);
  if (least.item<int64_t>() >= -kHeld && most.item<int64_t>() <= kHeld) return value;
  const at::Tensor whole = value.contiguous();
  at::Tensor made = at::empty(value.sizes(), at::kDouble);
  const int64_t* from = whole.const_data_ptr<int64_t>();
  double* into = made.mutable_data_ptr<double>();
  for (int64_t i = 0; i < whole.numel(); ++i) into[i] = with_odd_end(from[i]);
  return made;
}

}  // namespace lenz::oracle
