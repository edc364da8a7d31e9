// Result types of convolutions and of their gradients.
#include "compiler/ops/decompose.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/rules/contraction.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/spatial_dims.h"

namespace lenz::rule {

namespace {
// A list of one number stands for as many as there are spatial dims.
DimVec spatial(Infer& in, std::string_view param, size_t count) {
  DimVec list = in.ints(param);
  if (list.size() == 1) return DimVec(count, list[0]);
  in.require(list.size() == count, "`" + std::string(param) + "` must name one number or one per spatial dim");
  return list;
}

// A 1-D convolution runs as a 2-D one over a contiguous input: the same tensor with a dim of one row put in.
const Type& with_row(Infer& in, const Type& t, bool make_contiguous) {
  TensorType wide = t.tensor();
  if (make_contiguous && !is_contiguous(in, t)) wide.strides = contiguous_strides(wide.sizes);
  Dim row_stride = wide.sizes[2] * wide.strides[2];
  wide.sizes.insert(2, Dim(1));
  wide.strides.insert(2, row_stride);
  return *in.context().tensor(wide);
}

// In 3-D only oneDNN's kernels write what lies otherwise, and no others take several groups at once. Those for narrow
// floats are there where the processor computes in them, so that eager's layouts, too, hang on the machine.
bool has_kernel(Dtype dtype) {
  const EagerProcessor eager = eager_processor();
  return dtype == Dtype::f32 || (dtype == Dtype::bf16 && eager.computes_in_bf16) ||
         (dtype == Dtype::f16 && eager.computes_in_half);
}

// Whether eager takes that kernel: in f32 where several groups or images, many elements or a kernel of more than 3 by 3
// are worth it, but with one thread, as Lenz asks it, for no kernel of one row and column that steps by one over fewer
// than 16 images; never where a transposed result gets more rows at its end than its stride has.
bool takes_kernel(Infer& in, const Type& input, const Type& weight) {
  constexpr int64_t kFew = 20480, kSmall = 3, kManyImages = 16;
  const size_t dims = input.rank() - 2;
  if (in.boolean("transposed")) {
    const DimVec stride = spatial(in, "stride", dims), extra = spatial(in, "output_padding", dims);
    for (size_t i = 0; i < dims; ++i)
      if (in.decide(ge(extra[i], stride[i]))) return false;
  }
  if (input.dtype != Dtype::f32) return true;
  const auto kernel = weight.sizes().last(2);
  const auto steps = [&](std::string_view by) {
    return std::ranges::any_of(spatial(in, by, dims), [&](Dim n) { return in.decide(ne(n, 1)); });
  };
  if (in.same(kernel[0], 1) && in.same(kernel[1], 1) && !steps("stride") && !steps("dilation") &&
      !in.decide(ge(input.sizes()[0], kManyImages)))
    return false;
  if (in.decide(gt(in.integer("groups"), 1)) || in.decide(gt(input.sizes()[0], 1))) return true;
  if (in.decide(gt(kernel[0], kSmall)) && in.decide(gt(kernel[1], kSmall))) return true;
  return in.decide(gt(numel(input.sizes().first(dims + 1)), kFew));
}

// Of groups that are convolved one by one eager puts the results together, in the layout that each of them suggests:
// one channel of one point suggests none.
bool joins_points(Infer& in, const Type& input, const Type& weight, std::span<const Dim> sizes) {
  const Dim groups = in.integer("groups");
  return in.decide(gt(groups, 1)) && in.decide(eq(sizes[1], groups)) &&
         std::ranges::all_of(sizes.subspan(2), [&](Dim n) { return in.is_one(n); }) &&
         !(has_kernel(input.dtype) && takes_kernel(in, input, weight));
}

// What the kernels write: channels-last if the input or the weight suggests it.
DimVec convolution_strides(Infer& in, const Type& input, const Type& weight, std::span<const Dim> sizes) {
  auto last = [&](const Type& t) { return suggested_format(in, t) != MemoryFormat::contiguous; };
  if (sizes.size() == 3) {
    const Type &image = with_row(in, input, true), &kernel = with_row(in, weight, false);
    if ((!last(image) && !last(kernel)) || joins_points(in, image, kernel, sizes)) return contiguous_strides(sizes);
    DimVec wide{sizes[0], sizes[1], Dim(1), sizes[2]};
    DimVec strides = channels_last_strides(wide);
    strides.erase(2);
    return strides;
  }
  const bool volumes = sizes.size() == 5;
  if ((volumes && !has_kernel(input.dtype)) || (!last(input) && !last(weight))) return contiguous_strides(sizes);
  const bool plain = volumes ? !takes_kernel(in, input, weight) : joins_points(in, input, weight, sizes);
  return plain ? contiguous_strides(sizes) : channels_last_strides(sizes);
}

// Of no images eager makes the input times a number, and looks at it in the result's sizes.
DimVec empty_strides(Infer& in, const Type& input, std::span<const Dim> sizes) {
  const Type& wide = sizes.size() == 3 ? with_row(in, input, true) : input;
  DimVec strides = elementwise_result(in, {{&wide}, {nullptr, Dtype::b8}}, input.dtype).strides;
  if (sizes.size() == 3) strides.erase(2);
  return strides;
}

// Whether there is nothing to convolve is asked only where the layout of a result depends on it.
DimVec result_strides(Infer& in, const Type& input, const Type& weight, std::span<const Dim> sizes) {
  DimVec strides = convolution_strides(in, input, weight, sizes), dense = contiguous_strides(sizes);
  bool plain = std::ranges::equal(input.strides(), contiguous_strides(input.sizes()));
  for (Dim n : input.sizes().subspan(1)) plain = plain && in.assumptions().prove(ge(n, 2)) == Truth::yes;
  bool alike = !plain;
  for (size_t i = 1; i < sizes.size(); ++i)
    alike = alike && in.assumptions().prove(eq(input.sizes()[i], sizes[i])) != Truth::no;
  if (alike && in.is_zero(input.sizes()[0])) {
    for (size_t i = 1; i < sizes.size(); ++i) alike = alike && in.same(input.sizes()[i], sizes[i]);
    if (alike) return empty_strides(in, input, sizes);
  }
  return strides != dense && (in.is_zero(input.sizes()[0]) || in.is_zero(input.sizes()[1])) ? dense : strides;
}

// The sizes of the result, where `input` and `weight` can be convolved.
DimVec convolved_sizes(Infer& in) {
  const Type& input = in.tensor("input");
  const Type& weight = in.tensor("weight");
  in.require(input.rank() >= 3 && input.rank() <= 5, "`input` must have 1 to 3 spatial dims");
  in.require(weight.rank() == input.rank(), "`weight` must be of the input's rank");
  one_dtype(in, {&input, &weight});
  in.require(!is_complex(input.dtype) && !is_float8(input.dtype), "complex and float8 numbers are not supported");
  size_t dims = input.rank() - 2;
  DimVec stride = spatial(in, "stride", dims), padding = spatial(in, "padding", dims),
         dilation = spatial(in, "dilation", dims);
  DimVec extra = spatial(in, "output_padding", dims);
  bool transposed = in.boolean("transposed");
  if (transposed) in.require(gt(weight.sizes()[1], 0), "the kernel must not be empty");
  Dim groups = in.integer("groups");
  in.require(ge(groups, 1), "`groups` must be positive");
  Dim out_channels = transposed ? weight.sizes()[1] * groups : weight.sizes()[0];
  in.require(eq(input.sizes()[1], transposed ? weight.sizes()[0] : weight.sizes()[1] * groups),
             "the channels of `input` and `weight` disagree");
  in.require(ge(weight.sizes()[0], groups), "`weight` must hold a kernel per group");
  in.require(divisible(transposed ? input.sizes()[1] : out_channels, groups),
             "the channels don't divide into the groups");
  const bool nothing = !transposed && in.is_zero(input.sizes()[1]);  // of which eager makes nothing, not the bias
  DimVec sizes{input.sizes()[0], nothing ? Dim(0) : out_channels};
  // Of nothing no kernel is asked, which is who refuses the rest.
  auto asks_no_kernel = [&] { return in.is_zero(input.sizes()[0]) || in.is_zero(input.sizes()[1]); };
  const bool plainly = is_integral(input.dtype, true) && input.dtype != Dtype::i64 && !asks_no_kernel();
  in.require(!plainly || !transposed, "of integers, only i64 can be transposed");
  for (size_t i = 0; i < dims; ++i) {
    in.require(gt(stride[i], 0), "`stride` must be positive");
    in.require(ge(padding[i], 0), "`padding` must not be negative");
    in.require(ge(dilation[i], 0), "`dilation` must not be negative");
    in.require(!in.is_zero(dilation[i]) || asks_no_kernel(), "`dilation` must be positive");
    if (plainly) in.require(eq(dilation[i], 1), "of integers, only i64 can be dilated");
    in.require(ge(extra[i], 0), "`output_padding` must not be negative");
    in.require(gt(weight.sizes()[i + 2], 0), "the kernel must not be empty");
    if (!in.decide(gt(input.sizes()[i + 2], 0))) in.require(asks_no_kernel(), "only batch or channels may be empty");
    Dim size = input.sizes()[i + 2], reach = dilation[i] * (weight.sizes()[i + 2] - 1);
    if (transposed) {
      in.require(lt(extra[i], max(stride[i], dilation[i])), "`output_padding` must be below stride or dilation");
      sizes.push_back((size - 1) * stride[i] - 2 * padding[i] + reach + extra[i] + 1);
      in.require(gt(sizes.back(), 0), "the output would be empty");
    } else {
      in.require(le(reach + 1, size + 2 * padding[i]), "the kernel is larger than the padded input");
      sizes.push_back(floor_div(size + 2 * padding[i] - reach - 1, stride[i]) + 1);
    }
  }
  return sizes;
}
}  // namespace

void convolution(Infer& in) {
  const Type& input = in.tensor("input");
  DimVec sizes = convolved_sizes(in);
  if (const Type* bias = in.tensor_or_null("bias")) {
    in.require(bias->rank() == 1, "`bias` must be a vector");
    const Type& weight = in.tensor("weight");
    const Dim channels = in.boolean("transposed") ? sizes[1] : weight.sizes()[0];
    in.require(eq(bias->sizes()[0], channels), "`bias` must have one number per output channel");
    one_dtype(in, {&input, bias});
  }
  in.result(TensorType{input.dtype, input.device, sizes, result_strides(in, input, in.tensor("weight"), sizes), 0});
}

void convolution_by_name(Infer& in) {
  const size_t dims = spatial_dims(in.op()).value();
  in.require(in.tensor("weight").rank() == dims + 2, "`weight` must have as many spatial dims as the name says");
  composite(in);
}

// Both gradients lie as the result of the convolution would: in the format that its kernel takes.
void convolution_backward(Infer& in) {
  const Type& input = in.tensor("input");
  const Type& weight = in.tensor("weight");
  const Type& gradient = in.tensor("grad_output");
  DimVec sizes = convolved_sizes(in);
  in.require(is_floating(input.dtype), "needs a floating dtype");
  one_dtype(in, {&input, &gradient});
  in.require(gradient.rank() == sizes.size(), "`grad_output` must have the shape of the result");
  for (size_t i = 0; i < sizes.size(); ++i)
    in.require(eq(gradient.sizes()[i], sizes[i]), "`grad_output` must have the shape of the result");
  std::span<const bool> mask = in.arg("output_mask").bool_list();
  in.require(mask.size() == 3, "`output_mask` must hold three flags");
  auto gradient_of = [&](const Type& of) {
    DimVec dense = contiguous_strides(of.sizes()), strides = convolution_strides(in, input, weight, of.sizes());
    bool plain = strides == dense && std::ranges::equal(of.strides(), dense);
    if (!plain && (in.is_zero(input.sizes()[0]) || in.is_zero(input.sizes()[1]))) strides = preserved_strides(in, of);
    in.result(TensorType{input.dtype, input.device, DimVec(of.sizes()), strides, 0});
  };
  auto none = [&] { in.result(in.context().simple(TypeKind::none)); };
  mask[0] ? gradient_of(input) : none();
  mask[1] ? gradient_of(weight) : none();
  if (!mask[2]) return none();
  DimVec bias{sizes[1]};
  if (const Arg& told = in.arg("bias_sizes"); !told.is_none()) {  // without images eager looks at nothing else
    const DimVec said = in.ints("bias_sizes");
    if (!(said == bias) && (in.is_zero(input.sizes()[0]) || in.is_zero(input.sizes()[1]))) bias = said;
  }
  for (Dim size : bias) in.require(ge(size, 0), "a size of the bias is negative");
  in.result(contiguous_tensor(input.dtype, bias, input.device));
}

}  // namespace lenz::rule
