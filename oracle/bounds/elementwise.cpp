#include "oracle/bounds/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/kept_ends.h"
#include "oracle/bounds/own_error.h"

namespace lenz::oracle {

ScalarValue ElementsIn::at(int64_t i) const {
  switch (kind) {
    case ScalarKind::integer: return ScalarValue(static_cast<const int64_t*>(value)[i * step]);
    case ScalarKind::complex: return ScalarValue(static_cast<const std::complex<double>*>(value)[i * step]);
    default: return ScalarValue(real(i));
  }
}

void ElementsOut::set(int64_t i, Sides sides) {
  error[i] = sides.error();
  any_error |= error[i] != 0;
  lean_by(i, sides);
}

void ElementsOut::lean_by(int64_t i, Sides sides) {
  if (lean == nullptr) return;
  lean[i] = sides.lean();
  any_lean |= lean[i] != 0;
}

void ElementsOut::widen(int64_t i, double by) {
  error[i] += by;
  any_error = true;
  if (lean != nullptr) lean[i] = 0;
}

namespace {
// Where a double-double has no room for it, half a place of float64.
Rest rest_of(const ScalarRow& row, const ElementsOut& out, int64_t i, double value) {
  constexpr double kRoom = 0x1p-900;
  if (out.rest == nullptr) return {};
  const double size = std::fabs(value);
  return size < kRoom ? Rest{0, size * 0x1p-53 + 0x1p-1074}
                      : Rest{out.rest[i], std::max(size, row.accuracy.absolute) * out.rest_unsure};
}

double magnitude_of(const ScalarValue& v) {
  switch (v.kind()) {
    case ScalarKind::integer: return std::fabs(static_cast<double>(v.integer()));
    case ScalarKind::complex: return std::abs(v.complex());
    default: return std::fabs(v.real());
  }
}

// Whether a row that rounds correctly gives zero because its exact result is zero, not because that is too small: any
// rounding of it is zero. By another formula a sum that cancels may be taken another way.
bool is_zero_exactly(const ScalarRow& row, std::span<const ElementsIn> operands, int64_t i, Formula formula) {
  if (row.accuracy.kind != AccuracyClass::correctly_rounded || operands.size() > 2) return false;
  const bool sum = row.error.rule == ErrorRule::sum;
  if (sum && formula == Formula::given) return true;
  size_t zeros = 0;
  bool infinite = false;
  for (const ElementsIn& o : operands) {
    if (o.kind != ScalarKind::real) return false;
    const bool certain = o.error_at(i) == 0;
    zeros += certain && o.real(i) == 0;
    infinite = infinite || (certain && std::isinf(o.real(i)));
  }
  return sum ? zeros == operands.size() : zeros > 0 || infinite;
}

// Of certain operands: whether any implementation gives the result as it is. By another formula ones may be made of
// other steps, as the weights of a softmax are.
bool is_exact_point(const ScalarRow& row, double value, std::span<const ElementsIn> operands, int64_t i,
                    Formula formula) {
  if (value == 0 && is_zero_exactly(row, operands, i, formula)) return true;
  if (value != 0 && (formula != Formula::given || std::fabs(value) != 1)) return false;
  ScalarValue at[3];
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].error_at(i) > 0) return false;
    at[k] = operands[k].at(i);
  }
  return gives_exactly(row, value, {at, operands.size()});
}

struct ElementError {
  double error;
  bool ambiguous;
};

// A result that is NaN or infinite is certain if no operand's uncertainty has a hand in it.
template <class Uncertainties>
ElementError settle(double value, ElementError e, const Uncertainties& uncertain) {
  if (std::isfinite(value)) return std::isnan(e.error) ? ElementError{kUnbounded, true} : e;
  return uncertain() ? ElementError{kUnbounded, true} : ElementError{0, false};
}

// What is not zero, by what is for certain: an infinity.
bool divides_by_zero(const ScalarRow& row, std::span<const ElementsIn> operands, int64_t i) {
  if (row.error.rule != ErrorRule::quotient || operands.size() != 2) return false;
  const ElementsIn &a = operands[0], &b = operands[1];
  return b.real(i) == 0 && b.error_at(i) == 0 && std::fabs(a.real(i)) > a.error_at(i);
}

