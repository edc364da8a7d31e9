#include "compiler/runtime/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

namespace lenz::runtime {

using loops::Ints;
using loops::Tensor;

namespace {

constexpr int64_t kFewOfMany = 8, kBlock = 64;
constexpr size_t kFewItems = 12;  // so many are in order before a pivot is found
constexpr int64_t kPieces = 8;    // for each worker: who is late is helped out
constexpr int64_t kMany = 64;     // items for each byte of a key: enough for its counts
constexpr int64_t kShort = 160;   // to compare each with each takes less time than to guess wrong which is less

// Numbers in the order of keys: -0 is 0, NaN is the greatest.
uint64_t order_of(double x) {
  if (std::isnan(x)) return UINT64_MAX;
  const auto bits = std::bit_cast<uint64_t>(x + 0.0);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
uint32_t order_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x + 0.0F);
  const uint32_t key = bits >> 31 ? ~bits : bits | uint32_t{1} << 31;
  return x != x ? UINT32_MAX : key;
}
uint64_t order_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}

// A half float whose infinity has these bits.
template <uint16_t kInfinity>
struct Half {
  uint16_t bits;
};
template <uint16_t kInfinity>
uint16_t order_of(Half<kInfinity> x) {
  const uint16_t bits = x.bits == 0x8000 ? 0 : x.bits;
  const int key = bits >> 15 ? ~bits : bits | 0x8000;
  return (bits & 0x7fff) > kInfinity ? UINT16_MAX : static_cast<uint16_t>(key);
}
uint32_t order_of(int32_t x) {
  return static_cast<uint32_t>(x) ^ uint32_t { 1 } << 31;
}
uint16_t order_of(int16_t x) { return static_cast<uint16_t>(x ^ 0x8000); }
uint8_t order_of(int8_t x) { return static_cast<uint8_t>(x ^ 0x80); }
uint8_t order_of(uint8_t x) { return x; }
enum class Truth : uint8_t {};
uint8_t order_of(Truth x) { return static_cast<uint8_t>(x) != 0 ? 1 : 0; }

template <class T>
T load(const std::byte* at) {
  T made;
  std::memcpy(&made, at, sizeof made);
  return made;
}

// A key and its position, which decides between equal keys: stable, and the same for every algorithm.
struct WideItem {
  uint64_t key_ = 0;
  int64_t from_ = 0;

  uint64_t key() const { return key_; }
  int64_t from() const { return from_; }
  bool operator<(const WideItem& o) const { return key_ != o.key_ ? key_ < o.key_ : from_ < o.from_; }
};
// The same in half the room: of keys of four bytes and fewer.
class NarrowItem {
 public:
  static constexpr int64_t kMost = UINT32_MAX;

  NarrowItem() = default;
  NarrowItem(uint32_t key, int64_t from) : both_(uint64_t{key} << 32 | static_cast<uint32_t>(from)) {}
  uint32_t key() const { return static_cast<uint32_t>(both_ >> 32); }
  int64_t from() const { return static_cast<uint32_t>(both_); }
  bool operator<(const NarrowItem& o) const { return both_ < o.both_; }

 private:
  uint64_t both_ = 0;
};

template <class T>
struct KeyOf {
  static constexpr int64_t kBytes = sizeof(T);
  auto operator()(const std::byte* at) const { return order_of(load<T>(at)); }
};

// Of any dtype, slowly.
struct KeyOfAny {
  static constexpr int64_t kBytes = 0;
  Dtype dtype;
  uint64_t operator()(const std::byte* at) const {
    const ScalarValue x = loops::read_element(dtype, at);
    return x.kind() == ScalarKind::integer ? order_of(x.integer()) : order_of(x.real());
  }
};

// The keys of a line, by number.
struct Line {
  const std::byte* first;
  int64_t step;  // bytes
  int64_t length;
  bool descending;

  const std::byte* at(int64_t i) const { return first + i * step; }
};

// What a worker sorts in.
template <class Item>
struct Room {
  std::vector<Item> items, others;
  std::vector<int32_t> keys;
};

