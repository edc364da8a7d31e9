#include "compiler/loops/tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"

namespace lenz::loops {

namespace {
template <class T>
T raw(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void put_raw(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
}  // namespace

// Common dtypes in the machine's own arithmetic; from_bits() and to_bits() say what they all mean, and carry NaNs'
// bits.
ScalarValue read_element(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::f32:
      if (float value = raw<float>(at); !std::isnan(value)) return ScalarValue(static_cast<double>(value));
      break;
    case Dtype::f64: return ScalarValue(raw<double>(at));
    case Dtype::i64: return ScalarValue(raw<int64_t>(at));
    case Dtype::i32: return ScalarValue(int64_t{raw<int32_t>(at)});
    case Dtype::b8: return ScalarValue(int64_t{raw<uint8_t>(at) != 0});
    default: break;
  }
  ScalarBits bits{};
  std::memcpy(bits.data(), at, static_cast<size_t>(item_size(dtype)));  // little-endian, as all our targets are
  return from_bits(dtype, bits);
}

void write_element(Dtype dtype, std::byte* at, const ScalarValue& value) {
  switch (dtype) {
    case Dtype::f32:
      if (double real = value.real(); !std::isnan(real)) return put_raw(at, static_cast<float>(real));
      break;
    case Dtype::f64: return put_raw(at, value.real());
    case Dtype::i64: return put_raw(at, value.integer());
    case Dtype::i32: return put_raw(at, static_cast<int32_t>(value.integer()));
    case Dtype::b8: return put_raw(at, static_cast<uint8_t>(value.integer() != 0));
    default: break;
  }
  ScalarBits bits = to_bits(dtype, value);
  std::memcpy(at, bits.data(), static_cast<size_t>(item_size(dtype)));
}

ScalarValue zero_of(Dtype dtype) {
  if (is_complex(dtype)) return ScalarValue(std::complex<double>());
  return is_floating(dtype) ? ScalarValue(0.0) : ScalarValue(int64_t{0});
}

ScalarValue settled(Dtype dtype, const ScalarValue& value) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::c128: return value;
    case Dtype::f32: return ScalarValue(round_to(dtype, value.real()));  // a NaN as it is: the machine makes it quiet
    case Dtype::c64: return ScalarValue(round_to(dtype, value.complex()));
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f8e4m3:
    case Dtype::f8e5m2: return ScalarValue(round_to(dtype, value.real()));
    default: return ScalarValue(wrap_to(dtype, value.integer()));
  }
}

Evaluator evaluator_of(const ScalarRow& row, Dtype compute) {
  Evaluator found = is_complex(compute)    ? row.eval.complexes
                    : is_floating(compute) ? row.eval.reals
                                           : row.eval.integers;
  if (found == nullptr || !row.dtypes.has(compute))
    throw InternalError("scalar '" + std::string(row.name) + "' is not defined on " + std::string(name(compute)));
  return found;
}

std::string to_string(std::span<const int64_t> ints) {
  std::string text = "[";
  for (size_t i = 0; i < ints.size(); ++i) text += (i ? ", " : "") + std::to_string(ints[i]);
  return text + "]";
}

Ints contiguous_strides(std::span<const int64_t> sizes) {
  Ints strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

std::optional<int64_t> elements_needed(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                       int64_t offset) {
  int64_t last = offset;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    LENZ_CHECK(sizes[i] >= 0 && strides[i] >= 0, "a size or stride is negative");
    int64_t step = 0;
    empty = empty || sizes[i] == 0;
    if (sizes[i] > 0 &&
        (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last)))
      return std::nullopt;
  }
  if (empty) return 0;
  return last == INT64_MAX ? std::nullopt : std::optional(last + 1);
}

std::shared_ptr<Storage> allocate(uint64_t bytes) {
  std::shared_ptr<void> memory(std::calloc(std::max<uint64_t>(bytes, 1), 1), std::free);
  if (memory == nullptr) throw std::bad_alloc();
  auto* data = static_cast<std::byte*>(memory.get());
  return std::make_shared<Storage>(Storage{data, bytes, std::move(memory), false});
}

Tensor::Tensor(std::shared_ptr<Storage> storage, Dtype dtype, Ints sizes, Ints strides, int64_t offset)
    : storage_(std::move(storage)),
      dtype_(dtype),
      sizes_(sizes),
      strides_(strides),
      offset_(offset),
      item_bytes_(item_size(dtype)) {
  LENZ_CHECK(sizes.size() == strides.size(), "as many strides as sizes");
  std::optional<int64_t> needed = elements_needed(sizes, strides, offset);
  if (offset < 0 || !needed || static_cast<uint64_t>(*needed) > storage_->bytes / static_cast<uint64_t>(item_bytes_))
    throw InternalError("a tensor of sizes " + to_string(sizes) + ", strides " + to_string(strides) + " and offset " +
                        std::to_string(offset) + " does not fit a storage of " + std::to_string(storage_->bytes) +
                        " bytes");
}

Tensor::Tensor(Dtype dtype, Ints sizes)
    : dtype_(dtype), sizes_(sizes), strides_(contiguous_strides(sizes)), item_bytes_(item_size(dtype)) {
  std::optional<int64_t> count = elements_needed(sizes_, strides_, 0);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, item_bytes_, &bytes)) throw std::bad_alloc();
  storage_ = allocate(static_cast<uint64_t>(bytes));
}

Tensor Tensor::of(Dtype dtype, Ints sizes, std::span<const ScalarValue> elements) {
  Tensor made(dtype, sizes);
  LENZ_CHECK(made.numel() == static_cast<int64_t>(elements.size()), "as many elements as the sizes say");
  for (size_t i = 0; i < elements.size(); ++i) write_element(dtype, made.element(static_cast<int64_t>(i)), elements[i]);
  return made;
}

Tensor Tensor::reals(Dtype dtype, Ints sizes, std::initializer_list<double> elements) {
  std::vector<ScalarValue> values;
  for (double x : elements)
    values.push_back(is_complex(dtype)    ? ScalarValue(std::complex<double>(x))
                     : is_floating(dtype) ? ScalarValue(x)
                                          : ScalarValue(static_cast<int64_t>(x)));
  return of(dtype, sizes, values);
}

Tensor Tensor::integers(Dtype dtype, Ints sizes, std::initializer_list<int64_t> elements) {
  std::vector<ScalarValue> values;
  for (int64_t x : elements) values.emplace_back(x);
  return of(dtype, sizes, values);
}

int64_t Tensor::numel() const {
  int64_t count = 1;
  for (int64_t size : sizes_) count *= size;
  return count;
}

Ints Tensor::coordinates(int64_t number) const {
  LENZ_CHECK(number >= 0 && number < numel(), "a tensor has no such element");
  Ints index(rank(), 0);
  for (size_t i = rank(); i-- > 0; number /= sizes_[i]) index[i] = number % sizes_[i];
  return index;
}

int64_t Tensor::address(std::span<const int64_t> index) const {
  LENZ_CHECK(index.size() == rank(), "as many coordinates as dims");
  int64_t address = offset_;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= sizes_[i])
      throw InternalError("element " + to_string(index) + " of a tensor of sizes " + to_string(sizes_));
    address += index[i] * strides_[i];
  }
  return address;
}

void Tensor::set(std::span<const int64_t> index, const ScalarValue& value) {
  LENZ_CHECK(!storage_->read_only, "a constant is written");
  write_element(dtype_, element(address(index)), value);
}

}  // namespace lenz::loops
