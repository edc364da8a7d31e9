#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>

#include "oracle/bounds/flow_parts.h"
#include "oracle/ties.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// For each element of the operand, whether another one of its row may stand in its place: their intervals meet.
at::Tensor has_rival(const Planes& p, int64_t dim, bool ties_open) {
  at::Tensor v = p.value.to(at::kDouble);
  at::Tensor e = p.error.defined() ? p.error : at::zeros(v.sizes(), at::kDouble);
  auto [sorted, order] = at::sort(v, dim);
  at::Tensor width = e.gather(dim, order), open = width.isinf();
  // NaN stands above all numbers.
  at::Tensor low = nothing_where(open, sorted - width, -kInf).nan_to_num(kInf, kInf, -kInf);
  at::Tensor high = nothing_where(open, sorted + width, kInf).nan_to_num(kInf, kInf, -kInf);
  int64_t n = v.size(dim);
  at::Tensor met = at::zeros(v.sizes(), at::kBool);
  if (n > 1) {
    at::Tensor before = std::get<0>(at::cummax(high, dim)).narrow(dim, 0, n - 1);
    at::Tensor after = at::flip(std::get<0>(at::cummin(at::flip(low, {dim}), dim)), {dim}).narrow(dim, 1, n - 1);
    at::Tensor low_here = low.narrow(dim, 1, n - 1), high_here = high.narrow(dim, 0, n - 1);
    at::Tensor below = ties_open ? before >= low_here : before > low_here;
    at::Tensor above = ties_open ? after <= high_here : after < high_here;
    if (!ties_open) {  // two exact numbers that are equal are no rivals: the order among them is promised
      at::Tensor unsure_below = std::get<0>(at::cummax(width, dim)).narrow(dim, 0, n - 1) + width.narrow(dim, 1, n - 1);
      at::Tensor unsure_above =
          at::flip(std::get<0>(at::cummax(at::flip(width, {dim}), dim)), {dim}).narrow(dim, 1, n - 1) +
          width.narrow(dim, 0, n - 1);
      below = below.logical_or((before >= low_here).logical_and(unsure_below > 0));
      above = above.logical_or((after <= high_here).logical_and(unsure_above > 0));
    }
    met.narrow(dim, 1, n - 1).logical_or_(below);
    met.narrow(dim, 0, n - 1).logical_or_(above);
  }
  return at::zeros_like(met).scatter(dim, order, met);
}

}  // namespace

void flow::mark_indices(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& indices) {
  at::Tensor open;
  auto dim = dim_of(call);
  bool pool = operand.value.dim() > 0 && !dim && indices.numel() != 1;
  if (pool) {
    open = at::ones(indices.sizes(), at::kBool);
  } else {
    Planes row = operand;
    int64_t along = dim.value_or(0);
    if (!dim || row.value.dim() == 0) {
      row.value = row.value.reshape({-1});
      if (row.error.defined()) row.error = row.error.reshape({-1});
      along = 0;
    }
    at::Tensor at = !dim || operand.value.dim() == 0       ? indices.reshape({-1})
                    : indices.dim() == operand.value.dim() ? indices
                                                           : indices.unsqueeze(along);
    open = has_rival(row, along, ties_open(*call.op, call.args)).gather(along, at).reshape(indices.sizes());
  }
  if (!at::any(open).item<bool>()) return;
  at::Tensor error = at::zeros(indices.sizes(), at::kDouble).masked_fill(open, kInf);
  in.store.write(indices, error, open);
}

namespace {
// The ends of an integer dtype that a double can say.
std::pair<double, double> range_of(at::ScalarType type) {
  const Dtype d = *from_aten(type);
  if (item_size(d) == 8) return {-9e18, 9e18};
  const double values = std::ldexp(1.0, 8 * static_cast<int>(item_size(d)));
  return info(d).is_signed ? std::pair(-values / 2, values / 2 - 1) : std::pair(0.0, values - 1);
}
// The end of an integer's interval, as an integer.
at::Tensor end_of(const at::Tensor& value, const at::Tensor& error, double sign) {
  constexpr double kExact = 0x1p52;  // so far integers are added as such, of which doubles say the greatest by a place
  const auto [least, most] = range_of(value.scalar_type());
  const at::Tensor moved = value.to(at::kDouble) + sign * error;
  const at::Tensor end = (sign > 0 ? moved.ceil() : moved.floor()).clamp(least, most).to(value.scalar_type());
  if (value.scalar_type() != at::kLong) return end;
  const at::Tensor exact = value + (sign * error.clamp_max(kExact).ceil()).to(at::kLong);
  return at::where((error < kExact).logical_and(moved > least).logical_and(moved < most), exact, end);
}

// a - b
at::Tensor difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor wide = a.to(at::kDouble) - b.to(at::kDouble);
  return a.scalar_type() == at::kLong && b.scalar_type() == at::kLong
             ? at::where(at::abs(wide) < 0x1p62, (a - b).to(at::kDouble), wide)
             : wide;
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
        // A number is true on both sides of zero, and NaN is: what may be zero may be false, a NaN too that may be
        // something else.
        if (truths)
          return sign > 0 ? leaf.value.ne(0).logical_or(p.error > 0)
                          : at::abs(p.value).gt(p.error).logical_or(p.value.isnan().logical_and(p.error == 0));
        at::Tensor moved = leaf.value.to(at::kDouble) + sign * p.error;
        if (leaf.value.scalar_type() == at::kBool) return moved > 0.5;
        // What is NaN and may be otherwise may be anything.
        if (leaf.value.is_floating_point())
          return nothing_where(moved.isnan().logical_and(p.error > 0), moved, sign * kInf);
        return at::where(p.error > 0, end_of(leaf.value, p.error, sign), leaf.value);
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
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_index(results[i], i)) {
      mark_indices(in, call, operand, results[i]);
      continue;
    }
    if (certain) continue;
    at::Tensor v = results[i].to(at::kDouble), h = high[i].to(at::kDouble), l = low[i].to(at::kDouble);
    at::Tensor error = at::maximum(difference(high[i], results[i]), difference(results[i], low[i]));
    at::Tensor same = high[i]
                          .eq(results[i])
                          .logical_and(low[i].eq(results[i]))
                          .logical_or(h.isnan().logical_and(v.isnan()).logical_and(l.isnan()));
    error = nothing_where(same, error, 0);
    // Ends that a double can't say are none: beyond them integers of 64 bits go on, and wrap.
    if (results[i].scalar_type() == at::kLong) {
      const auto [least, most] = range_of(at::kLong);
      error = nothing_where(h.ge(most).logical_or(l.le(least)).logical_and(error > 0), error, kInf);
    }
    if (i < undefined.size() && undefined[i].is_floating_point())
      error = nothing_where(undefined[i].isnan().logical_and(v.isnan().logical_not()), error, kInf);
    settle(in, results[i], error, operand.ambiguous.defined() ? error != 0 : at::Tensor());
    if (above) in.store.bound_below(results[i]);
  }
  return out;
}

}  // namespace lenz::oracle
