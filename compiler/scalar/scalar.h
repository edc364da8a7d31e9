// The table of scalar primitives: one row for each function of scalars that a kernel may compute. A row says what the
// primitive means (PyTorch's semantics), computes it (the reference that the oracle and the interpreter trust), and
// knows how errors pass through it, how accurate it has to be, and where it is defined.
//
// No type promotion happens here: all operands of a row have one compute dtype, except those that OperandRule names.
// Promotion is the op table's business.
//
// Thread-safety: the table is constant; every function here is pure and may be called from any thread.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/scalar/double_double.h"

namespace lenz {

// ---------------------------------------------------------------------------------------------------------------------
// Values

enum class ScalarKind : uint8_t {
  integer,        // b8 (0 or 1), u8 .. i64
  real,           // a floating dtype, in double
  double_double,  // a floating dtype, in double-double
  complex,        // c64, c128, as a pair of doubles
};

// A scalar, tagged by how it is held; its dtype is the caller's. Asking for another kind is an InternalError.
class ScalarValue {
 public:
  ScalarValue() : ScalarValue(int64_t{0}) {}
  explicit ScalarValue(int64_t value) : kind_(ScalarKind::integer), integer_(value) {}
  explicit ScalarValue(double value) : kind_(ScalarKind::real), first_(value) {}
  explicit ScalarValue(DoubleDouble value) : kind_(ScalarKind::double_double), first_(value.hi), second_(value.lo) {}
  explicit ScalarValue(std::complex<double> value)
      : kind_(ScalarKind::complex), first_(value.real()), second_(value.imag()) {}

  ScalarKind kind() const { return kind_; }
  int64_t integer() const { return require(ScalarKind::integer), integer_; }
  double real() const { return require(ScalarKind::real), first_; }
  DoubleDouble double_double() const { return require(ScalarKind::double_double), DoubleDouble{first_, second_}; }
  std::complex<double> complex() const { return require(ScalarKind::complex), std::complex<double>(first_, second_); }

 private:
  void require(ScalarKind kind) const {
    if (kind_ != kind) wrong_kind(kind);
  }
  [[noreturn]] void wrong_kind(ScalarKind wanted) const;

