#include "compiler/graph/type.h"

#include <algorithm>
#include <utility>
#include <vector>

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

namespace {
// Of dims whose numbers are known: whether two of their elements lie at one place. Dims that reach farther than all
// lesser ones together keep theirs apart; of others the places of a few elements are looked at.
bool constants_share_places(std::span<const std::pair<int64_t, int64_t>> dims) {  // stride and size, by stride
  constexpr int64_t kMostPlaces = 1 << 12;
  int64_t reach = 0, elements = 1, more;
  bool nested = true;
  for (const auto& [stride, size] : dims) {
    nested = nested && stride > reach;
    if (__builtin_mul_overflow(elements, size, &elements) || __builtin_mul_overflow(stride, size - 1, &more) ||
        __builtin_add_overflow(reach, more, &reach))
      return true;
  }
  if (nested) return false;
  if (elements > kMostPlaces) return true;
  std::vector<int64_t> places{0};
  for (const auto& [stride, size] : dims)
    for (size_t before = places.size(), i = before; i < before * static_cast<size_t>(size); ++i)
      places.push_back(places[i - before] + stride);
  std::ranges::sort(places);
  return std::ranges::adjacent_find(places) != places.end();
}
}  // namespace

bool shares_places(std::span<const Dim> sizes, std::span<const Dim> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  bool constant = true, shares = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].is(0)) return false;
    if (sizes[d].is(1)) continue;
    shares = shares || strides[d].is(0);
    constant = constant && sizes[d].is_constant() && strides[d].is_constant();
    if (constant) dims.emplace_back(strides[d].constant(), sizes[d].constant());
  }
  if (shares || !constant) return shares;
  std::ranges::sort(dims);
  return constants_share_places(dims);
}

// Eager multiplies max(size, 1), so that an empty tensor still has the strides of its neighbours' sizes.
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
