// Fresh inputs in every layout that eager may be handed.
#include <algorithm>
#include <cmath>

#include "compiler/ops/call_maker.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

namespace {
struct Strided {
  Sizes strides;
  int64_t offset = 0;
};

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

// A slice of a larger dense tensor: steps, gaps and an offset; its dims in any order.
Strided sliced(const Sizes& sizes, Chooser& c) {
  Sizes base = sizes, step(sizes.size(), 1), start(sizes.size(), 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    step[i] = c.between(1, 3);
    start[i] = c.between(0, 2);
    base[i] = start[i] + sizes[i] * step[i] + c.between(0, 1);
  }
  Sizes dense = dense_strides(base, c.flip() ? shuffled_order(sizes.size(), c) : plain_order(sizes.size()));
  Strided s{dense, 0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    s.offset += start[i] * dense[i];
    s.strides[i] = dense[i] * step[i];
  }
  return s;
}

enum class LayoutClass { contiguous, permuted, sliced, channels_last, offset, expanded, overlapping, odd_ones };

Strided a_layout(const Sizes& sizes, const TensorWish& wish, Chooser& c) {
  Strided s{dense_strides(sizes, plain_order(sizes.size())), 0};
  if (wish.format == MemoryFormat::channels_last || wish.format == MemoryFormat::channels_last_3d)
    s.strides = channels_last(sizes);
  if (wish.strides) s.strides = *wish.strides;
  if (wish.plain || wish.format || wish.strides) return s;
  constexpr uint32_t kWeights[] = {10, 4, 4, 3, 1, 2, 1, 1};
  switch (static_cast<LayoutClass>(c.weighted(kWeights))) {
    case LayoutClass::contiguous: break;
    case LayoutClass::permuted: s.strides = dense_strides(sizes, shuffled_order(sizes.size(), c)); break;
    case LayoutClass::sliced: return sliced(sizes, c);
    case LayoutClass::channels_last:
      if (sizes.size() == 4 || sizes.size() == 5) s.strides = channels_last(sizes);
      break;
    case LayoutClass::offset: s.offset = c.between(1, 9); break;
    case LayoutClass::expanded:
      for (size_t i = 0; !wish.written && i < sizes.size(); ++i)
        if (c.chance(1, 2)) s.strides[i] = 0;
      break;
    case LayoutClass::overlapping:
      for (size_t i = 0; !wish.written && i < sizes.size(); ++i)
        if (c.chance(1, 2)) s.strides[i] = c.between(1, 2);
      break;
    case LayoutClass::odd_ones:  // the stride of a dim of size 1 may be anything
      for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] == 1) s.strides[i] = c.between(1, 20);
      break;
  }
  return s;
}

Initialiser an_initialiser(const TensorWish& wish, const Domain& domain, Dtype dtype, Chooser& c) {
  Initialiser init;
  init.seed = c.below(1u << 16);
  if (wish.permutation) {
    init.kind = Initialiser::permutation;
  } else if (wish.integers) {
    init.kind = Initialiser::integers;
    init.low = static_cast<double>(wish.integers->first);
    init.high = static_cast<double>(wish.integers->second);
  } else if (is_inexact(dtype)) {
    init.kind = Initialiser::uniform;
    init.low = domain.low;
    init.high = domain.high;
  } else {
    init.kind = Initialiser::integers;
    init.low = dtype == Dtype::b8 ? 0 : std::max(std::ceil(domain.low), info(dtype).is_signed ? -100.0 : 0.0);
    init.high = dtype == Dtype::b8 ? 1 : std::min(std::floor(domain.high), 100.0);
    if (domain.exclude_zero && init.low <= 0) init.low = 1;
    init.high = std::max(init.high, init.low);
  }
  return init;
}
}  // namespace

ValueId FreshCalls::tensor(const TensorWish& wish) {
  Dtype dtype = wish.dtype ? *wish.dtype : a_dtype(wish.dtypes.empty() ? op_.dtypes : wish.dtypes);
  Sizes sizes = wish.sizes ? *wish.sizes : a_shape(wish.min_rank, wish.max_rank, wish.min_size);
  Strided layout = a_layout(sizes, wish, chooser_);
  TensorType type;
  type.dtype = dtype;
  for (int64_t s : sizes) type.sizes.push_back(Dim(s));
  for (int64_t s : layout.strides) type.strides.push_back(Dim(s));
  type.offset = layout.offset;
  ValueId v = graph_.add_input("x" + std::to_string(graph_.inputs().size()), context().tensor(type));
  graph_.input(graph_.inputs().size() - 1).init =
      an_initialiser(wish, wish.domain ? *wish.domain : op_.domain, dtype, chooser_);
  if (wish.sorted) graph_.input(graph_.inputs().size() - 1).init.sorted = true;
  return v;
}

}  // namespace lenz
