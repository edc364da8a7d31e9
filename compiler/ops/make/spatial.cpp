#include "compiler/ops/make/spatial.h"

#include <cmath>

#include "compiler/ops/spatial_dims.h"

namespace lenz::make {

namespace {
size_t spatial_dims(const CallMaker& m) { return lenz::spatial_dims(m.op()).value_or(2); }

struct Window {
  Sizes input, kernel, stride, padding, dilation, output;
};

int64_t pooled(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
  int64_t out = (size + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0)) / stride + 1;
  return ceil && (out - 1) * stride >= size + pad ? out - 1 : out;
}

// Windows that fit an input of [batch,] channels and spatial dims.
Window a_window(CallMaker& m, size_t dims, bool batched, bool dilates, bool ceil) {
  Chooser& c = m.choose();
  Window w;
  if (batched) w.input.push_back(c.chance(1, 16) ? 0 : c.between(1, 2));
  w.input.push_back(c.between(1, 3));
  w.output = w.input;
  for (size_t i = 0; i < dims; ++i) {
    int64_t kernel = c.between(1, 3), dilation = dilates && c.chance(1, 4) ? 2 : 1;
    int64_t reach = dilation * (kernel - 1) + 1;
    w.kernel.push_back(kernel);
    w.dilation.push_back(dilation);
    w.stride.push_back(c.between(1, 3));
    w.padding.push_back(c.between(0, kernel / 2));
    w.input.push_back(reach + c.between(0, 4));
    w.output.push_back(pooled(w.input.back(), kernel, w.stride.back(), w.padding.back(), dilation, ceil));
  }
  return w;
}

// One number may stand for all dims.
void set_window(CallMaker& m, std::string_view param, std::span<const int64_t> values) {
  bool same = std::ranges::all_of(values, [&](int64_t v) { return v == values[0]; });
  m.set_ints(param, same && m.choose().chance(1, 4) ? values.first(1) : values);
}

void set_windows(CallMaker& m, Window& w, bool stride_may_be_empty) {
  set_window(m, "kernel_size", w.kernel);
  if (stride_may_be_empty) {
    m.set_ints("stride", {});
  } else {
    set_window(m, "stride", w.stride);
  }
  set_window(m, "padding", w.padding);
  if (m.has("dilation")) set_window(m, "dilation", w.dilation);
}

ValueId input_of(CallMaker& m, const Sizes& sizes, std::string_view name = "self") {
  TensorWish wish;
  wish.sizes = sizes;
  ValueId v = m.tensor(wish);
  m.set(name, v);
  return v;
}

ValueId gradient(CallMaker& m, const Sizes& sizes, Dtype dtype) {
  TensorWish wish;
  wish.sizes = sizes;
  wish.dtype = dtype;
  return m.tensor(wish);
}
}  // namespace

void pool(CallMaker& m) {
  Chooser& c = m.choose();
  bool ceil = c.chance(1, 3), divisor = m.has("divisor_override") && c.chance(1, 3);
  Window w = a_window(m, spatial_dims(m), c.chance(3, 4), m.has("dilation"), ceil);
  TensorWish wish;
  wish.sizes = w.input;
  // An unbatched volume that looks like a batch of channels-last images is refused; so are channels-last volumes with
  // more elements than their 8-bit dtype has numbers.
  bool volume = spatial_dims(m) == 3;
  wish.dtype = m.a_dtype(m.op().dtypes);
  wish.plain = volume && (w.input.size() == 4 || *wish.dtype == Dtype::u8 || *wish.dtype == Dtype::i8);
  m.set("self", m.tensor(wish));
  set_windows(m, w, c.chance(1, 3));
  m.set("ceil_mode", Arg::of_bool(ceil));
  if (divisor) m.set("divisor_override", Arg::of_int(c.chance(1, 4) ? -2 : c.between(1, 5)));
}

