#include "oracle/bounds/kept_ends.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/scalar/error_propagation.h"
#include "oracle/bounds/own_error.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

Interval interval_of(double value, double error, double lean, Dtype dtype) {
  if (std::isinf(error) && std::isinf(lean)) {
    const double most = overflow_threshold(dtype);
    return lean > 0 ? Interval{.low = std::min(value, most)} : Interval{.high = std::max(value, -most)};
  }
  const Reach reach = leaning(error, lean);
  return {value - reach.below * kOwnSlack, value + reach.above * kOwnSlack};
}

namespace {
bool has_poles(Jump jump) {
  return jump == Jump::at_nonpositive_integers || jump == Jump::at_odd_quarter_turns || jump == Jump::at_negative_axis;
}

bool is_a_size(const ScalarRow& row) { return row.arity == 1 && row.has(traits::even); }

// Whether a function's extremes over intervals lie at their corners and where it turns, those without end too, if no
// corner is NaN.
bool is_extreme_at_corners(const ScalarRow& row) {
  if (row.eval.reals == nullptr || row.accuracy.of_operands) return false;
  const Jump jump = row.error.jump;
  switch (row.error.rule) {
    case ErrorRule::sum: return jump == Jump::none;
    case ErrorRule::product: return jump == Jump::none && row.arity == 2;
    case ErrorRule::quotient: return jump == Jump::none;
    case ErrorRule::largest: return jump == Jump::none && (row.monotone == Monotone::increasing || is_a_size(row));
    default: break;
  }
  if (row.arity != 1 || has_poles(jump)) return false;
  return row.monotone != Monotone::no || (row.error.rule == ErrorRule::corners && jump == Jump::none);
}

// What a function of these operands may be; nothing where it may be NaN, or nobody knows.
std::optional<Interval> range_of(const ScalarRow& row, Dtype compute, Dtype result,
                                 std::span<const Interval> operands) {
  if (row.error.rule == ErrorRule::quotient && operands.back().low <= 0 && operands.back().high >= 0)
    return std::nullopt;
  Interval range{kUnbounded, -kUnbounded};
  auto visit = [&](const ScalarValue* at) {
    const double there = row.eval.reals({compute, result}, at).real();
    range = {std::min(range.low, there), std::max(range.high, there)};
    return !std::isnan(there);
  };
  for (unsigned corner = 0; corner < (1U << operands.size()); ++corner) {
    ScalarValue at[3];
    for (size_t k = 0; k < operands.size(); ++k)
      at[k] = ScalarValue((corner >> k & 1) != 0 ? operands[k].high : operands[k].low);
    if (!visit(at)) return std::nullopt;
  }
  auto visit_alone = [&](double x) {
    const ScalarValue at[3] = {ScalarValue(x)};
    return visit(at);
  };
  if (is_a_size(row) && operands[0].low <= 0 && operands[0].high >= 0 && !visit_alone(0)) return std::nullopt;
  for (int k = 0; k < row.error.critical_count; ++k) {
    const double turn = row.error.critical[static_cast<size_t>(k)];
    if (operands[0].low <= turn && turn <= operands[0].high && !visit_alone(turn)) return std::nullopt;
  }
  return range;
}

// Functions that turn again and again.
bool is_between_ones(const ScalarRow& row) { return row.name == "sin" || row.name == "cos"; }

// Whether a function is one of numbers from -1 to 1 alone.
bool is_of_unit_interval(const ScalarRow& row, Dtype compute, Dtype result) {
  auto at = [&](double x) {
    const ScalarValue operands[3] = {ScalarValue(x)};  // an evaluator looks at three, whatever it needs
    return row.eval.reals({compute, result}, operands).real();
  };
  return std::isfinite(at(-1)) && std::isfinite(at(1)) && std::isnan(at(-1 - 0x1p-20)) && std::isnan(at(1 + 0x1p-20));
}
}  // namespace

Interval whole_range(const ScalarRow& row, Dtype compute, Dtype result) {
  if (row.arity != 1 || !is_floating(compute) || !is_floating(result) || row.eval.reals == nullptr) return {};
  if (is_between_ones(row)) return {-1, 1};
  if (row.monotone == Monotone::no || has_poles(row.error.jump) || row.error.critical_count > 0) return {};
  const Interval all = is_of_unit_interval(row, compute, result) ? Interval{-1, 1} : Interval{};
  return range_of(row, compute, result, {&all, 1}).value_or(Interval{});
}

double farthest_of(const ScalarRow& row, Dtype compute, Dtype result) {
  const Interval range = whole_range(row, compute, result);
  const double end = std::max(std::fabs(range.low), std::fabs(range.high));
  if (!std::isfinite(end)) return kUnbounded;
  return end + OwnError(row, compute, result, false, Formula::stored).with(end, {}, false, {}, end).error();
}

