#include "oracle/bounds/open_ends.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>

#include "oracle/bounds/rounded.h"

namespace lenz::oracle::flow {

namespace {
// Which elements may be infinite, but lie no farther the other way than an end: above it (sign 1), or below.
at::Tensor leans_to(const Planes& planes, double sign) {
  return planes.error.isinf().logical_and(sign * planes.lean > 0);
}

bool any_leans_to(const Planes& planes, double sign) {
  return planes.error.defined() && planes.lean.defined() && at::any(leans_to(planes, sign)).item<bool>();
}
}  // namespace

at::Tensor end_of(const Planes& planes, Dtype dtype, double sign) {
  const at::Tensor value = planes.value.to(at::kDouble);
  if (!planes.error.defined()) return value;
  const at::Tensor end = value + sign * planes.error;
  if (!planes.lean.defined()) return end;
  // Of what leans the other way the shorter side; of what overflows for certain that it is no less than what does.
  const double most = -sign * overflow_threshold(dtype);
  const at::Tensor certain = sign < 0 ? value.clamp_max(most) : value.clamp_min(most);
  const at::Tensor shorter = value + sign * at::abs(planes.lean) * kOwnSlack;
  return at::where(leans_to(planes, -sign), at::where(planes.lean.isinf(), certain, shorter), end);
}

at::Tensor without_ends(const Planes& planes) {
  const at::Tensor open = planes.error.isinf();
  return planes.lean.defined() ? open.logical_and(planes.lean == 0) : open;
}

at::Tensor lean_between(const at::Tensor& value, const at::Tensor& low, const at::Tensor& high, Dtype dtype) {
  const double most = overflow_threshold(dtype), least = std::numeric_limits<double>::denorm_min();
  const at::Tensor wide = value.to(at::kDouble), nothing = at::zeros_like(wide);
  auto towards = [&](double sign, const at::Tensor& near, const at::Tensor& far) {
    const at::Tensor side = nothing_where(wide.isfinite().logical_not(), (sign * (wide - near)).clamp_min(least), 0);
    at::Tensor certain = sign * near >= most;
    if (dtype == Dtype::f64) certain = certain.logical_and(wide.isinf());  // of others it is that number
    const at::Tensor lean = sign * nothing_where(certain, side, kInf);
    return at::where((far == sign * kInf).logical_and(near.isfinite()), lean, nothing);
  };
  return towards(1, low, high) + towards(-1, high, low);
}

void keep_ends_of_sums(FlowContext& in, const Call& call, const at::Tensor& result,
                       const std::function<Outcome(const Call&)>& sum) {
  const Dtype dtype = call.result_dtypes[0];
  if (!in.store.leans() || !result.is_floating_point() || shares_operand(call, result)) return;
  Planes made = in.store.read(result);
  if (!made.error.defined() || !at::any(made.error.isinf()).item<bool>()) return;
  // Rounding is monotone: a sum in some order is no less than that of lesser terms in the same order.
  auto end = [&](double sign) -> at::Tensor {
    Call closed = call;
    bool any = false;
    for (size_t i = 0; i < call.args.size(); ++i)
      for_each_value(call.args[i], [&](ValueId v) {
        if (!call.values[v] || !call.values[v]->value.isTensor()) return;
        const Planes p = in.store.read(call.values[v]->value.toTensor());
        if (!p.value.is_floating_point() || !any_leans_to(p, sign)) return;
        any = true;
        const at::Tensor there = leans_to(p, sign);
        const at::Tensor value = at::where(there, end_of(p, call.types[v]->dtype, -sign), p.value.to(at::kDouble));
        in.store.write(value, p.error.masked_fill(there, 0), p.ambiguous, p.lean.masked_fill(there, 0));
        closed.values[v] = hold(value);
      });
    if (!any) return at::full_like(made.error, -sign * kInf);
    const Outcome least = sum(closed);
    const std::vector<at::Tensor> results = leaves(least.results);
    if (results.size() != 1) return at::full_like(made.error, -sign * kInf);
    return end_of(in.store.read(results[0]), dtype, -sign);
  };
  const at::Tensor low = end(1), high = end(-1);
  const at::Tensor up = low > -kInf, down = high < kInf;
  const at::Tensor lean = lean_between(result, low, at::full_like(high, kInf), dtype) +
                          lean_between(result, at::full_like(low, -kInf), high, dtype);
  const at::Tensor open = made.error.isinf();
  const at::Tensor infinite = open.logical_and((low == kInf).logical_or(high == -kInf)).logical_and(result.isinf());
  at::Tensor leans = made.lean.defined() ? made.lean : at::zeros_like(made.error);
  leans = at::where(open.logical_and(leans == 0).logical_and(up != down), lean, leans).masked_fill(infinite, 0);
  in.store.write(result, made.error.masked_fill(infinite, 0),
                 made.ambiguous.defined() ? made.ambiguous.logical_and(infinite.logical_not()) : made.ambiguous, leans);
}

}  // namespace lenz::oracle::flow
