#include <cmath>

#include "compiler/ops/rules/loss.h"

#include "compiler/ops/decompose.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

namespace {
void require_float(Infer& in, Dtype d) {
  in.require(is_floating(d) && !is_float8(d), "needs a floating dtype, not " + std::string(name(d)));
}

// The elementwise loss, or the one element that its mean or sum is.
void reduced(Infer& in, const TensorType& each) {
  int64_t how = in.constant("reduction");
  if (how != 1 && how != 2) return in.result(each);
  in.result(contiguous_tensor(each.dtype, {}, each.device));
}

void same_sizes(Infer& in, const Type& a, const Type& b, std::string_view message) {
  in.require(a.rank() == b.rank(), message);
  for (size_t i = 0; i < a.rank(); ++i) in.require(eq(a.sizes()[i], b.sizes()[i]), message);
}
}  // namespace

void pointwise_loss(Infer& in) {
  Operands both = operands(in, {"self", "target"});
  Dtype d = result_type(in, both);
  require_float(in, d);
  if (in.has_param("beta")) in.require(in.real("beta") >= 0, "`beta` must not be negative");
  int64_t how = in.constant("reduction");
  in.require(how >= 0 && how <= 2, "`reduction` must be 0, 1 or 2");
  reduced(in, elementwise_result(in, both, d));
}

void huber_loss(Infer& in) {
  in.require(in.real("delta") > 0, "`delta` must be positive");
  Operands both = operands(in, {"self", "target"});
  require_float(in, result_type(in, both));
  const Type& self = in.tensor("self");
  require_float(in, self.dtype);
  DimVec sizes = broadcast(in, self.sizes(), in.tensor("target").sizes());
  TensorType t = contiguous_tensor(self.dtype, sizes, self.device);
  bool same = sizes.size() == self.rank();
  for (size_t i = 0; same && i < sizes.size(); ++i) same = in.same(sizes[i], self.sizes()[i]);
  t.strides = same ? preserved_strides(in, self) : elementwise_result(in, both, self.dtype).strides;
  reduced(in, t);
}

void binary_cross_entropy(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& target = in.tensor("target");
  require_float(in, self.dtype);
  in.require(self.dtype == target.dtype, "`self` and `target` must have one dtype");
  same_sizes(in, self, target, "`self` and `target` must have one shape");
  if (const Type* weight = in.tensor_or_null("weight")) {
    in.require(weight->dtype == self.dtype, "`weight` must have the dtype of `self`");
    DimVec sizes = broadcast(in, self.sizes(), weight->sizes());
    in.require(sizes.size() == self.rank(), "`weight` must broadcast to the shape of `self`");
    for (size_t i = 0; i < sizes.size(); ++i)
      in.require(eq(sizes[i], self.sizes()[i]), "`weight` must broadcast to the shape of `self`");
  }
  TensorType t{self.dtype, self.device, DimVec(self.sizes()), preserved_strides(in, self), 0};
  reduced(in, t);
}

void pointwise_loss_backward(Infer& in) {
  Operands list = operands(in, {"self", "target", "grad_output"});
  const Type& self = in.tensor("self");
  in.require(!is_complex(self.dtype), "complex numbers are not supported");
  if (!in.has_param("beta"))  // that kernel promotes
    for (const Operand& o : list) in.require(o.type->dtype == self.dtype, "all tensors must have one dtype");
  in.require(result_type(in, list) == self.dtype, "the result would not have the dtype of `self`");
  TensorType t = elementwise_result(in, list, self.dtype);
  // Made like `self`, and laid out anew only where that is too small.
  bool same = t.rank() == self.rank();
  for (size_t i = 0; same && i < self.rank(); ++i) same = in.same(t.sizes[i], self.sizes()[i]);
  in.result(same ? contiguous_tensor(self.dtype, self.sizes(), self.device) : t);
}

