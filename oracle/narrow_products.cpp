#include "oracle/narrow_products.h"

#include <ATen/ATen.h>

#include "compiler/graph/host_kernels.h"
#include "compiler/ops/eager_processor.h"
#include "oracle/aten.h"
#include "oracle/host_processor.h"

namespace lenz::oracle {

namespace {
bool is_narrow(const at::Tensor& t) { return t.scalar_type() == at::kBFloat16 || t.scalar_type() == at::kHalf; }

// What both ways take, in nanoseconds of one thread.
constexpr double kCalls = 12000, kConverted = 1, kTermInF32 = 0.03;
struct Terms {
  double count = 0;
  double each = 0;  // of libtorch's loop
};

bool runs_along(const at::Tensor& t, int64_t dim) { return t.stride(dim) == 1 || t.size(dim) == 1; }

// Fast loops walk both factors along what they sum over, or both across it.
Terms of_product(const at::Tensor& left, const at::Tensor& right) {
  constexpr double kAlong = 0.14, kAcross = 0.12, kAcrossHalf = 0.38, kBatches = 0.4, kTurned = 0.6, kElse = 1.3;
  if (left.dim() < 2 || right.dim() != left.dim()) return {};
  const double count = static_cast<double>(left.numel()) * static_cast<double>(right.size(-1));
  const bool rows = runs_along(left, -1), columns = runs_along(right, -2);
  if (left.dim() > 2) return {count, rows && columns ? kBatches : kElse};
  if (rows) return {count, columns ? kAlong : kElse};
  return {count, columns ? kTurned : left.scalar_type() == at::kHalf ? kAcrossHalf : kAcross};
}

// Windows are copied as columns, then multiplied: each element of the input meets the weights of its channel. (Strides
// leave some out; a bound is enough where conversions cost so little.)
Terms of_convolution(const at::Tensor& input, const at::Tensor& weight) {
  constexpr double kEach = 1.3;
  if (input.dim() < 3 || input.size(1) == 0) return {};
  return {static_cast<double>(input.numel()) * static_cast<double>(weight.numel()) / static_cast<double>(input.size(1)),
          kEach};
}

// One op for bf16 widens by itself; for f16 its products are loops.
Terms of_attention(const at::Tensor& query, const at::Tensor& key) {
  constexpr double kEach = 0.35;
  if (query.scalar_type() != at::kHalf || key.dim() < 2) return {};
  return {static_cast<double>(query.numel()) * static_cast<double>(key.size(-2)), kEach};
}

Terms terms_of(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values) {
  const std::string& name = op.full_name;
  auto tensor = [&](size_t i) -> const at::Tensor& { return values[args[i].value()]->value.toTensor(); };
  if (name == "aten.mm" || name == "aten.bmm") return of_product(tensor(0), tensor(1));  // op name: libtorch's products
  if (name == "aten.addmm" || name == "aten.baddbmm") return of_product(tensor(1), tensor(2));  // op name: as above
  if (name == "aten.convolution") return of_convolution(tensor(0), tensor(1));                  // op name: as above
  if (name == "aten.convolution_backward") {  // op name: gradients of both factors
    const Terms terms = of_convolution(tensor(1), tensor(2));
    return {2 * terms.count, terms.each};
  }
  const bool one = op.schema.returns.size() == 1;  // another one beside it is f32 whatever the operands are
  return one && is_attention(op) ? of_attention(tensor(0), tensor(1)) : Terms{};
}

// Of images one element deep that are padded for a deeper kernel libtorch's tiles read beyond the image: other values
// come of it, or none at all (`thin` in values_known.txt).
bool misread_by_tiles(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values) {
  const bool gradients = op.full_name == "aten.convolution_backward";  // op name: libtorch's products
  if (!gradients && op.full_name != "aten.convolution") return false;  // op name: as above
  const size_t image = gradients ? 1 : 0;
  const auto tensor = [&](size_t i) -> const at::Tensor& { return values[args[i].value()]->value.toTensor(); };
  const at::Tensor &input = tensor(image), &weight = tensor(image + 1);
  return eager_processor().has_tiles && input.scalar_type() == at::kBFloat16 && input.dim() == 5 && weight.dim() == 5 &&
         input.size(2) == 1 && weight.size(2) > 1;
}
}  // namespace

std::optional<Dtype> narrow_factors(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values) {
  std::optional<at::ScalarType> of;
  double elements = 0;
  bool alike = true;
  for (const Arg& a : args)
    for_each_value(a, [&](ValueId v) {
      const at::Tensor& t = values[v]->value.toTensor();
      if (!t.is_floating_point() || !alike) return;
      alike = is_narrow(t) && of.value_or(t.scalar_type()) == t.scalar_type();
      of = t.scalar_type();
      elements += static_cast<double>(t.numel());
    });
  if (!of || !alike) return std::nullopt;
  if (misread_by_tiles(op, args, values)) return from_aten(*of);
  if (!slowly_multiplied().has(*from_aten(*of))) return std::nullopt;
  const Terms terms = terms_of(op, args, values);
  if (terms.count * (terms.each - kTermInF32) <= kCalls + elements * kConverted) return std::nullopt;
  return from_aten(*of);
}

std::vector<RunValue> widened_operands(std::span<const Arg> args, std::span<const RunValue> values) {
  std::vector<RunValue> made(values.begin(), values.end());
  for (const Arg& a : args)
    for_each_value(a, [&](ValueId v) {
      const at::Tensor& t = values[v]->value.toTensor();
      if (is_narrow(t)) made[v] = hold(t.to(at::kFloat));
    });
  return made;
}

void narrow_results(Outcome& outcome, Dtype to) {
  for (RunValue& r : outcome.results)
    if (r && r->value.isTensor() && r->value.toTensor().defined()) r = hold(r->value.toTensor().to(to_aten(to)));
}

}  // namespace lenz::oracle
