// Tables that registers hold, of numbers in two parts, for functions in the arithmetic of f32 or f64 where a fused
// multiply-add is an instruction (fused_*.cpp).
// Thread-safety: constant once made; as the builder's module.
#pragma once

#include <functional>
#include <vector>

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
      high_.push_back(value.hi), low_.push_back(value.lo);
    }
  }
  // By an integer's low bits.
  V high(V index) const { return index.code->look_up_held(high_, type_, index); }
  V low(V index) const { return index.code->look_up_held(low_, type_, index); }

 private:
  LaneType type_;
  std::vector<double> high_, low_;
};

// e^x, within a place.
V fused_exp(V x);
// 2^-gap, of a gap that is not below 0: what rounding takes from the exponent of e counts in full where that is large.
V fused_fall_of_two(V gap);

// (above + above_low) / (below + below_low), of parts that are small.
V quotient_of(V above, V above_low, V below, V below_low);

}  // namespace lenz::native