namespace {
void require_index(Infer& in, const Type& target) {
  in.require(target.dtype == Dtype::i64 || target.dtype == Dtype::u8, "`target` must hold i64 class numbers");
}

void require_class_weight(Infer& in, const Type& self, Dim classes, bool vector = true) {
  const Type* weight = in.tensor_or_null("weight");
  if (!weight) return;
  in.require(weight->rank() == 1 || !vector, "`weight` must be a vector");
  in.require(eq(numel(weight->sizes()), classes), "`weight` must hold one number per class");
  in.require(weight->dtype == self.dtype, "`weight` must have the dtype of `self`");
}
}  // namespace

void nll_loss(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& target = in.tensor("target");
  require_float(in, self.dtype);
  in.require(self.rank() == 1 || self.rank() == 2, "`self` must be of rank 1 or 2");
  in.require(target.rank() <= 1, "`target` must be of rank 0 or 1");
  require_index(in, target);
  if (self.rank() == 2) {
    in.require(target.rank() == 1, "`target` must be a vector beside a matrix");
    in.require(eq(self.sizes()[0], target.sizes()[0]), "`self` and `target` must hold as many rows");
  } else if (target.rank() == 1) {
    in.require(eq(target.sizes()[0], 1), "`target` must be one number beside one row");
  }
  require_class_weight(in, self, self.sizes().back());
  bool each = in.constant("reduction") == 0 && self.rank() == 2;
  DimVec sizes;
  if (each) sizes.push_back(self.sizes()[0]);
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
  in.result(contiguous_tensor(self.dtype, {}, self.device));
}

void nll_loss2d(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& target = in.tensor("target");
  require_float(in, self.dtype);
  in.require(self.rank() == 4 && target.rank() == 3, "needs `self` of rank 4 and `target` of rank 3");
  in.require(target.dtype == Dtype::i64, "`target` must hold i64 class numbers");
  constexpr size_t kPair[][2] = {{0, 0}, {2, 1}, {3, 2}};
  for (auto [s, t] : kPair)
    in.require(eq(self.sizes()[s], target.sizes()[t]), "`self` and `target` must agree in shape");
  require_class_weight(in, self, self.sizes()[1]);
  DimVec sizes;
  if (in.constant("reduction") == 0) sizes = DimVec(target.sizes());
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
  in.result(contiguous_tensor(self.dtype, {}, self.device));
}

void nll_loss_nd(Infer& in) {
  const Type &self = in.tensor("self"), &target = in.tensor("target");
  if (self.rank() == 3 || self.rank() > 4) {
    in.require(target.rank() + 1 == self.rank(), "`target` must have the shape of `self` without the classes");
    for (size_t d = 1; d < target.rank(); ++d)
      in.require(eq(target.sizes()[d], self.sizes()[d + 1]),
                 "`target` must have the shape of `self` without the classes");
  }
  composite(in);
}

