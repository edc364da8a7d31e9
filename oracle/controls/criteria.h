// How others decide whether two results are the same. They stand beside our judge on the same runs, so that its power
// and its silence are numbers and not claims.
// Thread-safety: pure functions.
#pragma once

#include <string_view>

#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

enum class Criterion : uint8_t {
  ours,
  torchfuzz,      // sums differ by more than 5 % and more than 1
  nnsmith,        // rtol 1e-2, atol 1e-3
  assert_close,   // torch.testing's defaults for the dtype
  same,           // torch._dynamo.utils.same: allclose at 1e-4, else RMSE against float64 beside eager's
  running_error,  // lambda = 4
};
inline constexpr int kCriteria = 6;
std::string_view name(Criterion criterion);

// One output as all of them need it.
struct Compared {
  Dtype dtype = Dtype::f32;
  const Elements* exact = nullptr;    // in float64
  const Elements* eager = nullptr;    // in the graph's own dtypes
  const Elements* running = nullptr;  // running errors
};

// Whether it calls `got` wrong. Not for `ours`.
bool alarmed(Criterion criterion, const Compared& expected, const Elements& got);

}  // namespace lenz::oracle::controls
