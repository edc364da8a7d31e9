#include "compiler/runtime/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "compiler/runtime/sort_beside.h"
#include "compiler/runtime/sort_by_digits.h"
#include "compiler/runtime/sort_keys.h"

namespace lenz::runtime {

using loops::Ints;
using loops::Tensor;

namespace {

constexpr int64_t kFewOfMany = 8, kBlock = 64;
constexpr size_t kFewItems = 12;                // so many are in order before a pivot is found
constexpr int64_t kPieces = 8;                  // for each worker: who is late is helped out
constexpr size_t kMostKept = size_t{64} << 20;  // bytes of a room
constexpr int64_t kShort = 160;           // to compare each with each takes less time than to guess wrong which is less
constexpr int64_t kBeside = 16;           // lines beside each other: what they have in one cache line
constexpr int64_t kKeysInRoom = 1 << 16;  // of lines that are read at the same time: they stay in the second cache

// What a worker sorts in.
template <class Item>
struct Room {
  std::vector<Item> items, others, unsorted;
  std::vector<typename Item::Key> divided;  // those of a line, lesser ones first
  std::vector<typename Item::Key> keys;     // of each of the lines, one behind another
  std::unique_ptr<NarrowItem[]> heads, other_heads;
  size_t most_heads = 0;  // that there is memory for
  bool by_heads = false;  // the order of the line stands in heads