// Whether a NaN or an infinity comes out whatever the uncertain operands are within their intervals.
bool special_is_certain(const ScalarRow& row, std::span<const ElementsIn> operands, int64_t i) {
  bool special = false, nan = false, open = false, meets_zero = false;
  for (const ElementsIn& o : operands) {
    if (o.kind != ScalarKind::real) return false;
    double v = o.real(i), e = o.error_at(i);
    if (e > 0) {
      if (!std::isfinite(v) || !std::isfinite(e)) return false;
      open = true;
      meets_zero |= std::fabs(v) <= e;
    } else if (!std::isfinite(v)) {
      special = true;
      nan |= std::isnan(v);
    }
  }
  if (!special) return !open || divides_by_zero(row, operands, i);
  if (nan) return row.nan == NanRule::propagates || !open;
  switch (row.error.rule) {
    case ErrorRule::sum:
    case ErrorRule::largest:
    case ErrorRule::lipschitz: return row.error.jump == Jump::none;
    case ErrorRule::product:
    case ErrorRule::quotient: return !meets_zero;
    default: return false;
  }
}

// A complex sum one of whose parts is no finite number, whatever its uncertain operands are: the size of the other
// part. An operand that has such a part and a finite error is as certain of it, as is one that is such a part.
std::optional<double> finite_part_of_a_sum(const ScalarRow& row, std::span<const ElementsIn> operands, int64_t i,
                                           const ScalarValue& result) {
  if (result.kind() != ScalarKind::complex || row.error.rule != ErrorRule::sum) return std::nullopt;
  for (const ElementsIn& o : operands)
    if (o.kind == ScalarKind::integer || !std::isfinite(o.error_at(i))) return std::nullopt;
  auto finite = [](double part) { return std::isfinite(part) ? std::fabs(part) : 0; };
  return std::max(finite(result.complex().real()), finite(result.complex().imag()));
}

// How much more than a place of its operands a sum of exponentials may be off by, where its terms cancel: the row says
// so of the operands' difference, which is off by `unsure` itself.
double cancellation(const ScalarRow& row, std::span<const ElementsIn> operands, int64_t i, double unsure) {
  if (operands.size() != 2 || row.error.complex_slope == nullptr || operands[0].kind != ScalarKind::complex) return 1;
  return 1 + row.error.complex_slope(operands[0].at(i).complex() - operands[1].at(i).complex(), unsure);
}

// Operand k of a call as a NaN of this sign: what the row gives.
double with_nan(const ScalarRow& row, Dtype compute, std::span<const Uncertain> given, size_t k, double sign) {
  ScalarValue at[3];
  for (size_t i = 0; i < given.size(); ++i) at[i] = given[i].value;
  at[k] = ScalarValue(std::copysign(dd::kNan, sign));
  const ScalarValue made = table_value(row, compute, {at, given.size()});
  return made.kind() == ScalarKind::integer ? static_cast<double>(made.integer()) : made.real();
}

// How far the signs of operands that are NaN move the result: which sign a NaN has is nobody's promise.
double moved_by_signs(const ScalarRow& row, Dtype compute, std::span<const Uncertain> given) {
  double moved = 0;
  for (size_t k = 0; k < given.size(); ++k)
    if (given[k].value.kind() == ScalarKind::real && std::isnan(given[k].value.real())) {
      const double apart = with_nan(row, compute, given, k, 1) - with_nan(row, compute, given, k, -1);
      if (!std::isnan(apart)) moved = std::max(moved, std::fabs(apart));
    }
  return moved;
}

// Compilers take powers of small whole exponents for products: of how many factors. Nothing if they don't.
std::optional<double> factors_of(double exponent) {
  constexpr double kMostFactors = 31;
  const double factors = std::fabs(exponent);
  if (!(factors >= 2 && factors <= kMostFactors) || exponent != std::trunc(exponent)) return std::nullopt;
  return factors;
}

// Whether what such a power of a negative exponent, of this size, is one divided by may be an infinity on the way.
bool divides_by_infinity(double exponent, double size, Dtype in) {
  return exponent < 0 && factors_of(exponent) && size * largest_finite(in) < 2;
}

