#include "oracle/bounds/zeros_of_calls.h"

#include <algorithm>
#include <cmath>

#include "oracle/bounds/rules.h"

namespace lenz::oracle {

bool keeps_zero_signs(const PlaneStore& store, const Call& call) {
  const OpDef& op = *call.op;
  if (is_scalar_row(op)) return true;  // but where its own rule found otherwise
  for (const at::Tensor& t : leaves(call.values))
    if (store.read(t).loose_zeros) return false;
  if (op.has(Trait::random) || op.flow.kind == ErrorFlow::positive) return false;  // a sum may begin with 0 or a term
  if (op.has(Trait::view) || op.has(Trait::movement) || op.has(Trait::maybe_view) || !op.fills.empty()) return true;
  if (op.accuracy != Accuracy::exact) return false;
  // Exact steps leave a kernel no other formula; what they leave open they have said.
  return op.decompose.empty() ? rule_for(call) == flow_moved
                              : op.flow.kind == ErrorFlow::by_traits && !op.flow.ties_open;
}

bool zeros_are_positive(const PlaneStore& store, const Call& call) {
  const OpDef& op = *call.op;
  if (op.has(Trait::random) || op.has(Trait::view) || op.each || !op.decompose.empty()) return false;
  const Rule rule = rule_for(call);
  const std::vector<at::Tensor> operands = leaves(call.values);
  const bool empty = std::ranges::all_of(operands, [](const at::Tensor& t) { return t.numel() == 0; });
  const bool picks = rule == flow_monotone && std::ranges::none_of(call.args, [](const Arg& a) {
                       return a.kind == ArgKind::real && a.d == 0 && std::signbit(a.d);
                     });
  if (!picks && !(rule == flow_positive && (empty || only_adds(call)))) return false;
  return std::ranges::none_of(operands, [&](const at::Tensor& t) { return may_hold_minus_zero(store.read(t)); });
}

}  // namespace lenz::oracle
