// Keys put in order, and those found that belong at a place of it, by their digits: walks along all of them in which no
// comparison decides a branch. Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/runtime/sort_items.h"

namespace lenz::runtime {

inline constexpr int64_t kMany = 64;  // items for each of the four bytes that are looked at first: enough for counts

// The digits of a key, of so many bits each, the lowest first: the bits from some on. A digit that is not there is 0.
template <int kBits>
struct Digits {
  static constexpr int kMost = (32 + kBits - 1) / kBits;
  using Counts = std::array<uint32_t, size_t{1} << kBits>;
  std::array<int, kMost> begins{};
  std::array<uint32_t, kMost> masks{};
  int count = 0;

  constexpr Digits(int first, int bits) : count((bits + kBits - 1) / kBits) {
    for (int end = first + bits, d = count; d-- > 0; end -= kBits) {
      begins[static_cast<size_t>(d)] = std::max(first, end - kBits);
      masks[static_cast<size_t>(d)] = (uint32_t{1} << (end - std::max(first, end - kBits))) - 1;
    }
  }
};
// Long digits are few walks, of counts that stay in the first cache; short ones are counts that few items are worth.
inline constexpr int kLongDigit = 11, kShortDigit = 8;
inline constexpr size_t kWorthLongDigits = 2048;

// From the least key to the greatest, of items that item(i) gives in the order of equal ones, by so many bits of
// theirs, all if `kAll`: where the sorted ones lie, `to` or the `other`. Roughly: what is left alike in the bits below
// `rest` is not in order.
template <int kBits, bool kAll, class ItemAt>
std::span<NarrowItem> sort_by_digits(const ItemAt& item, int bits, bool roughly, std::span<NarrowItem> to,
                                     std::span<NarrowItem> other, int& rest) {
  using Counts = Digits<kBits>::Counts;
  constexpr size_t kMost = Digits<kBits>::kMost;
  constexpr Digits<kBits> kWhole(0, 32);
  const size_t count = to.size();
  const Digits<kBits> digits(0, bits);
  auto digit_of = [=](const NarrowItem& one, auto d) {
    return one.bits() >> (kAll ? kWhole.begins[d] : digits.begins[d]) & (kAll ? kWhole.masks[d] : digits.masks[d]);
  };
  std::array<Counts, kMost> counts;
  for (Counts& of_digit : counts) of_digit.fill(0);
  // Of the digits from one on, before another one.
  auto count_digits = [&](auto from, auto end) {
    for (size_t i = 0; i < count; ++i) {
      const NarrowItem one = item(i);
      [&]<size_t... d>(std::index_sequence<d...>) {
        (++counts[from + d][digit_of(one, std::integral_constant<size_t, from + d>())], ...);
      }(std::make_index_sequence<end - from>());
    }
  };
  constexpr std::integral_constant<size_t, 0> kLowest;
  constexpr std::integral_constant<size_t, 1> kNext;
  constexpr std::integral_constant<size_t, kMost> kEnd;
  // Of keys that are drawn evenly fewer digits leave few alike, but of so many keys.
  constexpr size_t kEnough = (size_t{1} << (kMost - 1) * kBits) / 8;
  size_t first = roughly && digits.count == kEnd && count < kEnough ? 1 : 0;
  if (first > 0) {
    count_digits(kNext, kEnd);
    const Counts& top = counts.back();
    if (*std::ranges::max_element(top) * (top.size() / 8) >= count + top.size()) {
      first = 0;
      count_digits(kLowest, kNext);
    }
  } else if (digits.count > 2) {
    count_digits(kLowest, kEnd);
  } else {
    count_digits(kLowest, std::integral_constant<size_t, 2>());
  }
  rest = digits.begins[first];
  bool begun = false;
  auto walk = [&](auto d) {
    const auto size = static_cast<size_t>(digits.count);
    if (d < first || d >= size) return;
    Counts& next = counts[d];
    const bool alike = next[digit_of(item(0), d)] == count;
    if (alike && (begun || d + 1 != size)) return;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
    uint32_t* const places = next.data();
    NarrowItem* const into = to.data();
    auto put = [=](const NarrowItem& i) { into[places[digit_of(i, d)]++] = i; };
    if (!begun)
      for (size_t i = 0; i < count; ++i) put(item(i));
    else
      for (const NarrowItem& i : other) put(i);
    begun = true;
    std::swap(to, other);
  };
  [&]<size_t... d>(std::index_sequence<d...>) {
    (walk(std::integral_constant<size_t, d>()), ...);
  }(std::make_index_sequence<kMost>());
  return other;
}

template <class ItemAt>
std::span<NarrowItem> sort_many(const ItemAt& item, int bits, bool roughly, std::span<NarrowItem> to,
                                std::span<NarrowItem> other, int& rest) {
  if (to.size() < kWorthLongDigits) return sort_by_digits<kShortDigit, false>(item, bits, roughly, to, other, rest);
  return bits == 32 ? sort_by_digits<kLongDigit, true>(item, bits, roughly, to, other, rest)
                    : sort_by_digits<kLongDigit, false>(item, bits, roughly, to, other, rest);
}

// Long keys, those at some places or all, as items that stand for their first bits.
void sort_by_heads(std::span<const int64_t> keys, const std::vector<int64_t>* places, std::span<NarrowItem> items,
                   std::span<NarrowItem> others);

// The least key and the greatest one of some.
template <class Key>
struct Ends {
  Key least, greatest;
};
template <class KeyAt>
auto ends_of(const KeyAt& key, size_t count) {
  Ends made{key(0), key(0)};
  for (size_t i = 0; i < count; ++i) {
    const auto here = key(i);
    made.least = std::min(made.least, here), made.greatest = std::max(made.greatest, here);
  }
  return made;
}

// The item that belongs at the place of keys with these ends: among those that share its leading digits, until few are
// left, or equal ones.
template <class Item>
Item item_at(std::span<const typename Item::Key> keys, Ends<typename Item::Key> ends, size_t place,
             std::vector<Item>& among) {
  constexpr size_t kFew = 64;
  auto key = [&](size_t i) { return Item(keys[i], static_cast<int64_t>(i)); };
  if (ends.least == ends.greatest) return key(place);
  if (place + 1 == keys.size()) {
    size_t last = place;
    while (keys[last] != ends.greatest) --last;
    return key(last);
  }
  // It is one of `among` afterwards, at what is its place there.
  auto narrow = [&](const auto& item, size_t count, auto&& make_room) {
    const auto first = Item(ends.least, 0).bits();
    const int shift = std::max(0, static_cast<int>(std::bit_width(Item(ends.greatest, 0).bits() - first)) - kLongDigit);
    auto digit_of = [=](const Item& one) { return static_cast<size_t>((one.bits() - first) >> shift); };
    // In turns, for neighbours are often alike.
    std::array<std::array<uint32_t, size_t{1} << kLongDigit>, 2> counts{};
    for (size_t i = 0; i < count; ++i) ++counts[i % 2][digit_of(item(i))];
    auto of = [&](size_t digit) { return size_t{counts[0][digit]} + counts[1][digit]; };
    size_t digit = 0;
    for (; place >= of(digit); ++digit) place -= of(digit);
    make_room(of(digit) + 1);  // one that is none of them is written behind the last one
    Item* const to = among.data();
    size_t made = 0;
    for (size_t i = 0; i < count; ++i) {
      const Item one = item(i);
      to[made] = one;
      made += digit_of(one) == digit ? 1 : 0;
    }
    among.resize(of(digit));
  };
  narrow(key, keys.size(), [&](size_t room) { among.resize(room); });
  while (among.size() > kFew) {
    ends = ends_of([&](size_t i) { return among[i].key(); }, among.size());
    if (ends.least == ends.greatest) return among[place];
    narrow([&](size_t i) { return among[i]; }, among.size(), [](size_t) {});
  }
  std::ranges::nth_element(among, among.begin() + static_cast<ptrdiff_t>(place), std::less<>());
  return among[place];
}

}  // namespace lenz::runtime
