// Cases of views that a campaign found and that no check of a graph alone shows.
#include "fuzz/replayed_case_test.h"

namespace lenz::fuzz {
namespace {

// What a copy looks at once more, in the same sizes and strides, is no look at the memory between elements.
TEST(ReplayedViews, ACopyOfPartsOfWhatHasGaps) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 target=generic
graph @fuzzed(%x0: c64[5, 4] strides [14, 1] offset 9 mut init uniform(-0.9375, 0.9375, seed=3297)) {
  %0 = aten.atanh_(%x0)
  %1 = aten.imag(%x0)
  %2 = aten.detach_copy(%1)
  return %2
}
)");
}

}  // namespace
}  // namespace lenz::fuzz
