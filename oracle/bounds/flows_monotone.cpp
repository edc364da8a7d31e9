#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>

#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/open_indices.h"
#include "oracle/ties.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// The ends of an integer dtype that a double can say.
std::pair<double, double> range_of(at::ScalarType type) {
  const Dtype d = *from_aten(type);
  if (item_size(d) == 8) return {-9e18, 9e18};
  const double values = std::ldexp(1.0, 8 * static_cast<int>(item_size(d)));
  return info(d).is_signed ? std::pair(-values / 2, values / 2 - 1) : std::pair(0.0, values - 1);
}
}  // namespace

Outcome flow_monotone(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Planes operand = in.store.read(leaves(call.values)[0]);
  bool certain = !any_error(in, call.values);
  auto results = leaves(out.results);
  if (certain && !ties_open(*call.op, call.args)) return out;
  bool integral = !operand.value.is_floating_point();
  auto is_index = [&](const at::Tensor& t, size_t i) {
    return t.scalar_type() == at::kLong && (!integral || i > 0 || call.op->flow.extreme_index);
  };
  std::vector<at::Tensor> high, low, undefined;
  if (!certain) {
    const bool truths = results[0].scalar_type() == at::kBool && operand.value.scalar_type() != at::kBool;
    auto shifted = [&](double sign) {
      return run_on(in, call, call.args, [&](const Leaf& leaf) -> at::Tensor {
        Planes p = in.store.read(leaf.value);
        if (!p.error.defined()) return leaf.value;
        // A number is true on both sides of zero: what may be zero may be false.
        if (truths)
          return sign > 0 ? leaf.value.ne(0).logical_or(p.error > 0) : at::abs(p.value).le(p.error).logical_not();
        at::Tensor moved = leaf.value.to(at::kDouble) + sign * p.error;
        if (leaf.value.scalar_type() == at::kBool) return moved > 0.5;
        // What is NaN and may be otherwise may be anything.
        if (leaf.value.is_floating_point())
          return nothing_where(moved.isnan().logical_and(p.error > 0), moved, sign * kInf);
        const auto [least, most] = range_of(leaf.value.scalar_type());
        return (sign > 0 ? moved.ceil() : moved.floor()).clamp(least, most).to(leaf.value.scalar_type());
      });
    };
    high = shifted(1);
    low = shifted(-1);
    // What may be anything may be NaN, which lies between no ends.
    bool open = false;
    auto nan_where_open = [&](const Leaf& leaf) -> at::Tensor {
      Planes p = in.store.read(leaf.value);
      if (!p.error.defined() || !leaf.value.is_floating_point()) return leaf.value;
      const at::Tensor anything = p.error.isinf();
      open = open || anything.any().item<bool>();
      return leaf.value.to(at::kDouble).masked_fill(anything, std::numeric_limits<double>::quiet_NaN());
    };
    undefined = run_on(in, call, call.args, nan_where_open);
    if (!open) undefined.clear();
    if (high.size() != results.size() || low.size() != results.size()) {
      in.unbounded.insert(call.op->full_name);
      mark_unknown(in, out.results);
      return out;
    }
  }
  const bool above = !certain && operands_above_zero(in, call);  // of which it picks
  const bool whole = !certain && operands_whole(in, call);
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_index(results[i], i)) {
      mark_indices(in, call, operand, results[i], certain ? IndicesAtEnds{} : IndicesAtEnds{low[i], high[i]});
      continue;
    }
    if (certain) continue;
    at::Tensor v = results[i].to(at::kDouble), h = high[i].to(at::kDouble), l = low[i].to(at::kDouble);
    at::Tensor error = at::maximum(h - v, v - l);
    at::Tensor same = h.eq(v).logical_and(l.eq(v)).logical_or(h.isnan().logical_and(v.isnan()).logical_and(l.isnan()));
    error = nothing_where(same, error, 0);
    if (i < undefined.size() && undefined[i].is_floating_point())
      error = nothing_where(undefined[i].isnan().logical_and(v.isnan().logical_not()), error, kInf);
    settle(in, results[i], error, operand.ambiguous.defined() ? error != 0 : at::Tensor());
    if (above) in.store.bound_below(results[i]);
    if (whole) in.store.only_whole(results[i]);
  }
  return out;
}

}  // namespace lenz::oracle