// By the keys' bytes, from the least to the greatest; equal ones keep their order. Bytes that all have alike are left
// out, and of long keys all but the first four that differ: what these leave alike is sorted by the others. Gives where
// the sorted ones lie, in `items` or in `others`.
template <class Item>
std::span<Item> sort_by_bytes(std::span<Item> items, std::span<Item> others) {
  constexpr int kDigits = 4;
  uint64_t differ = 0;
  for (const Item& i : items) differ |= i.key() ^ items[0].key();
  const int rest = std::max(0, static_cast<int>(std::bit_width(differ)) - 8 * kDigits);
  auto digit = [&](const Item& i, size_t d) {
    return static_cast<size_t>(i.key() >> (rest + 8 * static_cast<int>(d))) & 255;
  };
  std::array<std::array<size_t, 256>, kDigits> counts{};
  for (const Item& i : items)
    for (size_t d = 0; d < kDigits; ++d) ++counts[d][digit(i, d)];
  std::span<Item> from = items, to = others;
  for (size_t d = 0; d < kDigits; ++d) {
    std::array<size_t, 256>& next = counts[d];
    if (next[digit(from[0], d)] == items.size()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), size_t{0});
    for (const Item& i : from) to[next[digit(i, d)]++] = i;
    std::swap(from, to);
  }
  for (size_t first = 0, end = 0; rest > 0 && first < from.size(); first = end) {
    while (end < from.size() && from[end].key() >> rest == from[first].key() >> rest) ++end;
    const std::span<Item> alike = from.subspan(first, end - first);
    if (alike.size() < kMany * sizeof(uint64_t)) {
      if (alike.size() > 1) std::ranges::sort(alike, std::less<>());
    } else if (auto made = sort_by_bytes(alike, to.subspan(first, end - first)); made.data() != alike.data()) {
      std::ranges::copy(made, alike.begin());
    }
  }
  return from;
}

// A short line: each item's place is the number of those before it. The compiler compares vectors of them.
template <class Item>
void sort_by_counts(Room<Item>& room) {
  const std::vector<Item>& items = room.items;
  const auto length = static_cast<int32_t>(items.size());
  room.keys.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    room.keys[i] = static_cast<int32_t>(static_cast<uint32_t>(items[i].key()) ^ 0x80000000U);
  room.others.resize(items.size());
  const int32_t* keys = room.keys.data();
  for (int32_t i = 0; i < length; ++i) {
    const int32_t own = keys[i];
    int32_t before = 0;
    for (int32_t k = 0; k < i; ++k) before += keys[k] <= own;
    for (int32_t k = i + 1; k < length; ++k) before += keys[k] < own;
    room.others[static_cast<size_t>(before)] = items[static_cast<size_t>(i)];
  }
  std::swap(room.items, room.others);
}

// The item that belongs at a place comes there, lesser ones before it and greater ones behind it. Comparisons decide no
// branches, for these would be guessed wrong every other time; after too many bad pivots the library goes on.
template <class Item>
void put_in_place(std::span<Item> items, size_t place) {
  for (int rounds = 2 * static_cast<int>(std::bit_width(items.size())); rounds > 0 && items.size() > kFewItems;
       --rounds) {
    if (place == 0) return std::swap(items.front(), *std::ranges::min_element(items, std::less<>()));
    if (place + 1 == items.size()) return std::swap(items.back(), *std::ranges::max_element(items, std::less<>()));
    Item &first = items.front(), &middle = items[items.size() / 2], &last = items.back();
    if (middle < first) std::swap(middle, first);
    if (last < first) std::swap(last, first);
    std::swap(first, last < middle ? last : middle);
    const Item pivot = first;
    size_t less = 0;
    for (size_t i = 1; i < items.size(); ++i) {
      const Item next = items[i];
      items[i] = items[less + 1];
      items[less + 1] = next;
      less += next < pivot;
    }
    std::swap(items.front(), items[less]);
    if (place == less) return;
    items = place < less ? items.first(less) : items.subspan(less + 1);
    if (place > less) place -= less + 1;
  }
  std::ranges::nth_element(items, items.begin() + static_cast<ptrdiff_t>(place), std::less<>());
}

