// Tensors in the host's memory, and their elements as scalars: what the interpreter reads and writes.
// Thread-safety: tensors that share storage belong to one thread at a time while somebody writes.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/base/small_vec.h"
#include "compiler/scalar/scalar.h"

namespace lenz::loops {

using Ints = SmallVec<int64_t, 5>;

ScalarValue read_element(Dtype dtype, const std::byte* at);
void write_element(Dtype dtype, std::byte* at, const ScalarValue& value);  // rounds what is not representable

ScalarValue zero_of(Dtype dtype);
// The value that a result becomes in its dtype: integers wrap, floats are rounded.
ScalarValue settled(Dtype dtype, const ScalarValue& value);
// The row's evaluation for values of this compute dtype; InternalError if it has none.
Evaluator evaluator_of(const ScalarRow& row, Dtype compute);

struct Storage {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<const void> owner;  // keeps `data`; null: somebody else does
  bool read_only = false;
};

class Tensor {
 public:
  Tensor() = default;  // no tensor
  // Sizes, strides and offset in elements. InternalError unless every element lies within the storage.
  Tensor(std::shared_ptr<Storage> storage, Dtype dtype, Ints sizes, Ints strides, int64_t offset);
  // Fresh, contiguous, all zero.
  Tensor(Dtype dtype, Ints sizes);
  // Fresh, contiguous, with these elements.
  static Tensor of(Dtype dtype, Ints sizes, std::span<const ScalarValue> elements);
  static Tensor reals(Dtype dtype, Ints sizes, std::initializer_list<double> elements);  // of any dtype
  static Tensor integers(Dtype dtype, Ints sizes, std::initializer_list<int64_t> elements);

  explicit operator bool() const { return storage_ != nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Dtype dtype() const { return dtype_; }
  const Ints& sizes() const { return sizes_; }
  const Ints& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  size_t rank() const { return sizes_.size(); }
  int64_t numel() const;
  // The same storage, seen otherwise.
  Tensor view(const Ints& sizes, const Ints& strides, int64_t offset) const {
    return {storage_, dtype_, sizes, strides, offset};
  }

  // By coordinates, and by number in ascending order of coordinates. InternalError outside the tensor.
  ScalarValue get(std::span<const int64_t> index) const { return read_element(dtype_, element(address(index))); }
  void set(std::span<const int64_t> index, const ScalarValue& value);
  ScalarValue at(int64_t number) const { return get(coordinates(number)); }
  void put(int64_t number, const ScalarValue& value) { set(coordinates(number), value); }
  Ints coordinates(int64_t number) const;
  int64_t address(std::span<const int64_t> index) const;  // in elements of the storage

  // By address, unchecked.
  std::byte* element(int64_t address) const { return storage_->data + address * item_bytes_; }
  int64_t item_bytes() const { return item_bytes_; }

 private:
  std::shared_ptr<Storage> storage_;
  Dtype dtype_ = Dtype::f32;
  Ints sizes_, strides_;
  int64_t offset_ = 0;
  int64_t item_bytes_ = 0;
};

// "[2, 3]"
std::string to_string(std::span<const int64_t> ints);
Ints contiguous_strides(std::span<const int64_t> sizes);  // as eager computes them: sizes below 1 count as 1
// How many elements a storage must have for this; nullopt if that passes 64 bits.
std::optional<int64_t> elements_needed(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                       int64_t offset);
// Fresh zeroed memory. std::bad_alloc if there is none.
std::shared_ptr<Storage> allocate(uint64_t bytes);

}  // namespace lenz::loops
