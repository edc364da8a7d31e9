// Complex arithmetic in long double, the reference for complex dtypes: more bits than a double where the machine has
// them, and room for what overflows on the way. For rows_*.cpp only.
// Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <complex>

namespace lenz::scalar_rows {

using Complex = std::complex<double>;
using WideComplex = std::complex<long double>;

inline WideComplex wide(Complex z) { return {z.real(), z.imag()}; }
inline Complex narrow(WideComplex z) { return {static_cast<double>(z.real()), static_cast<double>(z.imag())}; }

// Four products, without C99's rescue of infinities, as in eager.
inline WideComplex plain_product(WideComplex a, WideComplex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Smith's division, without C99's rescue of infinities: an infinite divisor gives NaN, as in eager.
inline WideComplex divide(WideComplex a, WideComplex b) {
  long double c = b.real(), d = b.imag();
  if (std::fabs(c) >= std::fabs(d)) {
    if (c == 0 && d == 0) return {a.real() / std::fabs(c), a.imag() / std::fabs(c)};
    long double ratio = d / c, scale = 1 / (c + d * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  long double ratio = c / d, scale = 1 / (c * ratio + d);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

// A lower bound of the distance from the disc around z to a point; 0 if the disc holds it.
inline double distance(Complex z, double radius, Complex point) { return std::fmax(0.0, std::abs(z - point) - radius); }

}  // namespace lenz::scalar_rows
