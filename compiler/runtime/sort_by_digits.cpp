#include "compiler/runtime/sort_by_digits.h"

namespace lenz::runtime {

namespace {
constexpr size_t kStretch = 512;  // items that are looked at before what was found is
}  // namespace

// Long keys, those at some places or all: by the first bits of what they are beyond the least one, so that numbers of
// both signs are near each other, then what these leave alike by the others.
void sort_by_heads(std::span<const int64_t> keys, const std::vector<int64_t>* places, std::span<NarrowItem> items,
                   std::span<NarrowItem> others) {
  const int64_t* const of = keys.data();
  auto bits = [of](int64_t from) { return WideItem(of[from], 0).bits(); };
  auto all = [&](const auto& place) {
    int64_t least = of[place(0)], greatest = least;
    uint64_t first = 0, reach = 0;
    for (size_t i = 0; i < items.size() && reach >> 63 == 0;) {  // of keys all over their range some tell it
      for (const size_t end = std::min(i + kStretch, items.size()); i < end; ++i) {
        const int64_t here = of[place(i)];
        least = std::min(least, here), greatest = std::max(greatest, here);
      }
      first = WideItem(least, 0).bits(), reach = WideItem(greatest, 0).bits() - first;
    }
    if (reach >> 63 != 0) first = 0;
    const int width = static_cast<int>(std::bit_width(reach)), behind = std::max(0, width - 32);
    auto item = [=](size_t i) {
      const int64_t from = place(i);
      return NarrowItem::of_bits(static_cast<uint32_t>((bits(from) - first) >> behind), from);
    };
    int rest = 0;
    const auto made = sort_many(item, std::max(width - behind, 1), behind > 0, others, items, rest);
    if (made.data() != items.data()) std::ranges::copy(made, items.begin());
    return std::pair(rest, behind + rest > 0);
  };
  const auto [rest, open] = places ? all([at = places->data()](size_t i) { return at[i]; })
                                   : all([](size_t i) { return static_cast<int64_t>(i); });
  if (!open) return;
  auto before = [bits](const NarrowItem& a, const NarrowItem& b) {
    if (a.bits() != b.bits()) return a.bits() < b.bits();
    const uint64_t x = bits(a.from()), y = bits(b.from());
    return x != y ? x < y : a.from() < b.from();
  };
  const NarrowItem* const made = items.data();
  const size_t count = items.size();
  const int alike_above = rest;
  auto are_alike = [=](size_t i, size_t k) { return (made[i].bits() ^ made[k].bits()) >> alike_above == 0; };
  // Who is like the one before is found, and of two who comes first, without a branch, which would be guessed wrong.
  std::array<size_t, kStretch> found;
  for (size_t from = 1; from < count;) {
    size_t end = std::min(from + kStretch, count), many = 0;
    for (size_t i = from; i < end; ++i) {
      found[many] = i;
      many += are_alike(i, i - 1) ? 1 : 0;
    }
    for (size_t k = 0; k < many; ++k) {
      const size_t begin = found[k] - 1;
      if (found[k] + 1 == count || !are_alike(begin, found[k] + 1)) {
        const std::array two{items[begin], items[begin + 1]};
        const size_t turned = of[two[1].from()] < of[two[0].from()] ? 1 : 0;
        items[begin] = two[turned], items[begin + 1] = two[1 - turned];
        continue;
      }
      size_t behind = found[k] + 2;
      while (behind < count && are_alike(begin, behind)) ++behind;
      while (k + 1 < many && found[k + 1] < behind) ++k;
      end = std::max(end, behind);
      const std::span<NarrowItem> alike = items.subspan(begin, behind - begin);
      if (alike.size() < kMany * sizeof(uint64_t)) {
        if (!std::ranges::is_sorted(alike, before)) std::ranges::sort(alike, before);
      } else {
        std::vector<int64_t> own;
        for (const NarrowItem& one : alike) own.push_back(one.from());
        sort_by_heads(keys, &own, alike, others.subspan(begin, alike.size()));
      }
    }
    from = end;
  }
}

}  // namespace lenz::runtime
