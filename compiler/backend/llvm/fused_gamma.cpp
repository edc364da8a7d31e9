// The logarithm of the gamma function of f64 where a fused multiply-add is an instruction: from 2 on in sixteen pieces
// whose coefficients registers hold, below by the recurrence, far out by Stirling's series.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kLow = 2, kPiece = 0.4375, kFar = kLow + 16 * kPiece;

// x (log gamma(x) - (x - 1/2) (log x - 1)) - (log(2 pi) - 1) / 2 x, by 1 / x^2.
DoubleDouble correction(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  const DoubleDouble large = (x - DoubleDouble(0.5)) * (dd::log(x) - DoubleDouble(1));
  return x * (dd::lgamma(x) - large - (dd::kHalfLog2Pi - DoubleDouble(0.5)));
}

V lgamma(V x) {
  static const HeldPieces kNear(dd::lgamma, kLow, kPiece, 12);
  static const std::vector<double> kCorrection = fit_doubles(correction, 1e-5, 1 / (kFar * kFar), 6);
  const V least = x < 1, low = x < 2, far = x >= kFar;
  const V raised = select(least, x + 2, select(low, x + 1, x)), logarithm = fused_log(select(least, x * (x + 1), x));
  const auto near = kNear(select(far, kLow, raised));
  const V passed = select(low, near.first - logarithm + near.more, near.first + near.more);
  const V inverse = from(x, 1) / select(far, x, kFar);
  const V beyond = fma(inverse, polynomial(inverse * inverse, kCorrection),
                       static_cast<double>(dd::kHalfLog2Pi - DoubleDouble(0.5)));
  const V value = select(far, fma(x - 0.5, logarithm - 1, beyond), passed);
  return x.code->rarely(x <= 0, {select((x == 1) | (x == 2), 0, value)}, [&] {
    return x.code->apart("lenz_lgamma", x, std::array{LaneType::f64},
                         [](V any) { return std::vector<V>{wide_lgamma(any)}; });
  })[0];
}

}  // namespace

void add_fused_gamma(Spellings& t) { t.push_back({.name = "lgamma", .fused_f64 = spell<lgamma>}); }

}  // namespace lenz::native
