#include "oracle/bounds/range_ends.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz::oracle {

namespace {
constexpr double kOpen = HUGE_VAL;
constexpr double kFar = 0x1p60;  // further from 1 than ordinary operands get

bool far_from_one(double x) { return !(std::fabs(x) < kFar && std::fabs(x) > 1 / kFar); }

// Whether the steps of a complex product or quotient, a b, |b|^2 and a b / |b|^2, leave the dtype's range or its normal
// numbers: kernels that scale first have what others have lost by then.
bool loses_on_the_way(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands) {
  if (row.error.rule != ErrorRule::product && row.error.rule != ErrorRule::quotient) return false;
  const double most = largest_finite(to_real(compute)) / 4, least = smallest_normal(to_real(compute));
  auto size = [](const ScalarValue& v) {
    const Parts p = parts(v);
    return std::max(std::fabs(p.real), std::fabs(p.imaginary));
  };
  auto leaves = [&](double product) { return product > most || product < least; };
  const double a = size(operands[0]), b = size(operands.back());
  if (operands.size() > 1 && a != 0 && b != 0 && leaves(a * b)) return true;
  return row.error.rule == ErrorRule::quotient && leaves(b * b);
}

// Whether finite numbers make an infinity because they are too large, not at a pole: that is a point.
bool is_too_large(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands) {
  if (row.error.rule == ErrorRule::sum || row.error.rule == ErrorRule::product) return true;
  if (row.error.rule == ErrorRule::quotient) return operands.back().real() != 0;
  for (double beside : {1 - 0x1p-20, 1 + 0x1p-20}) {
    ScalarValue at[3];
    for (size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].real() == 0) return false;
      at[k] = ScalarValue(operands[k].real() * beside);
    }
    if (!std::isinf(table_value(row, compute, {at, operands.size()}).real())) return false;
  }
  return true;
}

// How far apart two answers are; open where one of them is no number and the other is.
double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : kOpen;
}
}  // namespace

bool has_exception(const ScalarRow& row, Dtype compute) {
  // Roots in place of powers: by how eager is called, and its float64 is called alike. Of f16 it takes none, and what
  // it rounds of products in bf16 is open by the same exception.
  auto alike = [&](const EagerException& e) {
    return dtypes::wide_floats.has(compute) &&
           e.reason.find("a Python number is a square root") != std::string_view::npos;
  };
  return std::ranges::any_of(row.eager.exceptions,
                             [&](const EagerException& e) { return e.dtypes.has(compute) && !alike(e); });
}

bool leaves_nan_unset(const ScalarRow& row, Dtype compute) {
  return std::ranges::any_of(row.eager.exceptions, [&](const EagerException& e) {
    return e.dtypes.has(compute) && !e.steady && e.ulps == 0 && e.when == "np.isnan(a)";
  });
}

bool is_plain_sum(const ScalarRow& row) {
  return row.error.rule == ErrorRule::sum && row.accuracy.kind == AccuracyClass::correctly_rounded;
}

bool has_open_ends(const ScalarRow& row, Dtype compute, Dtype result) {
  bool inexact = row.accuracy.of(compute) != AccuracyClass::exact;
  return row.defined || (is_complex(result) && inexact) || has_exception(row, compute);
}

void open_overflows(const ScalarRow& row, Dtype compute, std::span<const ElementsIn> operands, int64_t count,
                    ElementsOut& out) {
  if (out.formula == Formula::given && row.error.rule != ErrorRule::product) return;
  for (const ElementsIn& o : operands)
    if (o.kind != ScalarKind::real) return;
  const auto* value = static_cast<const double*>(out.value);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isinf(value[i]) || out.error[i] != 0) continue;
    ScalarValue at[3];
    bool finite = true;
    for (size_t k = 0; k < operands.size(); ++k) {
      at[k] = operands[k].at(i);
      finite = finite && std::isfinite(at[k].real());
    }
    if (!finite || !is_too_large(row, compute, {at, operands.size()})) continue;
    out.set(i, {kOpen, kOpen, value[i]});
    out.ambiguous[i] = 1;
    out.any_ambiguous = true;
  }
}

void settle_by_table(const ScalarRow& row, Dtype compute, std::span<const ElementsIn> operands, int64_t count,
                     const ElementsOut& out, std::complex<double>* values) {
  for (int64_t i = 0; i < count; ++i) {
    if (out.ambiguous[i] == 0 || parts(ScalarValue(values[i])).finite()) continue;
    ScalarValue at[3];
    bool finite = true;
    for (size_t k = 0; k < operands.size(); ++k) {
      at[k] = operands[k].at(i);
      finite = finite && parts(at[k]).finite();
    }
    if (!finite) continue;
    const ScalarValue told = table_value(row, compute, {at, operands.size()});
    if (parts(told).finite()) values[i] = told.complex();
  }
}

void widen_at_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                   int64_t count, ElementsOut& out) {
  if (!has_open_ends(row, compute, result)) return;
  const bool complex = is_complex(result) && row.accuracy.of(compute) != AccuracyClass::exact;
  const bool sum = is_plain_sum(row);
  const bool targeted = row.result == ResultRule::target;
  // Of complex functions an exponential of an operand may overflow on the way, or of one four times over.
  const bool product = row.error.rule == ErrorRule::product || row.error.rule == ErrorRule::quotient;
  const double most = complex && !product ? std::log(largest_finite(to_real(compute))) / 4 : kOpen;
  const auto target = targeted ? std::optional(result) : std::nullopt;
  ElementsIn results{out.kind, out.value, nullptr, 1};
  for (int64_t i = 0; i < count; ++i) {
    ScalarValue at[3];
    bool finite = true, end = false;
    for (size_t k = 0; k < operands.size(); ++k) {
      at[k] = operands[k].at(i);
      Parts p = parts(at[k]);
      finite = finite && p.finite();
      end = end || (at[k].kind() != ScalarKind::integer && (far_from_one(p.real) || far_from_one(p.imaginary)));
      end = end || std::fabs(p.real) > most || std::fabs(p.imaginary) > most;
    }
    std::span<const ScalarValue> given{at, operands.size()};
    Parts eager = parts(results.at(i));
    double error = 0;
    if (!is_defined(row, compute, given, target)) {
      error = kOpen;
    } else if (complex && !sum && !(finite && eager.finite())) {
      error = kOpen;
    } else if (end && complex && loses_on_the_way(row, compute, given)) {
      error = kOpen;
    } else if (end && !sum && !targeted && (complex || has_exception(row, compute))) {
      Parts table = parts(table_value(row, compute, given));
      error = std::hypot(apart(eager.real, table.real), apart(eager.imaginary, table.imaginary));
      if (!(error > out.error[i])) error = 0;
    }
    if (error == 0) continue;
    out.widen(i, error);
    if (!std::isfinite(error)) out.ambiguous[i] = 1, out.any_ambiguous = true;
  }
}

}  // namespace lenz::oracle
