// What complex_rows.cpp and complex_arcs.cpp share: complex numbers in Wides, and what of them is infinite or NaN.
// Thread-safety: as the builder's module.
#pragma once

#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native::complex_parts {

inline const double kNan = std::numeric_limits<double>::quiet_NaN();
inline const double kInfinity = std::numeric_limits<double>::infinity();

// A pair of Wides, of parts that are finite; what isn't is answered in the lanes' own arithmetic, or by NaN.
struct Pair {
  Wide re, im;
};

V finite(Complex z);
V any_infinite(Complex z);
V any_nan(Complex z);
Pair widened(Complex z);
Complex narrowed(Pair w, Complex z);  // NaN where z isn't finite
Complex turned(Complex z);            // i z
Complex turned_back(Complex z);       // -i z

// Brought near one by a power of two, so that squares neither overflow nor vanish: of f64; an f32's don't in double.
struct Scaled {
  Pair z;
  V n;
};
Scaled scaled(Complex z);
Wide square_sum(Pair z);
// The angle of a point in [-pi, pi]; the sign of a zero imaginary part tells the side.
Wide angle_of(Wide y, Wide x, V y_sign);
// Beside an infinite part any other is nothing; two of them are alike. What is infinite is of this size then.
Complex seen_from_afar(Complex z, double size = 1);
// What a function made of an operand that was seen from afar: of an infinite one the size is infinite, and beside NaN
// the angle is NaN.
V size_of(V made, Complex z);
V angle_of_any(V made, Complex z);
Complex reciprocal(Complex a);

}  // namespace lenz::native::complex_parts

namespace lenz::native {
void add_complex_arcs(Spellings& t);  // called by add_complex
}
