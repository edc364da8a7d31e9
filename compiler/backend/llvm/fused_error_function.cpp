// The error function of f64 where a fused multiply-add is an instruction: erf(x) / x, which is even and smooth, and
// what erf lacks to one, e^(-x^2) times what is smooth; in sixteen pieces whose coefficients registers hold.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kPiece = 0.375, kEnd = 16 * kPiece;  // from 5.93 on the error function is one
constexpr int kDegree = 13;

DoubleDouble over_operand(DoubleDouble x) {
  static const DoubleDouble kAtZero = DoubleDouble(2) / dd::sqrt(dd::kPi);
  return x.hi == 0 ? kAtZero : dd::erf(x) / x;
}

V erf(V x) {
  static const HeldPieces kAt(over_operand, 0, kPiece, kDegree);
  const V size = abs(x), near = select(size < kEnd, size, kEnd - kPiece / 2);  // of a NaN too
  const auto at = kAt(near);
  const V value = fma(near, at.first, near * at.more);
  const V inside = select(size < kEnd, select(value < 1, value, 1), 1);
  return select(is_nan(x), x, copysign(inside, x));
}

// x e^(x^2) erfc(x), by 1 / x^2.
DoubleDouble far_out(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  return x * dd::erfcx(x);
}
V erfc(V x) {
  static const HeldPieces kAt(dd::erfcx, 0, kPiece, kDegree);
  constexpr double kNothing = 28;  // from far below on
  static const std::vector<double> kFar = fit_doubles(far_out, 1 / (kNothing * kNothing), 1 / (kEnd * kEnd), 10);
  const V size = abs(x), some = select(size > kNothing, kNothing, size), far = some >= kEnd;
  const auto at = kAt(select(some < kEnd, some, 0));
  const V smooth = x.code->instead(far, {at.first + at.more}, [&] {
    const V below = select(far, some, kEnd), inverse = from(x, 1) / below;
    const V over = polynomial(inverse * inverse, kFar), quotient = over * inverse;
    return std::vector<V>{select(far, fma(inverse, fma(-below, quotient, over), quotient), at.first + at.more)};
  })[0];
  const V square = some * some, power = fused_exp(-square);
  const V above = power * fma(smooth, -fma(some, some, -square), smooth);
  return select(x < 0, 2 - above, above);  // of a NaN the exponential is one
}

}  // namespace

void add_fused_error_function(Spellings& t) {
  t.push_back({.name = "erf", .fused_f64 = spell<erf>});
  t.push_back({.name = "erfc", .fused_f64 = spell<erfc>});
}

}  // namespace lenz::native
