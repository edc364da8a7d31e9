// Fresh inputs in every layout that eager may be handed.
#include <algorithm>
#include <cmath>

#include "compiler/graph/number_fits.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/layouts.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

namespace {
bool is_free(const TensorWish& wish) { return !wish.plain && !wish.format && !wish.strides; }

Strided a_layout(const Sizes& sizes, const TensorWish& wish, Chooser& c) {
  bool channels_last = wish.format == MemoryFormat::channels_last || wish.format == MemoryFormat::channels_last_3d;
  Strided s = draw_layout(channels_last ? LayoutClass::channels_last : LayoutClass::contiguous, sizes, wish.written, c);
  if (wish.strides) s.strides = *wish.strides;
  if (!is_free(wish)) return s;
  // Slices without an offset have gaps alone.
  constexpr uint32_t kWeights[kLayoutClasses] = {10, 4, 4, 3, 1, 2, 1, 1, 0};
  return draw_layout(static_cast<LayoutClass>(c.weighted(kWeights)), sizes, wish.written, c);
}

Initialiser an_initialiser(const TensorWish& wish, const Domain& domain, Dtype dtype, Chooser& c) {
  Initialiser init;
  init.seed = c.below(1u << 16);
  if (wish.permutation) {
    init.kind = Initialiser::permutation;
  } else if (wish.integers) {
    init.kind = Initialiser::integers;
    const FiniteRange has = finite_range(dtype);  // a dim may be longer than a narrow index can say
    init.low = std::max(static_cast<double>(wish.integers->first), has.low);
    init.high = std::min(static_cast<double>(wish.integers->second), has.high);
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

Strided FreshCalls::layout_for(const Sizes& sizes, const TensorWish& wish) {
  if (!wanted_) return a_layout(sizes, wish, chooser_);
  const std::string_view lacking =
      is_free(wish) ? lacks(*wanted_, sizes, wish.written) : "the row asks for a layout of its own";
  const bool takes = lacking.empty() && (!taken_ || chooser_.flip());
  taken_ |= takes;
  if (!lacking.empty()) lacking_.push_back(lacking);
  return takes ? draw_of_class(*wanted_, sizes, wish.written, chooser_) : a_layout(sizes, wish, chooser_);
}

ValueId FreshCalls::tensor(const TensorWish& wish) {
  Dtype dtype = wish.dtype ? *wish.dtype : a_dtype(wish.dtypes.empty() ? op_.dtypes : wish.dtypes);
  Sizes sizes = wish.sizes ? *wish.sizes : a_shape(wish.min_rank, wish.max_rank, wish.min_size);
  Strided layout = layout_for(sizes, wish);
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
