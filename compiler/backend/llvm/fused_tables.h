// Tables that registers hold, of numbers in two parts, for functions in the arithmetic of f32 or f64 where a fused
// multiply-add is an instruction (fused_*.cpp).
// Thread-safety: constant once made; as the builder's module.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/lane_code.h"
#include "compiler/scalar/double_double.h"

namespace lenz::native {

// As a number of the type, and the rest.
inline DoubleDouble split(DoubleDouble value, LaneType type) {
  if (type == LaneType::f64) return value;
  const double high = static_cast<float>(value.hi);
  return {high, (value.hi - high) + value.lo};  // of a zero nothing, whatever its sign
}

class HeldTable {
 public:
  HeldTable(LaneType type, const std::function<DoubleDouble(int)>& entry) : type_(type) {
    for (int i = 0; i < LaneCode::held_entries(type); ++i) {
      const DoubleDouble value = split(entry(i), type);
      parts_[0].push_back(value.hi), parts_[1].push_back(value.lo);
    }
  }
  // By an integer's low bits.
  V high(V index) const { return part(0, index); }
  V low(V index) const { return part(1, index); }

 private:
  // Both at once, where that is how they are read: the other's reads are the same.
  V part(size_t which, V index) const {
    if (type_ == LaneType::f64) return index.code->look_up_held(parts_, index)[which];
    return index.code->look_up_held(parts_[which], type_, index);
  }

  LaneType type_;
  std::array<std::vector<double>, 2> parts_;
};

// A smooth function of f64 in as many pieces as tables have entries, from `low` on, each of so much.
class HeldPieces {
 public:
  HeldPieces(DoubleDouble (*f)(DoubleDouble), double low, double piece, int degree)
      : low_(low), piece_(piece), of_(static_cast<size_t>(degree) + 2) {
    for (int i = 0; i < LaneCode::held_entries(LaneType::f64); ++i) {
      const auto fitted = fit_around(f, low + (i + 0.5) * piece, piece / 2, degree);
      for (size_t k = 0; k + 1 < of_.size(); ++k) of_[k].push_back(fitted[k].hi);
      of_.back().push_back(fitted[0].lo);
    }
  }
  struct Value {
    V first, more;  // first + more
  };
  Value operator()(V x) const { return within(low_ == 0 ? x : x - low_); }
  // Of what x is beyond the pieces before `first`, a whole number; absent is none.
  Value within(V beyond, V first = {}) const {
    const V number = floor(beyond * (1 / piece_)), t = beyond - (number + 0.5) * piece_;
    // The piece's number stands in the last bits of a large number's mantissa.
    const V index = bits((first ? number + first : number) + 0x1.8p52);
    const std::vector<V> of = beyond.code->look_up_held(of_, index);
    V sum = of[of.size() - 2];
    for (size_t k = of.size() - 2; k-- > 1;) sum = fma(sum, t, of[k]);
    return {of[0], fma(sum, t, of.back())};
  }

 private:
  double low_, piece_;
  std::vector<std::vector<double>>
      of_;  // each coefficient of all pieces; last, what rounding takes from the first ones
};

// e^x, within a place.
V fused_exp(V x);
V fused_expm1(V x);
V fused_log(V x);
struct TwoParts {
  V high, low;
};
TwoParts fused_log_in_parts(V x);  // to 2^-60 of it, or of one; of a normal x > 0
// 2^-gap, of a gap that is not below 0: what rounding takes from the exponent of e counts in full where that is large.
V fused_fall_of_two(V gap);

// (above + above_low) / (below + below_low), of parts that are small.
V quotient_of(V above, V above_low, V below, V below_low);

}  // namespace lenz::native
