// How errors pass through functions of complex numbers, whose operands are discs.
#include <algorithm>
#include <cmath>
#include <complex>

#include "compiler/scalar/error_rules.h"

namespace lenz {

namespace {

// Whether the disc around z meets the function's branch cut.
bool meets_cut(BranchCut cut, std::complex<double> z, double r) {
  const double x = z.real(), y = z.imag();
  switch (cut) {
    case BranchCut::none: return false;
    case BranchCut::negative_real: return std::fabs(y) <= r && x - r <= 0;
    case BranchCut::real_below_minus_one: return std::fabs(y) <= r && x - r <= -1;
    case BranchCut::real_below_one: return std::fabs(y) <= r && x - r <= 1;
    case BranchCut::real_outside_unit: return std::fabs(y) <= r && std::fabs(x) + r >= 1;
    case BranchCut::imaginary_outside_unit: return std::fabs(x) <= r && std::fabs(y) + r >= 1;
  }
  return false;
}

// z^w for discs around both: exp(w log z), whose exponent is off by d at most, differs by |z^w| (e^d - 1) at most; and
// powers of whole numbers by what they make of the modulus. Slack for the evaluations.
Propagated complex_power(const std::complex<double>* z, const double* e) {
  constexpr double kSlack = 1 + 0x1p-40;
  const double a = std::abs(z[0]), n = z[1].real();
  const bool whole = e[1] == 0 && z[1].imag() == 0 && std::nearbyint(n) == n;
  // 0 to the power of 0 is 1, or NaN, as the exponential of 0 times the logarithm of 0 is.
  if (whole && n == 0 && !(e[0] < a)) return kUnknown;
  if (whole && n >= 0) return {(std::pow(a + e[0], n) - std::pow(a, n)) * kSlack + std::pow(a, n) * 0x1p-45, false};
  if (!(e[0] < a) || (!whole && e[0] > 0 && meets_cut(BranchCut::negative_real, z[0], e[0]))) return kUnknown;
  const std::complex<double> log = std::log(z[0]);
  const double of_base = -std::log1p(-e[0] / a);
  const double off = std::abs(z[1]) * of_base + e[1] * (std::abs(log) + of_base);
  const double error = std::exp((z[1] * log).real()) * std::expm1(off * kSlack) * kSlack;
  return std::isfinite(error) ? Propagated{error, false} : kUnknown;
}

// By the mean value theorem, for an analytic function over the discs: its slopes there by the operands' moduli.
Propagated by_slopes_of_moduli(const ScalarRow& row, const std::complex<double>* z, const double* e) {
  double least[3] = {}, most[3] = {}, error = 0;
  for (int i = 0; i < row.arity; ++i) {
    least[i] = std::max(std::abs(z[i]) - e[i], 0.0);
    most[i] = std::abs(z[i]) + e[i];
  }
  for (int i = 0; i < row.arity; ++i)
    if (e[i] > 0) error += e[i] * row.error.slope(i, least, most);
  return std::isfinite(error) ? Propagated{error, false} : kUnknown;
}

// Equal infinities are not apart, so that the other part decides.
double apart(std::complex<double> a, std::complex<double> b) {
  auto parts = [](double x, double y) { return x == y ? 0 : std::fabs(x - y); };
  return std::hypot(parts(a.real(), b.real()), parts(a.imag(), b.imag()));
}
}  // namespace

Propagated complex_rule(const ScalarRow& row, std::span<const Uncertain> operands) {
  std::complex<double> z[3];
  double e[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const ScalarValue& v = operands[i].value;
    z[i] = v.kind() == ScalarKind::complex ? v.complex() : number(v);
    e[i] = operands[i].error;
  }
  const double a = std::abs(z[0]), b = std::abs(z[1]);
  if (row.error.complex_slope != nullptr) {
    if (meets_cut(row.error.cut, z[0], e[0])) return kUnknown;
    const double error = e[0] * row.error.complex_slope(z[0], e[0]);
    return std::isfinite(error) ? Propagated{error, false} : kUnknown;
  }
  switch (row.error.rule) {
    case ErrorRule::sum: return {e[0] + e[1] + e[2], false};
    case ErrorRule::product:
      if (row.arity == 1) return {2 * a * e[0] + e[0] * e[0], false};
      return {a * e[1] + b * e[0] + e[0] * e[1], false};
    case ErrorRule::quotient: {
      const double error = row.arity == 1 ? quotient_error(1, 0, a, e[0]) : quotient_error(a, e[0], b, e[1]);
      return {error, !std::isfinite(error)};
    }
    case ErrorRule::power: return complex_power(z, e);
    case ErrorRule::corners: return row.error.slope != nullptr ? by_slopes_of_moduli(row, z, e) : kUnknown;
    case ErrorRule::largest:
      if (row.error.jump != Jump::at_condition) return {std::max({e[0], e[1], e[2]}), false};
      return {std::abs(z[1] - z[2]) + std::max(e[1], e[2]), true};
    case ErrorRule::predicate:
      switch (row.error.jump) {
        case Jump::where_equal: return apart(z[0], z[1]) <= e[0] + e[1] ? Propagated{1, true} : Propagated{0, false};
        case Jump::at_zero:
          for (size_t i = 0; i < operands.size(); ++i)
            if (e[i] > 0 && std::abs(z[i]) <= e[i]) return {1, true};
          return {0, false};
        default: return {0, false};
      }
    default: return kUnknown;
  }
}

}  // namespace lenz
