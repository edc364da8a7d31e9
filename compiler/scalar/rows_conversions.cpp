// Conversions between dtypes, by value and by bits.
#include <bit>
#include <cmath>

#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/table.h"

namespace lenz::scalar_rows {

namespace {

// Dtypes of 16 bits and fewer are reached through float, as eager reaches them: what lies near a tie rounds twice.
double real_to_float(Dtype target, double value) {
  if (target == Dtype::f64 || target == Dtype::f32) return round_to(target, value);
  return round_to(target, round_to(Dtype::f32, value));
}

double integer_to_float(Dtype target, int64_t value) {
  if (target == Dtype::f64) return static_cast<double>(value);
  return round_to(target, static_cast<double>(static_cast<float>(value)));
}

bool fits_int64(double truncated) { return truncated >= -0x1p63 && truncated < 0x1p63; }

// What the machine's conversion instruction answers: the least integer for NaN and for what int64 can't hold. Then it
// wraps into the target.
int64_t real_to_integer(Dtype target, double value) {
  if (target == Dtype::b8) return value != 0 ? 1 : 0;
  double truncated = std::trunc(value);
  return wrap_to(target, fits_int64(truncated) ? static_cast<int64_t>(truncated) : INT64_MIN);
}

// To another format every machine makes a NaN quiet; to its own nothing is done.
double quiet(const EvalContext& c, double value) {
  if (!std::isnan(value) || to_real(c.compute) == to_real(c.result)) return value;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) | uint64_t{1} << 51);
}

ScalarValue convert_real(const EvalContext& c, double value) {
  value = quiet(c, value);
  if (is_complex(c.result)) return ScalarValue(std::complex<double>(real_to_float(to_real(c.result), value), 0.0));
  if (is_floating(c.result)) return ScalarValue(real_to_float(c.result, value));
  return ScalarValue(real_to_integer(c.result, value));
}

ScalarValue convert_integer(const EvalContext& c, int64_t value) {
  if (is_integral(c.result, true)) return ScalarValue(wrap_to(c.result, value));
  if (is_complex(c.result)) return ScalarValue(std::complex<double>(integer_to_float(to_real(c.result), value), 0.0));
  return ScalarValue(integer_to_float(c.result, value));
}

ScalarValue convert_complex(const EvalContext& c, std::complex<double> value) {
  if (c.result == Dtype::b8) return ScalarValue(int64_t{value != std::complex<double>(0, 0) ? 1 : 0});
  if (is_complex(c.result))
    return ScalarValue(round_to(c.result, std::complex<double>(quiet(c, value.real()), quiet(c, value.imag()))));
  return convert_real(c, value.real());
}

ScalarValue convert_dd(const EvalContext& c, DoubleDouble value) {
  if (is_floating(c.result)) {
    if (c.result == Dtype::f64) return ScalarValue(value);
    return ScalarValue(DoubleDouble(real_to_float(c.result, round_to(Dtype::f32, value))));
  }
  DoubleDouble whole = dd::trunc(value);  // the low part can pull the high one across an integer
  return convert_real(c, is_integral(c.result, false) ? static_cast<double>(whole) : value.hi);
}

bool conversion_defined(const EvalContext& c, const ScalarValue* v) {
  if (!is_integral(c.result, false) || v[0].kind() == ScalarKind::integer) return true;
  double value = v[0].kind() == ScalarKind::complex ? v[0].complex().real() : v[0].real();
  if (std::isnan(value)) return false;
  const double bits = info(c.result).is_signed ? info(c.result).bits - 1 : info(c.result).bits;
  const double low = info(c.result).is_signed ? -std::exp2(bits) : 0.0;
  double truncated = std::trunc(value);
  return truncated >= low && truncated < std::exp2(bits);
}

ScalarValue reinterpret(const EvalContext& c, const ScalarValue* v) {
  LENZ_CHECK(info(c.compute).bits == info(c.result).bits, "bitcast between dtypes of different widths");
  return from_bits(c.result, to_bits(c.compute, v[0]));
}

}  // namespace

void add_conversions(Table& t) {
  t.push_back(row("to_dtype", 1, dtypes::all,
                  {integers<convert_integer>, reals<convert_real>, dds<convert_dd>, complexes<convert_complex>},
                  "a.to(target)",
                  "the value in the target dtype, rounded to it: integers wrap; float to integer truncates and is "
                  "defined only where the result fits; anything but zero, NaN too, is true; complex to real drops the "
                  "imaginary part; floats of 16 and 8 bits round by way of float, f8e4m3 gives NaN beyond its range")
                  .giving(ResultRule::target)
                  .with(traits::keeps_above_zero)
                  .passes(ErrorRule::conversion)
                  .bounded_for_reals_only()
                  .on_nan(NanRule::selects)
                  .rising()
                  .defined_where(conversion_defined));
  t.push_back(row("bitcast", 1, dtypes::all, {reinterpret, reinterpret, nullptr, reinterpret}, "a.view(target)",
                  "the same bits as another dtype of the same width; no evaluation in double-double")
                  .giving(ResultRule::target)
                  .passes(ErrorRule::unbounded)
                  .on_nan(NanRule::selects));
}

}  // namespace lenz::scalar_rows
