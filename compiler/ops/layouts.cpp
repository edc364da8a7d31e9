#include "compiler/ops/layouts.h"

#include <algorithm>

namespace lenz {

std::string_view name(LayoutClass layout) {
  constexpr std::string_view names[kLayoutClasses] = {"contiguous", "permuted", "sliced",      "channels_last",
                                                      "offset",     "expanded", "overlapping", "odd_ones"};
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

// A slice of a larger dense tensor: steps, gaps and an offset; its dims in any order. Of many dims only some have gaps,
// for the memory is the product of all.
Strided sliced(const Sizes& sizes, Chooser& c) {
  constexpr int64_t kMostStored = int64_t{1} << 20;
  Sizes base = sizes, step(sizes.size(), 1), start(sizes.size(), 0);
  int64_t stored = 1;
  for (const int64_t n : sizes) stored *= std::max<int64_t>(n, 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t by = c.between(1, 3), from = c.between(0, 2);
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
}  // namespace

Strided draw_layout(LayoutClass layout, std::span<const int64_t> given, bool written, Chooser& c) {
  Sizes sizes(given);
  Strided s{dense_strides(sizes, plain_order(sizes.size())), 0};
  switch (layout) {
    case LayoutClass::contiguous: break;
    case LayoutClass::permuted: s.strides = dense_strides(sizes, shuffled_order(sizes.size(), c)); break;
    case LayoutClass::sliced: return sliced(sizes, c);
    case LayoutClass::channels_last:
      if (sizes.size() == 4 || sizes.size() == 5) s.strides = channels_last(sizes);
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

}  // namespace lenz
