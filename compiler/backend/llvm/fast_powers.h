// What follows from e^x in two parts, in the arithmetic of f32 or f64 (fast_rows.cpp, fast_f64_rows.cpp have e^x
// itself). Thread-safety: as the builder's module.
#pragma once

#include <span>

#include "compiler/backend/llvm/lane_code.h"

namespace lenz::native {

// e^x = (1 + minus_one + low) 2^n: the low part is what rounding the other took away.
struct Power {
  V minus_one, low, n;
  V one_more() const { return minus_one + 1; }
  V lost() const { return (minus_one - (one_more() - 1)) + low; }  // by one_more()
};
using PowerOf = Power (*)(V x);

// `none`: where e^x is nothing; `far`: where it is nothing beside 1, and its square a normal number before.
V sigmoid_by(PowerOf power_of, double none, double far, V x);
// `near`: (tanh(r) - r) / r^3 in powers of r^2, for r < 0.55; `far`: where e^2x has made it one.
V tanh_by(PowerOf power_of, std::span<const double> near, double far, V x);

}  // namespace lenz::native
