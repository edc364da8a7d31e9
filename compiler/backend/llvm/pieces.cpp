#include "compiler/backend/llvm/pieces.h"

#include "compiler/backend/llvm/fit.h"

namespace lenz::native {

Pieces::Pieces(DoubleDouble (*f)(DoubleDouble), double from_low, double high, int pieces, int wide_degree, int narrow)
    : low(from_low), step((high - from_low) / pieces), count(pieces), double_degree(narrow) {
  coefficients.resize(static_cast<size_t>(wide_degree) + 1);
  for (int i = 0; i < count; ++i) {
    const double middle = low + (i + 0.5) * step;
    const auto c = fit_around(f, middle, step / 2, wide_degree);
    for (size_t k = 0; k < c.size(); ++k) coefficients[k].push_back(c[k].hi);
    rest.push_back(c[0].lo);
  }
}

Wide evaluate(const Pieces& pieces, Wide x) {
  LaneCode& code = *x.hi.code;
  const V place = floor((x.hi - pieces.low) * (1 / pieces.step));
  const V inside = select(place > 0, select(place < pieces.count - 1, place, pieces.count - 1), 0);
  const V index = convert(inside, LaneType::i32);
  V t = x.hi - ((inside + 0.5) * pieces.step + pieces.low);
  if (!x.is_double()) t = t + x.lo;
  auto coefficient = [&](size_t k) { return code.look_up(pieces.coefficients[k], LaneType::f64, index); };
  size_t k = x.is_double() ? static_cast<size_t>(pieces.double_degree) : pieces.coefficients.size() - 1;
  V sum = coefficient(k);
  while (k-- > 1) sum = fma(sum, t, coefficient(k));
  const V first = coefficient(0);
  if (x.is_double()) return {fma(sum, t, first), {}};
  return renormalised(first, fma(sum, t, code.look_up(pieces.rest, LaneType::f64, index)));
}

}  // namespace lenz::native
