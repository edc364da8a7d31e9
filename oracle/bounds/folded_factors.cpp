#include "oracle/bounds/folded_factors.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "compiler/graph/pattern_functions.h"
#include "compiler/passes/postgrad/batch_norm_patterns.h"
#include "oracle/bounds/eager_kernels.h"
#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

namespace {
// The values of an operand, as a column beside the channels of `like`; undefined: it is none.
at::Tensor of_channels(const Call& call, std::string_view name, const at::Tensor& like) {
  const Arg& arg = call.args[static_cast<size_t>(call.op->schema.find(name))];
  if (!arg.is_value()) return {};
  std::vector<int64_t> sizes(static_cast<size_t>(like.dim()), 1);
  sizes[1] = -1;
  return call.values[arg.value()]->value.toTensor().to(at::kDouble).reshape(sizes);
}

// (w x + b - mean) s + c as (s w) x + ((b - mean) s + c), with a factor s and an offset c for each channel: terms have
// a factor that was rounded once more, what they are moved by has three roundings of its own and may be in each part of
// the sum, whose parts lie in other binades: their roundings may be twice what they were, or any where all were exact.
// Undefined: there is nothing to fold.
at::Tensor rounded_by_folding(FlowContext& in, const Call& call, const Planes& operand) {
  const Dtype dtype = call.dtype_of(call.args[0].value());
  const PlaneStore::Products products = in.store.products_of(operand.value);
  if (!products.far.defined() || operand.value.dim() < 2 || item_size(dtype) < item_size(Dtype::f32)) return {};
  const at::Tensor mean = of_channels(call, "running_mean", operand.value),
                   var = of_channels(call, "running_var", operand.value),
                   scale = of_channels(call, "weight", operand.value),
                   offset = of_channels(call, "bias", operand.value);
  if (!mean.defined() || !var.defined()) return {};
  const double eps = number_of(call.args[static_cast<size_t>(call.op->schema.find("eps"))]).value_or(0);
  at::Tensor factor = at::rsqrt(var + eps);
  if (scale.defined()) factor = at::abs(factor * scale);
  at::Tensor moved = at::abs(mean) * factor;
  if (offset.defined()) moved = moved + at::abs(offset);
  constexpr int kOwn = 3;
  const double unit = flow::unit_of(dtype);
  const at::Tensor roundings = flow::gamma(products.count + kOwn, unit), sum = roundings * products.far;
  const at::Tensor parts = operand.error.defined() ? at::where(operand.error == 0, sum, operand.error) : sum;
  const at::Tensor all = (parts + (1 + kOwn) * unit * products.far) * factor + roundings * moved;
  return flow::nothing_where(all.isfinite().logical_not(), all, 0);  // then nobody folds, or all is open
}
}  // namespace

void allow_folding(FlowContext& in, const Call& call, const Outcome& out) {
  if (!may_be_folded(*call.op, call.args) || out.results.empty()) return;
  const Planes operand = in.store.read(call.values[call.args[0].value()]->value.toTensor());
  if (operand.value.numel() == 0) return;  // eager takes vectors of other sizes than the channels there
  const at::Tensor result = out.results[0]->value.toTensor();
  at::Tensor end = at_range_end(operand.value, call.dtype_of(call.args[0].value()));
  if (operand.error.defined()) end = end.logical_or(operand.error > 0x1p60);
  end = end.logical_and(operand.value.isnan().logical_not());
  if (end.sizes() != result.sizes()) return;
  const at::Tensor rounded = rounded_by_folding(in, call, operand);
  const bool ends = at::any(end).item<bool>();
  if (!ends && !rounded.defined()) return;
  const Planes p = in.store.read(result);
  at::Tensor error = p.error.defined() ? p.error : flow::zeros_like_plane(result);
  if (rounded.defined()) error = error + rounded;
  const at::Tensor ambiguous = p.ambiguous.defined() ? p.ambiguous.logical_or(end) : end;
  in.store.write(result, flow::nothing_where(end, error, flow::kInf), ends ? ambiguous : p.ambiguous);
}

void allow_bias_first(FlowContext& in, const Call& step, const Outcome& out) {
  if (step.op->full_name != "aten.add.Tensor" || out.raised) return;  // op name: of those definitions
  const at::Tensor result = out.results[0]->value.toTensor();
  const Dtype dtype = step.result_dtypes[0];
  if (!is_floating(dtype) || item_size(dtype) < item_size(Dtype::f32)) return;  // it is kept wider meanwhile
  for (size_t k : {0, 1})
    if (!step.args[k].is_value() || !step.values[step.args[k].value()]->value.isTensor()) return;
  for (size_t k : {0, 1}) {
    const at::Tensor sum = step.values[step.args[k].value()]->value.toTensor(),
                     bias = step.values[step.args[1 - k].value()]->value.toTensor();
    const PlaneStore::Products products = in.store.products_of(sum);
    if (!products.far.defined() || sum.sizes() != result.sizes()) continue;
    const Planes made = in.store.read(sum), p = in.store.read(result);
    const at::Tensor roundings = flow::gamma(products.count + 1, flow::unit_of(dtype));
    // The products' own are counted already, but where all were exact.
    const at::Tensor exact = made.error.defined() ? made.error == 0 : at::ones(sum.sizes(), at::kBool);
    const at::Tensor more = roundings * (at::abs(bias.to(at::kDouble)) + at::where(exact, products.far, 0.0));
    const at::Tensor added = flow::nothing_where(more.isfinite().logical_not(), more, 0);  // what is none stays so
    in.store.write(result, p.error.defined() ? p.error + added : added.expand(result.sizes()).clone(), p.ambiguous);
    return;
  }
}

}  // namespace lenz::oracle
