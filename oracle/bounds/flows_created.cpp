#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// What a call's results depend on: of `*_like` and `new_*` not the operand that gives shape and dtype.
std::vector<RunValue> values_read(const Call& call) {
  std::vector<RunValue> read(call.values.begin(), call.values.end());
  if (!call.op->has(Trait::reads_metadata_only) || !call.args[0].is_value()) return read;
  ValueId like = call.args[0].value();
  bool elsewhere = false;
  for (size_t i = 1; i < call.args.size(); ++i)
    for_each_value(call.args[i], [&](ValueId v) { elsewhere |= v == like; });
  if (!elsewhere) read[like] = {};
  return read;
}

// The largest among a call's numbers and its operands' elements.
double largest_number(const Call& call) {
  double largest = 0;
  for (const at::Tensor& t : leaves(call.values))
    if (t.numel() > 0) largest = std::max(largest, magnitude(t).max().item<double>());
  for (const Arg& a : call.args) {
    if (const auto number = number_of(a)) largest = std::max(largest, std::fabs(*number));
    if (a.kind == ArgKind::complex) largest = std::max(largest, std::abs(*a.complex_value));
  }
  return largest;
}

// Whether what numbers are spaced by, the difference of both ends, may exceed the dtype where none of them does; of
// complex powers the exponent times the base's logarithm.
bool steps_may_overflow(const Call& call, Dtype dtype) {
  const Dtype real = to_real(dtype);
  const double logarithm = std::log(largest_finite(real)) - std::log(smallest_subnormal(real)) + 4;
  const double times = lenz::is_complex(dtype) && call.op->schema.find("base") >= 0 ? logarithm : 2;
  const double largest = largest_number(call);
  return std::isfinite(largest) && largest > largest_finite(real) / times;
}
// What the call says of this parameter, a number or a tensor's only element; nothing of what is complex or hangs on
// sizes.
std::optional<double> said(const Call& call, const char* name) {
  const int at = call.op->schema.find(name);
  if (at < 0) return std::nullopt;
  const Arg& a = call.args[static_cast<size_t>(at)];
  if (const auto number = number_of(a)) return number;
  if (!a.is_value() || !call.values[a.value()] || !call.values[a.value()]->value.isTensor()) return std::nullopt;
  const at::Tensor& t = call.values[a.value()]->value.toTensor();
  if (t.numel() != 1 || t.is_complex()) return std::nullopt;
  return t.item<double>();
}

// Which integer stands for a number that none of the dtype's comes near nobody promises: of powers, few of which fit.
void open_beyond_integers(FlowContext& in, const Call& call, Dtype dtype, const Outcome& made) {
  const int to = call.op->schema.find("dtype");
  if (call.op->schema.find("steps") < 0 || to < 0 || dtype == Dtype::b8) return;
  std::vector<Arg> args = call.args;
  std::vector<RunValue> ends = call.values;  // of the dtype themselves
  for (RunValue& end : ends)
    if (end && end->value.isTensor()) end = hold(end->value.toTensor().to(to_aten(dtype)));
  for (const char* name : {"start", "end"})
    if (const int at = call.op->schema.find(name); at >= 0 && args[static_cast<size_t>(at)].kind == ArgKind::real)
      args[static_cast<size_t>(at)].d = std::trunc(args[static_cast<size_t>(at)].d);
  args[static_cast<size_t>(to)] = Arg::of_dtype(Dtype::f64);
  const Outcome numbers = call.run_widened(in.boxed, args, ends);
  if (numbers.raised) return;
  const auto [least, most] = integer_range(dtype);
  const at::Tensor real = numbers.results[0]->value.toTensor(), value = made.results[0]->value.toTensor();
  // Exponents eager takes from each other as integers, of which the difference may be none.
  const std::optional<double> start = said(call, "start"), end = said(call, "end");
  const bool by_powers = call.op->schema.find("base") >= 0;
  if (by_powers && !(start && end && std::fabs(*end - *start) <= most)) return mark_unknown(in, made.results);
  const at::Tensor open = (real > least - 1).logical_and(real < most + 1).logical_not();
  if (at::any(open).item<bool>()) in.store.write(value, nothing_where(open, at::zeros_like(real), kInf), open);
}

// How far from a number it may be stored: rounded once to the dtype, or to f32 before that, as libtorch converts.
double off_by_storing(Dtype d, double x) {
  const double by_f32 = info(d).mantissa_bits < info(Dtype::f32).mantissa_bits ? nearest(Dtype::f32, x) : x;
  return std::max(std::fabs(nearest(d, x) - x), std::fabs(nearest(d, by_f32) - x));
}

// What powers are off by, of their own size, because the dtype does not hold their base b: |s| |ln(b + db) - ln b| is
// no more than |s| |db| / (|b| - |db|) for each exponent s, which lie between both ends.
double off_by_base(const Call& call, Dtype d) {
  const double base = std::fabs(said(call, "base").value_or(1)), off = off_by_storing(d, base);
  const double most = std::max(std::fabs(said(call, "start").value_or(0)), std::fabs(said(call, "end").value_or(0)));
  if (off == 0 || most == 0) return 0;
  return off < base ? std::expm1(most * off / (base - off)) : kInf;
}

