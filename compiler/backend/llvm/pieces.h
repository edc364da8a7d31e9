// A function of one variable as polynomials over pieces of equal length, fitted to the table's own in double-double:
// for special functions, whose code gathers the coefficients of its lanes' pieces.
// Thread-safety: constant once made.
#pragma once

#include <vector>

#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

class Pieces {
 public:
  // `count` pieces of [low, high], whose length is best a power of two. Polynomials of `wide_degree` serve f64, their
  // first terms up to `double_degree` f32. Fitting takes microseconds for each piece and degree.
  Pieces(DoubleDouble (*f)(DoubleDouble), double low, double high, int count, int wide_degree, int double_degree);

  double low, step;
  int count, double_degree;
  // coefficients[k][piece] of t^k, t from the middle of the piece; `rest`: what rounding took from the constant ones.
  std::vector<std::vector<double>> coefficients;
  std::vector<double> rest;
};

// Of an x in [low, high]; a value outside gives anything.
Wide evaluate(const Pieces& pieces, Wide x);

}  // namespace lenz::native
