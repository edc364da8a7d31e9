// Costly functions once more, in doubles: for code, where the reference's bits are no use and cost some hundred times
// as much.
//
// Each answers NaN where it is not certain and where the function has no number: who asks goes to special_functions.h
// then. Thread-safety: pure.
#pragma once

namespace lenz::quick {

// Within 4 places of a double.
double zeta(double s, double q);
double polygamma(double n, double x);  // 8 places
double igamma_f64(double a, double x);
double igammac_f64(double a, double x);

// Within 2^-34, relatively: for results that are rounded to f32 or less.
double igamma(double a, double x);
double igammac(double a, double x);

// What serves f64 where this function serves what is narrower.
using Function = double (*)(double, double);
inline Function of_f64(Function narrow) {
  return narrow == igamma ? igamma_f64 : narrow == igammac ? igammac_f64 : narrow;
}

}  // namespace lenz::quick
