// Layouts of many dims: gaps in each of them multiply.
#include "compiler/ops/layouts.h"

#include <gtest/gtest.h>

namespace lenz {
namespace {

TEST(Layouts, SlicesOfManyDimsTakeLittleMemory) {
  size_t gaps = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    const SmallVec<int64_t, 6> sizes(12, 2 + static_cast<int64_t>(seed % 2));
    const Strided s = draw_layout(LayoutClass::sliced, sizes, true, choose);
    int64_t last = s.offset, elements = 1;
    for (size_t d = 0; d < sizes.size(); ++d) last += s.strides[d] * (sizes[d] - 1), elements *= sizes[d];
    EXPECT_LT(last, int64_t{1} << 20) << seed;
    gaps += last >= elements;
  }
  EXPECT_GT(gaps, 190u);
}

}  // namespace
}  // namespace lenz
