#include "oracle/bounds/centred.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "compiler/graph/alias.h"
#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

using namespace flow;

namespace {
constexpr double kLost = 0x1p-51;  // of a number, where it is moved; of an error, where a lean is taken from it

// Of float64 no middle is a number: who asks there for leans reads them.
bool is_float64(const Type& type) {
  if (type.kind == TypeKind::list) return !type.elements().empty() && is_float64(*type.elements()[0]);
  return type.is_tensor() && type.dtype == Dtype::f64;
}

bool leans(FlowContext& in, const Call& call) {
  for (size_t v = 0; v < call.values.size(); ++v)
    if (!is_float64(*call.types[v]) && std::ranges::any_of(leaves({&call.values[v], 1}), [&](const at::Tensor& t) {
          return in.store.read(t).lean.defined();
        }))
      return true;
  return false;
}

// Half the lean of what leans by little of its value, or has one sign wherever it lies: what has another sign, or is
// zero, has other rules.
at::Tensor shift_of(const Planes& p) {
  const at::Tensor small = at::abs(p.lean) <= at::abs(p.value) * 0.125;
  const at::Tensor low = p.value - p.error + p.lean.clamp_min(0), high = p.value + p.error + p.lean.clamp_max(0);
  const at::Tensor lost = p.error * kLost;
  const at::Tensor moves = small.logical_or(low > lost).logical_or(high < -lost).logical_and(at::isfinite(p.error));
  return nothing_where(moves.logical_not(), p.lean * 0.5, 0);
}

// The middle of the intervals, with its errors.
at::Tensor middle_of(FlowContext& in, const at::Tensor& t) {
  Planes p = in.store.read(t);
  if (!p.lean.defined()) return t;
  const at::Tensor shift = shift_of(p);
  p.value = at::where(shift == 0, t, t + shift).contiguous();  // -0 + 0 has another sign
  p.error = (p.error - at::abs(shift)).clamp_min(0) +
            nothing_where(shift == 0, (at::abs(t) + at::abs(shift) + p.error) * kLost, 0);
  const at::Tensor without_end = at::isinf(p.error).logical_and(p.lean != 0);
  p.lean = at::any(without_end).item<bool>() ? nothing_where(without_end.logical_not(), p.lean, 0) : at::Tensor();
  in.store.carry(p, p.value);
  return p.value;
}

RunValue about_middles(FlowContext& in, const RunValue& v) {
  if (!v) return v;
  if (v->value.isTensor() && v->value.toTensor().defined()) return hold(middle_of(in, v->value.toTensor()));
  if (!v->value.isTensorList()) return v;
  std::vector<RunValue> elements;
  for (const at::Tensor& t : v->value.toTensorVector()) elements.push_back(hold(middle_of(in, t)));
  return list_of(elements);
}

bool gives_floats_alone(const Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    if (writes_operand(*call.op, call.args, i)) return false;
  return std::ranges::all_of(call.result_dtypes, [](Dtype d) { return is_floating(d); });
}

// The lean of what is infinitely off another number, seen from one that lies so far below that.
at::Tensor without_end(const at::Tensor& error, const at::Tensor& lean, const at::Tensor& away,
                       const at::Tensor& moved) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  const at::Tensor lost = moved + nothing_where(away == 0, at::abs(lean) * kLost, 0);
  const at::Tensor below = (lean - away + lost).clamp_min(kLeast), above = (away - lean + lost).clamp_min(kLeast);
  const at::Tensor seen = at::where(at::isinf(lean), lean, at::where(lean > 0, below, -above));
  return nothing_where(at::isinf(error).logical_and(lean != 0).logical_not(), seen, 0);
}

// What is known of a number from what is known of another: how far that lies from it, and its errors.
Planes seen_from(const at::Tensor& value, const Planes& middle) {
  Planes p = middle;
  p.value = value;
  if (!middle.error.defined() && middle.value.equal(value)) return p;  // nothing that leans has a hand in it
  const at::Tensor same = (middle.value == value).logical_or(middle.value.isnan().logical_and(value.isnan()));
  const at::Tensor away = nothing_where(same, middle.value - value, 0);
  const at::Tensor error = middle.error.defined() ? middle.error : at::zeros_like(away);
  const at::Tensor lean = middle.lean.defined() ? middle.lean : at::zeros_like(away);
  const at::Tensor moved = nothing_where(same, (at::abs(middle.value) + at::abs(value)) * kLost, 0);
  const at::Tensor lost =
      moved + nothing_where(lean.abs() == error, error * kLost, 0);  // of which one side is nothing at all
  const at::Tensor high = (away + error + lean.clamp_max(0) + lost).clamp_min(0);
  const at::Tensor low = (error - lean.clamp_min(0) - away + lost).clamp_min(0);
  p.error = at::maximum(high, low);
  const at::Tensor open = at::isfinite(p.error).logical_not();
  p.error = nothing_where(open, p.error, kInf);
  // As Sides::lean says: all of the error only where the other side is nothing.
  const at::Tensor by = high - low, vanishes = (at::abs(by) == p.error).logical_and(at::minimum(high, low) != 0);
  const at::Tensor leaning = at::where(vanishes, by * (1 - 0x1p-52), by);
  p.lean = at::where(open, without_end(error, lean, away, moved), leaning);
  if (!at::any(p.error != 0).item<bool>()) p.error = p.lean = p.ambiguous = at::Tensor();
  if (at::any(open).item<bool>()) p.ambiguous = p.ambiguous.defined() ? p.ambiguous.logical_or(open) : open;
  return p;
}
}  // namespace

Outcome flow_about_middles(FlowContext& in, const Call& call, const Flow& flow) {
  if (!in.errors || !in.store.leans() || !gives_floats_alone(call) || !leans(in, call)) return flow(in, call);
  FlowContext values = in;
  values.errors = false;
  Outcome out = flow(values, call);
  const std::vector<at::Tensor> results = leaves(out.results);
  // A truth that is written to a float is one here still.
  const auto unfit = [&](const at::Tensor& r) { return !r.is_floating_point() || shares_operand(call, r); };
  if (out.raised || std::ranges::any_of(results, unfit)) return flow(in, call);
  Call centred = call;
  for (size_t v = 0; v < centred.values.size(); ++v)
    if (!is_float64(*call.types[v])) centred.values[v] = about_middles(in, centred.values[v]);
  const Outcome there = flow(in, centred);
  const std::vector<at::Tensor> middles = leaves(there.results);
  if (there.raised || middles.size() != results.size()) return flow(in, call);
  for (size_t i = 0; i < results.size(); ++i)
    in.store.carry(seen_from(results[i], in.store.read(middles[i])), results[i]);
  return out;
}

}  // namespace lenz::oracle