// Functions of a complex number are made of steps that cancel where they are steep (near a pole): as if the operand
// were off by a last place.
// A power is the exponential of b log a, which is off by places of its own, however small the power is.
double steepness(const ScalarRow& row, Dtype result, std::span<const ElementsIn> operands, int64_t i, double size) {
  const double last = std::ldexp(1.0, 1 - info(to_real(result)).mantissa_bits);
  if (row.error.rule == ErrorRule::power && operands[0].kind == ScalarKind::complex) {
    constexpr double kPlaces = 4;  // of a logarithm and of a product; eager's come to 2.3
    const std::complex<double> by = operands[1].at(i).complex();
    // Of which complex numbers have many, and one divided by them is NaN.
    if (by.imag() == 0 && divides_by_infinity(by.real(), size, to_real(result))) return kUnbounded;
    const std::complex<double> exponent = by * std::log(operands[0].at(i).complex());
    const double error = size * std::expm1(kPlaces * last * std::abs(exponent));
    return std::isnan(error) ? 0 : error;  // of zero's logarithm
  }
  if (operands.size() != 1 || row.error.complex_slope == nullptr || operands[0].kind != ScalarKind::complex) return 0;
  const std::complex<double> z = operands[0].at(i).complex();
  const double place = std::abs(z) * last;
  const double error = row.error.complex_slope(z, place) * place;
  return std::isnan(error) ? 0 : error;  // of zero by an infinite slope
}

// What the products round beyond the place that any power may be off by.
double lost_in_products(const ScalarRow& row, Dtype compute, std::span<const Uncertain> operands, double size) {
  if (row.error.rule != ErrorRule::power || !is_floating(compute) || operands[1].error > 0) return 0;
  const ScalarValue& by = operands[1].value;
  const double exponent = by.kind() == ScalarKind::integer ? static_cast<double>(by.integer()) : by.real();
  const auto factors = factors_of(exponent);
  if (!factors) return 0;
  const Dtype in = is_reduced_float(compute) ? Dtype::f32 : compute;
  if (divides_by_infinity(exponent, size, in)) return size;
  const double roundings = *factors - 1 + (exponent < 0);
  return (roundings - 1) * std::ldexp(1.0, -info(in).mantissa_bits) * size;
}

// Of integers that doubles don't tell apart the ends of an interval are one number: what is picked of such may be as
// far off as they are.
double lost_among_integers(std::span<const Uncertain> operands, const Parts& result) {
  constexpr double kWhole = 0x1p53;
  double lost = 0;
  if (std::fabs(result.real) < kWhole) return lost;
  for (const Uncertain& u : operands)
    if (u.value.kind() == ScalarKind::integer && std::fabs(static_cast<double>(u.value.integer())) >= kWhole)
      lost = std::max(lost, u.error);
  return lost;
}

std::array<Uncertain, 3> uncertain(std::span<const ElementsIn> operands, int64_t i) {
  std::array<Uncertain, 3> given;
  for (size_t k = 0; k < operands.size(); ++k) {
    given[k] = {.value = operands[k].at(i), .error = operands[k].error_at(i), .lean = operands[k].lean_at(i)};
    if (operands[k].never_negative) given[k].least = 0;
  }
  return given;
}

// `reach_of` from a value of the reference, which an implementation in float64 made.
double reach_from(double value, const ScalarRow& row, Dtype result, std::span<const Uncertain> operands) {
  const double reach = reach_of(row, result, operands);
  if (reach == 0 || reach == kUnbounded) return reach;
  return (reach + reach_of(row, Dtype::f64, operands)) * kOwnSlack + std::fabs(value) * 0x1p-52;
}

