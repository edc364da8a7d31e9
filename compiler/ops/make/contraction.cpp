#include "compiler/ops/make/contraction.h"

#include "compiler/ops/spatial_dims.h"

namespace lenz::make {

namespace {
ValueId shaped(CallMaker& m, const Sizes& sizes, Dtype dtype, bool written = false) {
  TensorWish wish;
  wish.sizes = sizes;
  wish.dtype = dtype;
  wish.written = written;
  return m.tensor(wish);
}

void set_scales(CallMaker& m, Dtype dtype) {
  for (std::string_view p : {"beta", "alpha"})
    if (m.has(p) && m.choose().flip()) {
      bool fraction = is_inexact(dtype) && m.choose().flip();
      if (is_complex(dtype) && m.choose().chance(1, 3)) {
        m.set(p, m.context().complex({m.a_real(-2, 2), m.a_real(-2, 2)}));
        continue;
      }
      m.set(p, fraction ? Arg::of_real(m.a_real(-2, 2)) : Arg::of_int(m.choose().between(0, 3)));
    }
}

// The addend of addmm and its kin: it broadcasts to the product, and is as large in place.
void set_addend(CallMaker& m, const Sizes& product, Dtype dtype) {
  bool in_place = m.op().variant == VariantKind::in_place;
  m.set("self", shaped(m, in_place ? product : m.shape_like_with_ones(product), dtype, in_place));
  set_scales(m, dtype);
}
}  // namespace

void mm(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  bool added = m.has("mat1");
  // Where nothing is multiplied, eager scales the addend by a kernel that float8 does not have.
  int64_t n = m.a_size(), k = m.a_size(added && dtypes::float8.has(d) ? 1 : 0), p = m.a_size();
  m.set(added ? "mat1" : "self", shaped(m, {n, k}, d));
  m.set("mat2", shaped(m, {k, p}, d));
  if (added) set_addend(m, {n, p}, d);
}

void bmm(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes - dtypes::float8);
  int64_t b = m.a_size(), n = m.a_size(), k = m.a_size(), p = m.a_size();
  bool added = m.has("batch1");
  m.set(added ? "batch1" : "self", shaped(m, {b, n, k}, d));
  m.set(added ? "batch2" : "mat2", shaped(m, {b, k, p}, d));
  bool summed = m.op().schema.packet.starts_with("addbmm");  // op name: its parameters are baddbmm's
  if (added) set_addend(m, summed ? Sizes{n, p} : Sizes{b, n, p}, d);
}

void mv(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  int64_t least = m.op().variant == VariantKind::out && m.has("mat") ? 1 : 0;  // its rule knows no empty matrices
  int64_t n = m.a_size(least), k = m.a_size(least);
  bool added = m.has("mat");
  m.set(added ? "mat" : "self", shaped(m, {n, k}, d));
  m.set("vec", shaped(m, {k}, d));
  if (added) set_addend(m, {n}, d);
}

void dot(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  int64_t n = m.a_size();
  m.set(m.op().schema.params[0].name, shaped(m, {n}, d));
  m.set(m.op().schema.params[1].name, shaped(m, {n}, d));
}

void vecdot(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  Sizes x = m.a_shape(1, 4);
  int64_t dim = m.a_dim(x.size());
  auto at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(x.size()) : dim);
  Sizes y = x;
  for (size_t i = 0; i < y.size(); ++i)
    if (i != at && m.choose().chance(1, 4)) y[i] = 1;
  m.set("x", shaped(m, x, d));
  m.set("y", shaped(m, y, d));
  m.set("dim", Arg::of_int(dim));
}

void outer(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes - dtypes::float8);  // eager has float8 kernels for some strides only
  int64_t n = m.a_size(), p = m.a_size();
  bool added = m.has("vec1");
  m.set(added ? "vec1" : "self", shaped(m, {n}, d));
  m.set("vec2", shaped(m, {p}, d));
  if (added) set_addend(m, {n, p}, d);
}