// Its first `count` items in order. Where these are few of many, the others are only compared with the last of them.
template <class Item, class Key>
void first_in_order(const Line& line, int64_t count, Room<Item>& room, const Key& key_at) {
  std::vector<Item>& items = room.items;
  using Number = decltype(key_at(line.first));
  const Number flip = line.descending ? ~Number{0} : Number{0};
  auto item = [&](int64_t i) { return Item{static_cast<Number>(key_at(line.at(i)) ^ flip), i}; };
  // A block at once, in vectors where they are neighbours.
  auto none_less = [&](int64_t from, int64_t to, Number than) {
    bool any = false;
    if (line.step == Key::kBytes)
      for (const std::byte* at = line.at(from); at != line.at(to); at += Key::kBytes)
        any |= static_cast<Number>(key_at(at) ^ flip) < than;
    else
      for (int64_t i = from; i < to; ++i) any |= static_cast<Number>(key_at(line.at(i)) ^ flip) < than;
    return !any;
  };
  const int64_t kept = count * kFewOfMany <= line.length ? count : line.length;
  items.resize(static_cast<size_t>(kept));
  for (int64_t i = 0; i < kept; ++i) items[static_cast<size_t>(i)] = item(i);
  if (kept < line.length) {
    std::ranges::make_heap(items, std::less<>());
    for (int64_t from = kept; from < line.length; from += kBlock) {
      const int64_t to = std::min(from + kBlock, line.length);
      if (none_less(from, to, static_cast<Number>(items.front().key())))
        continue;  // of equal ones the earlier comes first
      for (int64_t i = from; i < to; ++i) {
        const Item next = item(i);
        if (next.key() >= items.front().key()) continue;
        std::ranges::pop_heap(items, std::less<>());
        items.back() = next;
        std::ranges::push_heap(items, std::less<>());
      }
    }
    std::ranges::sort_heap(items, std::less<>());
  } else if (sizeof(Number) <= sizeof(int32_t) && line.length <= kShort) {
    sort_by_counts(room);
  } else if (line.length >= kMany * static_cast<int64_t>(sizeof(Number))) {
    room.others.resize(items.size());
    if (sort_by_bytes<Item>(items, room.others).data() != items.data()) std::swap(items, room.others);
  } else if (count < line.length) {
    put_in_place<Item>(items, static_cast<size_t>(count));
    std::ranges::sort(items.begin(), items.begin() + count, std::less<>());
  } else {
    std::ranges::sort(items, std::less<>());
  }
}

// Its items at places of the order, in the order of the places.
template <class Item, class Key>
void at_places(const Line& line, std::span<const int64_t> places, Room<Item>& room, const Key& key_at) {
  const int64_t last = std::ranges::max(places);
  if ((last + 1) * kFewOfMany <= line.length) {
    first_in_order(line, last + 1, room, key_at);
  } else {
    using Number = decltype(key_at(line.first));
    const Number flip = line.descending ? ~Number{0} : Number{0};
    room.items.resize(static_cast<size_t>(line.length));
    for (int64_t i = 0; i < line.length; ++i)
      room.items[static_cast<size_t>(i)] = Item{static_cast<Number>(key_at(line.at(i)) ^ flip), i};
    // From the least place to the greatest: what lies behind one of them is all that the next one can be of.
    for (int64_t done = 0; done <= last;) {
      int64_t next = last;
      for (int64_t p : places)
        if (p >= done) next = std::min(next, p);
      put_in_place(std::span(room.items).subspan(static_cast<size_t>(done)), static_cast<size_t>(next - done));
      done = next + 1;
    }
  }
  room.others.clear();
  for (int64_t p : places) room.others.push_back(room.items[static_cast<size_t>(p)]);
  std::swap(room.items, room.others);
}

// What of a line is wanted: its first `count`, or what belongs at the places.
struct Wanted {
  int64_t count;
  std::span<const int64_t> places;
};

template <class Item, class Key>
void wanted_in_order(const Line& line, const Wanted& wanted, Room<Item>& room, const Key& key_at) {
  if (wanted.places.empty()) return first_in_order(line, wanted.count, room, key_at);
  at_places(line, wanted.places, room, key_at);
}

