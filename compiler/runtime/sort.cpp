#include "compiler/runtime/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace lenz::runtime {

using loops::Ints;
using loops::Tensor;

namespace {

// Numbers in the order of keys: -0 is 0, NaN is the greatest.
uint64_t order_of(double x) {
  if (std::isnan(x)) return UINT64_MAX;
  const auto bits = std::bit_cast<uint64_t>(x + 0.0);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
uint64_t order_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}

template <class T>
T load(const std::byte* at) {
  T made;
  std::memcpy(&made, at, sizeof made);
  return made;
}

uint64_t key_at(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::f32: return order_of(static_cast<double>(load<float>(at)));
    case Dtype::f64: return order_of(load<double>(at));
    case Dtype::i64: return order_of(load<int64_t>(at));
    case Dtype::i32: return order_of(int64_t{load<int32_t>(at)});
    default: break;
  }
  const ScalarValue x = loops::read_element(dtype, at);
  return x.kind() == ScalarKind::integer ? order_of(x.integer()) : order_of(x.real());
}

struct Item {
  uint64_t key;
  int64_t from;
  // Positions decide between equal keys: stable, and the same for every algorithm.
  bool operator<(const Item& o) const { return key != o.key ? key < o.key : from < o.from; }
};

}  // namespace

void sort_lines(const Tensor& keys, Tensor values, Tensor indices, uint32_t dim, bool descending, Pool& pool) {
  if (keys.numel() == 0) return;
  Ints heads = keys.sizes();
  if (keys.rank() > 0) heads[dim] = 1;
  const Tensor lines = keys.view(heads, keys.strides(), keys.offset());
  const int64_t length = keys.numel() / lines.numel();
  auto step = [&](const Tensor& t) { return t && t.rank() > 0 ? t.strides()[dim] : 0; };
  std::vector<std::vector<Item>> rooms(static_cast<size_t>(pool.workers()));
  auto line = [&](int64_t number, int worker) {
    std::vector<Item>& items = rooms[static_cast<size_t>(worker)];
    items.resize(static_cast<size_t>(length));
    const Ints at = lines.coordinates(number);
    const int64_t from = keys.address(at);
    for (int64_t i = 0; i < length; ++i) {
      const uint64_t key = key_at(keys.dtype(), keys.element(from + i * step(keys)));
      items[static_cast<size_t>(i)] = {descending ? ~key : key, i};
    }
    std::ranges::sort(items, std::less<>());
    const int64_t to_value = values ? values.address(at) : 0, to_index = indices ? indices.address(at) : 0;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t source = items[static_cast<size_t>(i)].from;
      if (values)
        std::memcpy(values.element(to_value + i * step(values)), keys.element(from + source * step(keys)),
                    static_cast<size_t>(keys.item_bytes()));
      if (indices) std::memcpy(indices.element(to_index + i * step(indices)), &source, sizeof source);
    }
  };
  if (length * lines.numel() < 4096) {
    for (int64_t n = 0; n < lines.numel(); ++n) line(n, 0);
  } else {
    pool.run(lines.numel(), Work::of(line));
  }
}

}  // namespace lenz::runtime