  void make_heads(size_t count) {
    by_heads = true;
    if (count <= most_heads) return;
    most_heads = count;
    for (auto* memory : {&heads, &other_heads}) *memory = std::make_unique_for_overwrite<NarrowItem[]>(count);
  }
  size_t bytes() const {
    return sizeof(Item) * (items.capacity() + others.capacity() + unsorted.capacity()) +
           sizeof(typename Item::Key) * (divided.capacity() + keys.capacity()) + 2 * sizeof(NarrowItem) * most_heads;
  }
};

// The keys of lines, in the order that is wanted.
template <class T, class Key>
void read_keys(const Lines& lines, Key* to) {
  const Key flip = lines.descending ? Key{-1} : Key{0};
  auto key = [&](const std::byte* at) { return static_cast<Key>(order_of(load<T>(at)) ^ flip); };
  const int64_t length = lines.length;
  if (lines.first.size() == 1) {
    if (lines.step == sizeof(T))
      for (int64_t i = 0; i < length; ++i) to[i] = key(lines.first[0] + i * static_cast<int64_t>(sizeof(T)));
    else
      for (int64_t i = 0; i < length; ++i) to[i] = key(lines.at(0, i));
    return;
  }
  bool neighbours = std::ssize(lines.first) == kBeside;
  for (size_t n = 0; n < lines.first.size(); ++n)
    neighbours = neighbours && lines.first[n] == lines.first[0] + n * sizeof(T);
  int64_t i = 0;
  if (neighbours)  // vectors of them, and squares of these the other way round
    for (; i + kBeside <= length; i += kBeside) {
      std::array<std::array<Key, kBeside>, kBeside> square;
      for (int64_t k = 0; k < kBeside; ++k)
        for (size_t n = 0; n < kBeside; ++n)
          square[static_cast<size_t>(k)][n] = key(lines.at(0, i + k) + n * sizeof(T));
      for (size_t n = 0; n < kBeside; ++n)
        for (size_t k = 0; k < kBeside; ++k)
          to[static_cast<int64_t>(n) * length + i + static_cast<int64_t>(k)] = square[k][n];
    }
  for (; i < length; ++i)
    for (size_t n = 0; n < lines.first.size(); ++n) to[static_cast<int64_t>(n) * length + i] = key(lines.at(n, i));
}

// Of any dtype, slowly.
void read_any(Dtype dtype, const Lines& lines, int64_t* to) {
  for (size_t n = 0; n < lines.first.size(); ++n)
    for (int64_t i = 0; i < lines.length; ++i) {
      const ScalarValue x = loops::read_element(dtype, lines.at(n, i));
      const int64_t key = x.kind() == ScalarKind::integer ? x.integer() : order_of(x.real());
      *to++ = lines.descending ? ~key : key;
    }
}

void read_keys(Dtype dtype, const Lines& lines, int32_t* to) {
  of_short_keys(dtype, [&](auto like) { read_keys<decltype(like)>(lines, to); });
}
void read_keys(Dtype dtype, const Lines& lines, int64_t* to) {
  if (dtype == Dtype::f64) return read_keys<double>(lines, to);
  if (dtype == Dtype::i64) return read_keys<int64_t>(lines, to);
  read_any(dtype, lines, to);
}

// A short line: each item's place is the number of those before it. The compiler compares vectors of them.
void sort_by_counts(std::span<const int32_t> keys, std::vector<NarrowItem>& items) {
  const auto length = static_cast<int32_t>(keys.size());
  items.resize(keys.size());
  for (int32_t i = 0; i < length; ++i) {
    const int32_t own = keys[static_cast<size_t>(i)];
    int32_t before = 0;
    for (int32_t k = 0; k < i; ++k) before += keys[static_cast<size_t>(k)] <= own;
    for (int32_t k = i + 1; k < length; ++k) before += keys[static_cast<size_t>(k)] < own;
    items[static_cast<size_t>(before)] = NarrowItem(own, i);
  }
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

// The first few items of many in order: the others are only compared with the last of them.
template <class Item>
void few_in_order(std::span<const typename Item::Key> keys, size_t count, std::vector<Item>& items) {
  items.resize(count);
  for (size_t i = 0; i < count; ++i) items[i] = Item(keys[i], static_cast<int64_t>(i));
  std::ranges::make_heap(items, std::less<>());
  for (size_t from = count; from < keys.size(); from += kBlock) {
    const size_t to = std::min<size_t>(from + kBlock, keys.size());
    const typename Item::Key last = items.front().key();
    bool any = false;  // a block at once, in vectors
    for (size_t i = from; i < to; ++i) any |= keys[i] < last;
    if (!any) continue;
    for (size_t i = from; i < to; ++i) {
      if (keys[i] >= items.front().key()) continue;  // of equal ones the earlier comes first
      std::ranges::pop_heap(items, std::less<>());
      items.back() = Item(keys[i], static_cast<int64_t>(i));
      std::ranges::push_heap(items, std::less<>());
    }
  }
  std::ranges::sort_heap(items, std::less<>());
}

// Whether a heap of so many takes less time than to divide all of them: what comes into it, each by as many steps as it
// has levels, against a few walks along all.
bool heap_is_quick(size_t count, size_t all) {
  constexpr double kStepsOfWalks = 0.33;
  const auto few = static_cast<double>(count), many = static_cast<double>(all);
  return few * std::log(many / few) * static_cast<double>(std::bit_width(count)) < kStepsOfWalks * many;
}

// The first items of many in order, too many of them for a heap: the last key among them, then all that are before it,
// and of those that are equal to it the earliest.
void some_in_order(std::span<const int32_t> keys, size_t count, Room<NarrowItem>& room) {
  room.divided.assign(keys.begin(), keys.end());
  put_in_place<int32_t>(room.divided, count - 1);
  const int32_t last = room.divided[count - 1];
  size_t before = 0;
  for (const int32_t key : keys) before += key < last ? 1 : 0;
  std::vector<NarrowItem>& items = room.items;
  items.resize(count + 1);  // one that is none of them is written behind the last one
  size_t alike = count - before, made = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    items[made] = NarrowItem(keys[i], static_cast<int64_t>(i));
    const bool is_last = keys[i] == last && alike > 0;
    alike -= is_last ? 1 : 0;
    made += keys[i] < last || is_last ? 1 : 0;
  }
  items.resize(count);
  if (count < kMany * sizeof(uint32_t)) {
    std::ranges::sort(items, std::less<>());
    return;
  }
  room.others.resize(count);
  room.unsorted = items;
  int rest = 0;
  auto item = [&](size_t i) { return room.unsorted[i]; };
  if (sort_many(item, 32, false, room.others, items, rest).data() != items.data()) std::swap(items, room.others);
}

template <class Item>
void make_items(std::span<const typename Item::Key> keys, std::vector<Item>& items) {
  items.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) items[i] = Item(keys[i], static_cast<int64_t>(i));
}

// What of a line is wanted: its first `count`, or what belongs at the places. Its keys have so many bytes.
struct Wanted {
  size_t count, key_bytes;
  std::span<const int64_t> places;
};

template <class Item>
void first_in_order(std::span<const typename Item::Key> keys, const Wanted& wanted, Room<Item>& room) {
  std::vector<Item>& items = room.items;
  const size_t count = wanted.count;
  if (count * kFewOfMany <= keys.size() && heap_is_quick(count, keys.size())) return few_in_order(keys, count, items);
  if constexpr (std::is_same_v<Item, NarrowItem>)  // long keys are all in order as soon
    if (count * kFewOfMany <= keys.size() && keys.size() > kShort) return some_in_order(keys, count, room);
  if constexpr (std::is_same_v<Item, NarrowItem>)
    if (keys.size() <= kShort) return sort_by_counts(keys, items);
  const bool many =
      keys.size() >= kMany * std::min(wanted.key_bytes, sizeof(uint32_t)) && keys.size() <= NarrowItem::kMost;
  if constexpr (std::is_same_v<Item, WideItem>)
    if (many) {
      room.make_heads(keys.size());
      return sort_by_heads(keys, nullptr, {room.heads.get(), keys.size()}, {room.other_heads.get(), keys.size()});
    }
  if (many) {
    if constexpr (std::is_same_v<Item, NarrowItem>) {
      items.resize(keys.size());
      room.others.resize(keys.size());
      int rest = 0;
      auto item = [&](size_t i) { return NarrowItem(keys[i], static_cast<int64_t>(i)); };
      if (sort_many(item, 32, false, room.others, items, rest).data() != items.data()) std::swap(items, room.others);
      return;
    }
  }
  make_items(keys, items);
  if (count < keys.size()) {
    put_in_place<Item>(items, count);
    std::ranges::sort(items.begin(), items.begin() + static_cast<ptrdiff_t>(count), std::less<>());
  } else {
    std::ranges::sort(items, std::less<>());
  }
}

// Of so many keys those at a place are found by digits: their counts are looked through once.
constexpr size_t kWorthDigits = 4096;

// Its items at places of the order, in the order of the places.
template <class Item>
void at_places(std::span<const typename Item::Key> keys, const Wanted& wanted, Room<Item>& room) {
  const auto last = static_cast<size_t>(std::ranges::max(wanted.places));
  if (keys.size() >= kWorthDigits && keys.size() <= NarrowItem::kMost && (last + 1) * kFewOfMany > keys.size()) {
    room.others.clear();
    const auto ends = ends_of([&](size_t i) { return keys[i]; }, keys.size());
    for (int64_t p : wanted.places) room.others.push_back(item_at(keys, ends, static_cast<size_t>(p), room.items));
    std::swap(room.items, room.others);
    return;
  }
  if ((last + 1) * kFewOfMany <= keys.size()) {
    few_in_order(keys, last + 1, room.items);
  } else {
    make_items(keys, room.items);
    // From the least place to the greatest: what lies behind one of them is all that the next one can be of.
    for (size_t done = 0; done <= last;) {
      size_t next = last;
      for (int64_t p : wanted.places)
        if (static_cast<size_t>(p) >= done) next = std::min(next, static_cast<size_t>(p));
      put_in_place(std::span(room.items).subspan(done), next - done);
      done = next + 1;
    }
  }
  room.others.clear();
  for (int64_t p : wanted.places) room.others.push_back(room.items[static_cast<size_t>(p)]);
  std::swap(room.items, room.others);
}

// How many lines are read at the same time: those beside each other, where theirs are nearer than a line's next.
int64_t lines_at_once(const Tensor& lines, int64_t step, int64_t length) {
  if (lines.numel() < 2) return 1;
  const int64_t apart = lines.address(lines.coordinates(1)) - lines.address(lines.coordinates(0));
  return std::abs(apart) < std::abs(step) ? std::clamp<int64_t>(kKeysInRoom / length, 1, kBeside) : 1;
}

template <class Item>
void sort_in(const Tensor& keys, Tensor values, Tensor indices, uint32_t dim, bool descending, Pool& pool,
             std::span<const int64_t> places, std::vector<Room<Item>>& rooms) {
  Ints heads = keys.sizes();
  if (keys.rank() > 0) heads[dim] = 1;
  const Tensor lines = keys.view(heads, keys.strides(), keys.offset());
  const int64_t length = keys.numel() / lines.numel();
  auto step = [&](const Tensor& t) { return t && t.rank() > 0 ? t.strides()[dim] : 0; };
  auto room = [&](const Tensor& t) { return !t ? 0 : t.rank() > 0 ? t.sizes()[dim] : 1; };
  const int64_t of_values = room(values), of_indices = room(indices);
  const Wanted wanted{static_cast<size_t>(std::max(of_values, of_indices)), static_cast<size_t>(keys.item_bytes()),
                      places};
  if (wanted.count == 0) return;
  const int64_t value_step = values ? step(values) * values.item_bytes() : 0;
  const int64_t index_step = indices ? step(indices) * indices.item_bytes() : 0;
  rooms.resize(std::max(rooms.size(), static_cast<size_t>(pool.workers())));
  auto store = [&](const Lines& from, size_t number, const Ints& at, const auto* items) {
    auto put = [&]<class T>(T) {
      std::byte* to = values.element(values.address(at));
      for (int64_t i = 0; i < of_values; ++i)
        std::memcpy(to + i * value_step, from.at(number, items[i].from()), sizeof(T));
    };
    if (of_values > 0) of_bytes(keys.item_bytes(), put);
    std::byte* to = of_indices > 0 ? indices.element(indices.address(at)) : nullptr;
    for (int64_t i = 0, count = of_indices, step = index_step; i < count; ++i) {
      const int64_t place = items[i].from();
      std::memcpy(to + i * step, &place, sizeof place);
    }
  };
  using Key = typename Item::Key;
  // Integers of a key's width that lie one behind another are keys as they are.
  const bool are_keys =
      std::is_same_v<Key, int64_t> && keys.dtype() == Dtype::i64 && !descending && (step(keys) == 1 || length == 1);
  // One of the lines in the worker's room.
  auto line = [&](const Lines& from, size_t number, const Ints& at, Room<Item>& own) {
    const Key* const begin = are_keys ? reinterpret_cast<const Key*>(from.first[number])
                                      : own.keys.data() + number * static_cast<size_t>(length);
    const std::span keys_of_line(begin, static_cast<size_t>(length));
    own.by_heads = false;
    if (places.empty())
      first_in_order<Item>(keys_of_line, wanted, own);
    else
      at_places<Item>(keys_of_line, wanted, own);
    if (own.by_heads)
      store(from, number, at, own.heads.get());
    else
      store(from, number, at, own.items.data());
  };
  const int64_t count = lines.numel(), pieces = length * count < 4096 ? 1 : std::min(count, pool.workers() * kPieces);
  const int64_t at_once = lines_at_once(lines, step(keys), length);
  auto piece = [&](int64_t number, int worker) {
    Room<Item>& own = rooms[static_cast<size_t>(worker)];
    Lines from{{}, step(keys) * keys.item_bytes(), length, descending};
    std::vector<Ints> at;
    const int64_t end = (number + 1) * count / pieces;
    for (int64_t n = number * count / pieces; n < end; n += std::ssize(at)) {
      at.clear();
      from.first.clear();
      for (int64_t k = n; k < std::min(n + at_once, end); ++k) {
        at.push_back(lines.coordinates(k));
        from.first.push_back(keys.element(keys.address(at.back())));
      }
      if (!are_keys) {
        own.keys.resize(at.size() * static_cast<size_t>(length));
        read_keys(keys.dtype(), from, own.keys.data());
      }
      for (size_t k = 0; k < at.size(); ++k) line(from, k, at[k], own);
    }
  };
  pool.run(pieces, Work::of(piece));
  for (Room<Item>& own : rooms)
    if (own.bytes() > kMostKept) own = {};
}

}  // namespace

struct SortRooms::Rooms {
  std::vector<Room<NarrowItem>> narrow;
  std::vector<Room<WideItem>> wide;
};
SortRooms::SortRooms() : rooms_(std::make_unique<Rooms>()) {}
SortRooms::~SortRooms() = default;

void sort_lines(const Tensor& keys, Tensor values, Tensor indices, uint32_t dim, bool descending, Pool& pool,
                std::span<const int64_t> places, SortRooms& rooms) {
  if (keys.numel() == 0) return;
  auto wanted = [&](const Tensor& t) { return !t ? 0 : t.rank() > 0 ? t.sizes()[dim] : 1; };
  const int64_t count = std::max(wanted(values), wanted(indices));
  if (count == 0 || sort_beside(keys, values, indices, dim, descending, pool, places, count)) return;
  if (has_short_keys(keys.dtype()) && keys.numel() <= NarrowItem::kMost)
    return sort_in<NarrowItem>(keys, values, indices, dim, descending, pool, places, rooms.rooms().narrow);
  sort_in<WideItem>(keys, values, indices, dim, descending, pool, places, rooms.rooms().wide);
}

}  // namespace lenz::runtime