// Any row, element by element.
void any_rule(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands, int64_t count,
              ElementsOut& out) {
  OwnError own(row, compute, result, out.rest != nullptr, out.formula);
  bool targeted = row.result == ResultRule::target;
  const bool signs = reads_signs_of_nan(row, compute);
  ElementsIn results{out.kind, out.value, nullptr, 1};
  for (int64_t i = 0; i < count; ++i) {
    const std::array<Uncertain, 3> given = uncertain(operands, i);
    bool exact = true;
    double largest_operand = 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      exact = exact && given[k].error == 0;
      largest_operand = std::max(largest_operand, magnitude_of(given[k].value) + given[k].error);
    }
    Propagated p;
    if (!exact)
      p = propagate_error(row, compute, {given.data(), operands.size()},
                          targeted ? std::optional(result) : std::nullopt);
    if (signs)
      if (const double moved = moved_by_signs(row, compute, {given.data(), operands.size()}); moved > 0)
        p = {.error = p.error + moved, .ambiguous = true};  // what else is uncertain moves either of both
    const Parts numbers = parts(results.at(i));
    if (!exact && p.error == 0 && out.kind == ScalarKind::integer)
      p.error = lost_among_integers({given.data(), operands.size()}, numbers);
    double magnitude = magnitude_of(results.at(i));
    if (numbers.finite()) magnitude = std::min(magnitude, largest_finite(Dtype::f64));  // parts may have no modulus
    double error = p.error;
    Sides sides;
    if (exact && error == 0 && out.kind == ScalarKind::real &&
        is_exact_point(row, results.real(i), operands, i, out.formula)) {
      error = 0;
    } else if (std::isfinite(magnitude)) {
      double reach = (magnitude + error);
      if (out.kind == ScalarKind::real) {
        const double lost = lost_in_products(row, compute, {given.data(), operands.size()}, reach);
        exact = exact && lost == 0;
        p.error += lost;
        if (p.ends) p.ends = Reach{p.ends->below + lost, p.ends->above + lost};
        sides =
            !exact && own.exact()
                ? own.stored(results.real(i), p.reach())
                : own.with(results.real(i), p.reach(), exact, rest_of(row, out, i, results.real(i)), largest_operand,
                           reach_from(results.real(i), row, result, {given.data(), operands.size()}));
        if (!exact) sides = {sides.low * kOwnSlack, sides.high * kOwnSlack};
        error = sides.error();
      } else {
        const double added = own.at(own.of_operands() ? std::max(reach, largest_operand) : reach);
        error = (error + added * cancellation(row, operands, i, added) + steepness(row, result, operands, i, reach)) *
                (exact ? 1 : kOwnSlack);
        if (own.overflows(std::max(std::fabs(numbers.real), std::fabs(numbers.imaginary)), error)) error = kUnbounded;
      }
      if (std::isnan(error)) error = kUnbounded;
    } else if (auto part = finite_part_of_a_sum(row, operands, i, results.at(i))) {
      const double all = p.error + own.at(*part + p.error);
      out.set(i, {all, all});
      continue;
    } else if (!exact) {
      // Certain if the rule found so: both ends of each interval are NaN too.
      bool certain = (!p.ambiguous && p.error == 0) || special_is_certain(row, operands, i);
      error = certain ? 0 : kUnbounded;
      p.ambiguous = p.ambiguous && !certain;
    }
    out.set(i, error == sides.error() ? sides : Sides{error, error});
    if (p.ambiguous || std::isinf(error)) {
      out.ambiguous[i] = 1;
      out.any_ambiguous = true;
    }
  }
}

Reach times(Reach r, double by) { return {r.below * by, r.above * by}; }

// Rules that are plain arithmetic on real operands: `brought(i)` gives what the operands' errors come to.
template <class Brought>
void plain_rule(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands, int64_t count,
                ElementsOut& out, Brought&& brought) {
  OwnError own(row, compute, result, out.rest != nullptr, out.formula);
  const auto* value = static_cast<const double*>(out.value);
  double total = 0;
  bool open = false;
  for (int64_t i = 0; i < count; ++i) {
    const Reach e = times(brought(i), kOwnSlack);
    const bool known = e.error() == 0, point = known && is_exact_point(row, value[i], operands, i, out.formula);
    const Sides sides = point ? Sides{} : own.with(value[i], e, known, rest_of(row, out, i, value[i]));
    const double all = sides.error();
    out.error[i] = all;
    out.lean_by(i, sides);
    total += all;
    open |= !(all <= std::numeric_limits<double>::max());
  }
  if (open) {  // rare: looked at one by one
    total = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (out.error[i] <= std::numeric_limits<double>::max()) {
        total += out.error[i];
        continue;
      }
      ElementError settled =
          settle(value[i], {kUnbounded, true}, [&] { return !special_is_certain(row, operands, i); });
      out.error[i] = settled.error;
      total += settled.error;
      if (settled.ambiguous) out.ambiguous[i] = 1, out.any_ambiguous = true;
    }
  }
  out.any_error = total != 0;
}

