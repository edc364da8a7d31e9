#include "oracle/bounds/kept_ends.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/own_error.h"

namespace lenz::oracle {

Interval interval_of(double value, double error, double lean, Dtype dtype) {
  if (std::isinf(error) && std::isinf(lean)) {
    const double largest = largest_finite(dtype);
    return lean > 0 ? Interval{.low = std::min(value, largest)} : Interval{.high = std::max(value, -largest)};
  }
  const Reach reach = leaning(error, lean);
  return {value - reach.below * kOwnSlack, value + reach.above * kOwnSlack};
}

namespace {
// Whether a function's extremes over intervals lie at their corners, those without end too, if no corner is NaN.
bool is_extreme_at_corners(const ScalarRow& row) {
  if (row.error.jump != Jump::none || row.eval.reals == nullptr || row.accuracy.of_operands) return false;
  switch (row.error.rule) {
    case ErrorRule::sum: return true;
    case ErrorRule::product: return row.arity == 2;
    case ErrorRule::quotient: return true;
    case ErrorRule::largest: return row.monotone == Monotone::increasing;
    default: return row.arity == 1 && row.monotone != Monotone::no && row.error.critical_count == 0;
  }
}

// What a function of these operands may be; nothing where it may be NaN, or nobody knows.
std::optional<Interval> range_of(const ScalarRow& row, Dtype compute, Dtype result,
                                 std::span<const Interval> operands) {
  if (row.error.rule == ErrorRule::quotient && operands.back().low <= 0 && operands.back().high >= 0)
    return std::nullopt;
  Interval range{kUnbounded, -kUnbounded};
  for (unsigned corner = 0; corner < (1U << operands.size()); ++corner) {
    ScalarValue at[3];
    for (size_t k = 0; k < operands.size(); ++k)
      at[k] = ScalarValue((corner >> k & 1) != 0 ? operands[k].high : operands[k].low);
    const double there = row.eval.reals({compute, result}, at).real();
    if (std::isnan(there)) return std::nullopt;
    range = {std::min(range.low, there), std::max(range.high, there)};
  }
  return range;
}

// Functions that turn again and again.
bool is_between_ones(const ScalarRow& row) { return row.name == "sin" || row.name == "cos"; }
}  // namespace

double farthest_of(const ScalarRow& row, Dtype compute, Dtype result) {
  if (row.arity != 1 || !is_floating(compute) || !is_floating(result) || row.eval.reals == nullptr) return kUnbounded;
  double end = is_between_ones(row) ? 1 : kUnbounded;
  if (row.monotone != Monotone::no && row.error.jump == Jump::none && row.error.critical_count == 0) {
    const std::optional<Interval> range = range_of(row, compute, result, {{Interval{}}});
    if (range) end = std::max(std::fabs(range->low), std::fabs(range->high));
  }
  if (!std::isfinite(end)) return kUnbounded;
  return end + OwnError(row, compute, result, false, Formula::stored).with(end, {}, false, {}, end).error();
}

void keep_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands, int64_t count,
               ElementsOut& out) {
  const bool lean = std::ranges::any_of(operands, [](const ElementsIn& o) { return o.lean != nullptr; });
  if (!lean || out.lean == nullptr || out.formula != Formula::given || !is_extreme_at_corners(row)) return;
  constexpr double kSlack = 0x1p-48;  // of what evaluates it
  const OwnError own(row, compute, result, false, out.formula);
  const auto* value = static_cast<const double*>(out.value);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isinf(out.error[i]) || out.lean[i] != 0 || !std::isfinite(value[i])) continue;
    Interval intervals[3];
    for (size_t k = 0; k < operands.size(); ++k) {
      const ElementsIn& o = operands[k];
      const Dtype dtype = operand_dtype(row, compute, static_cast<int>(k));
      intervals[k] = interval_of(o.real(i), o.error_at(i), o.lean_at(i), dtype);
      if (o.never_negative) intervals[k].low = std::max(intervals[k].low, 0.0);
    }
    const std::optional<Interval> range = range_of(row, compute, result, {intervals, operands.size()});
    if (!range) continue;
    auto side = [&](double end) {
      if (std::isinf(end)) return kUnbounded;
      const Sides added = own.with(end, {}, false, {}, std::fabs(end));
      return std::fabs(value[i] - end) * kOwnSlack + added.error() + std::fabs(end) * kSlack;
    };
    const Sides sides{side(range->low), side(range->high)};
    out.set(i, sides);
    if (std::isfinite(sides.error())) out.ambiguous[i] = 0;
  }
}

}  // namespace lenz::oracle
