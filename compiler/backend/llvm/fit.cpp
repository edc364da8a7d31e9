#include "compiler/backend/llvm/fit.h"

#include <cmath>
#include <numbers>

namespace lenz::native {

std::vector<DoubleDouble> fit_around(const OfOne& f, double middle, double reach, int degree) {
  const auto count = static_cast<size_t>(degree) + 1;
  std::vector<DoubleDouble> points, values;
  for (size_t i = 0; i < count; ++i) {
    points.emplace_back(reach *
                        std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
    values.push_back(f(points.back() + DoubleDouble(middle)));
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

std::vector<DoubleDouble> fit(const OfOne& f, double low, double high, int degree) {
  // Around the middle, then moved to powers of x itself.
  const double middle = (low + high) / 2;
  std::vector<DoubleDouble> powers = fit_around(f, middle, (high - low) / 2, degree);
  for (size_t first = 0; first + 1 < powers.size(); ++first)
    for (size_t k = powers.size() - 1; k-- > first;) powers[k] = powers[k] - DoubleDouble(middle) * powers[k + 1];
  return powers;
}

std::vector<double> fit_doubles(const OfOne& f, double low, double high, int degree) {
  std::vector<double> rounded;
  for (DoubleDouble c : fit(f, low, high, degree)) rounded.push_back(static_cast<double>(c));
  return rounded;
}

}  // namespace lenz::native
