#include "oracle/bounds/folded_factors.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "compiler/passes/postgrad/batch_norm_patterns.h"
#include "oracle/bounds/eager_kernels.h"
#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

void open_folded_ends(FlowContext& in, const Call& call, const Outcome& out) {
  if (!may_be_folded(*call.op, call.args) || out.results.empty()) return;
  const Planes operand = in.store.read(call.values[call.args[0].value()]->value.toTensor());
  const at::Tensor result = out.results[0]->value.toTensor();
  at::Tensor end = at_range_end(operand.value, call.dtype_of(call.args[0].value()));
  if (operand.error.defined()) end = end.logical_or(operand.error > 0x1p60);
  end = end.logical_and(operand.value.isnan().logical_not());
  if (end.sizes() != result.sizes() || !at::any(end).item<bool>()) return;
  const Planes p = in.store.read(result);
  const at::Tensor error = p.error.defined() ? p.error : flow::zeros_like_plane(result);
  const at::Tensor ambiguous = p.ambiguous.defined() ? p.ambiguous.logical_or(end) : end;
  in.store.write(result, flow::nothing_where(end, error, flow::kInf), ambiguous);
}

}  // namespace lenz::oracle
