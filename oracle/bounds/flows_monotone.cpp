#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>

#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/open_ends.h"
#include "oracle/bounds/open_indices.h"
#include "oracle/ties.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// The end of an integer's interval, as an integer.
at::Tensor whole_end_of(const at::Tensor& value, const at::Tensor& error, double sign) {
  constexpr double kExact = 0x1p52;  // so far integers are added as such, of which doubles say the greatest by a place
  const auto [least, most] = integer_range(*from_aten(value.scalar_type()));
  const at::Tensor moved = value.to(at::kDouble) + sign * error;
  const at::Tensor end = (sign > 0 ? moved.ceil() : moved.floor()).clamp(least, most).to(value.scalar_type());
  if (value.scalar_type() != at::kLong) return end;
  const at::Tensor exact = value + (sign * error.clamp_max(kExact).ceil()).to(at::kLong);
  return at::where((error < kExact).logical_and(moved > least).logical_and(moved < most), exact, end);
}

at::Tensor differs(const at::Tensor& a, const at::Tensor& b) {
  return a.ne(b).logical_and(a.eq(a).logical_or(b.eq(b)));
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
  std::vector<at::Tensor> high, low, decided_high, decided_low, undefined;
  if (!certain) {
    const bool truths = results[0].scalar_type() == at::kBool && operand.value.scalar_type() != at::kBool;
    // `decided`: as if what hangs on an open decision were as it is.
    auto shifted = [&](double sign, bool decided) {
      return run_on(in, call, call.args, [&, sign, decided](const Leaf& leaf) -> at::Tensor {
        Planes p = in.store.read(leaf.value);
        if (!p.error.defined()) return leaf.value;
        if (decided && p.ambiguous.defined()) p.error = p.error.masked_fill(p.ambiguous, 0);
        // A number is true on both sides of zero, and NaN is: what may be zero may be false, a NaN too that may be
        // something else.
        if (truths)
          return sign > 0 ? leaf.value.ne(0).logical_or(p.error > 0)
                          : at::abs(p.value).gt(p.error).logical_or(p.value.isnan().logical_and(p.error == 0));
        const at::Tensor moved = end_of(p, leaf.dtype, sign);
        if (leaf.value.scalar_type() == at::kBool) return moved > 0.5;
        // What is NaN and may be otherwise may be anything.
        if (leaf.value.is_floating_point())
          return nothing_where(moved.isnan().logical_and(p.error > 0), moved, sign * kInf);
        return at::where(p.error > 0, whole_end_of(leaf.value, p.error, sign), leaf.value);
      });
    };
    high = shifted(1, false);
    low = shifted(-1, false);
    if (operand.ambiguous.defined()) {
      decided_high = shifted(1, true);
      decided_low = shifted(-1, true);
    }
    // What may be anything may be NaN, which lies between no ends.
    bool open = false;
    auto nan_where_open = [&](const Leaf& leaf) -> at::Tensor {
      Planes p = in.store.read(leaf.value);
      if (!p.error.defined() || !leaf.value.is_floating_point()) return leaf.value;
      const at::Tensor anything = without_ends(p);
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
    at::Tensor error = at::maximum(difference(high[i], results[i]), difference(results[i], low[i]));
    at::Tensor same = high[i]
                          .eq(results[i])
                          .logical_and(low[i].eq(results[i]))
                          .logical_or(h.isnan().logical_and(v.isnan()).logical_and(l.isnan()));
    error = nothing_where(same, error, 0);
    // Ends that a double can't say are none: beyond them integers of 64 bits go on, and wrap.
    if (results[i].scalar_type() == at::kLong) {
      const auto [least, most] = integer_range(Dtype::i64);
      error = nothing_where(h.ge(most).logical_or(l.le(least)).logical_and(error > 0), error, kInf);
    }
    if (i < undefined.size() && undefined[i].is_floating_point())
      error = nothing_where(undefined[i].isnan().logical_and(v.isnan().logical_not()), error, kInf);
    at::Tensor open;  // where an end is another one for a decision that is open
    if (operand.ambiguous.defined())
      open = decided_high.size() == results.size() && decided_low.size() == results.size()
                 ? differs(high[i], decided_high[i]).logical_or(differs(low[i], decided_low[i]))
                 : error != 0;
    const bool leans = in.store.leans() && results[i].is_floating_point() && operand.value.is_floating_point();
    at::Tensor lean =
        leans ? lean_between(results[i], l, h, call.result_dtypes[std::min(i, call.result_dtypes.size() - 1)])
              : at::Tensor();
    if (lean.defined() && i < undefined.size()) lean = nothing_where(undefined[i].isnan(), lean, 0);
    settle(in, results[i], error, open, lean);
    if (above) in.store.bound_below(results[i]);
    if (whole) in.store.only_whole(results[i]);
  }
  return out;
}

}  // namespace lenz::oracle
