#include "oracle/bounds/term_counts.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

namespace lenz::oracle {

using namespace flow;

std::vector<at::Tensor> counted_terms(FlowContext& in, const Call& call, const std::vector<Arg>& ones, bool live) {
  auto counts = run_on(in, call, ones, [&](const Leaf& leaf) {
    if (!flows(in, call, leaf)) return leaf.value;
    const Planes p = in.store.read(leaf.value);
    if (!live) return at::ones_like(zeros_like_plane(p.value));
    const at::Tensor some = p.value != 0;
    return (p.error.defined() ? some.logical_or(p.error != 0) : some).to(at::kDouble);
  });
  for (at::Tensor& n : counts) n = n.to(at::kDouble);
  return counts;
}

at::Tensor counted_factors(FlowContext& in, const Call& call, size_t result, const at::Tensor& like) {
  const std::vector<Arg> twos = with_numbers(call, [](double) { return 2.0; });
  const std::vector<at::Tensor> powers = run_on(in, call, twos, [&](const Leaf& leaf) {
    return flows(in, call, leaf) ? at::full(leaf.value.sizes(), 2.0, at::kDouble) : leaf.value;
  });
  if (powers.size() <= result || powers[result].sizes() != like.sizes()) return {};
  const at::Tensor n = at::log2(powers[result].to(at::kDouble));
  return all_finite(n) ? n : at::Tensor();
}

std::vector<at::Tensor> counted_by_adding(FlowContext& in, const Call& call, const std::vector<Arg>& ones) {
  const std::string_view how = reduction_of(call);
  if (how.empty()) return {};
  std::vector<Arg> adding = ones;
  adding[static_cast<size_t>(call.op->schema.find("reduce"))] =
      call.graph->context().string(how == "add" || how == "multiply" ? "add" : "sum");
  return counted_terms(in, call, adding, false);
}

at::Tensor terms_of(const Call& call, const at::Tensor& counted, const at::Tensor& result) {
  auto constant = [&](double n) { return at::scalar_tensor(n, at::kDouble); };
  double elements = 0, largest = 1;
  for (const at::Tensor& t : leaves(call.values)) {
    elements += static_cast<double>(t.numel());
    for (int64_t s : t.sizes()) largest = std::max(largest, static_cast<double>(s));
  }
  switch (call.op->flow.terms) {
    case ErrorFlow::counted: return counted.defined() ? at::abs(counted) : constant(elements);
    case ErrorFlow::factors: {
      bool kept = call.op->has(Trait::scan);  // a prefix of one dim
      return constant(kept ? largest : elements / std::max<double>(1, static_cast<double>(result.numel())));
    }
    case ErrorFlow::windowed: {
      int kernel = call.op->schema.find("kernel_size");
      if (kernel >= 0 && call.args[static_cast<size_t>(kernel)].kind == ArgKind::int_list) {
        double n = 1;
        auto dims = call.args[static_cast<size_t>(kernel)].dim_list();
        for (Dim d : dims) n *= static_cast<double>(evaluate(d, *call.symbols).value_or(1));
        if (dims.size() == 1 && result.dim() >= 4) n = std::pow(n, static_cast<double>(result.dim() - 2));
        return constant(n);
      }
      // Adaptive windows: each is at most in / out + 2 long, and in / out where that is whole.
      double n = 1;
      at::Tensor x = leaves(call.values)[0];
      for (int64_t d = 1; d <= std::min<int64_t>(3, std::min(x.dim(), result.dim())); ++d) {
        const int64_t longer = std::max(x.size(-d), result.size(-d));
        const int64_t shorter = std::max<int64_t>(1, std::min(x.size(-d), result.size(-d)));
        const int64_t window = longer / shorter + (longer % shorter == 0 ? 0 : 2);
        n *= static_cast<double>(window);
      }
      return constant(n);
    }
    case ErrorFlow::all: return constant(elements);
  }
  return constant(elements);
}

at::Tensor divided_by(const Call& call, const at::Tensor& terms) {
  const int given = call.op->schema.find("divisor_override");
  if (given < 0 || call.args[static_cast<size_t>(given)].kind != ArgKind::integer) return terms;
  const auto divisor = static_cast<double>(call.args[static_cast<size_t>(given)].i);
  return terms.clamp_min(std::fabs(divisor));
}

std::string_view reduction_of(const Call& call) {
  int at = call.op->schema.find("reduce");
  if (at < 0 || call.args[static_cast<size_t>(at)].kind != ArgKind::string) return {};
  return call.args[static_cast<size_t>(at)].string();
}

bool multiplies(const Call& call) {
  std::string_view how = reduction_of(call);
  if (!how.empty()) return how == "prod" || how == "multiply";
  return call.op->flow.terms == ErrorFlow::factors && call.op->flow.divisor.empty();
}

}  // namespace lenz::oracle
