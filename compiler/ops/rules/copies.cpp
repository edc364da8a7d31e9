// Copies and conversions.
#include <algorithm>

#include "compiler/graph/lazy_views.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/rules/movement.h"
#include "compiler/ops/rules/views.h"

namespace lenz::rule {

namespace {
bool flag(Infer& in, std::string_view param) { return in.has_param(param) && in.boolean(param); }

TensorType converted(Infer& in, const Type& t, Dtype dtype, Device device) {
  TensorType result = t.tensor();
  result.dtype = dtype;
  result.device = device;
  result.offset = 0;
  result.strides = like_strides(in, t, format_argument(in, "memory_format"));
  return result;
}

// Tensor::to: self, if it is already what is asked for.
void convert(Infer& in, Dtype dtype, Device device) {
  const Type& t = in.tensor(0);
  auto format = format_argument(in, "memory_format");
  bool same = dtype == t.dtype && device == t.device && !flag(in, "copy");
  if (same && (!format || format == MemoryFormat::preserve || suggested_format(in, t) == *format))
    return in.alias(t.tensor(), 0);
  in.result(converted(in, t, dtype, device));
}
}  // namespace

void require_negatable(Infer& in, ValueId copied, Dtype into, std::span<const Dim> sizes) {
  const bool negates = into != Dtype::b8 && !is_float8(into);
  if (negates || is_complex(in.type_of(copied).dtype) || !in.owner || !laziness(*in.owner, copied).any()) return;
  if (std::ranges::none_of(sizes, [&](Dim d) { return in.is_zero(d); }))
    in.raise("what is lazily negated is copied before it is negated, for which this dtype has no kernel");
}

void clone(Infer& in) {
  const Type& t = in.tensor(0);
  in.result(converted(in, t, t.dtype, t.device));
}

void copy(Infer& in) {
  const Type& self = in.tensor(0);
  require_expands(in, in.tensor("src"), self.sizes());
  if (in.op().variant == VariantKind::in_place) require_negatable(in, in.arg("src").value(), self.dtype, self.sizes());
  in.result(same_placement(in, self));
}

void to_copy(Infer& in) {
  const Type& t = in.tensor(0);
  in.result(converted(in, t, in.dtype("dtype").value_or(t.dtype), device_argument(in, t.device)));
}

void to(Infer& in) {
  const Type& t = in.tensor(0);
  convert(in, in.dtype("dtype").value_or(t.dtype), device_argument(in, t.device));
}

void to_other(Infer& in) { convert(in, in.tensor("other").dtype, in.tensor("other").device); }

}  // namespace lenz::rule