// A scale that moves only the exponent: nothing is rounded, and what may be stored for the operand may be stored,
// scaled, for the result. Not where numbers end.
bool moves_exponent(const ElementsIn& by, const ElementsOut& out) {
  int exponent = 0;
  return out.formula == Formula::given && by.step == 0 && by.error_at(0) == 0 &&
         std::fabs(std::frexp(by.real(0), &exponent)) == 0.5;
}
bool scaled(const ScalarRow& row, Dtype compute, Dtype result, const ElementsIn& operand, double scale, int64_t count,
            ElementsOut& out) {
  const double safe = std::ldexp(smallest_subnormal(result), info(result).mantissa_bits);
  const auto* value = static_cast<const double*>(out.value);
  const OwnError own(row, compute, result, out.rest != nullptr, out.formula);
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    const double e = operand.error_at(i) * scale, size = std::fabs(value[i]);
    const bool plain = size - e > safe || (operand.real(i) == 0 && e == 0);
    if (!plain || !std::isfinite(own.at(size + e))) return false;
    out.error[i] = e;
    any |= e != 0;
  }
  out.any_error = any;
  return true;
}

// A sum or a product in float64 of operands that may lie farther one way than the other: the ends of both give those of
// the result, in double-double, which holds them. False where it does not.
bool between_ends(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                  int64_t count, ElementsOut& out) {
  constexpr double kRoom = 0x1p-900;
  const OwnError own(row, compute, result, out.rest != nullptr, out.formula);
  if (!own.rounds_about() || out.rest_unsure != 0 || operands.size() != 2 || out.lean == nullptr) return false;
  const auto* value = static_cast<const double*>(out.value);
  for (int64_t i = 0; i < count; ++i) {
    if (value[i] != 0 && std::fabs(value[i]) < kRoom) return false;
    DoubleDouble ends[2][2];
    for (size_t k = 0; k < 2; ++k) {
      const ElementsIn& o = operands[k];
      const Reach reach = leaning(o.error_at(i), o.lean_at(i));
      ends[k][0] = dd::two_sum(o.real(i), -reach.below);
      ends[k][1] = dd::two_sum(o.real(i), reach.above);
    }
    double below = -kUnbounded, above = -kUnbounded;
    for (unsigned corner = 0; corner < 4; ++corner) {
      const ScalarValue at[2] = {ScalarValue(ends[0][corner & 1]), ScalarValue(ends[1][corner >> 1])};
      const DoubleDouble away = row.eval.dds({compute, result}, at).double_double() - DoubleDouble(value[i]);
      const double rest = away.lo == 0 ? 0 : std::fabs(away.hi) * 0x1p-52;
      if (!std::isfinite(away.hi)) return false;
      below = std::max(below, rest - away.hi);
      above = std::max(above, rest + away.hi);
    }
    const Sides sides = own.about(value[i], below, above);
    if (!(sides.error() <= std::numeric_limits<double>::max())) return false;
    out.set(i, sides);
  }
  return true;
}

struct Size {
  double size, error;
};
// A product of such factors: towards zero it goes less far than away from it. `value`: the product, or zero where more
// than that has a hand in the result, by `beside` at most.
Reach away_from(double value, Size a, Size b, double beside) {
  const double both = a.size * b.error + b.size * a.error, more = a.error * b.error;
  if (value == 0 || !(a.error <= a.size && b.error <= b.size)) return either_way(both + more + beside);
  const Reach outwards{both - more, both + more};
  return value > 0 ? outwards : Reach{outwards.above, outwards.below};
}

double quotient_error(double a, double ea, double b, double eb) {
  if (!(b > eb)) return kUnbounded;
  return ea / (b - eb) + (eb > 0 ? a / b * (eb / (b - eb)) : 0);  // shares alone: a product of such small ones is 0
}
}  // namespace

