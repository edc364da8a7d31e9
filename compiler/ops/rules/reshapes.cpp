// Reshapes, and results that are filled through a view of themselves.
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/views.h"

namespace lenz::rule {

namespace {
// A view if its strides exist, else a contiguous copy: reshape.
void reshaped(Infer& in, const Type& t, std::span<const Dim> shape) {
  TensorType v = t.tensor();
  v.sizes = DimVec(shape);
  if (auto strides = view_strides(in, t, shape)) {
    v.strides = *strides;
    in.alias(v, 0);
  } else {
    in.result(contiguous_like(v));
  }
}
}  // namespace

void scattered(Infer& in, const TensorType& whole, const TensorType& part) {
  in.require(!overlaps_itself(in, *in.context().tensor(part)), "the part's elements share memory locations");
  const Type& src = in.tensor("src");
  in.require(src.rank() == part.rank(), "src has another shape than the part that it replaces");
  for (size_t i = 0; i < part.rank(); ++i)
    in.require(eq(src.sizes()[i], part.sizes[i]), "src has another shape than the part that it replaces");
  in.result(whole);
}

TensorType zeros_of_input_sizes(Infer& in) {
  const Type& grad = in.tensor(0);
  DimVec sizes = in.ints("input_sizes");
  require_sizes(in, sizes);
  return contiguous_tensor(grad.dtype, sizes, grad.device);
}

void require_expands(Infer& in, const Type& from, std::span<const Dim> to) {
  in.require(from.rank() <= to.size(), "more dims than the place that it goes to");
  for (size_t i = 0; i < from.rank(); ++i) {
    Dim size = from.sizes()[i], target = to[to.size() - from.rank() + i];
    if (size == target || in.is_one(size)) continue;
    in.require(eq(size, target), "the sizes don't fit the place that they go to");
  }
}

void unfold_backward(Infer& in) {
  const Type& grad = in.tensor(0);
  TensorType whole = zeros_of_input_sizes(in);
  Dim size = in.integer("size"), step = in.integer("step");
  in.require(gt(step, 0), "the step must be positive");
  if (in.decide(ge(step, size))) {  // windows that don't overlap are written as a view
    require_expands(in, grad, at::unfolded(in, *in.context().tensor(whole)).sizes);
    return in.result(whole);
  }
  // Of others eager trusts the number and the size, and reads what is not there.
  in.require(!is_float8(grad.dtype), "float8 is not supported");
  auto d = static_cast<size_t>(in.wrap_dim(in.constant("dim"), whole.rank()));
  in.require(grad.rank() == 0 || grad.rank() == whole.rank() + 1, "the gradient has another rank than the windows");
  bool nothing = std::ranges::any_of(whole.sizes, [](Dim s) { return s.is(0); });
  if (grad.rank() && !nothing) in.require(eq(grad.sizes().back(), size), "the windows are of another size");
  if (grad.rank() && !nothing)
    in.require(eq(grad.sizes()[d], floor_div(whole.sizes[d] - size, step) + 1), "the windows are of another number");
  for (size_t i = 0; i + 1 < grad.rank(); ++i)
    if (i != d && !in.is_one(grad.sizes()[i]))
      in.require(eq(grad.sizes()[i], whole.sizes[i]), "the gradient has another shape than the windows");
  in.result(whole);
}

void reshape(Infer& in) {
  const Type& t = in.tensor(0);
  reshaped(in, t, infer_size(in, in.ints(param_name(in, 1)), numel(t.sizes())));
}

void reshape_copy(Infer& in) {
  const Type& t = in.tensor(0);
  TensorType v = t.tensor();
  v.sizes = infer_size(in, in.ints(param_name(in, 1)), numel(t.sizes()));
  in.result(contiguous_like(v));
}

void reshape_as(Infer& in) {
  const Type& t = in.tensor(0);
  reshaped(in, t, infer_size(in, in.tensor("other").sizes(), numel(t.sizes())));
}

void flatten(Infer& in) {
  const Type& t = in.tensor(0);
  auto start = static_cast<size_t>(in.wrap_dim(in.constant("start_dim"), t.rank()));
  auto end = static_cast<size_t>(in.wrap_dim(in.constant("end_dim"), t.rank()));
  in.require(start <= end, "start_dim comes after end_dim");
  if (t.rank() == 0) {
    constexpr Dim one[] = {1};
    return reshaped(in, t, one);
  }
  if (start == end) return in.alias(t.tensor(), 0);
  DimVec sizes;
  Dim merged = 1;
  for (size_t i = 0; i < t.rank(); ++i) {
    if (i >= start && i <= end) merged *= t.sizes()[i];
    if (i < start || i > end) sizes.push_back(t.sizes()[i]);
    if (i == end) sizes.push_back(merged);
  }
  reshaped(in, t, sizes);
}

void ravel(Infer& in) {
  const Type& t = in.tensor(0);
  const Dim shape[] = {numel(t.sizes())};
  TensorType flat = t.tensor();
  flat.sizes = DimVec(shape);
  flat.strides = {1};
  if (!is_contiguous(in, t)) return in.result(contiguous_like(flat));
  flat.strides = view_strides(in, t, shape).value_or(flat.strides);
  in.alias(flat, 0);
}

void contiguous(Infer& in) {
  const Type& t = in.tensor(0);
  MemoryFormat format = format_argument(in, "memory_format").value_or(MemoryFormat::contiguous);
  if (is_contiguous_in(in, t, format)) return in.alias(t.tensor(), 0);
  TensorType copy = t.tensor();
  copy.strides = format_strides(in, format, t.sizes());
  copy.offset = 0;
  in.result(copy);
}

}  // namespace lenz::rule