  ScalarKind kind_;
  union {
    int64_t integer_;
    double first_;
  };
  double second_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------------
// What a row says

// Which operands are not of the compute dtype.
enum class OperandRule : uint8_t {
  same,             // none
  condition_first,  // the first is b8 (where)
  integer_first,    // the first is i64 (the order of polygamma)
  integer_last,     // the last is i64 (the exponent of ldexp, the decimals of round_decimals)
};

enum class ResultRule : uint8_t {
  same,        // the compute dtype
  boolean,     // b8
  int32,       // i32
  real_of,     // the component dtype of a complex one; the identity on real ones
  complex_of,  // f32 -> c64, f64 -> c128
  target,      // given by the caller (to_dtype, bitcast)
};

struct EvalContext {
  Dtype compute;
  Dtype result;
};
using Evaluator = ScalarValue (*)(const EvalContext& context, const ScalarValue* operands);

// Reference evaluation, by the kind of the compute dtype's values; null where the row has no such dtype. `dds` may also
// be null for want of an evaluation in double-double.
struct Evaluators {
  Evaluator integers = nullptr;
  Evaluator reals = nullptr;
  Evaluator dds = nullptr;
  Evaluator complexes = nullptr;
};

// How errors of the operands reach the result; error_propagation.h interprets it.
enum class ErrorRule : uint8_t {
  predicate,       // the result is a bool or an integer: an operand error leaves it as it is, or makes it ambiguous
  sum,             // da + db + ...
  fraction,        // da, and one more across an integer: frac
  largest,         // the greatest of the operands' errors
  product,         // |a| db + |b| da + da db (a third operand adds its error: fma); of one operand: its square
  quotient,        // of a by b; of one operand: its reciprocal
  whole_quotient,  // the quotient's, rounded to an integer
  remainder,       // what a whole quotient leaves
  lipschitz,       // ErrorModel::lipschitz times the sum of the operands' errors; less where a derivative says so
  corners,         // monotone between turning points, or convex between poles: extremes lie at corners or there
  power,           // corners for a positive base, with care for others
  step,            // heaviside
  derivative,      // ErrorModel::slope bounds |df/da_i| over the box
  conversion,      // by the target: to_dtype
  unbounded,       // no useful bound: any operand error gives an infinite one
};

// Where the result of a real row jumps, or has poles: an operand whose interval meets such a place makes the result
// ambiguous.
enum class Jump : uint8_t {
  none,
  at_zero,                  // of any operand: sign, logical functions; of copysign: the second
  at_integers,              // floor, ceil, trunc, frac
  at_half_integers,         // round
  where_equal,              // comparisons: a == b
  at_whole_quotients,       // floor_divide, remainder, fmod: a / b is an integer
  at_condition,             // where: operand 0 is ambiguous itself
  at_scaled_halves,         // round_decimals
  at_nonpositive_integers,  // the gamma family, of the last operand
  at_odd_quarter_turns,     // tan
  at_negative_axis,         // atan2(y, x)
};

// Where the principal branch of a complex row is cut.
enum class BranchCut : uint8_t {
  none,
  negative_real,
  real_below_minus_one,
  real_below_one,
  real_outside_unit,
  imaginary_outside_unit,
};

struct ErrorModel {
  ErrorRule rule = ErrorRule::predicate;
  Jump jump = Jump::none;
  double lipschitz = 0;
  double (*derivative)(double a) = nullptr;  // of a `lipschitz` row, and the greatest size of the one after it
  double curvature = 0;
  std::array<double, 3> critical{};  // turning points of the first operand, for `corners`
  int critical_count = 0;
  // Bound of |df/da_i| for operands within [low[i], high[i]].
  double (*slope)(int operand, const double* low, const double* high) = nullptr;
  // For complex operands, instead of the rule: a bound of |f'| over the disc of that radius around z.
  double (*complex_slope)(std::complex<double> z, double radius) = nullptr;
  BranchCut cut = BranchCut::none;
  bool real_only = false;  // the rule holds for real operands; errors of complex ones have no bound
};

enum class AccuracyClass : uint8_t {
  exact,              // the one right answer, bit for bit (NaN payloads apart)
  correctly_rounded,  // the real result, rounded once to the dtype: add, mul, div, sqrt
  ulps,               // within `ulps` of the real result, measured in units of the last place of what it is computed in
};

// What an implementation of the row has to meet in every floating dtype, and what the reference itself meets in f64.
// What is narrower than f32 is computed in f32 (arithmetic_dtype), to a 16th of its own last place at least, and
// rounded once.
inline constexpr double kNarrowSpare = 1.0 / 16;
struct ScalarAccuracy {
  AccuracyClass kind = AccuracyClass::exact;
  AccuracyClass of_complex = AccuracyClass::exact;  // of complex operands: a modulus rounds, an absolute value doesn't
  double ulps = 0;
  // Errors are counted in units of the last place of max(|result|, absolute): functions with zeros inside their domain
  // (lgamma, Bessel's J) are accurate in the absolute sense near them.
  double absolute = 0;
  // Or of the greatest operand, where that is more: sums of terms that may cancel (lerp). Beside an absolute accuracy
  // of complex numbers alone.
  bool of_operands = false;
  // For real operands between these ends: no implementation is off by more, eager's neither, where that is less than
  // its class and eager's known error.
  double (*reach)(Dtype result, const double* low, const double* high) = nullptr;
  // For complex dtypes, whatever the class: the modulus of the error, in last places of the result's modulus.
  double complex_ulps = 8;

