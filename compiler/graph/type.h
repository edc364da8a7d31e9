// Types of values. A Type is immutable and interned in a Context: equal types of one context are one pointer.
// TensorType is the same thing as a plain value, for computing.
// Thread-safety: values; interned types are constant.
#pragma once

#include <span>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"
#include "compiler/base/small_vec.h"
#include "compiler/base/sym.h"

namespace lenz {

using DimVec = SmallVec<Dim, 5>;

enum class DeviceKind : uint8_t { cpu, cuda, meta };
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int8_t index = -1;  // -1: none said
  friend bool operator==(const Device&, const Device&) = default;
};
std::string to_string(Device device);

// ATen's memory formats and layouts, as arguments of ops.
enum class MemoryFormat : uint8_t { contiguous, preserve, channels_last, channels_last_3d };
enum class Layout : uint8_t { strided, sparse_coo, sparse_csr };

enum class TypeKind : uint8_t { tensor, list, sym_int, sym_float, sym_bool, none, token };

struct TensorType {
  Dtype dtype = Dtype::f32;
  Device device;
  DimVec sizes, strides;
  Dim offset = 0;

  size_t rank() const { return sizes.size(); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Type {
  TypeKind kind = TypeKind::none;
  // kind tensor:
  Dtype dtype = Dtype::f32;
  Device device;
  uint32_t count = 0;  // rank of a tensor, length of a list
  const Dim* size_data = nullptr;
  const Dim* stride_data = nullptr;
  Dim offset = 0;                             // of a tensor; the value of a sym_int (see `has_value`)
  const Type* const* element_data = nullptr;  // kind list
  uint64_t hash = 0;

  bool is_tensor() const { return kind == TypeKind::tensor; }
  size_t rank() const { return count; }
  std::span<const Dim> sizes() const { return {size_data, count}; }
  std::span<const Dim> strides() const { return {stride_data, count}; }
  std::span<const Type* const> elements() const { return {element_data, kind == TypeKind::list ? count : 0}; }
  TensorType tensor() const;  // as a value; only of a tensor
};

// Whether elements of a dim lie at one place, so that nothing can be copied to lie so.
bool shares_places(std::span<const Dim> sizes, std::span<const Dim> strides);
DimVec contiguous_strides(std::span<const Dim> sizes);  // as eager computes them: sizes below 1 count as 1
TensorType contiguous_tensor(Dtype dtype, std::span<const Dim> sizes, Device device = {});
Dim numel(std::span<const Dim> sizes);

// Calls visit(Dim) for every symbolic dim of a type: sizes, strides, offsets, values of integers, in lists too.
template <class F>
void for_each_symbolic_dim(const Type& t, F&& visit) {
  for (const Type* e : t.elements()) for_each_symbolic_dim(*e, visit);
  if (t.kind == TypeKind::sym_int && !t.offset.is_constant()) visit(t.offset);
  if (!t.is_tensor()) return;
  for (Dim d : t.sizes())
    if (!d.is_constant()) visit(d);
  for (Dim d : t.strides())
    if (!d.is_constant()) visit(d);
  if (!t.offset.is_constant()) visit(t.offset);
}

std::string to_string(
    const Type& type);  // "f32[s0, 768]", "f32[4, 4] strides [1, 4] offset 2 on cuda:0", "int s0", "[f32[2], f32[3]]"

}  // namespace lenz
