#include "oracle/initialise.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>

#include "compiler/base/hash.h"

namespace lenz::oracle {

namespace {
bool is_empty(const Type& type) {
  return std::ranges::any_of(type.sizes(), [](Dim d) { return d.constant() == 0; });
}

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // in [0, 1)

// The value of element i (of its part 1: the imaginary one).
double value_of(const Initialiser& init, uint64_t i, uint64_t part) {
  uint64_t bits = mix(combine(init.seed + 1, 2 * i + part));
  switch (init.kind) {
    case Initialiser::zeros: return 0;
    case Initialiser::ones: return part ? 0 : 1;
    case Initialiser::none:
    case Initialiser::uniform: return init.low + (init.high - init.low) * unit(bits);
    case Initialiser::normal: {
      double radius = std::sqrt(-2 * std::log(1 - unit(bits)));
      return init.low + init.high * radius * std::cos(2 * std::numbers::pi * unit(mix(bits)));
    }
    case Initialiser::integers: return init.low + std::floor((init.high - init.low + 1) * unit(bits));
    case Initialiser::permutation: return 0;  // made as a whole
  }
  return 0;
}

std::vector<double> values_of(const Type& type, const Initialiser& init, uint64_t part) {
  size_t n = 1;
  for (Dim d : type.sizes()) n *= static_cast<size_t>(d.constant());
  std::vector<double> values(n);
  if (init.kind == Initialiser::permutation) {
    std::iota(values.begin(), values.end(), 0.0);
    for (size_t i = n; i > 1; --i) std::swap(values[i - 1], values[combine(init.seed, i) % i]);
  } else {
    for (size_t i = 0; i < n; ++i) values[i] = value_of(init, i, part);
  }
  if (init.sorted && n && type.rank()) {
    auto row = static_cast<ptrdiff_t>(type.sizes().back().constant());
    for (auto at = values.begin(); at != values.end(); at += row) std::sort(at, at + row);
  }
  return values;
}

template <class T, class F>
void scatter(std::span<std::byte> storage, const Type& type, F&& element) {
  auto* base = reinterpret_cast<T*>(storage.data()) + type.offset.constant();
  SmallVec<int64_t, 6> at(type.rank(), 0), sizes, strides;
  for (Dim d : type.sizes()) sizes.push_back(d.constant());
  for (Dim d : type.strides()) strides.push_back(d.constant());
  for (size_t i = 0;; ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    base[place] = element(i);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

template <class T>
T integer(double v) {
  constexpr double kEnd = 0x1p63;  // which doubles reach, and integers don't
  if (v >= kEnd) return static_cast<T>(std::numeric_limits<int64_t>::max());
  return static_cast<T>(static_cast<int64_t>(std::max(v, -kEnd)));
}
}  // namespace

double first_value(const Initialiser& init) { return value_of(init, 0, 0); }

size_t storage_bytes(const Type& type) {
  int64_t last = type.offset.constant();
  if (is_empty(type)) return static_cast<size_t>(last) * static_cast<size_t>(item_size(type.dtype));
  for (size_t d = 0; d < type.rank(); ++d) {
    int64_t stride = type.strides()[d].constant();
    LENZ_CHECK(stride >= 0, "a tensor type with a negative stride");
    int64_t reach = 0;
    if (__builtin_mul_overflow(stride, type.sizes()[d].constant() - 1, &reach) ||
        __builtin_add_overflow(last, reach, &last))
      throw Unsupported("out of memory: " + lenz::to_string(type));
  }
  int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, int64_t{item_size(type.dtype)}, &bytes))
    throw Unsupported("out of memory: " + lenz::to_string(type));
  return static_cast<size_t>(bytes);
}

void initialise(std::span<std::byte> storage, const Type& type, const Initialiser& init, bool poison) {
  if (poison) std::ranges::fill(storage, type.dtype == Dtype::b8 ? std::byte{0} : std::byte{0xFF});
  if (is_empty(type)) return;
  const size_t bytes = storage_bytes(type);
  const auto elements = static_cast<size_t>(numel(type.sizes()).constant());
  if (init.kind == Initialiser::zeros && bytes == elements * static_cast<size_t>(item_size(type.dtype))) {
    std::ranges::fill(storage.first(bytes), std::byte{0});  // dense, and no bit of a zero is set
    return;
  }
  std::vector<double> v = values_of(type, init, 0), im;
  if (is_complex(type.dtype) && init.kind != Initialiser::permutation) im = values_of(type, init, 1);
  im.resize(is_complex(type.dtype) ? v.size() : 0);
  switch (type.dtype) {
    case Dtype::b8: return scatter<bool>(storage, type, [&](size_t i) { return v[i] != 0; });
    case Dtype::u8: return scatter<uint8_t>(storage, type, [&](size_t i) { return integer<uint8_t>(v[i]); });
    case Dtype::i8: return scatter<int8_t>(storage, type, [&](size_t i) { return integer<int8_t>(v[i]); });
    case Dtype::i16: return scatter<int16_t>(storage, type, [&](size_t i) { return integer<int16_t>(v[i]); });
    case Dtype::i32: return scatter<int32_t>(storage, type, [&](size_t i) { return integer<int32_t>(v[i]); });
    case Dtype::i64: return scatter<int64_t>(storage, type, [&](size_t i) { return integer<int64_t>(v[i]); });
    case Dtype::f32: return scatter<float>(storage, type, [&](size_t i) { return static_cast<float>(v[i]); });
    case Dtype::f64: return scatter<double>(storage, type, [&](size_t i) { return v[i]; });
    case Dtype::f16: return scatter<c10::Half>(storage, type, [&](size_t i) { return static_cast<float>(v[i]); });
    case Dtype::bf16: return scatter<c10::BFloat16>(storage, type, [&](size_t i) { return static_cast<float>(v[i]); });
    case Dtype::f8e4m3:
      return scatter<c10::Float8_e4m3fn>(storage, type, [&](size_t i) { return static_cast<float>(v[i]); });
    case Dtype::f8e5m2:
      return scatter<c10::Float8_e5m2>(storage, type, [&](size_t i) { return static_cast<float>(v[i]); });
    case Dtype::c64:
      return scatter<std::complex<float>>(storage, type, [&](size_t i) {
        return std::complex<float>(static_cast<float>(v[i]), static_cast<float>(im[i]));
      });
    case Dtype::c128:
      return scatter<std::complex<double>>(storage, type, [&](size_t i) { return std::complex(v[i], im[i]); });
  }
}

}  // namespace lenz::oracle
