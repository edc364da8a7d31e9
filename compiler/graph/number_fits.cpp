#include "compiler/graph/number_fits.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/graph/infer.h"
#include "compiler/graph/number_conversion.h"
#include "compiler/graph/whole_numbers.h"
#include "compiler/scalar/rounding.h"

namespace lenz {

namespace {
constexpr std::string_view kInto[] = {"result", "computed", "truncated", "element", "filled", "power"};
constexpr std::string_view kWhole = ":whole", kComputed = ":computed";  // the first refuses nothing
// To the result's dtype, once negated: of constants the row's rule asks that, for integers have more negative numbers.
constexpr std::string_view kNegated = "negated";

// Cuts off what stands before the mark.
std::string_view cut(std::string_view& rest, char mark) {
  const size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

size_t param_of(const OpDef& def, std::string_view name) {
  const int i = def.schema.find(name);
  LENZ_CHECK(i >= 0, def.schema.full_name() + ": its `fits` speaks of " + std::string(name));
  return static_cast<size_t>(i);
}
}  // namespace

bool takes_whole(const OpDef& op, size_t param) {
  for (std::string_view rest = op.fits; !rest.empty();) {
    std::string_view clause = cut(rest, ' ');
    const bool whole = clause.ends_with(kWhole) || clause.ends_with(kComputed);
    if (whole && param_of(op, cut(clause, ':')) == param) return true;
  }
  return false;
}

namespace {
bool negates(const OpDef& op) { return op.fits.ends_with(kNegated); }
}  // namespace

std::vector<NumberFit> read_fits(const OpDef& def) {
  std::vector<NumberFit> fits;
  for (std::string_view rest = def.fits; !rest.empty();) {
    std::string_view clause = cut(rest, ' '), head = cut(clause, '/');
    if (head.ends_with(kWhole)) continue;
    NumberFit fit;
    fit.param = param_of(def, cut(head, ':'));
    if (head == kNegated) head = kInto[NumberFit::result];
    const auto* into = std::ranges::find(kInto, head);
    LENZ_CHECK(into != std::end(kInto), def.schema.full_name() + ": a number fits no " + std::string(head));
    fit.into = static_cast<NumberFit::Into>(into - std::begin(kInto));
    while (!clause.empty()) {
      std::string_view number = cut(clause, '/');
      std::string_view name = cut(number, '>');
      NumberFit::Something some{param_of(def, name), 0};
      std::from_chars(number.data(), number.data() + number.size(), some.beyond);
      fit.where.push_back(some);
    }
    fits.push_back(std::move(fit));
  }
  return fits;
}

FiniteRange finite_range(Dtype dtype) {
  if (dtype == Dtype::b8) return {0, 1};
  if (is_integral(dtype, true)) {
    const double top = std::ldexp(1.0, info(dtype).is_signed ? info(dtype).bits - 1 : info(dtype).bits);
    return {info(dtype).is_signed ? -top : 0, top - 1};
  }
  const double high = largest_finite(to_real(dtype));
  return {-high, high};
}

namespace {
constexpr double kBeyondIntegers = 0x1p63;

// The numbers that a dtype but b8, which takes all, is given.
FiniteRange number_range(Dtype dtype, bool whole) {
  FiniteRange range = finite_range(dtype);
  if (dtype == Dtype::u8 && whole) range.low = -range.high;  // negative ones wrap round
  return range;
}

// c10::overflows, of a real number.
bool representable(double value, bool whole, Dtype dtype) {
  if (dtype == Dtype::b8) return true;
  if (std::isnan(value)) return is_inexact(dtype);
  if (std::isinf(value)) return is_inexact(dtype) && dtype != Dtype::f8e4m3;
  const FiniteRange range = number_range(dtype, whole);
  return value >= range.low && value <= range.high;
}
}  // namespace

bool representable(const Arg& number, Dtype dtype) {
  switch (number.kind) {
    case ArgKind::integer: return number.symbolic || representable(static_cast<double>(number.i), true, dtype);
    case ArgKind::real: return representable(number.d, false, dtype);
    case ArgKind::complex: {
      const std::complex<double> value = *number.complex_value;
      if (dtype == Dtype::b8) return true;
      if (!is_complex(dtype)) return value.imag() == 0 && representable(value.real(), false, dtype);
      return representable(value.real(), false, dtype) && representable(value.imag(), false, dtype);
    }
    default: return true;
  }
}

std::optional<Dtype> converted_to(NumberFit::Into into, Dtype result) {
  switch (into) {
    case NumberFit::result:
    case NumberFit::truncated:
    case NumberFit::filled: return result;
    case NumberFit::computed: return is_reduced_float(result) || is_float8(result) ? Dtype::f32 : result;
    case NumberFit::element: return is_reduced_float(result) || is_float8(result) ? Dtype::f64 : result;
    case NumberFit::power:
      return is_complex(result) ? std::nullopt : std::optional(result == Dtype::f32 ? Dtype::f64 : result);
  }
  return std::nullopt;
}

namespace {
// The number as it reaches the conversion.
Arg as_it_arrives(const Param& param, const Arg& number, NumberFit::Into into, Dtype result) {
  if (number.kind == ArgKind::real && into == NumberFit::truncated && is_integral(result, false))
    return Arg::of_real(std::trunc(number.d));
  if (param.type.kind == ParamKind::real && number.kind == ArgKind::integer && !number.symbolic)
    return Arg::of_real(static_cast<double>(number.i));
  return number;
}

bool has_something(Infer& in, const NumberFit::Something& what) {
  const Arg& a = in.arg(what.param);
  if (a.kind == ArgKind::int_list)
    return std::ranges::any_of(a.dim_list(), [&](Dim d) { return in.decide(gt(d, what.beyond)); });
  if (in.op().schema.params[what.param].type.kind == ParamKind::tensor)
    return in.decide(gt(numel(in.tensor(what.param).sizes()), what.beyond));
  return in.decide(gt(in.integer(in.op().schema.params[what.param].name), what.beyond));
}
}  // namespace

void require_fit(const Infer& in, std::string_view what, double number, NumberFit::Into into, Dtype result) {
  const std::optional<Dtype> dtype = converted_to(into, result);
  if (dtype && !representable(Arg::of_real(number), *dtype))
    in.raise(std::string(what) + ": a number out of the range of " + std::string(name(*dtype)));
}

namespace {
// Refuses the sizes at which a number that is computed from them is out of the dtype's range.
void require_range(Infer& in, const std::string& param, Dim number, Dtype dtype) {
  const FiniteRange range = number_range(dtype, true);
  const std::string message = "`" + param + "`: a number out of the range of " + std::string(name(dtype));
  if (range.low > -kBeyondIntegers) in.require(ge(number, static_cast<int64_t>(range.low)), message);
  if (range.high < kBeyondIntegers) in.require(le(number, static_cast<int64_t>(range.high)), message);
}

bool is_representable(Infer& in, const Arg& number, Dtype dtype) {
  if (number.kind != ArgKind::integer || !number.symbolic) return representable(number, dtype);
  if (dtype == Dtype::b8) return true;
  const FiniteRange range = number_range(dtype, true);
  const Range known = in.assumptions().known().range(number.dim());
  return (range.low <= -kBeyondIntegers || (known.low && static_cast<double>(*known.low) >= range.low)) &&
         (range.high >= kBeyondIntegers || (known.high && static_cast<double>(*known.high) <= range.high));
}
}  // namespace

void require_fitting_numbers(Infer& in) {
  if (in.op().number_fits.empty() || in.results().empty() || !in.results()[0].type->is_tensor()) return;
  if (negates(in.op())) return;
  const Type& result = *in.results()[0].type;
  for (const NumberFit& fit : in.op().number_fits) {
    const Param& param = in.op().schema.params[fit.param];
    const Arg number = as_it_arrives(param, in.arg(fit.param), fit.into, result.dtype);
    std::optional<Dtype> dtype = converted_to(fit.into, result.dtype);
    if (!dtype || is_representable(in, number, *dtype)) continue;
    if (fit.into == NumberFit::filled && in.is_one(numel(result.sizes()))) {
      dtype = converted_to(NumberFit::element, result.dtype);
      if (is_representable(in, number, *dtype)) continue;
    }
    if (!std::ranges::all_of(fit.where, [&](const NumberFit::Something& what) { return has_something(in, what); }))
      continue;
    if (number.symbolic) {
      require_range(in, param.name, number.dim(), *dtype);
    } else {
      in.raise("`" + param.name + "`: a number out of the range of " + std::string(name(*dtype)));
    }
  }
}

}  // namespace lenz