void nll_loss_backward(Infer& in) {
  const Type& self = in.tensor("self");
  require_float(in, self.dtype);
  const Type& target = in.tensor("target");
  require_index(in, target);
  in.require(self.rank() == 1 || self.rank() == 2, "`self` must be of rank 1 or 2");
  in.require(target.rank() <= 1, "`target` must be of rank 0 or 1");
  Dim rows = self.sizes()[0];
  if (self.rank() == 2 || target.rank() == 1) {
    in.require(target.rank() == 1, "`target` must be a vector beside a matrix");
    in.require(eq(target.sizes()[0], rows), "`self` and `target` must hold as many rows");
  }
  if (self.rank() == 2 && self.sizes()[1].is(0))
    in.require(rows.is(0), "no target is among no classes");  // eager writes out of bounds
  require_class_weight(in, self, self.sizes().back(), false);
  in.require(eq(numel(in.tensor("total_weight").sizes()), 1), "`total_weight` must be one number");
  for (std::string_view p : {"grad_output", "total_weight"})
    in.require(in.tensor(p).dtype == self.dtype, "the operands must have one dtype");
  const Type& grad = in.tensor("grad_output");
  if (in.constant("reduction") == 0 && self.rank() == 2) {
    in.require(grad.rank() == 1, "the gradient must hold one number per row");
    in.require(eq(grad.sizes()[0], rows), "the gradient must hold one number per row");
  } else {
    in.require(grad.rank() <= 1 && numel(grad.sizes()).is(1), "the gradient must be one element");
  }
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void multi_margin_loss(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& target = in.tensor("target");
  require_float(in, self.dtype);
  const double p = std::trunc(in.real("p"));  // as eager takes it for an integer
  in.require(p == 1 || p == 2, "`p` must be 1 or 2");
  in.require(self.rank() <= 2 && target.rank() <= 1, "needs one row or a matrix, and its classes");
  in.require(target.dtype == Dtype::i64, "`target` must hold i64 class numbers");
  in.require(gt(self.rank() ? self.sizes().back() : Dim(1), 0), "there must be a class");
  require_class_weight(in, self, self.rank() ? self.sizes().back() : Dim(1));
  Dim rows = self.rank() == 2 ? self.sizes()[0] : Dim(1);
  in.require(eq(numel(target.sizes()), rows), "there must be one class per row");
  DimVec sizes;
  if (in.constant("reduction") == 0) sizes = DimVec(target.sizes());
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
}

namespace {
void require_labels(Infer& in, const Type& self) {
  const Type& target = in.tensor("target");
  in.require(dtypes::wide_floats.has(self.dtype), "needs f32 or f64");
  in.require(self.rank() <= 2, "needs one row or a matrix");
  in.require(gt(self.rank() ? self.sizes().back() : Dim(1), 0), "there must be a class");
  in.require(target.dtype == Dtype::i64, "`target` must hold i64 class numbers");
  same_sizes(in, self, target, "`target` must have the shape of `self`");
}
}  // namespace

void multilabel_margin_loss(Infer& in) {
  const Type& self = in.tensor("self");
  require_labels(in, self);
  DimVec sizes;
  if (in.constant("reduction") == 0 && self.rank() == 2) sizes.push_back(self.sizes()[0]);
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
  if (in.op().schema.returns.size() == 2) in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void multilabel_margin_loss_backward(Infer& in) {
  const Type& self = in.tensor("self");
  require_labels(in, self);
  const Type &grad = in.tensor("grad_output"), &is = in.tensor("is_target");
  in.require(grad.dtype == self.dtype && is.dtype == self.dtype, "the tensors must have one dtype");
  same_sizes(in, self, is, "`is_target` must have the shape of `self`");
  bool each = in.constant("reduction") == 0 && self.rank() == 2;
  in.require(!each || grad.rank() == 1, "the gradient must have the result's shape");
  in.require(eq(numel(grad.sizes()), each ? self.sizes()[0] : Dim(1)), "the gradient must have the result's shape");
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void histc(Infer& in) {
  const Type& self = in.tensor("self");
  require_float(in, self.dtype);
  Dim bins = in.integer("bins");
  in.require(gt(bins, 0), "`bins` must be positive");
  const double low = in.real("min"), high = in.real("max");
  in.require(low <= high, "`max` must not be below `min`");
  // Equal ones leave the range to the elements.
  in.require(low == high || (std::isfinite(low) && std::isfinite(high)), "the range must be finite");
  DimVec sizes{bins};
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
}

// The length follows from the largest value.
void bincount(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(is_integral(self.dtype, false), "needs integers");
  in.require(self.rank() == 1, "needs a vector");
  Dim least = in.integer("minlength");
  in.require(ge(least, 0), "`minlength` must not be negative");
  Dtype d = Dtype::i64;
  // Of nothing eager answers before it looks at the weights; without them the answer is of the same type.
  const Dim length = self.sizes()[0];
  const bool may_wait = in.assumptions().mentions_open(length) && !in.tensor_or_null("weights");
  if (!may_wait && in.is_zero(length)) {
    DimVec sizes{least};
    return in.result(contiguous_tensor(d, sizes, self.device));
  }
  if (const Type* weights = in.tensor_or_null("weights")) {
    in.require(weights->rank() == 1, "`weights` must be a vector");
    in.require(eq(weights->sizes()[0], self.sizes()[0]), "`weights` must be as long as `self`");
    d = weights->dtype == Dtype::f32 ? Dtype::f32 : Dtype::f64;
  }
  DimVec sizes{in.unbacked(least, std::nullopt)};
  in.result(contiguous_tensor(d, sizes, self.device));
}

}  // namespace lenz::rule
