#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "compiler/scalar/rounding.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/flow_parts.h"

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
    if (a.kind == ArgKind::real) largest = std::max(largest, std::fabs(a.d));
    if (a.kind == ArgKind::integer && !a.symbolic) largest = std::max(largest, std::fabs(static_cast<double>(a.i)));
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
  const at::Tensor open = (real > least - 1).logical_and(real < most + 1).logical_not();
  if (at::any(open).item<bool>()) in.store.write(value, nothing_where(open, at::zeros_like(real), kInf), open);
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
  const bool whole = !fill && !any && !value.is_complex() && size.equal(size.round());
  const bool by_count = call.op->schema.find("steps") >= 0;  // whose spacing is computed, whole or not
  if (!fill && (by_count || !whole) && steps_may_overflow(call, d)) {
    mark_unknown(in, out.results);
    return out;
  }
  if (whole) return out;
  if (!fill) {  // start + i * step, or a power of that
    // The start, the spacing, which is a quotient where they are counted, and its multiples are each off by half a
    // place of the greatest. Where these are exponents, that much of its own size is what a power is off by.
    const double roundings = by_count ? 6 : 4;
    const at::Tensor magnitude = at::abs(size);
    if (call.op->schema.find("base") < 0) {
      error = error + roundings * half_place(magnitude.max(), to_real(d));
    } else {
      const at::Tensor exponents = at::log(magnitude.clamp_min(1e-300)).abs();
      error = error + magnitude * (1 + exponents.max()) * std::ldexp(roundings, -info(to_real(d)).mantissa_bits);
    }
    // A spacing below the normal numbers is rounded by half the least one, for each step from the nearer end.
    if (by_count) error = error + smallest_subnormal(to_real(d)) * (static_cast<double>(value.numel()) / 2 + 1);
    error = nothing_where(error.isnan().logical_and(value.isfinite()), error, kInf);  // beside what is not finite
    // An angle is off by places of the numbers that it is computed from.
    if (value.is_complex()) error = error * (1 + largest_number(call));
    // Of an infinite step, times 0 too: which parts are NaN hangs on how complex numbers are multiplied.
    if (value.is_complex()) error = nothing_where(error.isfinite().logical_not(), error, kInf);
  }
  in.store.write(value, error, {});
  return out;
}

}  // namespace lenz::oracle
