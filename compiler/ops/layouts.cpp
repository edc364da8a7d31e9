#include "compiler/ops/layouts.h"

#include <algorithm>

namespace lenz {

std::string_view name(LayoutClass layout) {
  constexpr std::string_view names[kLayoutClasses] = {
      "contiguous", "permuted", "sliced", "channels_last", "offset", "expanded", "overlapping", "odd_ones", "gaps"};
  return names[static_cast<size_t>(layout)];
}

namespace {
using Sizes = SmallVec<int64_t, 6>;

Sizes dense_strides(const Sizes& sizes, std::span<const size_t> inner_first) {
  Sizes strides(sizes.size(), 1);
  int64_t at = 1;
  for (size_t d : inner_first) {
    strides[d] = at;
    at *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

SmallVec<size_t, 6> plain_order(size_t rank) {
  SmallVec<size_t, 6> order;
  for (size_t i = rank; i-- > 0;) order.push_back(i);
  return order;
}

Sizes channels_last(const Sizes& sizes) {
  SmallVec<size_t, 6> order{1};
  for (size_t d = sizes.size(); d-- > 2;) order.push_back(d);
  order.push_back(0);
  return dense_strides(sizes, order);
}

SmallVec<size_t, 6> shuffled_order(size_t rank, Chooser& c) {
  SmallVec<size_t, 6> order = plain_order(rank);
  for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[c.below(i)]);
  return order;
}

constexpr int64_t kMostStored = int64_t{1} << 20;

int64_t count_of(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return count;
}

SmallVec<size_t, 6> longer_than_one(const Sizes& sizes) {  // innermost first
  SmallVec<size_t, 6> dims;
  for (size_t d = sizes.size(); d-- > 0;)
    if (sizes[d] > 1) dims.push_back(d);
  return dims;
}

bool has_channels(const Sizes& sizes) { return sizes.size() == 4 || sizes.size() == 5; }

// Whether they are those of a dense tensor but for dims of one element.
bool same_but_for_ones(const Sizes& sizes, std::span<const int64_t> strides, const Sizes& dense) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1 && strides[d] != dense[d]) return false;
  return true;
}

// A slice of a larger dense tensor: steps, gaps and, if it is shifted, an offset; its dims in any order. Of many dims
// only some have gaps, for the memory is the product of all.
Strided sliced(const Sizes& sizes, bool shifted, Chooser& c) {
  Sizes base = sizes, step(sizes.size(), 1), start(sizes.size(), 0);
  int64_t stored = 1;
  for (const int64_t n : sizes) stored *= std::max<int64_t>(n, 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t by = c.between(1, 3), from = shifted ? c.between(0, 2) : 0;
    const int64_t whole = from + sizes[i] * by + c.between(0, 1);
    const int64_t larger = stored / std::max<int64_t>(sizes[i], 1) * std::max<int64_t>(whole, 1);
    if (larger > kMostStored && larger > stored) continue;
    stored = larger;
    step[i] = by, start[i] = from, base[i] = whole;
  }
  Sizes dense = dense_strides(base, c.flip() ? shuffled_order(sizes.size(), c) : plain_order(sizes.size()));
  Strided s{dense, 0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    s.offset += start[i] * dense[i];
    s.strides[i] = dense[i] * step[i];
  }
  return s;
}

// The plainest layout of a class that lacks nothing, for choices that gave one of another class.
Strided plainest(LayoutClass layout, const Sizes& sizes) {
  const SmallVec<size_t, 6> longer = longer_than_one(sizes);
  SmallVec<size_t, 6> order = plain_order(sizes.size());
  Strided s{dense_strides(sizes, order), 0};
  switch (layout) {
    case LayoutClass::permuted:
      std::swap(*std::ranges::find(order, longer[0]), *std::ranges::find(order, longer[1]));
      s.strides = dense_strides(sizes, order);
      if (layout_of(sizes, s) == layout) break;
      std::ranges::reverse(order = plain_order(sizes.size()));
      s.strides = dense_strides(sizes, order);
      break;
    case LayoutClass::sliced:
    case LayoutClass::gaps: {  // every other one of the innermost
      for (int64_t& stride : s.strides) stride *= 2;
      s.offset = layout == LayoutClass::sliced ? 1 : 0;
      break;
    }
    case LayoutClass::expanded: s.strides[longer[0]] = 0; break;
    case LayoutClass::overlapping: s.strides[longer[0]] = s.strides[longer[1]] = 1; break;
    case LayoutClass::odd_ones: ++s.strides[static_cast<size_t>(std::ranges::find(sizes, 1) - sizes.begin())]; break;
    default: break;
  }
  return s;
}

}  // namespace

