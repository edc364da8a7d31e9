// Costly functions once more, in doubles: for code whose results are rounded to f32 or less, where the reference's bits
// are no use and cost some hundred times as much.
//
// Each is within 2^-34 of the function's value, relatively, or NaN where that is not certain and where the function has
// no number: who asks goes to special_functions.h then. Thread-safety: pure.
#pragma once

namespace lenz::quick {

double zeta(double s, double q);
double polygamma(double n, double x);
double igamma(double a, double x);
double igammac(double a, double x);

}  // namespace lenz::quick
