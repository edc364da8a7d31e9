// Polynomials for functions that the table computes in double-double: interpolation in Chebyshev's points, worse than
// the best polynomial of the degree by a small factor only. Found when first needed, not copied from anywhere.
// Thread-safety: pure functions.
#pragma once

#include <functional>
#include <vector>

#include "compiler/scalar/double_double.h"

namespace lenz::native {

using OfOne = std::function<DoubleDouble(DoubleDouble)>;

// f(x) = c[0] + c[1] x + ... + c[degree] x^degree, nearly, for x in [low, high].
std::vector<DoubleDouble> fit(const OfOne& f, double low, double high, int degree);
// In powers of x - middle, for x within `reach` of it.
std::vector<DoubleDouble> fit_around(const OfOne& f, double middle, double reach, int degree);
// The first rounded to doubles.
std::vector<double> fit_doubles(const OfOne& f, double low, double high, int degree);
// Of an odd function that begins with r what follows, (f(r) - r) / r^3, in powers of r^2 up to `end`.
template <DoubleDouble (*f)(DoubleDouble)>
std::vector<double> fit_odd_tail(double end, int degree) {
  return fit_doubles(
      [](DoubleDouble square) {
        const DoubleDouble r = dd::sqrt(square);
        return (f(r) - r) / (r * square);
      },
      0, end, degree);
}

}  // namespace lenz::native