void matmul(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes - dtypes::float8);
  Chooser& c = m.choose();
  int64_t k = m.a_size();
  Sizes a{k}, b{k};
  auto batch = m.broadcast_shapes(2, 3);
  if (c.chance(3, 4)) {
    a.insert(0, m.a_size());
    if (c.flip())
      for (size_t i = batch[0].size(); i-- > 0;) a.insert(0, batch[0][i]);
  }
  if (c.chance(3, 4)) {
    b.push_back(m.a_size());
    if (c.flip())
      for (size_t i = batch[1].size(); i-- > 0;) b.insert(0, batch[1][i]);
  }
  m.set(m.op().schema.params[0].name, shaped(m, a, d));
  m.set(m.op().schema.params[1].name, shaped(m, b, d));
}

void linear(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.dtypes = m.op().dtypes - dtypes::float8;  // eager has float8 kernels for some shapes only
  ValueId input = m.tensor(wish);
  Dtype d = m.type(input).dtype;
  m.set("input", input);
  int64_t k = m.size(input, -1), n = m.a_size();
  if (m.choose().chance(1, 6)) {
    m.set("weight", shaped(m, {k}, d));
    if (m.type(input).rank() != 2 && m.choose().flip()) m.set("bias", shaped(m, {}, d));
    return;
  }
  m.set("weight", shaped(m, {n, k}, d));
  if (m.choose().flip()) m.set("bias", shaped(m, {n}, d));
}

void inner(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes - dtypes::float8);
  Sizes a = m.a_shape(0, 3), b = m.a_shape(0, 3);
  if (!a.empty() && !b.empty()) b.back() = a.back();
  m.set("self", shaped(m, a, d));
  m.set("other", shaped(m, b, d));
}

void tensordot(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes - dtypes::float8);
  Sizes a = m.a_shape(1, 4), b = m.a_shape(1, 4);
  size_t most = std::min(a.size(), b.size());
  auto count = static_cast<size_t>(m.choose().between(0, static_cast<int64_t>(most)));
  SmallVec<int64_t, 6> dims_a, dims_b;
  for (size_t i = 0; i < count; ++i) {
    size_t x = a.size() - 1 - i;
    b[i] = a[x];
    dims_a.push_back(m.choose().flip() ? static_cast<int64_t>(x)
                                       : static_cast<int64_t>(x) - static_cast<int64_t>(a.size()));
    dims_b.push_back(m.choose().chance(1, 4) ? static_cast<int64_t>(i) - static_cast<int64_t>(b.size())
                                             : static_cast<int64_t>(i));
  }
  m.set("self", shaped(m, a, d));
  m.set("other", shaped(m, b, d));
  m.set_ints("dims_self", dims_a);
  m.set_ints("dims_other", dims_b);
}

void bilinear(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  Sizes a = m.a_shape(1, 3, 1), b = a;
  int64_t out = m.a_size(1);
  b.back() = m.a_size(1);
  if (a.size() > 1 && m.choose().chance(1, 8)) a[0] = b[0] = 0;
  m.set("input1", shaped(m, a, d));
  m.set("input2", shaped(m, b, d));
  m.set("weight", shaped(m, {out, a.back(), b.back()}, d));
  if (m.choose().flip()) m.set("bias", shaped(m, {out}, d));
}

void cross(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  Sizes a = m.a_shape(1, 4);
  int64_t dim = m.a_dim(a.size());
  auto at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.size()) : dim);
  a[at] = 3;
  Sizes b = a;
  for (size_t i = 0; i < b.size(); ++i)
    if (i != at && m.choose().chance(1, 8)) b[i] = 1;
  m.set("self", shaped(m, a, d));
  m.set("other", shaped(m, b, d));
  const Param& p = m.op().schema.params[static_cast<size_t>(m.op().schema.find("dim"))];
  // Without one it is the first of size 3.
  bool first = std::ranges::find(a, 3) - a.begin() == (dim < 0 ? dim + static_cast<int64_t>(a.size()) : dim);
  if (!p.type.optional || !first || m.choose().flip()) m.set("dim", Arg::of_int(dim));
}

void cdist(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  int64_t k = m.a_size(1);
  auto batch = m.broadcast_shapes(2, 2);
  for (Sizes& s : batch) {
    s.push_back(m.a_size());
    s.push_back(k);
  }
  m.set("x1", shaped(m, batch[0], d));
  m.set("x2", shaped(m, batch[1], d));
  m.set("p", Arg::of_real(m.choose().any_of<double>({2, 1, 0, 1.5})));
  if (m.choose().flip()) m.set("compute_mode", Arg::of_int(m.choose().between(0, 2)));
}

