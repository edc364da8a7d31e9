#include "compiler/ops/rules/elementwise.h"

#include <algorithm>

namespace lenz::rule {

Operand number_operand(Infer& in, const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::boolean: return {nullptr, Dtype::b8};
    case ArgKind::integer: return {nullptr, Dtype::i64};
    case ArgKind::real: return {nullptr, Dtype::f64};
    case ArgKind::complex: return {nullptr, Dtype::c128};
    case ArgKind::value: {
      TypeKind kind = in.type_of(arg.value()).kind;
      if (kind == TypeKind::sym_bool) return {nullptr, Dtype::b8};
      return {nullptr, kind == TypeKind::sym_int ? Dtype::i64 : Dtype::f64};
    }
    default: in.raise("expected a number");
  }
}

Operands operands(Infer& in, std::initializer_list<std::string_view> params) {
  Operands list;
  for (std::string_view p : params) {
    if (!in.has_param(p) || !in.given(p)) continue;
    size_t i = in.at(p);
    if (in.op().schema.params[i].type.kind == ParamKind::tensor) {
      list.push_back({&in.tensor(i), Dtype::b8});
    } else {
      list.push_back(number_operand(in, in.arg(i)));
    }
  }
  return list;
}

Operands all_operands(Infer& in) {
  // Scalars that stand where a tensor could; others (alpha, negative_slope) are attributes.
  constexpr std::string_view kNumbers[] = {"self", "other", "exponent", "x", "n"};
  Operands list;
  const auto& params = in.op().schema.params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_out || in.arg(i).is_none()) continue;
    if (params[i].type.kind == ParamKind::tensor) list.push_back({&in.tensor(i), Dtype::b8});
    if (params[i].type.kind == ParamKind::scalar && std::ranges::find(kNumbers, params[i].name) != std::end(kNumbers))
      list.push_back(number_operand(in, in.arg(i)));
  }
  return list;
}

void require_dtype(Infer& in, Dtype dtype) {
  const OpDef& op = in.op();
  if (!(op.computes.empty() ? op.dtypes : op.computes).has(dtype))
    in.raise("has no kernel for " + std::string(name(dtype)));
}

namespace {
// c10's combination of a higher-ranking category of operands with a lower one.
Dtype combine(Infer& in, std::optional<Dtype> high, std::optional<Dtype> low, bool& any) {
  any = true;
  if (!high) return *low;
  if (!low || is_complex(*high)) return *high;
  if (is_floating(*high)) {
    if (!is_complex(*low)) return *high;
    if (is_float8(*high)) in.raise("promotion of float8 with complex numbers is not supported");
    if (*high == Dtype::f16) throw Unsupported(in.op().full_name + ": the result would be complex32");
    return to_complex(*high);
  }
  if (*high != Dtype::b8 && !is_inexact(*low)) return *high;
  auto both = promote(*high, *low);
  if (!both) in.raise("promotion with float8 types is not supported");
  return *both;
}
}  // namespace

Dtype result_type(Infer& in, const Operands& list) {
  std::optional<Dtype> with_dims, zero_dim, numbers;
  for (const Operand& o : list) {
    std::optional<Dtype>& category = !o.type ? numbers : o.type->rank() ? with_dims : zero_dim;
    Dtype d = o.type ? o.type->dtype : o.number;
    if (!o.type && d == Dtype::f64) d = Dtype::f32;  // a Python float has the default dtype
    if (!o.type && d == Dtype::c128) d = Dtype::c64;
    if (!category) {
      category = d;
    } else if (auto both = promote(*category, d)) {
      category = both;
    } else {
      in.raise("promotion with float8 types is not supported");
    }
  }
  bool any = false;
  std::optional<Dtype> low;
  if (zero_dim || numbers) low = combine(in, zero_dim, numbers, any);
  LENZ_CHECK(with_dims || low, "result_type of no operands");
  return combine(in, with_dims, low, any);
}

Dtype float_result_type(Infer& in, const Operands& list) {
  Dtype d = result_type(in, list);
  return is_integral(d, true) ? Dtype::f32 : d;
}

DimVec broadcast(Infer& in, std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  DimVec out(a);
  size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Dim& x = out[shift + i];
    Dim y = b[i];
    if (x == y || y.is(1)) continue;
    if (x.is(1)) {
      x = y;
    } else if (x.is_constant() && y.is_constant()) {
      in.raise("sizes " + to_string(x) + " and " + to_string(y) + " don't broadcast at dim " +
               std::to_string(shift + i));
    } else if (in.is_one(x)) {
      x = y;
    } else if (!in.is_one(y)) {
      in.require(eq(x, y), "sizes don't broadcast");
      if (y.is_constant()) x = y;
    }
  }
  return out;
}

namespace {
bool dense_in_order(Infer& in, const Type& t, std::span<const int> order) {  // innermost first
  for (Dim s : t.sizes())
    if (in.is_zero(s)) return false;
  Dim expected = 1;
  for (int d : order) {
    Dim size = t.sizes()[static_cast<size_t>(d)];
    if (in.is_one(size)) continue;
    if (!in.same(t.strides()[static_cast<size_t>(d)], expected)) return false;
    expected *= size;
  }
  return true;
}
}  // namespace

