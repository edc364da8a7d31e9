// What may overflow may be an infinity, or have been kept wider: it lies above a number, or below one. A primitive of
// such operands may have an end of its own on one side, or on both; what has one is no NaN.
// Internal to oracle/bounds. Thread-safety: pure functions.
#pragma once

#include "oracle/bounds/elementwise.h"

namespace lenz::oracle {

// The interval of a real number of that dtype: what is stored as an infinity may have been kept wider.
struct Interval {
  double low = -kUnbounded, high = kUnbounded;
};
Interval interval_of(double value, double error, double lean, Dtype dtype);

// How far from zero what the function gives is at most, whatever its operand, with what an implementation may add; an
// infinity where it has no such end, or nobody knows.
double farthest_of(const ScalarRow& row, Dtype compute, Dtype result);

// Of results whose errors are infinite: the ends that they have, where an operand leans.
void keep_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands, int64_t count,
               ElementsOut& out);

}  // namespace lenz::oracle
