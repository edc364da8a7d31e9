// Errors of an elementwise primitive, over whole planes: what propagate_error and own_error of compiler/scalar say of
// one element, in loops that a compiler vectorises where the rule is plain arithmetic.
// Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "compiler/scalar/scalar.h"

namespace lenz::oracle {

// A number's real and imaginary part.
struct Parts {
  double real = 0, imaginary = 0;
  bool finite() const { return std::isfinite(real) && std::isfinite(imaginary); }
};
inline Parts parts(const ScalarValue& v) {
  switch (v.kind()) {
    case ScalarKind::integer: return {static_cast<double>(v.integer()), 0};
    case ScalarKind::complex: return {v.complex().real(), v.complex().imag()};
    default: return {v.real(), 0};
  }
}

// How far a right number may lie below and above another.
struct Sides {
  double low = 0, high = 0;
  double overflows = 0;  // an infinity, if that is what is stored for certain; it may be kept wider
  double error() const { return std::max(low, high); }
  // By how much one side is longer, positive if that is the upper one; 0 where that is not worth the trouble.
  double lean() const {
    if (!(error() <= std::numeric_limits<double>::max())) return overflows;
    const double by = high - low;
    return std::fabs(by) > 0x1p-6 * error() ? by : 0;
  }
};

// An operand's planes in logical order; step 0: one element stands for all.
struct ElementsIn {
  ScalarKind kind = ScalarKind::real;  // real: double, integer: int64_t, complex: std::complex<double>
  const void* value = nullptr;
  const double* error = nullptr;  // null: zero
  int64_t step = 1;
  bool loose_zeros = false;      // a zero may have either sign
  bool never_negative = false;   // nothing is less than zero, however far errors reach
  const double* lean = nullptr;  // of float64, where rules ask for it; null: errors reach both ways

  double real(int64_t i) const { return static_cast<const double*>(value)[i * step]; }
  ScalarValue at(int64_t i) const;
  double error_at(int64_t i) const { return error ? error[i * step] : 0; }
};

// Whether another formula may stand for what is computed, and what its roundings may be then.
enum class Formula : uint8_t {
  given,     // none may
  computed,  // for a step of a definition: computed in f32 at least, and what the definition stores is stored
  stored,    // eager's own has other steps, and stores them in the dtype, however narrow: its roundings may be any
};

struct ElementsOut {
  ScalarKind kind = ScalarKind::real;
  const void* value = nullptr;   // the results, computed already
  double* error = nullptr;       // written
  double* lean = nullptr;        // null, or zeros, written where rounding takes it one way farther than the other
  uint8_t* ambiguous = nullptr;  // written where it is set; starts as zeros
  bool any_error = false, any_lean = false, any_ambiguous = false;
  bool loose_zeros = false;      // a zero takes its sign from an operand's that may have either
  const double* rest = nullptr;  // null, or how far the exact result of the operands' values lies above each
  double rest_unsure = 0;        // and what that is off by, of the result's size
  Formula formula = Formula::given;

  void set(int64_t i, Sides sides);
  void widen(int64_t i, double by);  // either way
};

// Whether the sign of a NaN shows in what the row gives.
bool reads_signs_of_nan(const ScalarRow& row, Dtype compute);

// `compute` and `result` are the graph's own dtypes; values are those of the row evaluated without rounding.
void elementwise_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                        int64_t count, ElementsOut& out);

// The same where somebody knows already what the operands' errors come to (`passed`, one for each result).
void settled_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                    const double* passed, int64_t count, ElementsOut& out);

// A floating value in another floating dtype, or an integer in one: what is representable and certain stays exact.
// Of complex numbers the values are sizes. Writes `out`'s errors and what they lean.
void conversion_errors(const double* values, const double* errors, int64_t count, Dtype to, Formula formula,
                       ElementsOut& out);

// What a formula that computes in f32 may be off by, of the magnitude, where a step's dtype is narrow.
inline constexpr double kOtherFormula = 0x1p-20;

// What float64 lost of the reference: the exact result lies so far above it, but for what is unsure.
struct Rest {
  double above = 0, unsure = 0;
  double size() const { return std::fabs(above) + unsure; }
};

// What rounding to a floating dtype may add at magnitude m, `ulps` of it (a half: to nearest); and the rounding of
// the float64 reference itself. Infinite where the dtype may overflow.
class Rounding {
 public:
  Rounding(Dtype dtype, double ulps, double reference_ulps = 0.5);
  double at(double magnitude) const;
  // The same of a number that has been rounded when it was another one, some factor away.
  double anywhere(double magnitude) const;
  double of_size(double magnitude) const;  // and that may be beyond the dtype
  // How far from v a number within e of it is, once it is rounded to nearest or, in a wider dtype, hardly: rounding is
  // monotone, and takes no number farther than the ends of the interval. `unsure`, of the magnitude: what the interval
  // itself may be off by.
  Sides spread(double v, double e, double unsure) const;
  // The same of float64, where the ends of the interval are known better than v is, which they lie below and above.
  Sides spread_ends(double v, double below, double above) const;
  // The same where the dtype may overflow.
  Sides beyond(double v, double e) const;

 private:
  Dtype dtype_;
  double eps_, tiny_, limit_;
  double wider_ = 0;        // what the next wider dtype may add, of the magnitude
  double wider_least_ = 0;  // at least
  double twice_ = 0;        // by how much of a rounding two roundings may exceed one
};

}  // namespace lenz::oracle