bool is_channels_last(Infer& in, const Type& t) {
  constexpr int order[] = {1, 3, 2, 0};
  return t.rank() == 4 && dense_in_order(in, t, order);
}

bool is_channels_last_3d(Infer& in, const Type& t) {
  constexpr int order[] = {1, 4, 3, 2, 0};
  return t.rank() == 5 && dense_in_order(in, t, order);
}

// Eager's test (is_channels_last_strides): from innermost, strides ascend by at least the sizes; a tensor that could
// be contiguous as well, by sizes of 1, is not channels-last.
bool suggests_channels_last(Infer& in, const Type& t) {
  constexpr int order2[] = {1, 3, 2, 0}, order3[] = {1, 4, 3, 2, 0};
  if (t.rank() != 4 && t.rank() != 5) return false;
  if (in.is_zero(t.strides()[1])) return false;
  Dim least = 0;
  std::span<const int> order = t.rank() == 4 ? std::span<const int>(order2) : std::span<const int>(order3);
  for (int d : order) {
    Dim size = t.sizes()[static_cast<size_t>(d)], stride = t.strides()[static_cast<size_t>(d)];
    if (in.is_zero(size)) return false;
    if (in.decide(lt(stride, least))) return false;
    if (d == 0 && in.same(least, t.strides()[1])) return false;
    least = in.decide(gt(size, 1)) ? stride * size : stride;
  }
  return true;
}

DimVec channels_last_strides(std::span<const Dim> sizes) {
  // From innermost: channels, then the spatial dims from the last, then the batch. Sizes below 1 count as 1.
  DimVec strides(sizes.size(), Dim(1));
  Dim at = max(sizes[1], Dim(1));
  for (size_t d = sizes.size(); d-- > 2;) {
    strides[d] = at;
    at *= max(sizes[d], Dim(1));
  }
  strides[0] = at;
  return strides;
}

namespace {
// Eager's short cut when all operands have one shape and one dense layout.
std::optional<DimVec> shared_layout(Infer& in, const Operands& list, std::span<const Dim> shape) {
  bool contiguous = true, channels_last = true, dense = true;
  const Type* first = nullptr;
  for (const Operand& o : list) {
    if (!o.type) return shape.empty() ? std::optional(DimVec()) : std::nullopt;
    if (o.type->rank() != shape.size()) return std::nullopt;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!in.same(o.type->sizes()[i], shape[i])) return std::nullopt;
    if (!first) first = o.type;
  }
  for (const Operand& o : list) contiguous = contiguous && is_contiguous(in, *o.type);
  if (contiguous) return contiguous_strides(shape);
  for (const Operand& o : list) channels_last = channels_last && is_channels_last(in, *o.type);
  if (channels_last) return channels_last_strides(shape);
  for (const Operand& o : list) {
    dense = dense && is_dense(in, *o.type);
    for (size_t i = 0; dense && i < shape.size(); ++i) dense = in.same(o.type->strides()[i], first->strides()[i]);
  }
  if (dense) return DimVec(first->strides());
  return std::nullopt;
}
}  // namespace

TensorType elementwise_result(Infer& in, const Operands& list, Dtype dtype) {
  return elementwise_result(in, list, dtype, dtype);
}

TensorType elementwise_result(Infer& in, const Operands& given, Dtype dtype, std::optional<Dtype> common) {
  Operands list = given;
  for (Operand& o : list)
    if (o.type && common && o.type->dtype != *common && o.type->device.kind == DeviceKind::cpu)
      o.type = in.context().tensor(converted(in, *o.type, *common));
  DimVec shape;
  Device device;
  bool first = true;
  for (const Operand& o : list) {
    if (!o.type) continue;
    shape = first ? DimVec(o.type->sizes()) : broadcast(in, shape, o.type->sizes());
    if (first) device = o.type->device;
    first = false;
  }
  TensorType result{dtype, device, shape, {}, 0};
  if (auto layout = shared_layout(in, list, shape)) {
    result.strides = *layout;
    return result;
  }
  std::vector<DimVec> strides;
  for (const Operand& o : list) {
    DimVec s(shape.size(), Dim(0));
    size_t shift = shape.size() - (o.type ? o.type->rank() : 0);
    for (size_t i = 0; o.type && i < o.type->rank(); ++i)
      if (!in.is_one(o.type->sizes()[i]) || in.is_one(shape[shift + i])) s[shift + i] = o.type->strides()[i];
    strides.push_back(std::move(s));
  }
  result.strides = strides_in_order(shape, iteration_order(in, strides, shape));
  return result;
}

TensorType converted(Infer& in, const Type& t, Dtype dtype) {
  if (t.dtype == dtype) return t.tensor();
  return {dtype, t.device, DimVec(t.sizes()), preserved_strides(in, t), 0};
}

void same_dtype(Infer& in) {
  Operands list = all_operands(in);
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

void float_dtype(Infer& in) {
  Operands list = all_operands(in);
  Dtype common = float_result_type(in, list);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

void bool_dtype(Infer& in) {
  Operands list = all_operands(in);
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, Dtype::b8, common));
}

}  // namespace lenz::rule
