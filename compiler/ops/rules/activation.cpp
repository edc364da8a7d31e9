#include "compiler/ops/rules/activation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

namespace {
Operand operand(const Type& t) { return {&t, Dtype::b8}; }

TensorType like(Infer& in, const Type& t) {
  return {t.dtype, t.device, DimVec(t.sizes()), preserved_strides(in, t), 0};
}

bool same_sizes(Infer& in, std::span<const Dim> a, std::span<const Dim> b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = in.same(a[i], b[i]);
  return same;
}

void promoted(Infer& in, const Operands& list) {
  Dtype common = result_type(in, list);
  require_dtype(in, common);
  in.result(elementwise_result(in, list, common));
}

void check_approximate(Infer& in) {
  std::string_view how = in.string("approximate");
  if (how != "none" && how != "tanh")
    in.raise("approximate must be \"none\" or \"tanh\", not \"" + std::string(how) + "\"");
}
}  // namespace

void celu(Infer& in) {
  if (in.real("alpha") == 0) in.raise("alpha must not be 0");
  require_fit(in, "1 / alpha", 1 / in.real("alpha"), NumberFit::computed, in.tensor(0).dtype);
  same_dtype(in);
}

void gelu(Infer& in) {
  check_approximate(in);
  same_dtype(in);
}

void softshrink(Infer& in) {
  if (!(in.real("lambd") >= 0)) in.raise("lambd must not be negative");
  in.require(in.real("lambd") <= finite_range(in.tensor(0).dtype).high, "lambd must be a finite number of the dtype");
  same_dtype(in);
}

void hardtanh(Infer& in) {
  // Eager rounds the bounds towards zero before it looks at them.
  if (in.tensor(0).dtype == Dtype::u8 && in.has_param("min_val") &&
      (in.real("min_val") <= -1 || in.real("max_val") <= -1))
    in.raise("an unsigned type has no negative bounds");
  require_dtype(in, in.tensor(0).dtype);
  if (in.op().variant == VariantKind::out) {
    same_dtype(in);
  } else {
    in.result(like(in, in.tensor(0)));
  }
}

