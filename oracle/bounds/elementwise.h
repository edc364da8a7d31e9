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
#include "oracle/bounds/spread.h"

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

// An operand's planes in logical order; step 0: one element stands for all.
struct ElementsIn {
  ScalarKind kind = ScalarKind::real;  // real: double, integer: int64_t, complex: std::complex<double>
  const void* value = nullptr;
  const double* error = nullptr;  // null: zero
  int64_t step = 1;
  bool loose_zeros = false;      // a zero may have either sign
  bool never_negative = false;   // nothing is less than zero, however far errors reach
  const double* lean = nullptr;  // where rules ask for it; null: errors reach both ways

  double real(int64_t i) const { return static_cast<const double*>(value)[i * step]; }
  ScalarValue at(int64_t i) const;
  double error_at(int64_t i) const { return error ? error[i * step] : 0; }
  double lean_at(int64_t i) const { return lean ? lean[i * step] : 0; }
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
  void lean_by(int64_t i, Sides sides);  // that alone
  void widen(int64_t i, double by);      // either way
};

// What the table gives for a row's operands: of float8, which eager computes in and rows do not know, as of f32.
ScalarValue table_value(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                        std::optional<Dtype> target = {});
// Whether the sign of a NaN shows in what the row gives.
bool reads_signs_of_nan(const ScalarRow& row, Dtype compute);

// `compute` and `result` are the graph's own dtypes; values are those of the row evaluated without rounding.
void elementwise_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                        int64_t count, ElementsOut& out);

// The same where somebody knows already what the operands' errors come to, below and above each result.
struct Brought {
  const double *below, *above;
};
void settled_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                    const Brought& brought, int64_t count, ElementsOut& out);

// A floating value in another floating dtype, or an integer in one: what is representable and certain stays exact.
// Of complex numbers the values are sizes. Writes `out`'s errors and what they lean.
struct Converted {
  const double* values;
  const double *errors = nullptr, *leans = nullptr;  // null: zeros
  Dtype from = Dtype::f64;
};
void conversion_errors(const Converted& given, int64_t count, Dtype to, Formula formula, ElementsOut& out);

// What a formula that computes in f32 may be off by, of the magnitude, where a step's dtype is narrow.
inline constexpr double kOtherFormula = 0x1p-20;

}  // namespace lenz::oracle