void wanted_in_order(Dtype dtype, const Line& line, const Wanted& wanted, Room<NarrowItem>& room) {
  switch (dtype) {
    case Dtype::f32: return wanted_in_order(line, wanted, room, KeyOf<float>());
    case Dtype::i32: return wanted_in_order(line, wanted, room, KeyOf<int32_t>());
    case Dtype::i16: return wanted_in_order(line, wanted, room, KeyOf<int16_t>());
    case Dtype::i8: return wanted_in_order(line, wanted, room, KeyOf<int8_t>());
    case Dtype::u8: return wanted_in_order(line, wanted, room, KeyOf<uint8_t>());
    case Dtype::b8: return wanted_in_order(line, wanted, room, KeyOf<Truth>());
    case Dtype::f16: return wanted_in_order(line, wanted, room, KeyOf<Half<0x7c00>>());
    default: return wanted_in_order(line, wanted, room, KeyOf<Half<0x7f80>>());
  }
}
void wanted_in_order(Dtype dtype, const Line& line, const Wanted& wanted, Room<WideItem>& room) {
  switch (dtype) {
    case Dtype::f64: return wanted_in_order(line, wanted, room, KeyOf<double>());
    case Dtype::i64: return wanted_in_order(line, wanted, room, KeyOf<int64_t>());
    default: return wanted_in_order(line, wanted, room, KeyOfAny{dtype});
  }
}
bool has_short_keys(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::i32:
    case Dtype::i16:
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::b8:
    case Dtype::f16:
    case Dtype::bf16: return true;
    default: return false;
  }
}

// Calls f with a number of so many bytes.
template <class F>
void of_bytes(int64_t bytes, const F& f) {
  if (bytes == 8) return f(uint64_t{});
  if (bytes == 4) return f(uint32_t{});
  if (bytes == 2) return f(uint16_t{});
  f(uint8_t{});
}

template <class Item>
void sort_in(const Tensor& keys, Tensor values, Tensor indices, uint32_t dim, bool descending, Pool& pool,
             std::span<const int64_t> places) {
  Ints heads = keys.sizes();
  if (keys.rank() > 0) heads[dim] = 1;
  const Tensor lines = keys.view(heads, keys.strides(), keys.offset());
  const int64_t length = keys.numel() / lines.numel();
  auto step = [&](const Tensor& t) { return t && t.rank() > 0 ? t.strides()[dim] : 0; };
  auto room = [&](const Tensor& t) { return !t ? 0 : t.rank() > 0 ? t.sizes()[dim] : 1; };
  const int64_t of_values = room(values), of_indices = room(indices);
  const Wanted wanted{std::max(of_values, of_indices), places};
  const int64_t value_step = values ? step(values) * values.item_bytes() : 0;
  const int64_t index_step = indices ? step(indices) * indices.item_bytes() : 0;
  std::vector<Room<Item>> rooms(static_cast<size_t>(pool.workers()));
  auto line = [&](int64_t number, int worker) {
    Room<Item>& own = rooms[static_cast<size_t>(worker)];
    const std::vector<Item>& items = own.items;
    const Ints at = lines.coordinates(number);
    const Line from{keys.element(keys.address(at)), step(keys) * keys.item_bytes(), length, descending};
    wanted_in_order(keys.dtype(), from, wanted, own);
    const int64_t to_value = values ? values.address(at) : 0, to_index = indices ? indices.address(at) : 0;
    auto put = [&]<class T>(T) {
      std::byte* to = values.element(to_value);
      for (int64_t i = 0; i < of_values; ++i)
        std::memcpy(to + i * value_step, from.at(items[static_cast<size_t>(i)].from()), sizeof(T));
    };
    if (values) of_bytes(keys.item_bytes(), put);
    std::byte* to = indices ? indices.element(to_index) : nullptr;
    for (int64_t i = 0; i < of_indices; ++i) {
      const int64_t place = items[static_cast<size_t>(i)].from();
      std::memcpy(to + i * index_step, &place, sizeof place);
    }
  };
  const int64_t count = lines.numel(), pieces = length * count < 4096 ? 1 : std::min(count, pool.workers() * kPieces);
  auto piece = [&](int64_t number, int worker) {
    for (int64_t n = number * count / pieces; n < (number + 1) * count / pieces; ++n) line(n, worker);
  };
  pool.run(pieces, Work::of(piece));
}

}  // namespace

void sort_lines(const Tensor& keys, Tensor values, Tensor indices, uint32_t dim, bool descending, Pool& pool,
                std::span<const int64_t> places) {
  if (keys.numel() == 0) return;
  if (has_short_keys(keys.dtype()) && keys.numel() <= NarrowItem::kMost)
    return sort_in<NarrowItem>(keys, values, indices, dim, descending, pool, places);
  sort_in<WideItem>(keys, values, indices, dim, descending, pool, places);
}

}  // namespace lenz::runtime