void pdist(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = wish.max_rank = 2;
  m.set("self", m.tensor(wish));
  m.set("p", Arg::of_real(m.choose().any_of<double>({2, 1, 0, 1.5})));
}

namespace {
void set_spatial(CallMaker& m, std::string_view param, std::span<const int64_t> values) {
  // Half of the calls with one number for all dims write it once.
  bool same = std::ranges::all_of(values, [&](int64_t v) { return v == values[0]; });
  if (same && m.choose().flip()) values = values.first(1);
  m.set_ints(param, values);
}

// Returns the sizes of its result.
Sizes a_convolution(CallMaker& m, size_t dims, bool transposed, bool batched) {
  Chooser& c = m.choose();
  constexpr DtypeSet kPlainOnly = dtypes::integers - DtypeSet::of(Dtype::i64);
  Dtype d = m.a_dtype(transposed ? m.op().dtypes - kPlainOnly : m.op().dtypes);
  int64_t groups = c.chance(1, 3) ? c.between(2, 3) : 1;
  // Many of a network's are so: as many channels and places come out as go in.
  const bool keeps_sizes = c.chance(1, 4);
  int64_t in_channels = groups * c.between(1, 3), out_channels = keeps_sizes ? in_channels : groups * c.between(1, 3);
  Sizes input{c.between(1, 3), in_channels},
      weight{transposed ? in_channels : out_channels, (transposed ? out_channels : in_channels) / groups};
  Sizes stride, padding, dilation, extra;
  for (size_t i = 0; i < dims; ++i) {
    int64_t kernel = c.between(1, 3), dilate = !kPlainOnly.has(d) && c.chance(1, 4) ? 2 : 1;
    if (dims == 3 && i == 2) kernel = std::max<int64_t>(kernel, 2);  // see the row's exception
    if (keeps_sizes && kernel == 2) kernel = 3;
    stride.push_back(keeps_sizes ? 1 : c.between(1, 2));
    padding.push_back(keeps_sizes ? dilate * (kernel - 1) / 2 : c.between(0, 2));
    dilation.push_back(dilate);
    extra.push_back(transposed && stride.back() > 1 ? c.between(0, 1) : 0);
    // Large enough for the kernel, and for a transposed output that is not empty.
    input.push_back(dilate * (kernel - 1) + 1 + 2 * padding.back() * (transposed ? 1 : 0) + c.between(0, 3));
    weight.push_back(kernel);
  }
  if (!batched) {
    input.erase(0);
  } else if (c.chance(1, 16)) {
    input[0] = 0;
  }
  TensorWish wish;
  wish.dtype = d;
  wish.sizes = input;
  // With one channel to a group, or one element to a channel, strides of both memory formats are the same, and the
  // format of the result depends on which kernel looks at them first.
  auto area = [](const Sizes& s, size_t from) {
    int64_t n = 1;
    for (size_t i = from; i < s.size(); ++i) n *= s[i];
    return n;
  };
  bool ambiguous =
      in_channels == groups || out_channels == groups || area(input, batched ? 2 : 1) == 1 || area(weight, 2) == 1;
  // Eager's kernel for bf16 dies on some dilated convolutions with channels-last operands.
  bool dilated = std::ranges::any_of(dilation, [](int64_t v) { return v > 1; });
  if (d == Dtype::bf16 && dilated) wish.format = MemoryFormat::contiguous;
  if (ambiguous) wish.plain = true;
  m.set("input", m.tensor(wish));
  wish.sizes = weight;
  m.set("weight", m.tensor(wish));
  if (m.has("bias") && c.flip()) m.set("bias", shaped(m, {out_channels}, d));
  const Param& padded = m.op().schema.params[static_cast<size_t>(m.op().schema.find("padding"))];
  bool by_name = padded.type.kind == ParamKind::string, same = by_name && c.flip();
  if (same) stride = Sizes(dims, 1);
  set_spatial(m, "stride", stride);
  if (by_name) {
    m.set("padding", m.context().string(same ? "same" : "valid"));
  } else {
    set_spatial(m, "padding", padding);
  }
  set_spatial(m, "dilation", dilation);
  if (m.has("output_padding")) set_spatial(m, "output_padding", extra);
  if (m.has("transposed")) m.set("transposed", Arg::of_bool(transposed));
  m.set("groups", Arg::of_int(groups));
  Sizes result{input[0], out_channels};
  for (size_t i = 0; i < dims; ++i) {
    int64_t size = input[input.size() - dims + i], reach = dilation[i] * (weight[i + 2] - 1);
    result.push_back(transposed ? (size - 1) * stride[i] - 2 * padding[i] + reach + extra[i] + 1
                                : (size + 2 * padding[i] - reach - 1) / stride[i] + 1);
  }
  return result;
}
}  // namespace

