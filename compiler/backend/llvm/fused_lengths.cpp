// The length of two sides of f64 where a fused multiply-add is an instruction: the root of what their squares are
// together, less what squares, sum and root round away (Borges, "An improved algorithm for hypot(a,b)", 2019).
#include <limits>

#include "compiler/backend/llvm/families.h"

namespace lenz::native {

namespace {

// Of a high >= low whose squares neither overflow nor lose digits.
V length_of(V high, V low) {
  const V root = sqrt(fma(high, high, low * low)), of_root = root * root, of_high = high * high;
  const V off = (fma(-low, low, of_root - of_high) + fma(root, root, -of_root)) - fma(high, high, -of_high);
  return root - off / (root + root + std::numeric_limits<double>::min());  // of nothing nothing
}

V hypot_f64(V a, V b) {
  constexpr double kLarge = 0x1p500, kSmall = 0x1p-450, kFar = 0x1p600;
  const V x = abs(a), y = abs(b), swaps = x < y, high = select(swaps, y, x), low = select(swaps, x, y);
  // A NaN is the one or the other, and beside an infinity counts for nothing.
  const V far = !((high < kLarge) & ((high >= kSmall) | (high == 0))) | !(low < kLarge);
  return x.code->rarely(far, {length_of(high, low)}, [&] {
    const V up = high < kSmall, by = select(up, from(x, kFar), 1 / kFar), back = select(up, from(x, 1 / kFar), kFar);
    const V length = length_of(high * by, low * by) * back;
    const V infinite = is_infinite(a) | is_infinite(b);
    return std::vector<V>{select(infinite, from(x, std::numeric_limits<double>::infinity()), length)};
  })[0];
}

}  // namespace

void add_fused_lengths(Spellings& t) { t.push_back({.name = "hypot", .fused_f64 = spell<hypot_f64>}); }

}  // namespace lenz::native
