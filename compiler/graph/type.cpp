#include "compiler/graph/type.h"

namespace lenz {

std::string to_string(Device device) {
  constexpr std::string_view names[] = {"cpu", "cuda", "meta"};
  std::string text(names[static_cast<size_t>(device.kind)]);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

TensorType Type::tensor() const {
  LENZ_CHECK(kind == TypeKind::tensor, "asked a type that is no tensor for a tensor type");
  return {dtype, device, DimVec(sizes()), DimVec(strides()), offset};
}

Dim numel(std::span<const Dim> sizes) {
  Dim product = 1;
  for (Dim s : sizes) product *= s;
  return product;
}

// Eager multiplies max(size, 1), so that an empty tensor still has the strides of its neighbours' sizes.
bool shares_places(std::span<const Dim> sizes, std::span<const Dim> strides) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (strides[d].is(0) && !sizes[d].is(1)) return true;
  return false;
}

DimVec contiguous_strides(std::span<const Dim> sizes) {
  DimVec strides(sizes.size(), Dim(1));
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * max(sizes[i], Dim(1));
  return strides;
}

TensorType contiguous_tensor(Dtype dtype, std::span<const Dim> sizes, Device device) {
  return {dtype, device, DimVec(sizes), contiguous_strides(sizes), 0};
}

namespace {
std::string list_of(std::span<const Dim> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + to_string(dims[i]);
  return text + "]";
}

std::string tensor_text(const Type& t) {
  std::string text = std::string(name(t.dtype)) + list_of(t.sizes());
  DimVec plain = contiguous_strides(t.sizes());
  if (!std::ranges::equal(plain.span(), t.strides())) text += " strides " + list_of(t.strides());
  if (!t.offset.is(0)) text += " offset " + to_string(t.offset);
  if (!(t.device == Device{})) text += " on " + to_string(t.device);
  return text;
}
}  // namespace

std::string to_string(const Type& type) {
  switch (type.kind) {
    case TypeKind::tensor: return tensor_text(type);
    case TypeKind::list: {
      std::string text = "[";
      for (size_t i = 0; i < type.count; ++i) text += (i ? ", " : "") + to_string(*type.element_data[i]);
      return text + "]";
    }
    case TypeKind::sym_int: return "int " + to_string(type.offset);
    case TypeKind::sym_float: return "float";
    case TypeKind::sym_bool: return "bool";
    case TypeKind::none: return "none";
    case TypeKind::token: return "token";
  }
  return {};
}

}  // namespace lenz
