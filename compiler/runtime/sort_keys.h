// What lines are sorted by: integers in the order of their elements. Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "compiler/base/dtype.h"

namespace lenz::runtime {

// Numbers in the order of keys: -0 is 0, NaN is the greatest.
template <class Bits>
Bits order_of_bits(Bits bits) {
  return bits < 0 ? static_cast<Bits>(bits ^ std::numeric_limits<Bits>::max()) : bits;
}
inline int64_t order_of(double x) {
  const int64_t key = order_of_bits(std::bit_cast<int64_t>(x + 0.0));
  return x != x ? INT64_MAX : key;
}
inline int32_t order_of(float x) {
  const int32_t key = order_of_bits(std::bit_cast<int32_t>(x + 0.0F));
  return x != x ? INT32_MAX : key;
}
// A half float whose infinity has these bits.
template <uint16_t kInfinity>
struct Half {
  int16_t bits;
};
template <uint16_t kInfinity>
int16_t order_of(Half<kInfinity> x) {
  const int16_t key = x.bits == INT16_MIN ? int16_t{0} : order_of_bits(x.bits);
  return (x.bits & INT16_MAX) > kInfinity ? INT16_MAX : key;
}
enum class Truth : uint8_t {};
inline int8_t order_of(Truth x) { return static_cast<uint8_t>(x) != 0 ? 1 : 0; }
template <class Integer>
  requires std::is_integral_v<Integer>
Integer order_of(Integer x) {
  return x;
}

template <class T>
T load(const std::byte* at) {
  T made;
  std::memcpy(&made, at, sizeof made);
  return made;
}

// Lines beside each other, by where they begin.
struct Lines {
  std::vector<const std::byte*> first;
  int64_t step;  // bytes
  int64_t length;
  bool descending;

  const std::byte* at(size_t line, int64_t i) const { return first[line] + i * step; }
};

// Calls f with an element of a dtype whose keys have four bytes or fewer; false if they have more.
template <class F>
bool of_short_keys(Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::f32: return f(float{}), true;
    case Dtype::i32: return f(int32_t{}), true;
    case Dtype::i16: return f(int16_t{}), true;
    case Dtype::i8: return f(int8_t{}), true;
    case Dtype::u8: return f(uint8_t{}), true;
    case Dtype::b8: return f(Truth{}), true;
    case Dtype::f16: return f(Half<0x7c00>{}), true;
    case Dtype::bf16: return f(Half<0x7f80>{}), true;
    default: return false;
  }
}
inline bool has_short_keys(Dtype dtype) {
  return of_short_keys(dtype, [](auto) {});
}

// Calls f with a number of so many bytes.
template <class F>
void of_bytes(int64_t bytes, const F& f) {
  if (bytes == 8) return f(uint64_t{});
  if (bytes == 4) return f(uint32_t{});
  if (bytes == 2) return f(uint16_t{});
  f(uint8_t{});
}

}  // namespace lenz::runtime
