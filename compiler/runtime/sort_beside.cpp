#include "compiler/runtime/sort_beside.h"

#include <algorithm>
#include <array>

#include "compiler/runtime/sort_keys.h"

namespace lenz::runtime {

using loops::Ints;
using loops::Tensor;

namespace {

// One item of each of so many lines.
template <class Key>
using Lanes [[gnu::vector_size(64)]] = Key;
template <class Key>
constexpr size_t kTogether = 64 / sizeof(Key);

// To compare each with each takes less time than to guess wrong which is less, up to so many.
template <class Key>
constexpr int64_t kShortLine = sizeof(Key) == 4 ? 160 : 96;
constexpr size_t kFewOfLine = 4;      // a fourth of a line is kept in order in less time than all are counted
constexpr int64_t kPieces = 8;        // for each worker: who is late is helped out
constexpr int64_t kWorthHelp = 4096;  // items

// How many of a line's items come before each: the lesser ones, and of equal ones those that stand before it.
template <class Key>
void count_before(std::span<const Lanes<Key>> keys, std::span<Lanes<Key>> before) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const Lanes<Key> own = keys[i];
    Lanes<Key> sum = Lanes<Key>{} + static_cast<Key>(i);
    for (size_t k = 0; k < i; ++k) {
      const Lanes<Key> greater = keys[k] > own;  // -1 where it is
      sum += greater;
      before[k] -= greater;
    }
    before[i] = sum;
  }
}

// Where the first items of a line's order come from; `least`: room for their keys.
template <class Key>
void find_first(std::span<const Lanes<Key>> keys, std::span<Lanes<Key>> least, std::span<Lanes<Key>> from) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const Lanes<Key> own = keys[i], place = Lanes<Key>{} + static_cast<Key>(i);
    // What is greater moves on by one, the last of them out; of equal ones the earlier stays before.
    size_t at = std::min(i, least.size() - 1);
    Lanes<Key> here = i < least.size() ? Lanes<Key>{} - 1 : own < least[at];
    for (; at > 0; --at) {
      const Lanes<Key> next = own < least[at - 1];
      least[at] = next ? least[at - 1] : here ? own : least[at];
      from[at] = next ? from[at - 1] : here ? place : from[at];
      here = next;
    }
    least[0] = here ? own : least[0];
    from[0] = here ? place : from[0];
  }
}

// The places of lines in keys, values and indices, one line after another.
class Walk {
 public:
  Walk(const Tensor& keys, const Tensor& values, const Tensor& indices, uint32_t dim) : sizes_(keys.sizes()) {
    if (keys.rank() > 0) sizes_[dim] = 1;
    size_t t = 0;
    for (const Tensor* tensor : {&keys, &values, &indices}) {
      Of& of = of_[t++];
      if (!*tensor) continue;
      of.first = tensor->element(tensor->offset());
      for (int64_t stride : tensor->strides()) of.steps.push_back(stride * tensor->item_bytes());
      if (keys.rank() > 0) of.along = of.steps[dim];
    }
  }

  int64_t lines() const {
    int64_t product = 1;
    for (int64_t size : sizes_) product *= size;
    return product;
  }
  void go_to(int64_t line) {
    at_ = Ints(sizes_.size(), 0);
    for (size_t d = sizes_.size(); d-- > 0; line /= sizes_[d]) at_[d] = line % sizes_[d];
    for (Of& of : of_) {
      of.now = of.first;
      for (size_t d = 0; d < of.steps.size(); ++d) of.now += at_[d] * of.steps[d];
    }
  }
  void next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      const bool ends = ++at_[d] == sizes_[d];
      for (Of& of : of_)
        if (!of.steps.empty()) of.now += ends ? of.steps[d] * (1 - sizes_[d]) : of.steps[d];
      if (!ends) return;
      at_[d] = 0;
    }
  }
  enum Which : uint8_t { of_keys, of_values, of_indices };
  std::byte* now(Which which) const { return of_[which].now; }
  int64_t along(Which which) const { return of_[which].along; }  // bytes from one of a line's items to the next

 private:
  struct Of {
    std::byte *first = nullptr, *now = nullptr;
    Ints steps;
    int64_t along = 0;
  };
  Ints sizes_, at_;
  std::array<Of, 3> of_;
};

// Of so many lines: where each begins, and where its results do.
template <class Key>
struct Places {
  std::array<const std::byte*, kTogether<Key>> keys{};
  std::array<std::byte*, kTogether<Key>> values{}, indices{};
};

template <class T, class Key>
void read_lanes(const Places<Key>& at, int64_t step, bool descending, std::span<Lanes<Key>> to) {
  const Key flip = descending ? Key{-1} : Key{0};
  auto key = [&](const std::byte* from) { return static_cast<Key>(order_of(load<T>(from)) ^ flip); };
  Key* const first = reinterpret_cast<Key*>(to.data());
  bool neighbours = true;
  for (size_t n = 0; n < kTogether<Key>; ++n) neighbours = neighbours && at.keys[n] == at.keys[0] + n * sizeof(T);
  if (neighbours) {
    for (size_t i = 0; i < to.size(); ++i)
      for (size_t n = 0; n < kTogether<Key>; ++n)
        first[i * kTogether<Key> + n] = key(at.keys[0] + static_cast<int64_t>(i) * step + n * sizeof(T));
    return;
  }
  for (size_t n = 0; n < kTogether<Key>; ++n)
    for (size_t i = 0; i < to.size(); ++i)
      first[i * kTogether<Key> + n] = key(at.keys[n] + static_cast<int64_t>(i) * step);
}

// What a worker sorts in.
template <class Key>
struct Room {
  std::vector<Lanes<Key>> keys, before, order;