namespace {
// The infinity as which all of the range is stored, if it is; 0: it is not.
double overflow_of(const ScalarRow& row, Dtype result, Interval range) {
  if (range.low == kUnbounded || range.high == -kUnbounded) return range.low;
  const bool picks = row.accuracy.kind == AccuracyClass::exact;
  const double places = picks ? 0 : 4 + std::max({row.accuracy.ulps, row.eager.ulps, row.eager.narrow_ulps});
  const double off = std::min(places * std::ldexp(1, 1 - info(result).mantissa_bits), 1.0);
  if (range.low > 0 && std::isinf(nearest(result, range.low * (1 - off)))) return kUnbounded;
  if (range.high < 0 && std::isinf(nearest(result, range.high * (1 - off)))) return -kUnbounded;
  return 0;
}

// How far right results lie from a value where they lie in this range, before they are rounded.
Sides within_range(const ScalarRow& row, const OwnError& own, Dtype result, double value, Interval range) {
  constexpr double kSlack = 0x1p-48;  // of what evaluates it
  if (const double infinity = overflow_of(row, result, range); infinity != 0) return {kUnbounded, kUnbounded, infinity};
  const double largest = largest_finite(result);
  auto added_at = [&](double at) {
    return own.with(at, {}, false, {}, std::fabs(at)).error() + std::fabs(at) * kSlack;
  };
  auto side = [&](double end, double other, bool outwards) {
    if (std::isinf(end)) return kUnbounded;
    if (own.exact()) return std::fabs(value - end) * kOwnSlack;
    const double added = added_at(end);
    if (!std::isfinite(added) && outwards) return kUnbounded;
    // What lies beyond the largest number is no less than that.
    if (!std::isfinite(added))
      return std::fabs(value - std::copysign(std::min(std::fabs(end), largest), end)) * kOwnSlack;
    const double far = std::fabs(value - end) * kOwnSlack + added;
    // From the next power of two on places are longer: what is off by one of those may reach farther in.
    const double power = std::copysign(2 * binade(std::fabs(end)), end);
    if (outwards || std::fabs(power) > std::fabs(other) || !std::isfinite(added_at(power))) return far;
    return std::max(far, (std::fabs(value) - std::fabs(power)) * kOwnSlack + added_at(power));
  };
  return {side(range.low, range.high, range.low < 0), side(range.high, range.low, range.high > 0)};
}

std::optional<Interval> range_at(const ScalarRow& row, Dtype compute, Dtype result,
                                 std::span<const ElementsIn> operands, int64_t i) {
  Interval intervals[3];
  const bool picks = row.error.jump == Jump::at_condition;
  for (size_t k = picks ? 1 : 0; k < operands.size(); ++k) {
    const ElementsIn& o = operands[k];
    if (std::isinf(o.error_at(i)) && o.lean_at(i) == 0) return std::nullopt;  // it may be NaN
    const Dtype dtype = operand_dtype(row, compute, static_cast<int>(k));
    intervals[k] = interval_of(o.real(i), o.error_at(i), o.lean_at(i), dtype);
    if (o.never_negative) intervals[k].low = std::max(intervals[k].low, 0.0);
  }
  if (!picks) return range_of(row, compute, result, {intervals, operands.size()});
  if (operands[0].error_at(i) != 0) return std::nullopt;
  return intervals[operands[0].at(i).integer() != 0 ? 1 : 2];
}
}  // namespace

void keep_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands, int64_t count,
               ElementsOut& out) {
  const bool picks = row.error.jump == Jump::at_condition;
  const bool real = std::ranges::all_of(operands.subspan(picks ? 1 : 0),
                                        [](const ElementsIn& o) { return o.kind == ScalarKind::real; });
  const bool lean = std::ranges::any_of(operands, [](const ElementsIn& o) { return o.lean != nullptr; });
  if (!real || !lean || out.lean == nullptr || out.kind != ScalarKind::real) return;
  if (!picks && !is_extreme_at_corners(row)) return;
  const OwnError own(row, compute, result, false, out.formula);
  const auto* value = static_cast<const double*>(out.value);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isinf(out.error[i]) || out.lean[i] != 0 || std::isnan(value[i])) continue;
    const std::optional<Interval> range = range_at(row, compute, result, operands, i);
    if (!range || (range->low == -kUnbounded && range->high == kUnbounded)) continue;
    const Sides sides = within_range(row, own, result, value[i], *range);
    if (std::isinf(value[i]) && sides.overflows == 0) continue;
    out.set(i, sides);
    if (std::isfinite(sides.error())) out.ambiguous[i] = 0;
  }
}

void settle_decisions(const ScalarRow& row, Dtype compute, std::span<const ElementsIn> operands, int64_t count,
                      ElementsOut& out) {
  const bool lean = std::ranges::any_of(operands, [](const ElementsIn& o) { return o.lean != nullptr; });
  if (!lean || row.error.rule != ErrorRule::predicate || row.error.jump != Jump::where_equal || operands.size() != 2)
    return;
  if (operands[0].kind != ScalarKind::real || operands[1].kind != ScalarKind::real) return;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isinf(operands[0].error_at(i)) && !std::isinf(operands[1].error_at(i))) continue;
    Interval of[2];
    for (size_t k = 0; k < 2; ++k)
      of[k] = interval_of(operands[k].real(i), operands[k].error_at(i), operands[k].lean_at(i), compute);
    if (!(of[0].low > of[1].high || of[0].high < of[1].low)) continue;
    out.error[i] = 0;
    out.ambiguous[i] = 0;
  }
}

}  // namespace lenz::oracle
