// The special functions, in double-double: written for being right, not for speed (microseconds a call; the incomplete
// gamma functions with operands near 1e9, and polynomials of huge degree, milliseconds). Definitions and limits are
// those that PyTorch documents and implements; where a function is not defined the result is NaN.
//
// Accuracy: 93 bits and more, relative; 70 bits for Bessel's J and Y (near their zeros relative to their size around
// them) and for Airy's function. special_functions_test.cpp holds them to it against an independent table.
//
// Thread-safety: pure functions.
#pragma once

#include "compiler/scalar/double_double.h"

namespace lenz::dd {

// The error function and the normal distribution.
DoubleDouble erf(DoubleDouble x);
DoubleDouble erfc(DoubleDouble x);
DoubleDouble erfcx(DoubleDouble x);   // exp(x^2) erfc(x)
DoubleDouble erfinv(DoubleDouble y);  // [-1, 1]
DoubleDouble ndtr(DoubleDouble x);    // the distribution function of the standard normal
DoubleDouble ndtri(DoubleDouble p);   // its inverse, [0, 1]
DoubleDouble log_ndtr(DoubleDouble x);

// The gamma family.
DoubleDouble lgamma(DoubleDouble x);                   // log |gamma(x)|
DoubleDouble digamma(DoubleDouble x);                  // signed infinity at zero, NaN at negative integers
DoubleDouble polygamma(int64_t n, DoubleDouble x);     // the n-th derivative of digamma; n >= 0
DoubleDouble zeta(DoubleDouble s, DoubleDouble q);     // Hurwitz: sum of (q + k)^-s
DoubleDouble igamma(DoubleDouble a, DoubleDouble x);   // regularised lower incomplete gamma
DoubleDouble igammac(DoubleDouble a, DoubleDouble x);  // upper

// Bessel functions of order 0 and 1; e: times exp(-|x|), scaled: times exp(x).
DoubleDouble bessel_i0(DoubleDouble x);
DoubleDouble bessel_i0e(DoubleDouble x);
DoubleDouble bessel_i1(DoubleDouble x);
DoubleDouble bessel_i1e(DoubleDouble x);
DoubleDouble bessel_j0(DoubleDouble x);
DoubleDouble bessel_j1(DoubleDouble x);
DoubleDouble bessel_y0(DoubleDouble x);
DoubleDouble bessel_y1(DoubleDouble x);
DoubleDouble bessel_k0(DoubleDouble x);
DoubleDouble bessel_k1(DoubleDouble x);
DoubleDouble bessel_k0_scaled(DoubleDouble x);
DoubleDouble bessel_k1_scaled(DoubleDouble x);
DoubleDouble spherical_bessel_j0(DoubleDouble x);  // sin(x) / x
// Ai, and what is smooth of it, by u = 1 / zeta, zeta = 2/3 |x|^(3/2): Ai(x) e^zeta x^(1/4); and below zero Ai(x) =
// ((sin zeta + cos zeta) even + (cos zeta - sin zeta) odd u) / sqrt(2 pi sqrt(|x|)).
DoubleDouble airy_ai(DoubleDouble x);
DoubleDouble airy_decay(DoubleDouble u);
DoubleDouble airy_even(DoubleDouble u);
DoubleDouble airy_odd(DoubleDouble u);

// Orthogonal polynomials of degree n; 0 for a negative degree.
enum class Polynomial {
  chebyshev_t,
  chebyshev_u,
  chebyshev_v,
  chebyshev_w,
  hermite_h,   // the physicists'
  hermite_he,  // the probabilists'
  laguerre,
  legendre,
};
DoubleDouble polynomial(Polynomial family, DoubleDouble x, int64_t n);
// A bound of the derivative's modulus over [-magnitude, magnitude].
double polynomial_slope(Polynomial family, double magnitude, int64_t n);
// How many last places of one whoever computes it may be off by over [low, high]: by the steps of the recurrence, or
// the angle by which Chebyshev's are computed inside [-1, 1]. `off`: how many the argument is off by.
double polynomial_roundings(Polynomial family, double low, double high, int64_t n, double off);

}  // namespace lenz::dd