ScalarValue table_value(const ScalarRow& row, Dtype compute, std::span<const ScalarValue> operands,
                        std::optional<Dtype> target) {
  return evaluate(row, is_float8(compute) && !row.dtypes.has(compute) ? Dtype::f32 : compute, operands, target);
}

bool reads_signs_of_nan(const ScalarRow& row, Dtype compute) {
  if (!is_floating(compute) || row.nan == NanRule::propagates || row.arity > 2 || row.error.jump != Jump::at_zero)
    return false;
  const Uncertain ones[2] = {{ScalarValue(1.0), 0}, {ScalarValue(1.0), 0}};
  const std::span<const Uncertain> given(ones, static_cast<size_t>(row.arity));
  for (size_t k = 0; k < given.size(); ++k)
    if (std::fabs(with_nan(row, compute, given, k, 1) - with_nan(row, compute, given, k, -1)) > 0) return true;
  return false;
}

namespace {
// A number whose interval has an end on one side, rounded: where the dtype ends before that, all of it overflows, or
// either way.
Sides without_end(Interval of, double value, Dtype to, const Rounding& rounding) {
  const double end = std::isinf(of.low) ? of.high : of.low, outwards = std::isinf(of.low) ? -kUnbounded : kUnbounded;
  if (std::isfinite(end) && !std::isfinite(nearest(to, end)))
    return end * outwards > 0 ? Sides{kUnbounded, kUnbounded, outwards} : Sides{kUnbounded, kUnbounded};
  auto side = [&](double reach) {
    if (std::isinf(reach)) return kUnbounded;
    const double stored = std::copysign(std::min(std::fabs(reach), largest_finite(to)), reach);
    return std::fabs(value - stored) * kOwnSlack + rounding.at(std::fabs(stored));
  };
  return {side(of.low), side(of.high)};
}
}  // namespace

void conversion_errors(const Converted& given, int64_t count, Dtype to, Formula formula, ElementsOut& out) {
  const Rounding rounding(to, kRoundingUlps);
  const bool disc = lenz::is_complex(to);  // values are sizes, whose parts are rounded
  for (int64_t i = 0; i < count; ++i) {
    double v = given.values[i], e = given.errors ? given.errors[i] : 0;
    bool stays = e == 0 && (!std::isfinite(v) || (disc ? v == 0 : round_to(to, v) == v));
    auto spread = [&](double value, double error, double lean) {
      const Reach reach = leaning(error, lean);
      return rounding.spread(value, reach.below, reach.above, formula == Formula::given ? 0 : kOtherFormula);
    };
    auto either_way = [&](double all) { out.set(i, {all, all}); };
    if (stays)
      either_way(0);
    else if (std::isinf(v) && given.leans && given.leans[i] == v && !disc)
      out.set(i, {kUnbounded, kUnbounded, v});  // of float64: it has been kept wider, or is one
    else if (!std::isfinite(v))
      either_way(kUnbounded);
    else if (std::isinf(e) && given.leans && !disc)
      out.set(i, without_end(interval_of(v, e, given.leans[i], given.from), v, to_real(to), rounding));
    else if (const double all = e + rounding.at(std::fabs(v) + e); !disc && !(all < kUnbounded))
      out.set(i, formula == Formula::given ? spread(v, e, given.leans ? given.leans[i] : 0)
                                           : rounding.beyond(v, e + std::fabs(v) * kOtherFormula));
    else if (disc || !rounds_ends(formula, to))
      either_way(all);
    else
      out.set(i, spread(v, e, given.leans ? given.leans[i] : 0));
  }
}

void settled_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                    const Brought& brought, int64_t count, ElementsOut& out) {
  plain_rule(row, compute, result, operands, count, out,
             [&](int64_t i) { return Reach{brought.below[i], brought.above[i]}; });
}

