#include "oracle/bounds/carried.h"

#include <ATen/Functions.h>

#include <cmath>

#include "compiler/loops/tensor.h"
#include "oracle/aten.h"

namespace lenz::oracle {

at::Tensor carried(const at::Tensor& given, at::ScalarType to) {
  at::Tensor made = given.to(to, false, true).contiguous();
  const bool floats =
      (given.is_floating_point() && made.is_floating_point()) || (given.is_complex() && made.is_complex());
  const at::ScalarType type = given.scalar_type();
  if (!floats || type == to) return made;
  const bool widens = made.element_size() > given.element_size();  // float8 has no isnan
  if (!at::isnan(widens ? made : given).any().item<bool>()) return made;
  const Dtype from = to_real(*from_aten(type)), into = to_real(*from_aten(to));
  const at::Tensor source = given.contiguous();
  const auto* read = static_cast<const std::byte*>(source.const_data_ptr());
  auto* write = static_cast<std::byte*>(made.mutable_data_ptr());
  const int64_t parts = source.numel() * (source.is_complex() ? 2 : 1);
  for (int64_t i = 0; i < parts; ++i) {
    const ScalarValue part = loops::read_element(from, read + i * item_size(from));
    if (std::isnan(part.real())) loops::write_element(into, write + i * item_size(into), part);
  }
  return made;
}

}  // namespace lenz::oracle
