// Lanes with bits to spare: what an f32 is computed in where that asks for more than its own arithmetic, a double; and
// what an f64 is, an unevaluated sum of two doubles. A function written once over Wide serves both, and leaves nothing
// but the last rounding to the dtype.
//
// Infinities and NaN are not carried through: functions select around them.
// Thread-safety: as the builder's module.
#pragma once

#include <span>
#include <vector>

#include "compiler/backend/llvm/lane_code.h"
#include "compiler/scalar/double_double.h"

namespace lenz::native {

struct Wide {
  V hi, lo;  // f64; without lo: a double is enough
  bool is_double() const { return !static_cast<bool>(lo); }
};

Wide widen(V x);                  // f32 or f64
V narrow(Wide x, LaneType type);  // rounded to it; hi where that is not finite
Wide constant(Wide like, DoubleDouble value);
Wide wide_of(Wide like, V x);  // an f64 as exact as `like` wants it
Wide exact_sum(V a, V b);      // two doubles, both parts always
Wide exact_product(V a, V b);
Wide renormalised(V hi, V lo);  // |hi| >= |lo|

Wide operator-(Wide a);
Wide operator+(Wide a, Wide b);
Wide operator-(Wide a, Wide b);
Wide operator*(Wide a, Wide b);
Wide operator/(Wide a, Wide b);
Wide operator+(Wide a, double b);
Wide operator-(Wide a, double b);
Wide operator*(Wide a, double b);  // by a power of two
Wide sqrt(Wide a);
Wide select(V condition, Wide yes, Wide no);
Wide abs(Wide a);

// coefficients[0] + x coefficients[1] + ...; the first `exact` of them and their sums in full width, the rest, which
// matter less, in double.
Wide polynomial(Wide x, std::span<const DoubleDouble> coefficients, int exact);

// A sum of so many parts, all but the last of so few bits that products with small whole numbers are exact.
std::vector<double> parts_of(DoubleDouble value, int bits, int count);

// As many coefficients of a series as x wants: those for a double, or for two.
std::vector<DoubleDouble> series(bool for_double, int double_terms, int wide_terms, DoubleDouble (*term)(int));

// --- elementary functions, for finite operands in their domain

struct Exponential {
  Wide minus_one;  // e^x = (1 + minus_one) 2^n
  V n;             // f64
};
Exponential exponential(Wide x);  // |x| < 1e5
Wide expm1(Wide x);               // |x| < 700
Wide sinh_over(Wide x, V& n);     // sinh(x) = result * 2^n
Wide cosh_over(Wide x, V& n);

struct Logarithm {
  V k;  // x = 2^k (1 + fraction)
  Wide fraction;
};
Logarithm split_logarithm(Wide x);   // of x > 0
Wide log1p_fraction(Wide fraction);  // of what split_logarithm answers, or any in [-0.3, 0.42]
Wide value_of(Logarithm l);          // log(2^k (1 + fraction))
Wide log(Wide x);
Wide log1p(Wide x);  // x > -1

struct Quadrant {
  V number;    // i64; its two low bits count
  Wide angle;  // within a quarter turn around 0
};
Quadrant quadrant(V x);      // of a finite f64; both parts of the angle always
Quadrant far_quadrant(V x);  // of any, by a function of the module's own: for code that is rarely reached
Wide sin_of(Wide angle);     // |angle| <= pi / 4
Wide cos_of(Wide angle);
struct SinCos {
  Wide sin, cos;
};
SinCos sin_cos(Wide like, Quadrant at);

Wide atan2_positive(Wide y, Wide x);  // of y, x >= 0, not both zero, in range

}  // namespace lenz::native