namespace {
// propagate_error's rule for `largest`, without its generality: there are many elements.
double off_by_what_is_picked(const ScalarRow& row, const EvalContext& context, std::span<const ElementsIn> operands,
                             int64_t i, double value) {
  double worst = 0;
  for (const ElementsIn& o : operands) worst = std::max(worst, o.error_at(i));
  if (worst == 0 || worst == kUnbounded || row.monotone != Monotone::increasing) return worst;
  ScalarValue low[3], high[3];
  for (size_t k = 0; k < operands.size(); ++k) {
    const double x = operands[k].real(i), e = operands[k].error_at(i);
    low[k] = ScalarValue(operands[k].never_negative ? std::max(x - e, 0.0) : x - e);
    high[k] = ScalarValue(x + e);
  }
  const double least = row.eval.reals(context, low).real(), greatest = row.eval.reals(context, high).real();
  const double far = std::max(greatest - value, value - least);
  return far == 0 ? 0 : std::min(worst, far + 0x1p-50 * std::max(std::fabs(least), std::fabs(greatest)));
}

void errors_by_rule(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                    int64_t count, ElementsOut& out) {
  bool plain = out.kind == ScalarKind::real && is_floating(compute) && is_floating(result) &&
               !row.accuracy.of_operands && row.accuracy.reach == nullptr;
  for (const ElementsIn& o : operands) plain = plain && o.kind == ScalarKind::real;
  if (!plain || row.error.jump != Jump::none) return any_rule(row, compute, result, operands, count, out);
  if (std::ranges::any_of(operands, [](const ElementsIn& o) { return o.lean != nullptr; }) &&
      between_ends(row, compute, result, operands, count, out))
    return;
  auto by_sides = [&](auto&& brought) { plain_rule(row, compute, result, operands, count, out, brought); };
  auto run = [&](auto&& error) { by_sides([&](int64_t i) { return either_way(error(i)); }); };
  const ElementsIn &a = operands[0], &b = operands[operands.size() > 1 ? 1 : 0];
  const ElementsIn& c = operands[operands.size() - 1];
  const auto* value = static_cast<const double*>(out.value);
  switch (row.error.rule) {
    case ErrorRule::sum:
      if (operands.size() == 1) return run([&](int64_t i) { return a.error_at(i); });
      if (operands.size() == 2) return run([&](int64_t i) { return a.error_at(i) + b.error_at(i); });
      break;
    case ErrorRule::largest:
      return run([&](int64_t i) { return off_by_what_is_picked(row, {compute, result}, operands, i, value[i]); });
    case ErrorRule::lipschitz:
      if (operands.size() == 1)
        return run([&](int64_t i) { return lipschitz_error(row.error, a.real(i), a.error_at(i)); });
      break;
    case ErrorRule::product:
      if (operands.size() == 1)
        return by_sides([&](int64_t i) {
          const Size x{std::fabs(a.real(i)), a.error_at(i)};
          return away_from(value[i], x, x, 0);
        });
      if (operands.size() == 2 && moves_exponent(b, out) &&
          scaled(row, compute, result, a, std::fabs(b.real(0)), count, out))
        return;
      return by_sides([&](int64_t i) {
        const double x = std::fabs(a.real(i)), y = std::fabs(b.real(i)), ex = a.error_at(i), ey = b.error_at(i);
        const double third = operands.size() == 3 ? c.error_at(i) : 0;
        return away_from(operands.size() == 3 ? 0 : value[i], {x, ex}, {y, ey}, third);
      });
    case ErrorRule::quotient:
      if (operands.size() == 1)
        return run([&](int64_t i) {
          return a.error_at(i) == 0 ? 0 : quotient_error(1, 0, std::fabs(a.real(i)), a.error_at(i));
        });
      if (moves_exponent(b, out) && scaled(row, compute, result, a, std::fabs(1 / b.real(0)), count, out)) return;
      return run([&](int64_t i) {
        double ea = a.error_at(i), eb = b.error_at(i);
        return ea == 0 && eb == 0 ? 0 : quotient_error(std::fabs(a.real(i)), ea, std::fabs(b.real(i)), eb);
      });
    default: break;
  }
  any_rule(row, compute, result, operands, count, out);
}
}  // namespace

void elementwise_errors(const ScalarRow& row, Dtype compute, Dtype result, std::span<const ElementsIn> operands,
                        int64_t count, ElementsOut& out) {
  errors_by_rule(row, compute, result, operands, count, out);
  keep_ends(row, compute, result, operands, count, out);
  settle_decisions(row, compute, operands, count, out);
}

}  // namespace lenz::oracle
