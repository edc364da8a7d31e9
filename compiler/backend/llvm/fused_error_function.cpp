// The error function of f64 where a fused multiply-add is an instruction: erf(x) / x, which is even and smooth, in
// sixteen pieces whose coefficients registers hold.
#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kPiece = 0.375, kEnd = 16 * kPiece;  // from 5.93 on it is one
constexpr int kDegree = 13;

DoubleDouble over_operand(DoubleDouble x) {
  static const DoubleDouble kAtZero = DoubleDouble(2) / dd::sqrt(dd::kPi);
  return x.hi == 0 ? kAtZero : dd::erf(x) / x;
}

struct Coefficients {
  std::vector<double> of[kDegree + 1], rest;
  Coefficients() {
    for (int i = 0; i < LaneCode::held_entries(LaneType::f64); ++i) {
      const auto fitted = fit_around(over_operand, (i + 0.5) * kPiece, kPiece / 2, kDegree);
      for (int k = 0; k <= kDegree; ++k) of[k].push_back(fitted[static_cast<size_t>(k)].hi);
      rest.push_back(fitted[0].lo);
    }
  }
};

V erf(V x) {
  static const Coefficients kAt;
  LaneCode& code = *x.code;
  const V size = abs(x), near = select(size < kEnd, size, kEnd - kPiece / 2);  // of a NaN too
  // The piece's number stands in the last bits of a large number's mantissa.
  const V number = floor(near * (1 / kPiece)), index = bits(number + 0x1.8p52);
  const V t = near - (number + 0.5) * kPiece;
  auto coefficient = [&](const std::vector<double>& table) { return code.look_up_held(table, LaneType::f64, index); };
  V sum = coefficient(kAt.of[kDegree]);
  for (int k = kDegree; k-- > 1;) sum = fma(sum, t, coefficient(kAt.of[k]));
  const V value = fma(near, coefficient(kAt.of[0]), near * fma(sum, t, coefficient(kAt.rest)));
  const V inside = select(size < kEnd, select(value < 1, value, 1), 1);
  return select(is_nan(x), x, copysign(inside, x));
}

}  // namespace

void add_fused_error_function(Spellings& t) { t.push_back({.name = "erf", .fused_f64 = spell<erf>}); }

}  // namespace lenz::native
