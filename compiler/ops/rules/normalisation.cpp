#include "compiler/ops/rules/normalisation.h"

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

namespace {
void require_float(Infer& in, Dtype d) { in.require(is_floating(d) && !is_float8(d), "needs a floating dtype"); }

// Statistics are kept in f32 where a half-precision input comes with f32 parameters.
Dtype statistics_dtype(Infer& in, Dtype input, std::initializer_list<std::string_view> params) {
  Dtype d = input;
  std::optional<Dtype> common;
  for (std::string_view p : params) {
    const Type* t = in.tensor_or_null(p);
    if (!t) continue;
    in.require(t->dtype == input || (is_reduced_float(input) && t->dtype == Dtype::f32),
               "`" + std::string(p) + "` must have the input's dtype, or f32 beside a half-precision input");
    in.require(!common || *common == t->dtype, "the parameters must have one dtype");
    common = t->dtype;
    d = t->dtype;
  }
  return d;
}

void require_any_vector(Infer& in, std::string_view param) {
  if (const Type* t = in.tensor_or_null(param))
    in.require(t->rank() == 1, "`" + std::string(param) + "` must be a vector");
}
void require_vector(Infer& in, std::string_view param, Dim size) {
  require_any_vector(in, param);
  if (const Type* t = in.tensor_or_null(param))
    in.require(eq(t->sizes()[0], size), "`" + std::string(param) + "` has the wrong length");
}

// The input's suggested memory format: channels-last if it is laid out so, else contiguous.
TensorType suggested(Infer& in, const Type& input) {
  TensorType t = contiguous_tensor(input.dtype, input.sizes(), input.device);
  if (suggests_channels_last(in, input)) t.strides = channels_last_strides(input.sizes());
  return t;
}
constexpr std::string_view kBatchNormVectors[] = {"weight", "bias", "running_mean", "running_var"};
// Eager looks at density first if everything is dense, and at the order of strides otherwise.
TensorType batch_norm_result(Infer& in, const Type& input, bool statistics_cloned) {
  bool dense = is_contiguous(in, input) || is_channels_last(in, input) || is_channels_last_3d(in, input);
  std::span<const std::string_view> vectors(kBatchNormVectors);
  for (std::string_view p : statistics_cloned ? vectors.first(2) : vectors)
    if (const Type* t = in.tensor_or_null(p)) dense = dense && is_contiguous(in, *t);
  if (!dense) return suggested(in, input);
  TensorType t = contiguous_tensor(input.dtype, input.sizes(), input.device);
  if (!is_contiguous(in, input)) t.strides = channels_last_strides(input.sizes());
  return t;
}
}  // namespace

