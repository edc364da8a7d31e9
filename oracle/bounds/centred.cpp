#include "oracle/bounds/centred.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/ops/looks_at_memory.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/middles.h"
#include "oracle/bounds/plane_numbers.h"

namespace lenz::oracle {

using namespace flow;

namespace {
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

// The middle of the intervals, with its errors.
at::Tensor middle_of(FlowContext& in, const at::Tensor& t) {
  Planes p = in.store.read(t);
  if (!p.lean.defined()) return t;
  const Numbers values(t, t), errors(p.error, t), leans(p.lean, t);
  const at::Tensor value = plane_like(t), error = plane_like(t), lean = plane_like(t);
  double *v = numbers_of(value), *e = numbers_of(error), *l = numbers_of(lean);
  bool leaning = false;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const Interval middle = about_middle({values[i], errors[i], leans[i]});
    v[i] = middle.value, e[i] = middle.error, l[i] = middle.lean;
    leaning |= middle.lean != 0;
  }
  p.value = value, p.error = error;
  p.lean = leaning ? lean : at::Tensor();
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

// What is known of numbers from what is known of others: how far those lie from them, and their errors. What has one
// end stands where the others do, which may be there; and what is a float8 is one of its numbers.
Planes seen_from(const at::Tensor& value, const Planes& middle, Dtype dtype) {
  if (is_float8(dtype)) {
    value.copy_(middle.value);
    return middle;
  }
  Planes p = middle;
  p.value = value;
  if (!middle.error.defined() && middle.value.equal(value)) return p;  // nothing that leans has a hand in it
  const Numbers values(value, value), middles(middle.value, value), errors(middle.error, value),
      leans(middle.lean, value);
  const at::Tensor error = plane_like(value), lean = plane_like(value), open = at::empty(value.sizes(), at::kBool);
  double *e = numbers_of(error), *l = numbers_of(lean);
  auto* o = open.mutable_data_ptr<bool>();
  at::Tensor moved;
  bool off = false, any_open = false;
  for (int64_t i = 0; i < value.numel(); ++i) {
    const Interval there{middles[i], errors[i], leans[i]};
    const bool endless = std::isinf(there.error) && there.lean != 0 && std::isfinite(there.value);
    if (endless) {
      if (!moved.defined()) moved = value.to(at::kDouble, false, true).contiguous();
      numbers_of(moved)[i] = there.value;
    }
    const Interval seen = endless ? there : seen_at(values[i], there);
    e[i] = seen.error, l[i] = seen.lean, o[i] = seen.error == kInf;
    off |= seen.error != 0;
    any_open |= seen.error == kInf;
  }
  if (moved.defined()) value.copy_(moved);
  p.error = off ? error : at::Tensor();
  p.lean = off ? lean : at::Tensor();
  if (!off) p.ambiguous = at::Tensor();
  if (any_open) p.ambiguous = p.ambiguous.defined() ? p.ambiguous.logical_or(open) : open;
  return p;
}
}  // namespace

Outcome flow_about_middles(FlowContext& in, const Call& call, const Flow& flow) {
  if (!in.errors || !in.store.leans() || !gives_floats_alone(call) || !leans(in, call)) return flow(in, call);
  if (looks_at_memory(*call.op)) return flow(in, call);  // which middles don't share with what they are the middles of
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
  const size_t last = call.result_dtypes.size() - 1;
  for (size_t i = 0; i < results.size(); ++i)
    in.store.carry(seen_from(results[i], in.store.read(middles[i]), call.result_dtypes[std::min(i, last)]), results[i]);
  return out;
}

}  // namespace lenz::oracle