LayoutClass layout_of(std::span<const int64_t> given, const Strided& lies) {
  const Sizes sizes(given);
  if (count_of(sizes) == 0) return LayoutClass::contiguous;
  const Sizes plain = dense_strides(sizes, plain_order(sizes.size()));
  if (same_but_for_ones(sizes, lies.strides, plain)) {
    if (lies.strides != plain) return LayoutClass::odd_ones;
    return lies.offset != 0 ? LayoutClass::offset : LayoutClass::contiguous;
  }
  if (has_channels(sizes) && same_but_for_ones(sizes, lies.strides, channels_last(sizes)))
    return LayoutClass::channels_last;
  SmallVec<size_t, 6> dims = longer_than_one(sizes);
  std::ranges::stable_sort(dims, {}, [&](size_t d) { return lies.strides[d]; });
  bool gaps = false;
  int64_t reach = 0;  // of the dims so far: where the last of their elements lies
  for (const size_t d : dims) {
    if (lies.strides[d] == 0) return LayoutClass::expanded;
    if (lies.strides[d] <= reach) return LayoutClass::overlapping;
    gaps |= lies.strides[d] > reach + 1;
    reach += lies.strides[d] * (sizes[d] - 1);
  }
  if (!gaps) return LayoutClass::permuted;
  return lies.offset != 0 ? LayoutClass::sliced : LayoutClass::gaps;
}

bool in_order(LayoutClass layout) {
  return layout == LayoutClass::contiguous || layout == LayoutClass::offset || layout == LayoutClass::odd_ones;
}

std::string_view lacks(LayoutClass layout, std::span<const int64_t> given, bool written) {
  const Sizes sizes(given);
  const size_t longer = longer_than_one(sizes).size();
  if (layout == LayoutClass::contiguous) return {};
  if (count_of(sizes) == 0) return "no elements";
  const bool shares = layout == LayoutClass::expanded || layout == LayoutClass::overlapping;
  if (shares && written) return "it is written to";
  const auto channels = [&] { return sizes[1] > 1 && longer > (sizes[0] > 1 ? 2u : 1u); };
  switch (layout) {
    case LayoutClass::permuted:
      if (longer < 2) break;
      if (longer == 2 && has_channels(sizes) && sizes[0] == 1 && channels()) return "no other order than channels last";
      return {};
    case LayoutClass::channels_last:
      if (!has_channels(sizes)) return "neither 4 nor 5 dims";
      return channels() ? "" : "one channel, or one element of each";
    case LayoutClass::sliced:
    case LayoutClass::gaps:
      if (longer < 1) break;
      return count_of(sizes) * 2 > kMostStored ? "too many elements for gaps between them" : "";
    case LayoutClass::expanded:
      if (longer < 1) break;
      return {};
    case LayoutClass::overlapping:
      if (longer < 2) break;
      return {};
    case LayoutClass::odd_ones: return std::ranges::find(sizes, 1) == sizes.end() ? "no dim of one element" : "";
    default: return {};
  }
  return longer < 1 ? "no dim of more than one element" : "one dim of more than one element";
}

Strided draw_layout(LayoutClass layout, std::span<const int64_t> given, bool written, Chooser& c) {
  const Sizes sizes(given);
  Strided s{dense_strides(sizes, plain_order(sizes.size())), 0};
  switch (layout) {
    case LayoutClass::contiguous: break;
    case LayoutClass::permuted: s.strides = dense_strides(sizes, shuffled_order(sizes.size(), c)); break;
    case LayoutClass::sliced: return sliced(sizes, true, c);
    case LayoutClass::gaps: return sliced(sizes, false, c);
    case LayoutClass::channels_last:
      if (has_channels(sizes)) s.strides = channels_last(sizes);
      break;
    case LayoutClass::offset: s.offset = c.between(1, 9); break;
    case LayoutClass::expanded:
      for (size_t i = 0; !written && i < sizes.size(); ++i)
        if (c.chance(1, 2)) s.strides[i] = 0;
      break;
    case LayoutClass::overlapping:
      for (size_t i = 0; !written && i < sizes.size(); ++i)
        if (c.chance(1, 2)) s.strides[i] = c.between(1, 2);
      break;
    case LayoutClass::odd_ones:
      for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] == 1) s.strides[i] = c.between(1, 20);
      break;
  }
  return s;
}

Strided draw_of_class(LayoutClass layout, std::span<const int64_t> given, bool written, Chooser& c) {
  const Sizes sizes(given);
  if (!lacks(layout, sizes, written).empty()) return {dense_strides(sizes, plain_order(sizes.size())), 0};
  Strided s = draw_layout(layout, sizes, written, c);
  return layout_of(sizes, s) == layout ? s : plainest(layout, sizes);
}

}  // namespace lenz