void softmax(Infer& in) {
  const Type& self = in.tensor(0);
  require_float(in, self.dtype);
  in.wrap_dim(in.constant("dim"), self.rank());
  in.require(!in.boolean("half_to_float"), "conversion from half to float happens on CUDA only");
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void softmax_backward(Infer& in) {
  const Type& grad = in.tensor("grad_output");
  const Type& output = in.tensor("output");
  require_float(in, grad.dtype);
  in.require(grad.rank() == output.rank(), "`grad_output` and `output` must have one shape");
  for (size_t i = 0; i < grad.rank(); ++i)
    in.require(eq(grad.sizes()[i], output.sizes()[i]), "`grad_output` and `output` must have one shape");
  in.require(grad.dtype == output.dtype && in.dtype("input_dtype") == grad.dtype, "the dtypes must be the same");
  in.wrap_dim(in.constant("dim"), grad.rank());
  in.result(contiguous_tensor(grad.dtype, grad.sizes(), grad.device));
}

namespace {
// How many dims lead, before those that are normalised together.
size_t normalised_after(Infer& in) {
  const Type& input = in.tensor(0);
  DimVec normalized = in.ints("normalized_shape");
  in.require(!normalized.empty(), "`normalized_shape` must name at least one dim");
  in.require(normalized.size() <= input.rank(), "`normalized_shape` is longer than the input's shape");
  size_t lead = input.rank() - normalized.size();
  for (size_t i = 0; i < normalized.size(); ++i)
    in.require(eq(input.sizes()[lead + i], normalized[i]), "the input's shape must end in `normalized_shape`");
  for (std::string_view p : {"weight", "bias"}) {
    const Type* t = in.has_param(p) ? in.tensor_or_null(p) : nullptr;
    if (!t) continue;
    in.require(t->rank() == normalized.size(), "`weight` and `bias` must have shape `normalized_shape`");
    for (size_t i = 0; i < normalized.size(); ++i)
      in.require(eq(t->sizes()[i], normalized[i]), "`weight` and `bias` must have shape `normalized_shape`");
  }
  return lead;
}
}  // namespace

void native_layer_norm(Infer& in) {
  const Type& input = in.tensor(0);
  require_float(in, input.dtype);
  size_t lead = normalised_after(in);
  Dtype statistics = statistics_dtype(in, input.dtype, {"weight", "bias"});
  in.result(contiguous_tensor(input.dtype, input.sizes(), input.device));
  DimVec sizes(input.sizes().first(lead));
  for (size_t i = lead; i < input.rank(); ++i) sizes.push_back(Dim(1));
  TensorType t = contiguous_tensor(statistics, sizes, input.device);
  in.result(t);
  in.result(t);
}

void native_group_norm(Infer& in) {
  const Type& input = in.tensor(0);
  require_float(in, input.dtype);
  Dim n = in.integer("N"), c = in.integer("C"), area = in.integer("HxW"), group = in.integer("group");
  in.require(ge(group, 1), "`group` must be at least 1");
  in.require(divisible(c, group), "the channels don't divide into the groups");
  require_vector(in, "weight", c);
  require_vector(in, "bias", c);
  in.require(eq(numel(input.sizes()), n * c * area), "the input has not N*C*HxW elements");
  bool last = suggests_channels_last(in, input);
  in.require(last || is_contiguous(in, input), "the input must be dense in its memory format");
  Dtype statistics = statistics_dtype(in, input.dtype, {"weight", "bias"});
  in.result(suggested(in, input));
  Dim stat[] = {n, group};
  TensorType t = contiguous_tensor(statistics, stat, input.device);
  in.result(t);
  in.result(t);
}

namespace {
void batch_norm(Infer& in, bool statistics_cloned) {
  const Type& input = in.tensor(0);
  require_float(in, input.dtype);
  in.require(input.rank() >= 2, "needs an input of rank 2 or more");
  Dim channels = input.sizes()[1];
  bool statistics_given = in.has_param("running_mean");
  for (std::string_view p : {"weight", "bias"}) require_vector(in, p, channels);
  if (statistics_given)
    for (std::string_view p : {"running_mean", "running_var"}) require_vector(in, p, channels);
  bool training = in.boolean("training");
  if (in.op().variant == VariantKind::out && !training)
    for (std::string_view p : {"save_mean", "save_invstd"})
      if (const Type& t = in.tensor(p); t.rank() != 1 || (t.sizes()[0].is_constant() && !t.sizes()[0].is(0)))
        throw Unsupported(in.op().full_name + ": in evaluation eager leaves `" + std::string(p) + "` as it is");
  bool running = statistics_given && in.tensor_or_null("running_mean") && in.tensor_or_null("running_var");
  in.require(training || running, "needs running statistics when not training");
  if (statistics_given)
    in.require(in.given("running_mean") == in.given("running_var"), "both running statistics must be given, or none");
  Dim total = numel(input.sizes());
  in.require(ne(total, 0), "the input must not be empty");
  Dtype statistics = statistics_given
                         ? statistics_dtype(in, input.dtype, {"weight", "bias", "running_mean", "running_var"})
                         : statistics_dtype(in, input.dtype, {"weight", "bias"});
  in.result(batch_norm_result(in, input, statistics_cloned));
  // In evaluation nothing is saved: eager hands out two empty vectors.
  Dim saved[] = {training ? channels : Dim(0)};
  TensorType t = contiguous_tensor(statistics, saved, input.device);
  in.result(t);
  in.result(t);
}

}  // namespace

void native_batch_norm(Infer& in) { batch_norm(in, false); }

// Eager computes with clones of the statistics.
void native_batch_norm_functional(Infer& in) {
  batch_norm(in, true);
  for (std::string_view p : {"running_mean", "running_var"}) {
    const Type& statistic = in.tensor(p);
    TensorType t = statistic.tensor();
    t.strides = preserved_strides(in, statistic);
    t.offset = 0;
    in.result(t);
  }
}

// --- gradients

namespace {
struct Asked {
  bool input, weight, bias;
};
Asked asked(Infer& in) {
  std::span<const bool> mask = in.arg("output_mask").bool_list();
  in.require(mask.size() == 3, "`output_mask` must hold three flags");
  if (in.op().variant == VariantKind::out)
    in.require(mask[0] && mask[1] && mask[2], "an absent gradient can't be written to an out= tensor");
  return {mask[0], mask[1], mask[2]};
}

void gradients(Infer& in, Asked which, const TensorType& input, const TensorType& weight, const TensorType& bias) {
  auto one = [&](bool is, const TensorType& t) {
    in.result(is ? in.context().tensor(t) : in.context().simple(TypeKind::none));
  };
  one(which.input, input);
  one(which.weight, weight);
  one(which.bias, bias);
}

void require_gradient(Infer& in, const Type& input) {
  const Type& grad = in.tensor("grad_out");
  in.require(grad.dtype == input.dtype, "the gradient must have the input's dtype");
  in.require(grad.rank() == input.rank(), "the gradient must have the input's shape");
  for (size_t i = 0; i < input.rank(); ++i)
    in.require(eq(grad.sizes()[i], input.sizes()[i]), "the gradient must have the input's shape");
}

void require_statistics(Infer& in, std::initializer_list<std::string_view> params, Dim count, Dtype dtype) {
  for (std::string_view p : params) {
    const Type& t = in.tensor(p);
    in.require(eq(numel(t.sizes()), count), "the number of the statistics is wrong");
    in.require(t.dtype == dtype, "the dtype of the statistics is wrong");
  }
}
}  // namespace

void native_layer_norm_backward(Infer& in) {
  const Type& input = in.tensor("input");
  Asked which = asked(in);
  require_float(in, input.dtype);
  size_t lead = normalised_after(in);
  require_gradient(in, input);
  in.require(!which.weight || in.given("weight"), "the gradient of no `weight` is asked for");
  in.require(!which.bias || in.given("bias"), "the gradient of no `bias` is asked for");
  Dtype statistics = statistics_dtype(in, input.dtype, {"weight", "bias"});
  Dim rows = numel(input.sizes().first(lead));
  require_statistics(in, {"mean", "rstd"}, rows, statistics);
  if (statistics != input.dtype && !in.given("weight"))
    in.require(eq(rows, 0), "statistics of another dtype than the input's need a `weight`");
  TensorType parameter = contiguous_tensor(statistics, input.sizes().subspan(lead), input.device);
  gradients(in, which, contiguous_tensor(input.dtype, input.sizes(), input.device), parameter, parameter);
}

void native_group_norm_backward(Infer& in) {
  const Type& input = in.tensor("input");
  Asked which = asked(in);
  require_float(in, input.dtype);
  Dim n = in.integer("N"), c = in.integer("C"), area = in.integer("HxW"), group = in.integer("group");
  in.require(ge(group, 1), "`group` must be at least 1");
  for (Dim size : {n, c}) in.require(ge(size, 0), "a size is negative");
  if (!n.is(0)) in.require(ge(area, 0), "a size is negative");  // which nobody looks at beside no batches
  in.require(divisible(c, group), "the channels don't divide into the groups");
  in.require(eq(numel(input.sizes()), n * c * area), "the input has not N*C*HxW elements");
  require_gradient(in, input);
  if (const Type* weight = in.tensor_or_null("weight"))
    in.require(eq(numel(weight->sizes()), c), "`weight` has the wrong length");
  in.require(!(which.weight || which.bias) || in.given("weight"), "the gradient of no `weight` is asked for");
  Dtype statistics = in.tensor("mean").dtype;
  in.require(statistics == input.dtype || (is_reduced_float(input.dtype) && statistics == Dtype::f32),
             "the dtype of the statistics is wrong");
  if (const Type* weight = in.tensor_or_null("weight"))
    in.require(weight->dtype == statistics, "`weight` must have the dtype of the statistics");
  require_statistics(in, {"mean", "rstd"}, n * group, statistics);
  DimVec channels{c};
  if (const Type* weight = in.tensor_or_null("weight")) channels = DimVec(weight->sizes());
  TensorType parameter = contiguous_tensor(statistics, channels, input.device);
  gradients(in, which, suggested(in, input), parameter, parameter);
}

namespace {
// As in the forward op, but that the gradient must be of the input's format for eager to look at density first.
TensorType batch_norm_gradient(Infer& in, const Type& input) {
  const Type& grad = in.tensor("grad_out");
  auto dense = [&](const Type& t) {
    return is_contiguous(in, t) || is_channels_last(in, t) || is_channels_last_3d(in, t);
  };
  TensorType t = suggested(in, input);
  if (!dense(input) || !dense(grad) || suggested_format(in, input) != suggested_format(in, grad)) return t;
  t.strides = is_contiguous(in, input) ? contiguous_strides(t.sizes) : channels_last_strides(t.sizes);
  return t;
}
}  // namespace

void native_batch_norm_backward(Infer& in) {
  const Type& input = in.tensor("input");
  Asked which = asked(in);
  require_float(in, input.dtype);
  in.require(input.rank() >= 2, "needs an input of rank 2 or more");
  bool train = in.boolean("train");
  std::string_view mean = train ? "save_mean" : "running_mean", spread = train ? "save_invstd" : "running_var";
  in.require(in.given(mean) && in.given(spread), "needs statistics");
  Dim channels = input.sizes()[1];
  for (std::string_view p : {std::string_view("weight"), mean, spread}) require_vector(in, p, channels);
  // Of what eager does not read it asks nothing more: a forward op that does not train has saved tensors of no
  // elements.
  for (std::string_view p : {"running_mean", "running_var", "save_mean", "save_invstd"}) require_any_vector(in, p);
  require_gradient(in, input);
  Dtype statistics =
      statistics_dtype(in, input.dtype, {"weight", "running_mean", "running_var", "save_mean", "save_invstd"});
  require_statistics(in, {mean, spread}, channels, statistics);
  Dim count[] = {channels};
  TensorType parameter = contiguous_tensor(statistics, count, input.device);
  gradients(in, which, batch_norm_gradient(in, input), parameter, parameter);
}

}  // namespace lenz::rule
