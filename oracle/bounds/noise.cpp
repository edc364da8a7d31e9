#include "oracle/bounds/noise.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/alias.h"
#include "oracle/aten.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/flows.h"

namespace lenz::oracle {

void turn_signs_of_nan(Call& call) {
  const ScalarRow* row = find_scalar(call.op->scalar);
  if (!row || !row->dtypes.has(Dtype::f64) || !reads_signs_of_nan(*row, Dtype::f64)) return;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].is_value() || writes_operand(*call.op, call.args, i)) continue;
    RunValue& v = call.values[call.args[i].value()];
    if (!v || !v->value.isTensor() || !v->value.toTensor().is_floating_point()) continue;
    const at::Tensor t = v->value.toTensor();
    v = hold(at::where(t.isnan(), t.neg(), t));
  }
}

bool rounds(const OpDef& op) {
  constexpr Trait kKeeps[] = {Trait::movement, Trait::view, Trait::maybe_view, Trait::structural, Trait::random};
  return op.accuracy != Accuracy::exact && std::ranges::none_of(kKeeps, [&](Trait t) { return op.has(t); });
}

void add_noise(const at::Generator& source, std::span<const RunValue> values, const Graph& graph, const Node& node,
               std::span<const Dtype> dtypes, const Outcome& out) {
  double largest = 1, next = 1;  // operands
  for (const Arg& a : node.arguments())
    for_each_value(a, [&](ValueId v) {
      if (!graph.type(v).is_tensor() || !values[v]) return;
      auto n = static_cast<double>(values[v]->value.toTensor().numel());
      next = std::max(next, std::min(n, largest));
      largest = std::max(largest, n);
    });
  for (size_t i = 0; i < out.results.size() && i < dtypes.size(); ++i) {
    if (!is_inexact(dtypes[i])) continue;
    for (const at::Tensor& t : leaves({&out.results[i], 1})) {
      if (!(t.is_floating_point() || t.is_complex()) || !t.is_non_overlapping_and_dense() || t.numel() == 0) continue;
      // Of so many terms a sum in any order is off by as many times its root, mostly.
      const auto results = static_cast<double>(t.numel());
      const bool sums = node.op->accuracy == Accuracy::accumulated || node.op->accuracy == Accuracy::composed;
      const double terms = sums ? std::max({1.0, largest / results, std::sqrt(largest * next / results)}) : 1;
      const double size = std::ldexp(std::sqrt(terms), -info(dtypes[i]).mantissa_bits);
      t.mul_(at::rand(t.sizes(), source, at::kDouble).mul_(2).sub_(1).mul_(size).add_(1));
    }
  }
}

}  // namespace lenz::oracle
