// Elements where eager contradicts itself: a product of infinite complex numbers is another one in a vectorised kernel
// than in a scalar one, a quotient near the end of the range overflows on its way in one of them, and rows list more
// (EagerCall::exceptions). There any of the answers is right.
// Internal to oracle. Thread-safety: pure functions.
#pragma once

#include <complex>

#include "oracle/bounds/elementwise.h"

namespace lenz::oracle {

// Whether the row lists that eager contradicts itself, or the row, in a dtype.
bool has_exception(const ScalarRow& row, Dtype compute);

// Whether eager's kernels give a value that was never set, another one with each call, where the first operand is NaN.
bool leaves_nan_unset(const ScalarRow& row, Dtype compute);

// A sum, whose parts don't meet if it is one of complex numbers.
bool is_plain_sum(const ScalarRow& row);

// Whether a row has such elements at all.
bool has_open_ends(const ScalarRow& row, Dtype compute, Dtype result);

// Widens errors that are there already. An element is at an end where an operand or a part of one is not finite, or
// zero, very large or very small, and otherwise stays as it is:
// * what the row's own definition leaves to the machine is open;
// * a complex result is open if it, or an operand, is not finite (sums apart: their parts do not meet);
// * else, of complex rows and of those with exceptions: both eager's answer and the table's are right.
void widen_at_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                   int64_t count, ElementsOut& out);

// Of finite complex operands eager has NaN here and there where the table has a number (0 to the power of 0, logarithms
// next to 1): what is open there is meant to be that number, from which noise is measured.
void settle_by_table(const ScalarRow& row, Dtype compute, std::span<const ElementsIn> operands, int64_t count,
                     const ElementsOut& out, std::complex<double>* values);

// What float64 has no room for, of finite operands: as of a narrower dtype, an infinity is stored for certain, but what
// is contracted with a sum, or a step of another formula, need not be one.
void open_overflows(const ScalarRow& row, Dtype compute, std::span<const ElementsIn> operands, int64_t count,
                    ElementsOut& out);

}  // namespace lenz::oracle
