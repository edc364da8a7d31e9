#include "compiler/ops/rules/spatial.h"

#include "compiler/graph/graph.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/spatial_dims.h"

namespace lenz::rule {

namespace {
size_t spatial_dims(const Infer& in) { return lenz::spatial_dims(in.op()).value_or(2); }

DimVec window(Infer& in, std::string_view param, size_t dims, std::optional<DimVec> otherwise = {}) {
  DimVec list = in.ints(param);
  if (list.empty() && otherwise) return *otherwise;
  if (list.size() == 1) return DimVec(dims, list[0]);
  in.require(list.size() == dims, "`" + std::string(param) + "` must hold one number or one per spatial dim");
  return list;
}

// The input is batched or not; all its dims but the batch have elements. `leading`: without a batch, the channels too.
void require_input(Infer& in, const Type& self, size_t dims, bool leading) {
  in.require(self.rank() == dims + 1 || self.rank() == dims + 2, "the input is of the wrong rank");
  for (size_t i = self.rank() == dims + 1 && leading ? 0 : 1; i < self.rank(); ++i)
    in.require(gt(self.sizes()[i], 0), "the input's channels and spatial dims must not be empty");
}

Dim pooled(Infer& in, Dim size, Dim kernel, Dim stride, Dim pad, Dim dilation, bool ceil) {
  Dim reach = size + 2 * pad - dilation * (kernel - 1) - 1;
  if (!ceil) return floor_div(reach, stride) + 1;
  Dim out = floor_div(reach + stride - 1, stride) + 1;
  // The last window must begin inside the input or its left padding.
  return in.decide(ge((out - 1) * stride, size + pad)) ? out - 1 : out;
}

TensorType pool_result(Infer& in, MemoryFormat format) {
  const Type& self = in.tensor("self");
  size_t dims = spatial_dims(in);
  require_input(in, self, dims, true);
  DimVec kernel = window(in, "kernel_size", dims), stride = window(in, "stride", dims, kernel),
         pad = window(in, "padding", dims);
  DimVec dilation = in.has_param("dilation") ? window(in, "dilation", dims) : DimVec(dims, Dim(1));
  DimVec sizes(self.sizes().first(self.rank() - dims));
  for (size_t i = 0; i < dims; ++i) {
    in.require(gt(kernel[i], 0), "`kernel_size` must be positive");
    in.require(gt(stride[i], 0), "`stride` must be positive");
    in.require(gt(dilation[i], 0), "`dilation` must be positive");
    in.require(ge(pad[i], 0), "`padding` must not be negative");
    in.require(le(pad[i] * 2, kernel[i]), "`padding` must be at most half of `kernel_size`");
    sizes.push_back(pooled(in, self.sizes()[self.rank() - dims + i], kernel[i], stride[i], pad[i], dilation[i],
                           in.boolean("ceil_mode")));
    in.require(ge(sizes.back(), 1), "the output would be empty");
  }
  const bool unbatched = format == MemoryFormat::channels_last_3d && sizes.size() == 4;
  if (unbatched) sizes.insert(0, Dim(1));
  DimVec strides = format_strides(in, format, sizes);
  if (unbatched) {
    sizes.erase(0);
    strides.erase(0);
  }
  return {self.dtype, self.device, sizes, strides, 0};
}

// As a batch of one, which lies as the dense formats are.
MemoryFormat format_of_unbatched(Infer& in, const Type& self) {
  in.require(suggested_format(in, self) == MemoryFormat::contiguous, "an unbatched volume must be contiguous");
  if (is_contiguous(in, self)) return MemoryFormat::contiguous;
  TensorType batch = self.tensor();
  batch.sizes.insert(0, Dim(1));
  batch.strides.insert(0, Dim(1));
  const bool last = is_contiguous_in(in, *in.context().tensor(batch), MemoryFormat::channels_last_3d);
  return last ? MemoryFormat::channels_last_3d : MemoryFormat::contiguous;
}

// Kernels for 2-D (and max pooling in 3-D) follow the input's memory format; others are contiguous.
MemoryFormat followed_format(Infer& in, const Type& self, bool three) {
  if (three && spatial_dims(in) == 3 && self.rank() == 4) return format_of_unbatched(in, self);
  if (self.rank() == 4 && spatial_dims(in) == 2) return suggested_format(in, self);
  return three && self.rank() == 5 ? suggested_format(in, self) : MemoryFormat::contiguous;
}
}  // namespace

namespace {
// Most 1-D kernels are the 2-D ones over images of one row, and keep the strides of these: of a view of the operand as
// it lies. Where they are means of whole rows, no kernel is handed a copy of that.
void as_row(Infer& in, TensorType& t, bool means = false) {
  const Type& self = as_it_lies(in, "self");
  if (spatial_dims(in) != 1 || self.rank() != 3) return;
  TensorType image = self.tensor();
  Dim row_stride = image.sizes[2] * image.strides[2];
  image.sizes.insert(2, Dim(1));
  image.strides.insert(2, row_stride);
  if (!means && is_read_lazily(in, in.at("self")))
    image.strides = preserved_strides(in, *in.context().tensor(image));  // the kernel is handed a copy of the view
  MemoryFormat format = suggested_format(in, *in.context().tensor(image));
  DimVec sizes{t.sizes[0], t.sizes[1], Dim(1), t.sizes[2]};
  t.strides = format_strides(in, format, sizes);
  t.strides.erase(2);
}
}  // namespace

namespace {
TensorType max_pool_result(Infer& in) {
  const Type& self = in.tensor("self");
  const MemoryFormat format = followed_format(in, self, true);
  TensorType t = pool_result(in, format);
  // Channels last it counts places in integers as wide as elements.
  if (const int bits = 8 * item_size(self.dtype);
      format != MemoryFormat::contiguous && bits <= 16 && is_integral(self.dtype, false))
    in.require(le(numel(self.sizes().last(spatial_dims(in))), (int64_t{1} << (bits - 1)) - 1),
               "more places than an integer of this dtype counts");
  return t;
}
}  // namespace

void max_pool(Infer& in) { in.result(max_pool_result(in)); }

void max_pool_with_indices(Infer& in) {
  TensorType t = max_pool_result(in);
  as_row(in, t);
  in.result(t);
  t.dtype = Dtype::i64;
  in.result(t);
}

void avg_pool(Infer& in) {
  if (in.has_param("divisor_override") && in.given("divisor_override"))
    in.require(in.constant("divisor_override") != 0, "`divisor_override` must not be zero");
  const Type& self = in.tensor("self");
  TensorType t = pool_result(in, followed_format(in, self, false));
  if (spatial_dims(in) == 3) {
    DimVec kernel = window(in, "kernel_size", 3);
    for (size_t i = 0; i < 3; ++i)
      in.require(ge(self.sizes()[self.rank() - 3 + i], kernel[i]), "the input is smaller than the kernel");
  }
  as_row(in, t);
  in.result(t);
}

namespace {
TensorType adaptive_result(Infer& in, MemoryFormat format) {
  const Type& self = in.tensor("self");
  size_t dims = spatial_dims(in);
  require_input(in, self, dims, false);
  in.require(in.ints("output_size").size() == dims, "`output_size` must hold one number per spatial dim");
  DimVec target = window(in, "output_size", dims), sizes(self.sizes().first(self.rank() - dims));
  for (Dim d : target) {
    in.require(ge(d, 0), "`output_size` must not be negative");
    sizes.push_back(d);
  }
  return {self.dtype, self.device, sizes, format_strides(in, format, sizes), 0};
}
}  // namespace

void adaptive_avg_pool(Infer& in) {
  const Type& self = in.tensor("self");
  size_t dims = spatial_dims(in);
  // The public op takes a mean where one element is left, and lays that otherwise than a pool of other sizes only where
  // channels come last.
  bool to_one = in.op().schema.packet[0] != '_' && dims > 1;  // op name: ATen's mark of what is not public
  DimVec target = window(in, "output_size", dims);
  for (Dim d : target) to_one = to_one && (!d.is_constant() || d.is(1));
  const bool channels_last =
      to_one && self.rank() == dims + 2 && suggested_format(in, as_it_lies(in, "self")) != MemoryFormat::contiguous;
  for (Dim d : target) to_one = to_one && (channels_last ? in.is_one(d) : d.is(1));
  if (dims == 1 && target[0].is(1) && (self.rank() == 2 || self.rank() == 3) && in.is_zero(numel(self.sizes()))) {
    DimVec sizes(self.sizes());  // the mean of a row with nothing in it
    sizes.back() = Dim(1);
    return in.result(contiguous_tensor(self.dtype, sizes, self.device));
  }
  if (!to_one) {
    TensorType t = adaptive_result(in, followed_format(in, self, false));
    as_row(in, t, target[0].is(1));
    return in.result(t);
  }
  in.require(in.ints("output_size").size() == dims, "`output_size` must hold one number per spatial dim");
  in.require(self.rank() >= dims, "the input is of the wrong rank");
  DimVec sizes(self.sizes());
  for (size_t i = self.rank() - dims; i < self.rank(); ++i) sizes[i] = Dim(1);
  TensorType t = contiguous_tensor(self.dtype, sizes, self.device);
  if (channels_last) {
    // The mean is restrided as a channels-last tensor: the batch steps over channels, and so do the single elements.
    Dim c = self.sizes()[1];
    t.strides = DimVec(self.rank(), c);
    t.strides[1] = Dim(1);
  }
  in.result(t);
}

void adaptive_max_pool(Infer& in) {
  TensorType t = adaptive_result(in, followed_format(in, in.tensor("self"), false));
  as_row(in, t);
  in.result(t);
  t.dtype = Dtype::i64;
  in.result(t);
}

void max_unpool(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& indices = in.tensor("indices");
  DimVec window = in.ints("output_size");
  size_t dims = in.has_param("stride") ? 3 : 2;
  in.require(window.size() == dims, "`output_size` must name each spatial dim");
  in.require(self.rank() == dims + 1 || self.rank() == dims + 2, "`self` must hold channels of planes or volumes");
  in.require(indices.dtype == Dtype::i64, "`indices` must be i64");
  in.require(indices.rank() == self.rank(), "`indices` must have the shape of `self`");
  for (size_t i = 0; i < self.rank(); ++i)
    in.require(eq(self.sizes()[i], indices.sizes()[i]), "`indices` must have the shape of `self`");
  for (size_t i = self.rank() == dims + 2 ? 1 : 0; i < self.rank(); ++i)
    in.require(gt(self.sizes()[i], 0), "only the batch may be empty");
  for (Dim d : window) in.require(ge(d, 0), "a size is negative");
  if (dims == 3) {
    DimVec stride = in.ints("stride");
    in.require(stride.size() == 3 && in.ints("padding").size() == 3, "`stride` and `padding` must name each dim");
    for (Dim d : stride) in.require(gt(d, 0), "`stride` must be positive");
  }
  DimVec sizes(self.sizes().first(self.rank() - dims));
  sizes.append(window.begin(), window.end());
  bool last = self.rank() == 4 && dims == 2 && suggests_channels_last(in, self);
  in.result(TensorType{self.dtype, self.device, sizes,
                       format_strides(in, last ? MemoryFormat::channels_last : MemoryFormat::contiguous, sizes), 0});
}

void pool_backward(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& grad = in.tensor("grad_output");
  in.require(grad.rank() == self.rank(), "the gradient is of the wrong rank");
  in.require(grad.dtype == self.dtype, "the gradient is of another dtype");
  if (!in.has_param("kernel_size")) {
    const size_t dims = spatial_dims(in), first = self.rank() - std::min(dims, self.rank());
    in.require(self.rank() == dims + 1 || self.rank() == dims + 2, "the input has no channels, or more than a batch");
    for (size_t i = 0; i < first; ++i)
      in.require(eq(grad.sizes()[i], self.sizes()[i]), "the gradient has another batch or other channels");
    for (size_t i = first; i < self.rank(); ++i)
      in.require(gt(self.sizes()[i], 0), "a spatial dim of the input is empty");
    for (size_t i = 1; i < grad.rank(); ++i)
      in.require(gt(grad.sizes()[i], 0), "the gradient is empty in more than its batch");
  }
  if (in.has_param("kernel_size")) {
    TensorType result = pool_result(in, MemoryFormat::contiguous);
    for (size_t i = 0; i < result.sizes.size(); ++i)
      in.require(eq(grad.sizes()[i], result.sizes[i]), "the gradient is of another shape than the result");
  }
  if (in.has_param("indices")) {
    const Type& indices = in.tensor("indices");
    in.require(indices.dtype == Dtype::i64, "`indices` must be i64");
    in.require(indices.rank() == grad.rank(), "`indices` must have the gradient's shape");
    for (size_t i = 0; i < grad.rank(); ++i)
      in.require(eq(indices.sizes()[i], grad.sizes()[i]), "`indices` must have the gradient's shape");
  }
  MemoryFormat format = self.rank() == 4 ? suggested_format(in, self) : MemoryFormat::contiguous;
  in.result(TensorType{self.dtype, self.device, DimVec(self.sizes()), format_strides(in, format, self.sizes()), 0});
}

namespace {
void upsampled(Infer& in, const Type& input, const DimVec& target) {
  size_t dims = spatial_dims(in);
  in.require(input.rank() == dims + 2, "the input is of the wrong rank");
  in.require(target.size() == dims, "`output_size` must hold one number per spatial dim");
  for (size_t i = 1; i < input.rank(); ++i)
    in.require(gt(input.sizes()[i], 0), "the input's channels and spatial dims must not be empty");
  DimVec sizes{input.sizes()[0], input.sizes()[1]};
  for (Dim d : target) {
    in.require(gt(d, 0), "the output must not be empty");
    sizes.push_back(d);
  }
  MemoryFormat format = dims == 1 ? MemoryFormat::contiguous : suggested_format(in, input);
  in.result(TensorType{input.dtype, input.device, sizes, format_strides(in, format, sizes), 0});
}
}  // namespace

void upsample(Infer& in) { upsampled(in, in.tensor("self"), in.ints("output_size")); }

void upsample_vec(Infer& in) {
  const Type& input = in.tensor("input");
  bool sized = in.given("output_size");
  in.require(sized != in.given("scale_factors"), "needs either `output_size` or `scale_factors`");
  if (sized) return upsampled(in, input, in.ints("output_size"));
  std::span<const double> factors = in.arg("scale_factors").real_list();
  in.require(input.rank() == factors.size() + 2, "`scale_factors` must hold one number per spatial dim");
  DimVec target;
  for (size_t i = 0; i < factors.size(); ++i)
    target.push_back(call(SymFn::floor_scale, input.sizes()[i + 2], factors[i]));
  upsampled(in, input, target);
}

void grid_sampler(Infer& in) {
  const Type& input = in.tensor("input");
  const Type& grid = in.tensor("grid");
  in.require(input.rank() == 4 || input.rank() == 5, "needs an input of rank 4 or 5");
  in.require(grid.rank() == input.rank(), "the grid must be of the input's rank");
  in.require(grid.dtype == input.dtype, "the grid must have the input's dtype");
  in.require(eq(grid.sizes()[0], input.sizes()[0]), "the batches differ");
  in.require(eq(grid.sizes().back(), static_cast<int64_t>(input.rank()) - 2),
             "the grid's last dim must hold coordinates");
  for (size_t i = 2; i < input.rank(); ++i)
    in.require(gt(input.sizes()[i], 0), "the input's spatial dims must not be empty");
  int64_t mode = in.constant("interpolation_mode");
  in.require(input.rank() == 4 || mode != 2, "bicubic interpolation is for rank 4");
  DimVec sizes{input.sizes()[0], input.sizes()[1]};
  for (size_t i = 1; i + 1 < grid.rank(); ++i) sizes.push_back(grid.sizes()[i]);
  in.result(contiguous_tensor(input.dtype, sizes, input.device));
}

void affine_grid(Infer& in) {
  const Type& theta = in.tensor("theta");
  DimVec size = in.ints("size");
  in.require(size.size() == 4 || size.size() == 5, "`size` must name 4 or 5 dims");
  in.require(theta.rank() == 3, "`theta` must hold a matrix per batch");
  auto dims = static_cast<int64_t>(size.size()) - 2;
  in.require(eq(theta.sizes()[0], size[0]), "the batches differ");
  in.require(eq(theta.sizes()[1], dims), "`theta` must have a row per coordinate");
  in.require(eq(theta.sizes()[2], dims + 1), "`theta` must have a column per coordinate and one more");
  DimVec sizes{size[0]};
  for (size_t i = 2; i < size.size(); ++i) {
    in.require(ge(size[i], 0), "`size` must not be negative");
    if (is_reduced_float(theta.dtype)) in.require(gt(size[i], 1), "in half precision eager can't write a single point");
    sizes.push_back(size[i]);
  }
  sizes.push_back(Dim(dims));
  in.result(contiguous_tensor(theta.dtype, sizes, theta.device));
}

}  // namespace lenz::rule