  AccuracyClass of(Dtype compute) const { return is_complex(compute) ? of_complex : kind; }
};

enum class NanRule : uint8_t {
  propagates,  // a NaN operand gives NaN
  ignores,     // the other operand wins; NaN only if all are (fmin, fmax)
  tests,       // the result is a bool; the semantics say what a NaN gives
  selects,     // some operand may be NaN without the result being so: where, pow(1, nan), xlogy(0, ...)
};

enum class Monotone : uint8_t { no, increasing, decreasing };  // in the first operand, over the whole domain

namespace traits {
inline constexpr uint32_t commutative = 1, associative = 2, idempotent = 4, involution = 8, even = 16, odd = 32;
// The sign of a zero result is not specified (minimum(-0, 0)): comparisons treat -0 and 0 as equal.
inline constexpr uint32_t loose_zero = 64;
// The work grows with an operand's magnitude, here and in eager: generators must not leave the domain.
inline constexpr uint32_t costly = 128;
// No real result is less than zero, whatever the operands; or none is where no operand is. NaN aside.
inline constexpr uint32_t never_negative = 256, keeps_above_zero = 512;
// Chooses among its operands, or their negatives: what is rounded to a narrower dtype behind it is what comes of
// operands that were rounded before (zeros' signs aside where `loose_zero` says so).
inline constexpr uint32_t rounds_late = 1024;
// Every finite real result is a whole number, whatever the operands; or is where all operands are.
inline constexpr uint32_t gives_whole = 2048, keeps_whole = 4096;
}  // namespace traits

struct Interval {
  double low, high;  // closed; an open end is the neighbouring value
};

// A known contradiction inside eager, or of eager with the row's semantics. The check fails if it never shows.
struct EagerException {
  DtypeSet dtypes;
  // A Python condition over NumPy arrays: the operands a, b, c and the reference r in double; `path` is how eager was
  // called (vectorized, strided, single), `largest` and `tiny` are the ends of the arithmetic's positive range.
  std::string_view when;
  std::string_view reason;
  double ulps = 0;     // there eager is within this many; 0: anything goes
  bool steady = true;  // false: depends on chance, and may not show
};

// How the check against eager calls the row, and what it has to forgive.
struct EagerCall {
  std::string_view call;  // a Python expression over the tensors a, b, c; empty: eager has no such function
  // Eager's own error as observed, where it is worse than the row's accuracy: of f32 (and what is computed in it), of
  // f64 (0: as f32), of complex dtypes; `absolute` as in ScalarAccuracy.
  double ulps = 0;
  double narrow_ulps = 0;  // in places of what is narrower than f32, where it stores steps in that
  double f64_ulps = 0;
  double complex_ulps = 0;
  double absolute = 0;
  DtypeSet composite;  // dtypes that eager's op takes too, by computing something else
  std::span<const EagerException> exceptions;
};

struct ScalarRow {
  std::string_view name;
  int arity = 1;
  OperandRule operands = OperandRule::same;
  ResultRule result = ResultRule::same;
  DtypeSet dtypes;             // the compute dtypes
  std::string_view semantics;  // in words: what PyTorch means by it
  Evaluators eval;
  // Of two operands, in doubles (quick_functions.h); null: there is none. NaN: eval knows.
  double (*quick)(double a, double b) = nullptr;
  ErrorModel error;
  ScalarAccuracy accuracy;
  NanRule nan = NanRule::propagates;
  Monotone monotone = Monotone::no;
  uint32_t traits = 0;
  // Where generators draw operands from: the union of the intervals, clipped to the dtype. Outside, the row still has
  // defined results (often NaN). Empty: every value of the dtype.
  std::array<std::span<const Interval>, 3> domain;
  // False where the result is implementation-defined (float to integer out of range); null: defined everywhere.
  bool (*defined)(const EvalContext& context, const ScalarValue* operands) = nullptr;
  EagerCall eager;

  bool has(uint32_t trait) const { return (traits & trait) != 0; }
};

// ---------------------------------------------------------------------------------------------------------------------
// The table

std::span<const ScalarRow> scalar_table();  // in a fixed order; names are unique
const ScalarRow* find_scalar(std::string_view name);

// What a row's accuracy is counted in: f32 for what is narrower, else the dtype itself.
Dtype arithmetic_dtype(Dtype dtype);
Dtype operand_dtype(const ScalarRow& row, Dtype compute, int operand);
// The result's dtype; `target` is for ResultRule::target only.
Dtype result_dtype(const ScalarRow& row, Dtype compute, std::optional<Dtype> target = std::nullopt);

// Computes a row. `compute` must be one of row.dtypes; operands are values of operand_dtype(...): integers inside the
// dtype's range, reals and complex numbers representable in it (a value that is not gives the function of that value).
//
// * Integer results are wrapped into the result dtype.
// * Real results are *not* rounded to the result dtype: that is round_to(). Rows of class `exact` and those whose
//   definition rounds on the way (to_dtype, fma, trunc_div, round_decimals, nextafter) answer values of the dtype.
// * If an operand of the compute dtype is a double-double, all are widened and the row's dd evaluation answers
//   (100 bits unless the row's page says otherwise). Throws Unsupported if the row has none.
//
// Throws UserError where eager raises (integer division by zero), Unsupported for a dtype the row doesn't have.
ScalarValue evaluate(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                     std::optional<Dtype> target = std::nullopt);

// Whether the result is defined by PyTorch's semantics for these operands, rather than by the machine.
bool is_defined(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                std::optional<Dtype> target = std::nullopt);

}  // namespace lenz