// What the first element may be off by; nothing where that is not known better than of the others.
//
// It is start + 0 * step in every way to compute it, multiples of the spacing counted from the start, in turns, or as
// weights of both ends. A finite number times 0 is a zero, and start plus a zero is start, in any format that start is
// stored in: what is left is the one rounding to the dtype. Not of a start of -0, which a zero of the other sign makes
// +0; nor of integers that float64 does not hold.
//
// Of powers that is the exponent. With ds and db what storing exponent s and base b takes them off by,
// |(s + ds) ln(b + db) - s ln b| <= |ds| |ln b| + (|s| + |ds|) |db| / (b - |db|) = delta, and the power is off by
// e^delta - 1 of itself at most, and by what the row allows of it: of narrow floats in f32, whose ends are then
// rounded, for rounding is monotone.
std::optional<double> off_by_at_first(const Call& call, Dtype d, double first) {
  constexpr double kWhole = 0x1p53, kPlaces = 4, kReference = 1;  // Accuracy::ulp4; float64's own
  if (is_float8(d) || !std::isfinite(first)) return std::nullopt;
  const bool powers = call.op->schema.find("base") >= 0;
  const std::optional<double> start = call.op->schema.find("start") < 0 ? 0.0 : said(call, "start");
  if (!start || !(std::fabs(*start) <= kWhole)) return std::nullopt;
  const double off = off_by_storing(d, *start);
  if (!powers)
    return first == *start && !(first == 0 && std::signbit(*start)) && std::isfinite(off) ? std::optional(off)
                                                                                          : std::nullopt;
  const std::optional<double> base = said(call, "base");
  if (!base || !(*base > 0) || !(first > 0)) return std::nullopt;
  const double off_base = off_by_storing(d, *base);
  const double delta = off * std::fabs(std::log(*base)) + (std::fabs(*start) + off) * off_base / (*base - off_base);
  const bool narrow = is_reduced_float(d);
  const double most = first * std::exp(delta);
  const Dtype computed = narrow ? Dtype::f32 : d;
  const double places = (kPlaces + kReference) * last_place(computed, most);
  const double wide = (most - first) * (1 + 0x1p-40) + places;
  if (!(first + wide <= largest_finite(computed)) || !(off_base < *base)) return std::nullopt;
  if (!narrow) return wide;
  return std::max({wide, nearest(d, first + wide) - first, first - nearest(d, first - wide)});
}
}  // namespace

Outcome flow_created(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  if (any_error(in, values_read(call))) {
    mark_unknown(in, out.results);
    return out;
  }
  Dtype d = call.result_dtypes.empty() ? Dtype::i64 : call.result_dtypes[0];
  if (!is_inexact(d)) {
    open_beyond_integers(in, call, d, out);
    return out;
  }
  at::Tensor value = out.results[0]->value.toTensor();
  at::Tensor size = in_order(value.is_complex() ? at::abs(value) : value);
  at::Tensor error = at::empty(size.sizes(), at::kDouble);
  ElementsOut rounded{.error = error.mutable_data_ptr<double>()};
  conversion_errors({size.const_data_ptr<double>()}, size.numel(), d, in.formula, rounded);
  const bool any = rounded.any_error;
  bool fill = !call.op->fills.empty() || call.op->schema.find("fill_value") >= 0 || value.dim() == 0;
  if (fill && !any) return out;
  if (value.numel() == 0) return out;
  // Beyond those of which the dtype holds the next ones, too, any number is whole.
  const double most_whole = std::ldexp(1.0, info(to_real(d)).mantissa_bits);
  const bool whole = !fill && !any && !value.is_complex() && size.equal(size.round()) &&
                     at::abs(size).max().item<double>() <= most_whole;
  const bool by_count = call.op->schema.find("steps") >= 0;  // whose spacing is computed, whole or not
  if (!fill && (by_count || !whole) && steps_may_overflow(call, d)) {
    mark_unknown(in, out.results);
    return out;
  }
  if (whole) return out;
  if (!fill) {  // start + i * step, or a power of that
    // The start, the spacing, which is a quotient where they are counted, and its multiples are each off by half a
    // place of the greatest. Where these are exponents, that much of its own size is what a power is off by.
    const double roundings = by_count ? 6 : 3;
    const at::Tensor magnitude = at::abs(size);
    if (call.op->schema.find("base") < 0) {
      error = error + roundings * half_place(magnitude.max(), to_real(d));
    } else {
      const at::Tensor exponents = at::log(magnitude.clamp_min(1e-300)).abs();
      error = error + magnitude * (1 + exponents.max()) * std::ldexp(roundings, -info(to_real(d)).mantissa_bits);
      error = error + magnitude * off_by_base(call, to_real(d));
    }
    // A spacing below the normal numbers is rounded by half the least one, for each step from the nearer end.
    if (by_count) error = error + smallest_subnormal(to_real(d)) * (static_cast<double>(value.numel()) / 2 + 1);
    error = nothing_where(error.isnan().logical_and(value.isfinite()), error, kInf);  // beside what is not finite
    // An angle is off by places of the numbers that it is computed from.
    if (value.is_complex()) error = error * (1 + largest_number(call));
    // Of an infinite step, times 0 too: which parts are NaN hangs on how complex numbers are multiplied.
    if (value.is_complex()) error = nothing_where(error.isfinite().logical_not(), error, kInf);
  }
  error = error.contiguous();
  if (!fill && !value.is_complex() && in.formula == Formula::given) {
    double& at_first = *error.mutable_data_ptr<double>();
    if (const auto off = off_by_at_first(call, d, *size.const_data_ptr<double>())) at_first = std::min(at_first, *off);
  }
  in.store.write(value, error, {});
  return out;
}

}  // namespace lenz::oracle
