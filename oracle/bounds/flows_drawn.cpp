// What comes from outside a graph: memory as it was, bits of another dtype, random draws.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "compiler/graph/alias.h"
#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

using namespace flow;

Outcome flow_unwritten(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (!out.raised && in.errors) mark_unknown(in, out.results);
  return out;
}

namespace {
// The whole storage in another dtype, seen as the tensor sees it.
at::Tensor with_storage_in(const at::Tensor& t, at::ScalarType type) {
  int64_t count = static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
  at::Tensor all = t.resolve_conj().as_strided({count}, {1}, 0).to(type, false, true);
  return all.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

std::vector<RunValue> narrowed(const Call& call) {
  std::vector<RunValue> narrow(call.values.size());
  for (size_t v = 0; v < narrow.size(); ++v)
    narrow[v] = replaced(call.values[v], *call.types[v], 0,
                         [](const Leaf& leaf) { return with_storage_in(leaf.value, to_aten(leaf.dtype)); });
  return narrow;
}
}  // namespace

Outcome flow_bits(FlowContext& in, const Call& call) {
  std::vector<RunValue> narrow = narrowed(call);
  Outcome out = call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  for (RunValue& r : out.results) {
    at::Tensor t = r->value.toTensor();
    r = hold(with_storage_in(t, to_aten(widened(*from_aten(t.scalar_type())))));
  }
  bool nan = false;  // whose other bits a wider float does not keep
  for (const at::Tensor& t : leaves(narrow))
    nan |= (t.is_floating_point() || t.is_complex()) && t.isnan().any().item<bool>();
  if (in.errors && (nan || any_error(in, call.values))) mark_unknown(in, out.results);
  return out;
}

Outcome flow_random(FlowContext& in, const Call& call) {
  std::vector<RunValue> narrow = narrowed(call);
  bool unknown = in.errors && any_error(in, call.values), computes = false;
  for (const Type* t : call.types) computes |= t->is_tensor() && is_inexact(t->dtype);
  computes &= !call.op->has(Trait::reads_metadata_only);
  Outcome out = call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  auto settle_drawn = [&](const at::Tensor& wide, Dtype native) {
    at::Tensor error;
    if (computes && is_inexact(native)) error = magnitude(wide) * (4 * unit_of(to_real(native)));
    if (in.errors) in.store.write(wide, error, {});
    RunValue held = hold(wide);
    if (unknown) mark_unknown(in, {&held, 1});
  };
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!writes_operand(*call.op, call.args, i) || !call.args[i].is_value()) continue;
    ValueId v = call.args[i].value();
    at::Tensor wide = call.values[v]->value.toTensor(), drawn = narrow[v]->value.toTensor();
    if (wide.sizes() != drawn.sizes()) wide.resize_(drawn.sizes());
    wide.copy_(drawn);
    settle_drawn(wide, call.types[v]->dtype);
  }
  for (RunValue& r : out.results) {
    if (!r || !r->value.isTensor()) continue;
    at::Tensor drawn = r->value.toTensor();
    bool itself = false;  // written to, or nothing was drawn
    for (size_t v = 0; v < narrow.size() && !itself; ++v) {
      if (!narrow[v] || !narrow[v]->value.isTensor() || !narrow[v]->value.toTensor().is_alias_of(drawn)) continue;
      r = call.values[v];
      itself = true;
    }
    auto native = from_aten(drawn.scalar_type());
    if (itself || !native) continue;
    at::Tensor wide = drawn.to(to_aten(widened(*native)));
    settle_drawn(wide, *native);
    r = hold(wide);
  }
  if (unknown) in.unbounded.insert(call.op->full_name);
  return out;
}

}  // namespace lenz::oracle
