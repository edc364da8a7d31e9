// How errors pass through a primitive: the theorem behind the oracle's bounds.
//
// A value with error e stands for every number within e of it (for a complex number: every number of that disc). The
// answer bounds |f(exact operands) - f(the given ones)| over all of them, for the mathematical function; what an
// implementation adds by rounding is own_error(). The bound holds whatever the operands (error_propagation_test.cpp
// tries); where a function jumps or has a pole inside the operands' intervals, the result is marked ambiguous, and the
// error is that of any branch, infinite if there is no bound.
//
// Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "compiler/scalar/scalar.h"

namespace lenz {

struct Uncertain {
  ScalarValue value;         // an integer, a real or a complex number
  double error = 0;          // >= 0; infinite if nothing is known
  double least = -HUGE_VAL;  // of a real number: it is none below this, however far the error reaches
  double lean = 0;           // of a real number: as `leaning` says
};

// How far another number may lie below and above one.
struct Reach {
  double below = 0, above = 0;
  double error() const { return below > above ? below : above; }
};
inline Reach either_way(double error) { return {error, error}; }
// The same of one with this error, from which the lean is missing below; if it is negative, above. An error without end
// of which the lean has one is that of a number that may be infinite, no NaN: it reaches so far below; if negative,
// above.
inline Reach leaning(double error, double lean) {
  if (!(error < HUGE_VAL)) {
    if (lean == 0 || !(std::fabs(lean) < HUGE_VAL)) return either_way(error);
    return {lean > 0 ? lean : error, lean < 0 ? -lean : error};
  }
  // Nothing where the lean is all of the error; else rounding has taken no more than this from the difference.
  auto shorter = [&](double by) { return error == by ? 0 : (error - by) + error * 0x1p-52; };
  return {lean > 0 ? shorter(lean) : error, lean < 0 ? shorter(-lean) : error};
}

struct Propagated {
  double error = 0;                // to both sides, or as `ends` say
  bool ambiguous = false;          // the result may lie on another branch: either answer is right
  std::optional<Reach> ends = {};  // where both are known, no farther than the error
  Reach reach() const { return ends ? *ends : either_way(error); }
};

Propagated propagate_error(const ScalarRow& row, Dtype compute, std::span<const Uncertain> operands,
                           std::optional<Dtype> target = std::nullopt);

// How far f(a) is from f(value) for an a within e of it, by what a `lipschitz` row of one operand says of its slope.
double lipschitz_error(const ErrorModel& model, double value, double e);

// What an implementation that meets the row's accuracy may add at f(operands) = `result` when it rounds to `dtype`, the
// result's dtype; of what is computed in a wider one with that rounding. Zero for bools and integers.
double own_error(const ScalarRow& row, Dtype dtype, const ScalarValue& result, std::span<const ScalarValue> operands);
// The same without that rounding.
double computed_error(const ScalarRow& row, Dtype dtype, const ScalarValue& result,
                      std::span<const ScalarValue> operands);

// Whether whoever computes the row gives this result, a zero or a one, of exact real operands as it is: where one of
// them is zero, or all are zero, one or infinite and no terms cancel. No such zero is one for want of room, and of
// functions of one operand ones are exact at zero and far out, but of series that are off by many places.
bool gives_exactly(const ScalarRow& row, double result, std::span<const ScalarValue> operands);

// What no implementation is off by more than for such operands where it rounds to `dtype`, whatever its class; infinite
// where the row does not say.
double reach_of(const ScalarRow& row, Dtype dtype, std::span<const Uncertain> operands);

}  // namespace lenz
