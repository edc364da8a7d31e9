#include "compiler/backend/llvm/fit.h"

#include <cmath>
#include <numbers>

namespace lenz::native {

std::vector<DoubleDouble> fit(DoubleDouble (*f)(DoubleDouble), double low, double high, int degree) {
  const auto count = static_cast<size_t>(degree) + 1;
  std::vector<DoubleDouble> points, values;
  for (size_t i = 0; i < count; ++i) {
    const double turn = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count));
    points.emplace_back((low + high) / 2 + (high - low) / 2 * turn);
    values.push_back(f(points.back()));
  }
  // Newton's divided differences, then the powers of x one factor at a time.
  for (size_t order = 1; order < count; ++order)
    for (size_t i = count; i-- > order;) values[i] = (values[i] - values[i - 1]) / (points[i] - points[i - order]);
  std::vector<DoubleDouble> powers(count);
  for (size_t i = count; i-- > 0;) {
    for (size_t k = count; k-- > 1;) powers[k] = powers[k - 1] - points[i] * powers[k];
    powers[0] = values[i] - points[i] * powers[0];
  }
  return powers;
}

std::vector<double> fit_doubles(DoubleDouble (*f)(DoubleDouble), double low, double high, int degree) {
  std::vector<double> rounded;
  for (DoubleDouble c : fit(f, low, high, degree)) rounded.push_back(static_cast<double>(c));
  return rounded;
}

}  // namespace lenz::native
