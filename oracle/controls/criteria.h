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
  running_worst,  // for any order of sums
  perturbed,      // 4 times the worst of 8 perturbed runs, and 4 unit roundoffs
  close,          // of a graph in f64, as a float64 recompilation is judged: rtol and atol 1e-11
  masked,         // the same, but where the running error exceeds 1e-9 (1 + |value|) by the running error
};
inline constexpr int kCriteria = 10;
std::string_view name(Criterion criterion);
bool applies(Criterion criterion, Dtype graph);  // to graphs of this dtype

// One output as all of them need it.
struct Compared {
  Dtype dtype = Dtype::f32;
  const Elements* exact = nullptr;      // in float64
  const Elements* eager = nullptr;      // in the graph's own dtypes
  const Elements* running = nullptr;    // running errors, lambda = 4
  const Elements* worst = nullptr;      // running errors, for any order
  const Elements* perturbed = nullptr;  // the worst deviations of perturbed runs
};

// Whether it calls `got` wrong. Not for `ours`.
bool alarmed(Criterion criterion, const Compared& expected, const Elements& got);

}  // namespace lenz::oracle::controls
