#include "oracle/aten.h"

#include <ATen/core/Tensor.h>

namespace lenz::oracle {

namespace {
constexpr c10::ScalarType kTypes[kDtypeCount] = {
    c10::ScalarType::Bool,          c10::ScalarType::Byte,         c10::ScalarType::Char,
    c10::ScalarType::Short,         c10::ScalarType::Int,          c10::ScalarType::Long,
    c10::ScalarType::Half,          c10::ScalarType::BFloat16,     c10::ScalarType::Float,
    c10::ScalarType::Double,        c10::ScalarType::ComplexFloat, c10::ScalarType::ComplexDouble,
    c10::ScalarType::Float8_e4m3fn, c10::ScalarType::Float8_e5m2};

Seen look_at(const at::Tensor& t) {
  Seen seen;
  if (!t.defined()) return seen;
  seen.kind = TypeKind::tensor;
  auto dtype = from_aten(t.scalar_type());
  auto device = t.device().type();
  if (!dtype || t.layout() != c10::kStrided) {
    seen.foreign = true;
    seen.text = std::string(c10::toString(t.scalar_type())) + (t.layout() == c10::kStrided ? "" : ", sparse");
    if (t.layout() != c10::kStrided) return seen;
  }
  if (dtype) seen.dtype = *dtype;
  seen.device.kind = device == c10::kMeta   ? DeviceKind::meta
                     : device == c10::kCUDA ? DeviceKind::cuda
                                            : DeviceKind::cpu;
  if (device == c10::kCUDA) seen.device.index = t.device().index();
  for (int64_t s : t.sizes()) seen.sizes.push_back(s);
  for (int64_t s : t.strides()) seen.strides.push_back(s);
  seen.offset = t.storage_offset();
  seen.storage = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  return seen;
}

Seen look_at(const c10::IValue& v) {
  if (v.isTensor()) return look_at(v.toTensor());
  Seen seen;
  if (v.isNone()) return seen;
  if (v.isList()) {
    seen.kind = TypeKind::list;
    for (const c10::IValue& e : v.toListRef()) seen.elements.push_back(look_at(e));
  } else if (v.isBool()) {
    seen.kind = TypeKind::sym_bool;
    seen.number = v.toBool() ? 1 : 0;
  } else if (v.isInt()) {
    seen.kind = TypeKind::sym_int;
    seen.integer = v.toInt();
    seen.number = static_cast<double>(seen.integer);
  } else if (v.isDouble()) {
    seen.kind = TypeKind::sym_float;
    seen.number = v.toDouble();
  } else {
    seen.foreign = true;
    seen.text = v.tagKind();
  }
  return seen;
}

template <class T>
std::string list_text(const T& items) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + std::to_string(items[i]);
  return text + "]";
}
}  // namespace

c10::ScalarType to_aten(Dtype dtype) { return kTypes[static_cast<size_t>(dtype)]; }

std::optional<Dtype> from_aten(c10::ScalarType type) {
  for (int i = 0; i < kDtypeCount; ++i)
    if (kTypes[i] == type) return static_cast<Dtype>(i);
  return std::nullopt;
}

c10::Device to_aten(Device device) {
  constexpr c10::DeviceType kinds[] = {c10::DeviceType::CPU, c10::DeviceType::CUDA, c10::DeviceType::Meta};
  return {kinds[static_cast<size_t>(device.kind)], static_cast<c10::DeviceIndex>(device.index)};
}

c10::MemoryFormat to_aten(MemoryFormat format) {
  constexpr c10::MemoryFormat formats[] = {c10::MemoryFormat::Contiguous, c10::MemoryFormat::Preserve,
                                           c10::MemoryFormat::ChannelsLast, c10::MemoryFormat::ChannelsLast3d};
  return formats[static_cast<size_t>(format)];
}

c10::Layout to_aten(Layout layout) {
  constexpr c10::Layout layouts[] = {c10::kStrided, c10::kSparse, c10::kSparseCsr};
  return layouts[static_cast<size_t>(layout)];
}

Seen look(const RunValue& value) { return value ? look_at(value->value) : Seen(); }

RunValue element(const RunValue& list, int64_t index) {
  auto items = list->value.toListRef();
  auto count = static_cast<int64_t>(items.size());
  return hold(items[static_cast<size_t>(index < 0 ? index + count : index)]);
}

RunValue list_of(const std::vector<RunValue>& tensors) {
  c10::List<at::Tensor> list;
  for (const RunValue& t : tensors) list.push_back(t->value.toTensor());
  return hold(list);
}

std::string to_string(const Seen& seen) {
  switch (seen.kind) {
    case TypeKind::none: return seen.foreign ? seen.text : "none";
    case TypeKind::sym_int: return "int " + std::to_string(seen.integer);
    case TypeKind::sym_float: return "float";
    case TypeKind::sym_bool: return "bool";
    case TypeKind::token: return "token";
    case TypeKind::list: {
      std::string text = "[";
      for (size_t i = 0; i < seen.elements.size(); ++i) text += (i ? ", " : "") + to_string(seen.elements[i]);
      return text + "]";
    }
    case TypeKind::tensor: break;
  }
  std::string text = (seen.foreign ? seen.text : std::string(name(seen.dtype))) + list_text(seen.sizes);
  SmallVec<int64_t, 6> plain(seen.sizes.size(), 1);
  for (size_t i = plain.size(); i-- > 1;) plain[i - 1] = plain[i] * std::max<int64_t>(seen.sizes[i], 1);
  if (!(plain == seen.strides)) text += " strides " + list_text(seen.strides);
  if (seen.offset) text += " offset " + std::to_string(seen.offset);
  if (seen.device.kind == DeviceKind::cuda) text += " on " + lenz::to_string(seen.device);
  return text;
}

}  // namespace lenz::oracle
