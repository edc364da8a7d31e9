// Of a class that lacks nothing a layout of that class is drawn, by whatever choices; of many dims gaps multiply.
#include "compiler/ops/layouts.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(Layouts, WhatIsDrawnIsOfItsClassOrSaysWhatItLacks) {
  const SmallVec<int64_t, 6> shapes[] = {
      {},        {1},          {5},          {0, 3},       {2, 3},          {1, 7, 1},
      {4, 1, 3}, {2, 3, 4, 5}, {1, 3, 1, 5}, {2, 1, 4, 4}, {2, 2, 2, 2, 2}, {3, 4, 1, 1}};
  std::set<LayoutClass> drawn, lacking;
  for (const auto& sizes : shapes)
    for (size_t k = 0; k < kLayoutClasses; ++k)
      for (uint64_t seed = 0; seed < 50; ++seed) {
        const auto layout = static_cast<LayoutClass>(k);
        const bool written = seed % 2 == 1;
        RandomChooser choose(seed);
        BytesChooser plainest({});
        for (Chooser* c : {static_cast<Chooser*>(&choose), static_cast<Chooser*>(&plainest)}) {
          const Strided s = draw_of_class(layout, sizes, written, *c);
          if (lacks(layout, sizes, written).empty()) {
            EXPECT_EQ(name(layout_of(sizes, s)), name(layout)) << testing::PrintToString(sizes);
            drawn.insert(layout);
          } else {
            EXPECT_NE(layout_of(sizes, s), layout) << testing::PrintToString(sizes);
            lacking.insert(layout);
          }
        }
      }
  EXPECT_EQ(drawn.size(), kLayoutClasses);
  EXPECT_EQ(lacking.size(), kLayoutClasses - 1);  // all but contiguous
}

TEST(Layouts, ClassesAreToldApart) {
  struct Case {
    SmallVec<int64_t, 6> sizes, strides;
    int64_t offset;
    std::string_view layout;
  };
  for (const Case& c : std::initializer_list<Case>{{{2, 3}, {3, 1}, 0, "contiguous"},
                                                   {{0, 3}, {9, 9}, 4, "contiguous"},
                                                   {{2, 3}, {3, 1}, 7, "offset"},
                                                   {{2, 1}, {1, 77}, 7, "odd_ones"},
                                                   {{2, 3}, {1, 2}, 7, "permuted"},
                                                   {{2, 3, 4, 5}, {60, 1, 15, 3}, 0, "channels_last"},
                                                   {{2, 3}, {0, 1}, 0, "expanded"},
                                                   {{2, 3}, {1, 1}, 0, "overlapping"},
                                                   {{3, 2}, {2, 5}, 0, "gaps"},
                                                   {{2, 3}, {8, 2}, 1, "sliced"}})
    EXPECT_EQ(name(layout_of(c.sizes, {c.strides, c.offset})), c.layout) << testing::PrintToString(c.strides);
}

}  // namespace
}  // namespace lenz