void adaptive_pool(CallMaker& m) {
  Chooser& c = m.choose();
  size_t dims = spatial_dims(m);
  bool batched = c.chance(3, 4);
  Sizes sizes = m.a_shape(static_cast<int>(dims) + (batched ? 2 : 1), static_cast<int>(dims) + (batched ? 2 : 1), 1),
        target;
  if (batched && c.chance(1, 16)) sizes[0] = 0;
  bool one = c.chance(1, 4);
  for (size_t i = 0; i < dims; ++i) target.push_back(one ? 1 : c.between(1, 4));
  input_of(m, sizes);
  m.set_ints("output_size", target);
}

// Every place is taken once: a plane holds as many elements as there are indices.
void max_unpool(CallMaker& m) {
  Chooser& c = m.choose();
  size_t dims = m.has("stride") ? 3 : 2;
  TensorWish wish;
  if (c.chance(3, 4)) wish.sizes = Sizes{c.between(0, 3)};
  Sizes sizes = wish.sizes.value_or(Sizes{});
  for (size_t i = 0; i <= dims; ++i) sizes.push_back(c.between(1, 4));
  wish.sizes = sizes;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  TensorWish places;
  places.dtype = Dtype::i64;
  places.sizes = sizes;
  places.permutation = true;
  m.set("indices", m.tensor(places));
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  Sizes window(dims, 1);
  window[0] = c.between(1, 5);
  window[dims - 1] = n / window[0] + 1 + c.between(0, 2);
  m.set_ints("output_size", window);
  if (dims == 3) {
    m.set_ints("stride", Sizes{c.between(1, 2), 1, c.between(1, 3)});
    m.set_ints("padding", Sizes{0, c.between(0, 1), 0});
  }
}

void max_pool_backward(CallMaker& m) {
  Chooser& c = m.choose();
  bool ceil = c.chance(1, 3);
  Window w = a_window(m, 2, c.chance(3, 4), true, ceil);
  ValueId self = input_of(m, w.input);
  set_windows(m, w, false);
  m.set("ceil_mode", Arg::of_bool(ceil));
  m.set("grad_output", gradient(m, w.output, m.type(self).dtype));
  TensorWish indices;
  indices.dtype = Dtype::i64;
  indices.sizes = w.output;
  indices.integers = {0, w.input[w.input.size() - 2] * w.input.back() - 1};
  m.set("indices", m.tensor(indices));
}

void avg_pool_backward(CallMaker& m) {
  Chooser& c = m.choose();
  Window w = a_window(m, 2, c.chance(3, 4), false, false);
  ValueId self = input_of(m, w.input);
  set_windows(m, w, false);
  m.set("ceil_mode", Arg::of_bool(false));
  m.set("grad_output", gradient(m, w.output, m.type(self).dtype));
}

void adaptive_pool_backward(CallMaker& m) {
  Chooser& c = m.choose();
  int rank = c.chance(3, 4) ? 4 : 3;
  Sizes sizes = m.a_shape(rank, rank, 1), grad = sizes;
  grad[grad.size() - 1] = c.between(1, sizes[sizes.size() - 1]);
  grad[grad.size() - 2] = c.between(1, sizes[sizes.size() - 2]);
  ValueId self = input_of(m, sizes);
  m.set("grad_output", gradient(m, grad, m.type(self).dtype));
}

namespace {
Sizes upsampled_input(CallMaker& m, size_t dims) {
  Sizes sizes{m.choose().between(1, 2), m.choose().between(1, 5)};
  for (size_t i = 0; i < dims; ++i) sizes.push_back(m.choose().between(1, 5));
  return sizes;
}
}  // namespace

namespace {
// A tensor of the op's dtypes. Eager's kernels for u8 read elsewhere where a dim of one element has an odd stride.
ValueId interpolated(CallMaker& m, std::string_view param, const Sizes& sizes, DtypeSet dtypes) {
  TensorWish wish{.dtype = m.a_dtype(dtypes), .sizes = sizes};
  if (*wish.dtype == Dtype::u8)
    wish.format = sizes.size() == 4 && m.choose().flip() ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  ValueId v = m.tensor(wish);
  m.set(param, v);
  return v;
}
}  // namespace

