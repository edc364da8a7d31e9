// Orthogonal polynomials by their three-term recurrences; the work grows with the degree, unless the values have
// overflowed. Chebyshev polynomials of high degree inside [-1, 1] by trigonometry, which does not.
#include <cmath>

#include "compiler/scalar/special_functions.h"

namespace lenz::dd {

namespace {

// p_0 = 1, p_1 = first, p_(k+1) = step(k, p_k, p_(k-1))
template <class Step>
DoubleDouble recur(int64_t n, DoubleDouble first, Step step) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  DoubleDouble before = 1, now = first;
  for (int64_t k = 1; k < n && is_finite(now); ++k) {
    DoubleDouble next = step(static_cast<double>(k), now, before);
    before = now, now = next;
  }
  return now;
}

DoubleDouble chebyshev_by_angle(Chebyshev kind, DoubleDouble x, int64_t n) {
  DoubleDouble theta = acos(x), half = scale(theta, -1), degree = DoubleDouble(static_cast<double>(n));
  switch (kind) {
    case Chebyshev::t: return cos(degree * theta);
    case Chebyshev::u: return sin((degree + DoubleDouble(1)) * theta) / sin(theta);
    case Chebyshev::v: return cos((degree + DoubleDouble(0.5)) * theta) / cos(half);
    case Chebyshev::w: return sin((degree + DoubleDouble(0.5)) * theta) / sin(half);
  }
  return kNan;
}

}  // namespace

DoubleDouble chebyshev(Chebyshev kind, DoubleDouble x, int64_t n) {
  if (n > 100 && abs(x) < DoubleDouble(1)) return chebyshev_by_angle(kind, x, n);
  const DoubleDouble two_x = scale(x, 1);
  const DoubleDouble first = kind == Chebyshev::t   ? x
                             : kind == Chebyshev::u ? two_x
                             : kind == Chebyshev::v ? two_x - DoubleDouble(1)
                                                    : two_x + DoubleDouble(1);
  return recur(n, first, [&](double, DoubleDouble now, DoubleDouble before) { return two_x * now - before; });
}

DoubleDouble hermite_h(DoubleDouble x, int64_t n) {
  return recur(n, scale(x, 1), [&](double k, DoubleDouble now, DoubleDouble before) {
    return scale(x * now - DoubleDouble(k) * before, 1);
  });
}

DoubleDouble hermite_he(DoubleDouble x, int64_t n) {
  return recur(n, x,
               [&](double k, DoubleDouble now, DoubleDouble before) { return x * now - DoubleDouble(k) * before; });
}

DoubleDouble laguerre(DoubleDouble x, int64_t n) {
  return recur(n, DoubleDouble(1) - x, [&](double k, DoubleDouble now, DoubleDouble before) {
    return ((DoubleDouble(2 * k + 1) - x) * now - DoubleDouble(k) * before) / DoubleDouble(k + 1);
  });
}

DoubleDouble legendre(DoubleDouble x, int64_t n) {
  return recur(n, x, [&](double k, DoubleDouble now, DoubleDouble before) {
    return (DoubleDouble(2 * k + 1) * x * now - DoubleDouble(k) * before) / DoubleDouble(k + 1);
  });
}

}  // namespace lenz::dd