void log_sigmoid(Infer& in) {
  const Type& self = in.tensor(0);
  require_dtype(in, self.dtype);
  size_t results = in.op().schema.returns.size();
  for (size_t i = 0; i < results; ++i) in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

namespace {
// The halves of a tensor along a dim.
std::pair<TensorType, TensorType> halves(Infer& in, const Type& t, int64_t given_dim) {
  if (t.rank() == 0) in.raise("a tensor without dims has no halves");
  auto dim = static_cast<size_t>(in.wrap_dim(given_dim, t.rank()));
  Dim size = t.sizes()[dim];
  in.require(divisible(size, 2), "the halved dim must have an even size");
  TensorType first = t.tensor(), second;
  first.sizes[dim] = floor_div(size, 2);
  second = first;
  second.offset += first.sizes[dim] * t.strides()[dim];
  return {first, second};
}
}  // namespace

void glu(Infer& in) {
  auto [first, second] = halves(in, in.tensor(0), in.constant("dim"));
  promoted(in, Operands{{in.context().tensor(first), Dtype::b8}, {in.context().tensor(second), Dtype::b8}});
}

void prelu(Infer& in) {
  const Type &self = in.tensor("self"), &weight = in.tensor("weight");
  if (self.dtype != weight.dtype) in.raise("self and weight must have one dtype");
  require_dtype(in, self.dtype);
  in.require(weight.rank() <= 1, "weight must have one dim or none");
  Dim count = numel(weight.sizes());
  if (!in.is_one(count)) {
    in.require(self.rank() > 0, "a tensor without dims takes one weight");
    in.require(eq(count, self.rank() > 1 ? self.sizes()[1] : Dim(1)), "there must be one weight, or one per channel");
  }
  in.result(like(in, self));
}

void prelu_kernel(Infer& in) {
  const Type &self = in.tensor("self"), &weight = in.tensor("weight");
  if (self.dtype != weight.dtype) in.raise("self and weight must have one dtype");
  require_dtype(in, self.dtype);
  TensorType result = elementwise_result(in, all_operands(in), self.dtype);
  // Made like `self`, and made anew only where that is too small.
  in.result(same_sizes(in, result.sizes, self.sizes()) ? like(in, self) : result);
}

namespace {
// In training a slope is drawn between the bounds, else it is their mean.
void require_slopes(const Infer& in, Dtype dtype) {
  const double lower = in.real("lower"), upper = in.real("upper");
  if (!in.boolean("training"))
    return require_fit(in, "(lower + upper) / 2", (lower + upper) / 2, NumberFit::computed, dtype);
  require_fit(in, "lower", lower, NumberFit::computed, dtype);
  require_fit(in, "upper", upper, NumberFit::computed, dtype);
  const FiniteRange range = finite_range(dtype);
  in.require(lower >= range.low && upper <= range.high && upper - lower <= range.high,
             "the bounds must be finite, and so near that the dtype holds what lies between");
}
}  // namespace

void rrelu(Infer& in) {
  const Type& self = in.tensor("self");
  require_dtype(in, self.dtype);
  if (in.op().variant == VariantKind::functional)  // in place eager asks only where it draws
    in.require(std::isfinite(in.real("lower")) && std::isfinite(in.real("upper")), "the bounds must be finite");
  in.require(in.real("lower") <= in.real("upper"), "lower must not be above upper");
  if (in.boolean("training") && self.dtype == Dtype::f16) in.raise("not implemented for f16 in training");
  require_slopes(in, self.dtype);
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

namespace {
void check_noise(Infer& in, const Type& self, const Type& noise) {
  require_dtype(in, self.dtype);
  require_slopes(in, self.dtype);
  in.require(same_sizes(in, self.sizes(), noise.sizes()), "noise must have the shape of self");
  if (in.boolean("training")) {
    in.require(in.real("lower") <= in.real("upper"), "lower must not be above upper");
    in.require(self.dtype != Dtype::f16, "not implemented for f16 in training");
    in.require(noise.dtype == self.dtype, "noise must have the dtype of self");
  }
}
}  // namespace

void rrelu_with_noise(Infer& in) {
  const Type& self = in.tensor("self");
  check_noise(in, self, in.tensor("noise"));
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void rrelu_with_noise_functional(Infer& in) {
  const Type &self = in.tensor("self"), &noise = in.tensor("noise");
  check_noise(in, self, noise);
  in.result(like(in, self));
  in.result(like(in, noise));
}

// --- gradients

void activation_backward(Infer& in) {
  Operands list;
  for (size_t i = 0; i < in.op().schema.params.size(); ++i)
    if (const Param& p = in.op().schema.params[i]; p.type.kind == ParamKind::tensor && !p.is_out)
      list.push_back(operand(in.tensor(i)));
  promoted(in, list);
}

void elu_backward(Infer& in) {
  if (in.boolean("is_result") && !(in.real("alpha") >= 0)) in.raise("from the result, alpha must not be negative");
  activation_backward(in);
}

namespace {
// Which strides oneDNN describes: those of a dim that is there once step over the dims below it. Of open ones nobody
// asks.
bool suits_one_dnn(const Type& t) {
  SmallVec<std::array<int64_t, 2>, 6> dims;  // stride and size
  for (size_t d = 0; d < t.rank(); ++d) {
    if (!t.sizes()[d].is_constant() || !t.strides()[d].is_constant() || t.sizes()[d].is(0)) return true;
    if (!t.sizes()[d].is(1) && !t.strides()[d].is(0))
      dims.push_back({t.strides()[d].constant(), t.sizes()[d].constant()});
  }
  std::ranges::sort(dims);
  int64_t least = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < least) return false;
    least = stride * size;
  }
  return true;
}
}  // namespace

void gelu_backward(Infer& in) {
  check_approximate(in);
  const Type &grad = in.tensor("grad_output"), &self = in.tensor("self");
  // oneDNN's kernel, which eager takes where it has one, does not broadcast.
  const Dim elements = numel(self.sizes());
  const bool several = !elements.is_constant() || elements.constant() > 1;
  if (in.string("approximate") == "none" && grad.dtype != Dtype::f64 && self.dtype != Dtype::f64 && several) {
    in.require(grad.rank() == self.rank(), "the operands must have one shape");
    for (size_t i = 0; i < self.rank(); ++i)
      in.require(eq(grad.sizes()[i], self.sizes()[i]), "the operands must have one shape");
    in.require(suits_one_dnn(grad), "the gradient's elements must not share places");
  }
  activation_backward(in);
}

void leaky_relu_backward(Infer& in) {
  if (in.boolean("self_is_result") && !(in.real("negative_slope") >= 0))
    in.raise("from the result, negative_slope must not be negative");
  threshold_backward(in);
}

void mish_backward(Infer& in) {
  Operands list = operands(in, {"grad_output", "self"});
  Dtype common = result_type(in, list), self = in.tensor("self").dtype;
  require_dtype(in, common);
  if (info(common).category > info(self).category) in.raise("the gradient can't be cast to the dtype of `self`");
  in.result(elementwise_result(in, list, self, common));
}

void softshrink_backward(Infer& in) { activation_backward(in); }

void threshold_backward(Infer& in) { promoted(in, operands(in, {"self", "grad_output"})); }

void log_sigmoid_backward(Infer& in) {
  Operands list = operands(in, {"self", "buffer", "grad_output"});
  const Type& grad = in.tensor("grad_output");
  for (const Operand& o : list)
    if (o.type->dtype != grad.dtype) in.raise("all tensors must have one dtype");
  require_dtype(in, grad.dtype);
  TensorType result = elementwise_result(in, list, grad.dtype);
  bool fits = in.op().variant != VariantKind::out && same_sizes(in, result.sizes, grad.sizes());
  in.result(fits ? like(in, grad) : result);
}

void glu_backward(Infer& in) {
  const Type &self = in.tensor("self"), &grad = in.tensor("grad_output");
  auto [first, second] = halves(in, self, in.constant("dim"));
  require_dtype(in, self.dtype);
  if (grad.dtype != self.dtype) in.raise("the gradient must have the dtype of `self`");
  DimVec both = broadcast(in, first.sizes, grad.sizes());
  if (!same_sizes(in, both, first.sizes)) in.raise("the gradient is larger than half of `self`");
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void glu_jvp(Infer& in) {
  const Type& result = in.tensor("glu");
  require_dtype(in, result.dtype);
  if (result.rank() == 0) in.raise("a tensor without dims has no halves");
  auto at = static_cast<size_t>(in.wrap_dim(in.constant("dim"), in.tensor("x").rank()));
  in.require(at < result.rank() && at < in.tensor("dx").rank(), "the halved dim is out of range");
  Dim half = result.sizes()[at];
  Operands list{operand(result)};
  for (std::string_view p : {"x", "dx"}) {
    TensorType t = in.tensor(p).tensor();
    if (t.dtype != result.dtype) in.raise("all tensors must have one dtype");
    in.require(t.rank() > 0, "a tensor without dims has no halves");
    in.require(ge(t.sizes[at], 2 * half), "the halved dim must be twice as large as in the result");
    t.sizes[at] = half;
    list.push_back({in.context().tensor(t), Dtype::b8});
  }
  TensorType step = elementwise_result(in, list, result.dtype);
  in.result(same_sizes(in, step.sizes, result.sizes()) ? like(in, result) : step);
}

void prelu_kernel_backward(Infer& in) {
  Operands list = operands(in, {"self", "weight", "grad_output"});
  for (const Operand& o : list)
    if (o.type->dtype != list[0].type->dtype) in.raise("all tensors must have one dtype");
  require_dtype(in, list[0].type->dtype);
  TensorType result = elementwise_result(in, list, list[0].type->dtype);
  in.result(result);
  in.result(result);
}

void rrelu_with_noise_backward(Infer& in) {
  bool random = in.boolean("training");
  if (!random && in.boolean("self_is_result") && !(in.real("lower") + in.real("upper") >= 0))
    in.raise("from the result, the slope must not be negative");
  if (!random) {
    promoted(in, operands(in, {"self", "grad_output"}));
    return require_slopes(in, in.results()[0].type->dtype);
  }
  Operands product = operands(in, {"noise", "grad_output"});
  in.result(elementwise_result(in, product, result_type(in, product)));
}

}  // namespace lenz::rule