void convolution(CallMaker& m) {
  auto dims = static_cast<size_t>(m.choose().any_of<int64_t>({2, 1, 3}));
  a_convolution(m, dims, m.choose().chance(1, 3), true);
}

void convolution_backward(CallMaker& m) {
  Chooser& c = m.choose();
  auto dims = static_cast<size_t>(c.any_of<int64_t>({2, 1, 3}));
  Sizes result = a_convolution(m, dims, c.chance(1, 3), true);
  m.set("grad_output", shaped(m, result, m.type(m.get("input").value()).dtype));
  // Of no images eager asks for the bias's sizes, and dies if there are none.
  if (result[0] == 0 || c.flip()) m.set_ints("bias_sizes", std::span<const int64_t>(&result[1], 1));
  // Eager's faster kernels give the weight's gradient beside the bias's, asked for or not.
  bool bias = c.flip(), mask[] = {c.chance(3, 4), bias || c.flip(), bias};
  m.set("output_mask", m.context().bools(mask));
}

void conv(CallMaker& m) {
  a_convolution(m, spatial_dims(m.op()).value_or(2), m.has("output_padding"), m.choose().chance(3, 4));
}

void attention(CallMaker& m) {
  Chooser& c = m.choose();
  Dtype d = m.a_dtype(m.op().dtypes);
  bool fused = m.op().schema.packet.find("flash") != std::string::npos;  // op name: eager's kernel wants rank 4
  Sizes q = fused ? m.a_shape(4, 4, 1) : m.a_shape(c.flip() ? 4 : 3, 4, 1), k = q, mask;
  k[k.size() - 2] = m.a_size(1);
  // Heads of queries that share one of the keys and values.
  Sizes v = k;
  bool grouped = (fused || m.has("enable_gqa")) && q.size() >= 3 && c.chance(1, 3);
  if (grouped) {
    auto share = c.any_of<int64_t>({2, 1, 3});
    q[q.size() - 3] = k[k.size() - 3] * share;
    if (!fused && c.chance(1, 4)) v[v.size() - 3] = 1;
  }
  TensorWish wish;
  wish.dtype = d;
  wish.format = MemoryFormat::contiguous;
  // Heads as they come out of a projection: position before head.
  bool swapped = q.size() == 4 && c.flip();
  auto make = [&](Sizes sizes) {
    if (!swapped) {
      wish.sizes = sizes;
      return m.tensor(wish);
    }
    return m.transposed(sizes, d, 1, 2);
  };
  m.set("query", make(q));
  m.set("key", make(k));
  m.set("value", make(v));
  m.set("dropout_p", Arg::of_real(0));  // with dropout it were random
  bool causal = c.chance(1, 3);
  m.set("is_causal", Arg::of_bool(causal));
  if (!causal && c.flip()) {
    TensorWish a_mask;
    a_mask.dtype = !fused && c.flip() ? Dtype::b8 : d;
    a_mask.sizes = Sizes{q[q.size() - 2], k[k.size() - 2]};
    a_mask.plain = true;
    m.set("attn_mask", m.tensor(a_mask));
  }
  if (c.flip()) m.set("scale", Arg::of_real(0.5));
  if (m.has("enable_gqa")) m.set("enable_gqa", Arg::of_bool(grouped));
}

}  // namespace lenz::make