namespace {
// Eager's separable kernel (of antialiasing, and of bytes) takes every row for the first where rows have one element.
bool needs_columns(CallMaker& m, ValueId input) {
  const bool smooths = m.op().schema.packet.ends_with("_aa");  // op name: what tells it from upsampling is its name
  return m.rank(input) == 4 && (smooths || m.type(input).dtype == Dtype::u8);
}
}  // namespace

void upsample(CallMaker& m) {
  Chooser& c = m.choose();
  size_t dims = spatial_dims(m);
  Sizes sizes = upsampled_input(m, dims), target;
  for (size_t i = 0; i < dims; ++i) target.push_back(c.between(1, 9));
  // Eager's kernels for u8 abort the process on an out= tensor that is laid out in its own way.
  bool out = m.op().variant == VariantKind::out;
  ValueId self = interpolated(m, "self", sizes, out ? m.op().dtypes - DtypeSet::of(Dtype::u8) : m.op().dtypes);
  // A scale leads to the output's size: eager's antialiasing kernels read beyond the input where it does not.
  constexpr double kScale = 1.5;
  bool columns = needs_columns(m, self), scaled = c.chance(1, 3) && !(columns && sizes.back() == 1);
  for (size_t i = 0; scaled && i < dims; ++i)
    target[i] = static_cast<int64_t>(std::floor(static_cast<double>(sizes[i + 2]) * kScale));
  if (columns) target.back() = std::max<int64_t>(target.back(), 2);
  m.set_ints("output_size", target);
  constexpr std::string_view kScales[] = {"scales", "scales_d", "scales_h", "scales_w"};
  for (std::string_view p : kScales)
    if (m.has(p) && scaled) m.set(p, Arg::of_real(kScale));
}

void upsample_vec(CallMaker& m) {
  Chooser& c = m.choose();
  size_t dims = spatial_dims(m);
  ValueId input = interpolated(m, "input", upsampled_input(m, dims), m.op().dtypes);
  bool columns = needs_columns(m, input);
  if (c.flip()) {
    Sizes target;
    for (size_t i = 0; i < dims; ++i) target.push_back(c.between(1, 9));
    if (columns) target.back() = std::max<int64_t>(target.back(), 2);
    m.set_ints("output_size", target);
  } else {
    SmallVec<double, 4> factors;
    for (size_t i = 0; i < dims; ++i) factors.push_back(c.any_of<double>({2, 1, 1.5, 2.25}));
    if (columns && m.size(input, -1) == 1) factors.back() = 2;
    m.set("scale_factors", m.context().reals(factors));
  }
}

void grid_sampler(CallMaker& m) {
  Chooser& c = m.choose();
  size_t dims = lenz::spatial_dims(m.op()).value_or(c.flip() ? 3 : 2);
  Sizes sizes = upsampled_input(m, dims), grid{sizes[0]};
  for (size_t i = 0; i < dims; ++i) grid.push_back(c.between(1, 4));
  grid.push_back(static_cast<int64_t>(dims));
  ValueId input = input_of(m, sizes, "input");
  m.set("grid", gradient(m, grid, m.type(input).dtype));
  m.set("interpolation_mode", Arg::of_int(c.between(0, dims == 2 ? 2 : 1)));
  m.set("padding_mode", Arg::of_int(c.between(0, 2)));
}

void affine_grid(CallMaker& m) {
  Chooser& c = m.choose();
  int64_t dims = c.flip() ? 3 : 2;
  Sizes size{c.between(1, 3), c.between(1, 3)};
  Dtype dtype = m.a_dtype(m.op().dtypes);
  int64_t least = is_reduced_float(dtype) ? 2 : 1;  // eager can't write the one point of a side in half precision
  for (int64_t i = 0; i < dims; ++i) size.push_back(c.between(least, 4));
  m.set("theta", gradient(m, {size[0], dims, dims + 1}, dtype));
  m.set_ints("size", size);
}

}  // namespace lenz::make