  // Which items are wanted: an item of each line for each that is.
  std::span<const Lanes<Key>> wanted(std::span<const int64_t> places, size_t count) {
    const size_t length = keys.size();
    const size_t first = places.empty() ? count : static_cast<size_t>(std::ranges::max(places)) + 1;
    const bool few = first * kFewOfLine <= length;
    before.resize(length);
    order.resize(length + places.size());
    if (few)
      find_first<Key>(keys, std::span(before).first(first), std::span(order).first(first));
    else
      count_before<Key>(keys, before);
    if (places.empty()) {
      if (!few) put_in_order();
      return std::span(order).first(count);
    }
    for (size_t p = 0; p < places.size(); ++p) {
      const auto place = static_cast<size_t>(places[p]);
      Lanes<Key>& found = order[length + p];
      if (few) {
        found = order[place];
        continue;
      }
      found = Lanes<Key>{};
      for (size_t i = 0; i < length; ++i) found |= (before[i] == static_cast<Key>(place)) & static_cast<Key>(i);
    }
    return std::span(order).subspan(length);
  }

 private:
  void put_in_order() {
    const Key* const places = reinterpret_cast<const Key*>(before.data());
    Key* const to = reinterpret_cast<Key*>(order.data());
    for (size_t i = 0; i < keys.size(); ++i)
      for (size_t n = 0; n < kTogether<Key>; ++n)
        to[static_cast<size_t>(places[i * kTogether<Key> + n]) * kTogether<Key> + n] = static_cast<Key>(i);
  }
};

int64_t along(const Tensor& t, uint32_t dim) { return !t ? 0 : t.rank() > 0 ? t.sizes()[dim] : 1; }

template <class T, class Key>
void sort_as(const Tensor& keys, const Tensor& values, const Tensor& indices, uint32_t dim, bool descending, Pool& pool,
             std::span<const int64_t> places, int64_t count) {
  constexpr int64_t kLines = kTogether<Key>;
  const Walk from_start(keys, values, indices, dim);
  const int64_t lines = from_start.lines(), length = along(keys, dim), groups = (lines + kLines - 1) / kLines;
  const int64_t value_count = along(values, dim), index_count = along(indices, dim);
  const int64_t step = from_start.along(Walk::of_keys);
  const int64_t pieces = length * lines < kWorthHelp ? 1 : std::min(groups, pool.workers() * kPieces);
  auto piece = [&](int64_t number, int) {
    Walk walk = from_start;
    Room<Key> room;
    room.keys.resize(static_cast<size_t>(length));
    const int64_t end = std::min(lines, (number + 1) * groups / pieces * kLines);
    int64_t line = number * groups / pieces * kLines;
    if (line < end) walk.go_to(line);
    for (; line < end; line += kLines) {
      const auto there = static_cast<size_t>(std::min(kLines, end - line));
      Places<Key> at;
      for (size_t n = 0; n < there; ++n, walk.next()) {
        at.keys[n] = walk.now(Walk::of_keys);
        at.values[n] = walk.now(Walk::of_values);
        at.indices[n] = walk.now(Walk::of_indices);
      }
      std::fill(at.keys.begin() + static_cast<ptrdiff_t>(there), at.keys.end(), at.keys[0]);
      read_lanes<T, Key>(at, step, descending, room.keys);
      const auto wanted = room.wanted(places, static_cast<size_t>(count));
      const Key* const order = reinterpret_cast<const Key*>(wanted.data());
      // Results of neighbouring lines are written line by line or beside each other, as they lie.
      auto each = [&](int64_t of_line, int64_t to_next, const auto& put) {
        const bool beside = there > 1 && to_next > static_cast<int64_t>(sizeof(int64_t));
        if (beside)
          for (int64_t i = 0; i < of_line; ++i)
            for (size_t n = 0; n < there; ++n) put(n, i, order[static_cast<size_t>(i) * kTogether<Key> + n]);
        else
          for (size_t n = 0; n < there; ++n)
            for (int64_t i = 0; i < of_line; ++i) put(n, i, order[static_cast<size_t>(i) * kTogether<Key> + n]);
      };
      const int64_t value_step = walk.along(Walk::of_values), index_step = walk.along(Walk::of_indices);
      each(value_count, value_step, [&](size_t n, int64_t i, Key item) {
        std::memcpy(at.values[n] + i * value_step, at.keys[n] + item * step, sizeof(T));
      });
      each(index_count, index_step, [&](size_t n, int64_t i, Key item) {
        const int64_t place = item;
        std::memcpy(at.indices[n] + i * index_step, &place, sizeof place);
      });
    }
  };
  pool.run(pieces, Work::of(piece));
}

// Whether vectors of items have enough lines to be of.
template <class Key>
bool are_for_this(int64_t lines, int64_t length) {
  return length <= kShortLine<Key> && lines * 4 > static_cast<int64_t>(kTogether<Key>);
}

}  // namespace

bool sort_beside(const Tensor& keys, const Tensor& values, const Tensor& indices, uint32_t dim, bool descending,
                 Pool& pool, std::span<const int64_t> places, int64_t count) {
  const int64_t length = along(keys, dim), lines = keys.numel() / length;
  if (has_short_keys(keys.dtype()))
    return are_for_this<int32_t>(lines, length) && of_short_keys(keys.dtype(), [&](auto like) {
             sort_as<decltype(like), int32_t>(keys, values, indices, dim, descending, pool, places, count);
           });
  if (!are_for_this<int64_t>(lines, length)) return false;
  if (keys.dtype() == Dtype::f64)
    return sort_as<double, int64_t>(keys, values, indices, dim, descending, pool, places, count), true;
  if (keys.dtype() == Dtype::i64)
    return sort_as<int64_t, int64_t>(keys, values, indices, dim, descending, pool, places, count), true;
  return false;
}

}  // namespace lenz::runtime
