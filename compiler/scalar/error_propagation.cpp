#include "compiler/scalar/error_propagation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/scalar/error_rules.h"
#include "compiler/scalar/rounding.h"

namespace lenz {

double number(const ScalarValue& v) {
  switch (v.kind()) {
    case ScalarKind::integer: return static_cast<double>(v.integer());
    case ScalarKind::real: return v.real();
    case ScalarKind::double_double: return static_cast<double>(v.double_double());
    case ScalarKind::complex: break;
  }
  internal_error("a complex operand of a real error bound", __FILE__, __LINE__);
}

double quotient_error(double a, double ea, double b, double eb) {
  if (!(b > eb)) return kInfinity;
  return (ea + a / b * eb) / (b - eb);
}

namespace {

double down(double x) { return std::nextafter(x, -kInfinity); }
double up(double x) { return std::nextafter(x, kInfinity); }

// One call: the row, its dtypes, and the box that the real operands span.
struct Box {
  const ScalarRow& row;
  Dtype compute;
  std::optional<Dtype> target;
  size_t arity;
  double value[3] = {}, error[3] = {}, low[3] = {}, high[3] = {};
  double least[3] = {-kInfinity, -kInfinity, -kInfinity};

  bool spans(size_t i, double x) const { return error[i] > 0 && low[i] <= x && x <= high[i]; }
};

// The integer at an end of an interval: the greatest ones round to a double that is one too many.
int64_t integer_at(double end) {
  constexpr double kBeyond = 0x1p63;
  if (end >= kBeyond) return std::numeric_limits<int64_t>::max();
  return end < -kBeyond ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(end);
}

double evaluate_at(const Box& box, const double* point) {
  ScalarValue operands[3];
  for (size_t i = 0; i < box.arity; ++i) {
    const Dtype dtype = operand_dtype(box.row, box.compute, static_cast<int>(i));
    // An uncertain integer's interval has whole ends.
    operands[i] = is_integral(dtype, true) ? ScalarValue(integer_at(point[i])) : ScalarValue(point[i]);
  }
  return number(evaluate(box.row, box.compute, {operands, box.arity}, box.target));
}

double modulus(const ScalarValue& v) {
  return v.kind() == ScalarKind::complex ? std::abs(v.complex()) : std::fabs(number(v));
}

// Whether the row is convex along its last operand over the box, between two of its poles: its least value lies inside.
bool has_valley(const Box& box) {
  const size_t last = box.arity - 1;
  return box.row.error.jump == Jump::at_nonpositive_integers && box.row.monotone != Monotone::increasing &&
         box.error[last] > 0 && box.low[last] < 0;
}

// The place of that least value: nothing in between lies lower by more than evaluations are off.
template <class Value>
double bottom_of(double low, double high, const Value& value) {
  constexpr double kGolden = 0.61803398874989485;
  constexpr int kSteps = 40;
  double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
  double at_left = value(left), at_right = value(right);
  for (int step = 0; step < kSteps && left < right; ++step) {
    if (at_left < at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = value(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = value(right);
    }
  }
  return at_left < at_right ? left : right;
}

// Whether the corner is one that was visited: of operands that are certain both ends are one. Zeros have two signs.
bool seen_before(const Box& box, unsigned corner) {
  for (size_t i = 0; i < box.arity; ++i)
    if ((corner >> i & 1) != 0 && box.error[i] == 0 && box.value[i] != 0 && box.low[i] == box.high[i]) return true;
  return false;
}

// How far the extremes at the corners and at turning points of the first operand lie from the centre, in double-double
// and at the very ends: of float64, where an operand is off by a few places, evaluations in float64 and ends that are
// rounded outwards would add more than there is. Nothing where a value is no finite number.
std::optional<Propagated> at_fine_corners(const Box& box) {
  const ScalarRow& row = box.row;
  if (box.compute != Dtype::f64 || box.target || row.eval.dds == nullptr || row.has(traits::costly) ||
      row.result != ResultRule::same || has_valley(box))
    return std::nullopt;
  for (size_t i = 0; i < box.arity; ++i)
    if (operand_dtype(row, box.compute, static_cast<int>(i)) != Dtype::f64) return std::nullopt;
  auto at = [&](const DoubleDouble* point) {
    ScalarValue operands[3];
    for (size_t i = 0; i < box.arity; ++i) operands[i] = ScalarValue(point[i]);
    return row.eval.dds({box.compute, box.compute}, operands).double_double();
  };
  DoubleDouble point[3];
  for (size_t i = 0; i < box.arity; ++i) point[i] = box.value[i];
  const DoubleDouble centre = at(point);
  double scale = std::max(std::fabs(centre.hi), row.accuracy.absolute);
  Reach ends;
  auto visit = [&] {
    const DoubleDouble there = at(point);
    const auto away = static_cast<double>(there - centre);
    ends = {std::max(ends.below, -away), std::max(ends.above, away)};
    scale = std::isfinite(there.hi) ? std::max(scale, std::fabs(there.hi)) : kInfinity;
  };
  for (unsigned corner = 0; corner < (1u << box.arity); ++corner) {
    if (seen_before(box, corner)) continue;
    for (size_t i = 0; i < box.arity; ++i) {
      point[i] = box.value[i];  // an infinity or NaN, which no sum keeps, is certain
      if (box.error[i] == 0) continue;
      point[i] = dd::two_sum(box.value[i], (corner >> i & 1) != 0 ? box.error[i] : -box.error[i]);
      if (point[i] < DoubleDouble(box.least[i])) point[i] = box.least[i];
    }
    visit();
    for (int k = 0; k < row.error.critical_count; ++k)
      if (const double turn = row.error.critical[static_cast<size_t>(k)]; box.spans(0, turn)) {
        point[0] = turn;
        visit();
      }
  }
  constexpr double kUnsure = 0x1p-62, kSlack = 1 + 0x1p-50;
  const double unsure = ends.error() > 0 ? scale * kUnsure : 0;
  ends = {ends.below * kSlack + unsure, ends.above * kSlack + unsure};
  if (!std::isfinite(scale) || !std::isfinite(ends.error())) return std::nullopt;
  return Propagated{ends.error(), false, ends};
}

// The same for any row and dtype. Two last places of slack for the evaluations.
Propagated at_corners(const Box& box) {
  if (const std::optional<Propagated> fine = at_fine_corners(box)) return *fine;
  const double centre = evaluate_at(box, box.value);
  double worst = 0, scale = std::fabs(centre);
  Reach ends;
  bool undefined = false;
  auto visit = [&](const double* point) {
    const double there = evaluate_at(box, point);
    if (std::isnan(there) != std::isnan(centre)) undefined = true;
    if (there == centre || std::isnan(there)) return;
    worst = std::max(worst, std::fabs(there - centre));
    ends = {std::max(ends.below, centre - there), std::max(ends.above, there - centre)};
    if (std::isfinite(there)) scale = std::max(scale, std::fabs(there));
  };
  for (unsigned corner = 0; corner < (1u << box.arity); ++corner) {
    if (seen_before(box, corner)) continue;
    double point[3];
    for (size_t i = 0; i < box.arity; ++i) point[i] = (corner >> i & 1) != 0 ? box.high[i] : box.low[i];
    visit(point);
    for (int k = 0; k < box.row.error.critical_count; ++k) {
      const double turn = box.row.error.critical[static_cast<size_t>(k)];
      if (!box.spans(0, turn)) continue;
      point[0] = turn;
      visit(point);
    }
    if (const size_t last = box.arity - 1; has_valley(box) && (corner >> last & 1) == 0) {
      auto along = [&](double x) {
        point[last] = x;
        return evaluate_at(box, point);
      };
      point[last] = bottom_of(box.low[last], box.high[last], along);
      visit(point);
    }
    // Where the result is none: a box whose corners all lie outside of what a function is defined on may hold that, and
    // beside what is no number some rows give one all the same.
    if (!std::isnan(centre)) continue;
    for (size_t i = 0; i < box.arity; ++i)
      for (const double inside : {0.0, 0.5, 1.0}) {
        if (!box.spans(i, inside)) continue;
        const double before = std::exchange(point[i], inside);
        visit(point);
        point[i] = before;
      }
  }
  if (undefined || std::isnan(worst)) return kUnknown;
  const double slack = std::isfinite(scale) && worst > 0 ? 4 * last_place(Dtype::f64, scale) : 0;
  return {worst + slack, false, Reach{ends.below + slack, ends.above + slack}};
}

// Operands of a comparison or a logical function.
bool decision_open(const Box& box) {
  switch (box.row.error.jump) {
    case Jump::where_equal: {
      const double margin = box.error[0] + box.error[1];
      if (!(margin > 0 && std::fabs(box.value[0] - box.value[1]) <= margin)) return false;
      // What orders them grows, or falls, with their difference: where both its extremes agree nothing is open. Of
      // numbers whose errors reach one way alone these may be equal ones.
      const double least[2] = {box.low[0], box.high[1]}, most[2] = {box.high[0], box.low[1]};
      const double below[2] = {0, 1}, above[2] = {1, 0};
      const bool orders = evaluate_at(box, below) != evaluate_at(box, above);
      return !(orders && evaluate_at(box, least) == evaluate_at(box, most));
    }
    case Jump::at_zero:
      for (size_t i = 0; i < box.arity; ++i)
        if (box.spans(i, 0)) return true;
      return false;
    default: return false;
  }
}

bool has_pole(const Box& box) {
  const size_t last = box.arity - 1;  // polygamma(n, x), zeta(s, q): the last operand is the one with poles
  switch (box.row.error.jump) {
    case Jump::at_nonpositive_integers:
      // An order that is not known to the last unit is even, odd or no whole number, which decides what lies below
      // zero.
      if (last > 0 && box.error[0] > 0 && box.high[0] >= 1 && box.low[last] < 0)
        return box.error[last] > 0 || std::floor(box.value[last]) != box.value[last];
      return box.error[last] > 0 && box.low[last] <= 0 &&
             (std::floor(box.low[last]) != std::floor(box.high[last]) || std::floor(box.low[last]) == box.low[last]);
    case Jump::at_odd_quarter_turns: {
      auto turn = [](double x) { return std::floor(x / dd::kPi.hi + 0.5); };
      return turn(down(box.low[0] * (1 - 1e-15))) != turn(up(box.high[0] * (1 + 1e-15))) ||
             turn(down(box.low[0] * (1 + 1e-15))) != turn(up(box.high[0] * (1 - 1e-15)));
    }
    default: return false;
  }
}

// A jump of a row whose rule is `corners`, beside poles: whether the box meets it.
bool branch_open(const Box& box, double worst) {
  switch (box.row.error.jump) {
    case Jump::at_integers:
    case Jump::at_half_integers:
    case Jump::at_scaled_halves: return worst > 0;  // flat between jumps
    case Jump::at_zero: return box.spans(0, 0);
    case Jump::at_negative_axis:  // atan2(y, x)
      return box.low[1] <= 0 && (box.spans(0, 0) || box.value[0] == 0) && (box.error[0] > 0 || box.spans(1, 0));
    default: return false;
  }
}

Propagated corner_rule(const Box& box) {
  if (has_pole(box)) return kUnknown;
  Propagated p = at_corners(box);
  if (p.ambiguous || !branch_open(box, p.error)) return p;
  if (box.row.error.jump == Jump::at_negative_axis) return {2 * dd::kPi.hi, true};
  p.ambiguous = true;
  return p;
}

std::pair<double, double> ends_of(Dtype integers) {
  if (integers == Dtype::b8) return {0, 1};
  const int bits = info(integers).bits - (info(integers).is_signed ? 1 : 0);
  return {info(integers).is_signed ? -std::ldexp(1.0, bits) : 0, std::ldexp(1.0, bits) - 1};
}

// x^y: monotone in each operand for a positive base, and of zero too while exponents are positive. A negative base
// needs a whole exponent that is exact. A NaN makes one, but for exponents of zero and bases of one.
Propagated power_rule(const Box& box) {
  auto nan_beside = [&](size_t k, double lost_by) {
    return std::isnan(box.value[k]) && box.error[k] == 0 && std::isfinite(box.error[1 - k]) &&
           (box.low[1 - k] > lost_by || box.high[1 - k] < lost_by);
  };
  if (nan_beside(0, 0) || nan_beside(1, 1)) return {0, false};
  // Of integers the corners tell nothing of what has wrapped there.
  if (is_integral(box.compute, true)) {
    const double base = std::max(std::fabs(box.low[0]), std::fabs(box.high[0]));
    if (std::pow(base, std::max(box.high[1], 0.0)) > ends_of(box.compute).second) return kUnknown;
  }
  if (box.low[0] > 0 || (box.low[0] == 0 && box.low[1] > 0)) return at_corners(box);
  const bool whole = box.error[1] == 0 && std::nearbyint(box.value[1]) == box.value[1];
  if (!whole || (box.value[1] < 0 && box.high[0] >= 0)) return kUnknown;
  const Propagated p = at_corners(box);
  if (!box.spans(0, 0)) return p;
  return {p.error + std::fabs(evaluate_at(box, box.value)), p.ambiguous};  // turns at zero for even exponents
}

// By an infinity quotients are 0 or -1, by the sign of what is divided.
bool sign_decides(const Box& box) { return std::isinf(box.value[1]) && box.low[0] <= 0 && box.high[0] >= 0; }

// a - q b with a whole q: exact operands on the same q differ by da + |q| db; across a jump of q, by a divisor more.
Propagated remainder_rule(const Box& box) {
  if (sign_decides(box)) return kUnknown;
  const double b = std::fabs(box.value[1]);
  const double spread = quotient_error(std::fabs(box.value[0]), box.error[0], b, box.error[1]);
  const double q = box.value[0] / box.value[1];
  if (!std::isfinite(spread) || !std::isfinite(q)) return kUnknown;
  double slack = spread + std::fabs(q) * 0x1p-50;
  if (box.error[0] > 0 || box.error[1] > 0)
    slack += std::numeric_limits<double>::min();  // quotients that vanish have signs
  Propagated p{box.error[0] + (std::fabs(q) + 1 + spread) * box.error[1], false};
  if (std::floor(q - slack) == std::floor(q + slack)) return p;
  return {p.error + (1 + std::ceil(2 * slack)) * (b + box.error[1]), true};
}

// floor or trunc of a quotient.
Propagated whole_quotient_rule(const Box& box) {
  if (sign_decides(box)) return kUnknown;
  const double spread = quotient_error(std::fabs(box.value[0]), box.error[0], std::fabs(box.value[1]), box.error[1]);
  const double q = box.value[0] / box.value[1];
  if (!std::isfinite(spread) || !std::isfinite(q)) return kUnknown;
  const double slack = spread + std::fabs(q) * 0x1p-50;
  // The one rounds the quotient to the dtype before it truncates.
  const double rounding = last_place(is_floating(box.compute) ? box.compute : Dtype::f64, q);
  if (std::floor(q - slack - rounding) == std::floor(q + slack + rounding)) return {0, false};
  return {std::ceil(slack + rounding) + 1, true};
}

Propagated largest_rule(const Box& box) {
  double worst = 0;
  for (size_t i = 0; i < box.arity; ++i) worst = std::max(worst, box.error[i]);
  if (box.row.error.jump == Jump::at_condition) {
    const double taken = evaluate_at(box, box.value);
    const Reach ends{taken - std::min(box.low[1], box.low[2]), std::max(box.high[1], box.high[2]) - taken};
    return {std::fabs(box.value[1] - box.value[2]) + std::max(box.error[1], box.error[2]), true, ends};
  }
  if (box.row.error.jump == Jump::at_zero) {  // copysign: the second operand's sign
    if (box.spans(1, 0)) return {2 * std::fabs(box.value[0]) + box.error[0], true};
    return {box.error[0], false};
  }
  // One that picks (the lesser, what is above zero) is not off by what it does not pick. What has no bound may be NaN.
  if (box.row.monotone == Monotone::increasing && worst > 0 && std::isfinite(worst))
    return {std::min(worst, at_corners(box).error), false};
  return {worst, false};
}

// heaviside(a, b)
Propagated step_rule(const Box& box) {
  if (box.spans(0, 0)) {
    const double b = box.value[1];
    if (std::isnan(b)) return kUnknown;  // it may be that
    return {std::max({1.0, std::fabs(b), std::fabs(1 - b)}) + box.error[1], true};
  }
  return {box.value[0] == 0 ? box.error[1] : 0.0, false};
}

Propagated real_rule(const Box& box) {
  const ErrorModel& model = box.row.error;
  double total = 0;
  for (size_t i = 0; i < box.arity; ++i) total += box.error[i];
  switch (model.rule) {
    case ErrorRule::predicate:
      if (decision_open(box)) return {1, true};
      return model.jump == Jump::none && box.row.nan != NanRule::tests ? kUnknown : Propagated{0, false};
    case ErrorRule::sum: return {total, false};
    case ErrorRule::fraction:
      if (std::floor(box.low[0]) == std::floor(box.high[0])) return {total, false};
      return {total + 1, true};
    case ErrorRule::largest: return largest_rule(box);
    case ErrorRule::product: {
      const double a = std::fabs(box.value[0]), ea = box.error[0];
      if (box.arity == 1) return {2 * a * ea + ea * ea, false};
      const double b = std::fabs(box.value[1]), eb = box.error[1];
      return {a * eb + b * ea + ea * eb + box.error[2], false};
    }
    case ErrorRule::quotient: {
      const double error =
          box.arity == 1 ? quotient_error(1, 0, std::fabs(box.value[0]), box.error[0])
                         : quotient_error(std::fabs(box.value[0]), box.error[0], std::fabs(box.value[1]), box.error[1]);
      return {error, !std::isfinite(error)};
    }
    case ErrorRule::whole_quotient: return whole_quotient_rule(box);
    case ErrorRule::remainder: return remainder_rule(box);
    case ErrorRule::lipschitz:
      return {box.arity == 1 ? lipschitz_error(model, box.value[0], total) : model.lipschitz * total, false};
    case ErrorRule::corners: return corner_rule(box);
    case ErrorRule::power: return power_rule(box);
    case ErrorRule::step: return step_rule(box);
    case ErrorRule::derivative: {
      double error = 0;
      for (size_t i = 0; i < box.arity; ++i)
        if (box.error[i] > 0) error += box.error[i] * model.slope(static_cast<int>(i), box.low, box.high);
      return {error, !std::isfinite(error)};
    }
    case ErrorRule::conversion: {
      const Dtype result = result_dtype(box.row, box.compute, box.target);
      if (!is_integral(result, true)) return {total, false};
      if (result == Dtype::b8) return box.spans(0, 0) ? Propagated{1, true} : Propagated{0, false};
      const auto [least, most] = ends_of(result);  // corners tell nothing of what wraps beyond
      if (total > 0 && (box.low[0] <= least - 1 || box.high[0] >= most + 1)) return kUnknown;
      Propagated p = at_corners(box);
      return {p.error, p.error > 0 || p.ambiguous};
    }
    case ErrorRule::unbounded: return kUnknown;
  }
  return kUnknown;
}

}  // namespace

// By the mean value theorem, and where the slope at the value is known by Taylor's: what libm's slope is off by is less
// than 2^-50, for it is no greater than a few.
double lipschitz_error(const ErrorModel& model, double value, double e) {
  const double most = model.lipschitz * e;
  if (model.derivative == nullptr || e == 0) return most;
  const double slope = std::fabs(model.derivative(value)) + 0x1p-50 + 0.5 * model.curvature * e;
  return std::isnan(slope) ? most : std::min(most, slope * e * (1 + 0x1p-50));
}

namespace {
// Whether an integer result may begin anew at the other end of its dtype.
bool wraps(const Box& box, double error) {
  const Dtype result = result_dtype(box.row, box.compute, box.target);
  const ErrorRule rule = box.row.error.rule;
  const bool grows = rule == ErrorRule::sum || rule == ErrorRule::product || rule == ErrorRule::power;
  if (error == 0 || !grows || !is_integral(result, false)) return false;
  const auto [least, most] = ends_of(result);
  const double centre = evaluate_at(box, box.value);
  constexpr int kDigits = 53;  // what has more bits than a double is near its end already where it seems to be there
  if (info(result).bits > kDigits) return centre - error <= least || centre + error >= most;
  return centre - error < least || centre + error > most;
}
}  // namespace

Propagated propagate_error(const ScalarRow& row, Dtype compute, std::span<const Uncertain> operands,
                           std::optional<Dtype> target) {
  LENZ_CHECK(static_cast<int>(operands.size()) == row.arity, "wrong number of operands of a scalar primitive");
  bool exact = true, complex = is_complex(compute);
  // What a certain condition does not take is not looked at, whatever it may be.
  if (row.error.jump == Jump::at_condition && operands[0].error == 0) {
    const Uncertain& taken = operands[operands[0].value.integer() != 0 ? 1 : 2];
    return std::isinf(taken.error) ? kUnknown : Propagated{taken.error, false};
  }
  for (const Uncertain& u : operands) {
    if (!(u.error >= 0) || std::isinf(u.error)) return kUnknown;
    exact = exact && u.error == 0;
  }
  if (exact) return {0, false};
  if (complex) return row.error.real_only ? kUnknown : complex_rule(row, operands);
  Box box{row, compute, target, operands.size()};
  for (size_t i = 0; i < operands.size(); ++i) {
    box.value[i] = number(operands[i].value);
    box.error[i] = operands[i].error;
    const bool whole = operands[i].value.kind() == ScalarKind::integer;
    const Reach reach = whole ? either_way(std::ceil(box.error[i])) : leaning(box.error[i], operands[i].lean);
    auto end = [&](double away) {
      const double there = box.value[i] + away;
      return away == 0 || whole ? there : away < 0 ? down(there) : up(there);
    };
    box.low[i] = end(-reach.below);
    box.high[i] = end(reach.above);
    if (whole) {  // what the dtype has not is none of its values
      const auto [least, most] = ends_of(operand_dtype(row, compute, static_cast<int>(i)));
      box.low[i] = std::max(box.low[i], least);
      box.high[i] = std::min(box.high[i], most);
    }
    box.low[i] = std::min(std::max(box.low[i], operands[i].least), box.value[i]);
    box.least[i] = std::min(operands[i].least, box.value[i]);
    // An uncertain NaN or infinity is no interval.
    if (box.error[i] > 0 && !std::isfinite(box.value[i])) return kUnknown;
  }
  if (is_integral(compute, true) && row.error.rule == ErrorRule::predicate && row.result != ResultRule::boolean)
    return kUnknown;  // bits and divisors of uncertain integers
  Propagated p = real_rule(box);
  return std::isnan(p.error) || wraps(box, p.error) ? kUnknown : p;
}

bool gives_exactly(const ScalarRow& row, double result, std::span<const ScalarValue> operands) {
  constexpr double kFewPlaces = 4;
  bool zero = false, one = false, simple = true;
  for (const ScalarValue& o : operands) {
    if (o.kind() == ScalarKind::complex) return false;
    const double x = number(o);
    zero = zero || x == 0;
    one = one || std::fabs(x) == 1;
    simple = simple && (x == 0 || std::fabs(x) == 1 || std::isinf(x));
  }
  // What lets terms cancel makes a zero of ones by steps that round: log2(2^-1 + 2^-1).
  if (result == 0) return zero || (simple && !row.accuracy.of_operands) || row.error.rule == ErrorRule::remainder;
  return std::fabs(result) == 1 && operands.size() == 1 && simple && !one &&
         std::max(row.accuracy.ulps, row.eager.ulps) <= kFewPlaces;
}

double computed_error(const ScalarRow& row, Dtype dtype, const ScalarValue& result,
                      std::span<const ScalarValue> operands) {
  const double own = own_error(row, arithmetic_dtype(dtype), result, operands);
  return arithmetic_dtype(dtype) == dtype ? own : std::max(own, kNarrowSpare * last_place(dtype, modulus(result)));
}

double own_error(const ScalarRow& row, Dtype dtype, const ScalarValue& result, std::span<const ScalarValue> operands) {
  if (is_integral(dtype, true)) return 0;
  const ScalarAccuracy& a = row.accuracy;
  if (a.kind == AccuracyClass::ulps && arithmetic_dtype(dtype) != dtype) {
    const double computed = computed_error(row, dtype, result, operands);
    return computed + 0.5 * last_place(dtype, modulus(result) + computed);
  }
  const auto is_complex = [](const ScalarValue& v) { return v.kind() == ScalarKind::complex; };
  double magnitude = std::max(modulus(result), a.absolute);
  if (a.of_operands && (a.absolute == 0 || is_complex(result)))
    for (const ScalarValue& operand : operands) magnitude = std::max(magnitude, modulus(operand));
  const bool complex = is_complex(result);
  switch (complex || std::ranges::any_of(operands, is_complex) ? a.of_complex : a.kind) {
    case AccuracyClass::exact: return 0;
    case AccuracyClass::correctly_rounded: return (complex ? a.complex_ulps : 0.5) * last_place(dtype, magnitude);
    case AccuracyClass::ulps: return (complex ? a.complex_ulps : a.ulps) * last_place(dtype, magnitude);
  }
  return kInfinity;
}

double reach_of(const ScalarRow& row, Dtype dtype, std::span<const Uncertain> operands) {
  if (row.accuracy.reach == nullptr || !is_floating(dtype)) return kInfinity;
  double low[3], high[3];
  for (size_t k = 0; k < operands.size(); ++k) {
    const ScalarValue& v = operands[k].value;
    if (v.kind() == ScalarKind::complex) return kInfinity;
    const double x = v.kind() == ScalarKind::integer ? static_cast<double>(v.integer()) : v.real();
    low[k] = x - operands[k].error, high[k] = x + operands[k].error;
    if (std::isnan(low[k]) || std::isnan(high[k])) return kInfinity;
  }
  return row.accuracy.reach(dtype, low, high);
}

}  // namespace lenz
