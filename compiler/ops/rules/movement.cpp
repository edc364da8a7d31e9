#include "compiler/ops/rules/movement.h"

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

namespace {
TensorType fresh(Infer& in, const Type& like, const DimVec& sizes, MemoryFormat format = MemoryFormat::contiguous) {
  return {like.dtype, like.device, sizes, format_strides(in, format, sizes), 0};
}

TensorType preserved(Infer& in, const Type& t) {
  TensorType result = t.tensor();
  result.strides = preserved_strides(in, t);
  result.offset = 0;
  return result;
}

SmallVec<size_t, 6> distinct_dims(Infer& in, std::string_view param, size_t rank) {
  SmallVec<size_t, 6> list;
  for (int64_t dim : in.constants(param)) {
    auto d = static_cast<size_t>(in.wrap_dim(dim, rank));
    in.require(std::find(list.begin(), list.end(), d) == list.end(), "a dim is named twice");
    list.push_back(d);
  }
  return list;
}

bool is_empty(Infer& in, const Type& t) {
  for (Dim s : t.sizes())
    if (in.is_zero(s)) return true;
  return false;
}

Dim dim_at(const Type& t, int64_t from_end) { return t.sizes()[t.rank() - static_cast<size_t>(from_end)]; }
}  // namespace

void flip(Infer& in) {
  const Type& t = in.tensor(0);
  distinct_dims(in, "dims", t.rank());
  in.result(preserved(in, t));
}

void flip_axis(Infer& in, size_t axis) {
  const Type& t = in.tensor(0);
  in.require(t.rank() > axis, "needs a tensor of more dims");
  in.result(preserved(in, t));
}

void roll(Infer& in) {
  const Type& t = in.tensor(0);
  DimVec shifts = in.ints("shifts");
  auto dims = in.constants("dims");
  in.require(!shifts.empty(), "needs shifts");
  if (dims.empty() && shifts.size() == 1) {  // of the flattened tensor
    bool as_it_is = t.rank() == 1 && is_empty(in, t);
    return in.result(as_it_is ? preserved(in, t) : fresh(in, t, DimVec(t.sizes())));
  }
  in.require(shifts.size() == dims.size(), "shifts and dims differ in number");
  if (is_empty(in, t)) return in.result(preserved(in, t));
  TensorType result = t.tensor();
  for (size_t i = 0; i < dims.size(); ++i) {
    in.require(t.rank() > 0, "a 0-dim tensor has no dim to name");
    auto d = static_cast<size_t>(in.wrap_dim(dims[i], t.rank()));
    // Eager joins the two slices, and the join looks at their layouts.
    Dim start = mod(t.sizes()[d] - shifts[i], t.sizes()[d]);
    TensorType high = result, low = result;
    high.sizes[d] = t.sizes()[d] - start;
    low.sizes[d] = start;
    result.strides = contiguous_strides(result.sizes);
    if (t.rank() == 4 || t.rank() == 5)
      result.strides = concatenated(in, {in.context().tensor(high), in.context().tensor(low)}, dims[i]).strides;
  }
  result.offset = 0;
  in.result(result);
}

void rot90(Infer& in) {
  const Type& t = in.tensor(0);
  auto dims = in.constants("dims");
  in.require(dims.size() == 2, "needs two dims");
  in.require(t.rank() >= 2, "needs a tensor of at least 2 dims");
  auto a = static_cast<size_t>(in.wrap_dim(dims[0], t.rank())), b = static_cast<size_t>(in.wrap_dim(dims[1], t.rank()));
  in.require(a != b, "needs two different dims");
  int64_t quarters = ((in.constant("k") % 4) + 4) % 4;
  if (quarters == 0) return in.result(fresh(in, t, DimVec(t.sizes())));
  TensorType result = preserved(in, t);
  if (quarters % 2 == 1) {
    std::swap(result.sizes[a], result.sizes[b]);
    std::swap(result.strides[a], result.strides[b]);
  }
  in.result(result);
}

namespace {
void repeated(Infer& in, const Type& t, DimVec repeats) {
  in.require(repeats.size() >= t.rank(), "fewer repeats than dims");
  for (size_t i = 0; i < repeats.size(); ++i) {
    size_t missing = repeats.size() - t.rank();
    if (i >= missing) repeats[i] *= t.sizes()[i - missing];
    in.require(ge(repeats[i], 0), "a negative number of repeats");  // of nothing eager allows it
  }
  in.result(fresh(in, t, repeats));
}
}  // namespace

void repeat(Infer& in) { repeated(in, in.tensor(0), in.ints("repeats")); }

void tile(Infer& in) {
  const Type& t = in.tensor(0);
  DimVec dims = in.ints("dims");
  while (dims.size() < t.rank()) dims.insert(0, Dim(1));
  repeated(in, t, dims);
}

namespace {
// Whether there is nothing to repeat. Of a size that only the run knows types need not know: what it binds is 0 then.
bool nothing_in(Infer& in, Dim size) {
  if (in.assumptions().mentions_open(size)) return in.assumptions().prove(eq(size, 0)) == Truth::yes;
  return in.is_zero(size);
}

// The sum of repeats, which only the run knows if nobody stated it.
Dim repeated_size(Infer& in, const Type& repeats, std::optional<Dim> stated) {
  if (repeats.rank() == 1 && nothing_in(in, repeats.sizes()[0])) return 0;
  if (!stated) return in.unbacked(0, std::nullopt);
  in.require(ge(*stated, 0), "output_size is negative");
  return *stated;
}
}  // namespace

void repeat_interleave(Infer& in) {
  const Type& t = in.tensor(0);
  DimVec sizes(t.sizes());
  size_t d = 0;
  if (in.given("dim")) {
    in.require(t.rank() > 0, "a 0-dim tensor has no dim to name");
    d = static_cast<size_t>(in.wrap_dim(in.constant("dim"), t.rank()));
  } else {
    sizes = {numel(t.sizes())};
  }
  auto stated = in.maybe_integer("output_size");
  if (in.op().schema.params[in.at("repeats")].type.kind != ParamKind::tensor) {
    Dim repeats = in.integer("repeats");
    in.require(ge(repeats, 0), "a negative number of repeats");
    sizes[d] *= repeats;
    if (stated) in.require(eq(*stated, sizes[d]), "output_size is another");
    return in.result(fresh(in, t, sizes));
  }
  const Type& repeats = in.tensor("repeats");
  in.require(repeats.dtype == Dtype::i32 || repeats.dtype == Dtype::i64, "repeats must be i32 or i64");
  in.require(repeats.rank() <= 1, "repeats must have at most one dim");
  const bool each = repeats.rank() == 1 && repeats.sizes()[0] == sizes[d];
  const bool one = repeats.rank() == 0 || (!each && in.is_one(repeats.sizes()[0]));
  if (!each && !one) in.require(eq(repeats.sizes()[0], sizes[d]), "repeats have another size than the dim");
  sizes[d] = one && nothing_in(in, sizes[d]) ? Dim(0) : repeated_size(in, repeats, stated);
  in.result(fresh(in, t, sizes));
}

void repeats_to_indices(Infer& in) {
  const Type& repeats = in.tensor(0);
  in.require(repeats.dtype == Dtype::i32 || repeats.dtype == Dtype::i64, "repeats must be i32 or i64");
  in.require(repeats.rank() == 1, "repeats must have one dim");
  in.result(fresh(in, repeats, {repeated_size(in, repeats, in.maybe_integer("output_size"))}));
}

void triangle(Infer& in) {
  const Type& t = in.tensor(0);
  in.require(t.rank() >= 2, "needs a tensor of at least 2 dims");
  in.result(fresh(in, t, DimVec(t.sizes())));
}

namespace {
Dim magnitude(int64_t offset) { return offset < 0 ? -offset : offset; }

TensorType embedded(Infer& in, const Type& t, int64_t offset) {
  Dim n = t.sizes().back() + magnitude(offset);
  return fresh(in, t, {n, n});
}
}  // namespace

void diag(Infer& in) {
  const Type& t = in.tensor(0);
  int64_t offset = in.constant("diagonal");
  in.require(t.rank() == 1 || t.rank() == 2, "needs a vector or a matrix");
  if (t.rank() == 1) return in.result(embedded(in, t, offset));
  Dim rows = t.sizes()[0] + std::min<int64_t>(offset, 0), columns = t.sizes()[1] - std::max<int64_t>(offset, 0);
  Dim length = in.decide(le(rows, columns)) ? rows : columns;
  in.result(fresh(in, t, {in.decide(lt(length, 0)) ? Dim(0) : length}));
}

void diag_embed(Infer& in) {
  const Type& t = in.tensor(0);
  in.require(t.rank() > 0, "needs at least one dim");
  auto a = static_cast<size_t>(in.wrap_dim(in.constant("dim1"), t.rank() + 1));
  auto b = static_cast<size_t>(in.wrap_dim(in.constant("dim2"), t.rank() + 1));
  in.require(a != b, "needs two different dims");
  DimVec sizes(t.sizes());
  Dim n = sizes.back() + magnitude(in.constant("offset"));
  sizes.pop_back();
  sizes.insert(std::min(a, b), n);
  sizes.insert(std::max(a, b), n);
  in.result(fresh(in, t, sizes));
}

void diagflat(Infer& in) {
  const Type& t = in.tensor(0);
  Dim n = numel(t.sizes()) + magnitude(in.constant("offset"));
  in.result(fresh(in, t, {n, n}));
}

void vander(Infer& in) {
  const Type& x = in.tensor(0);
  in.require(x.rank() == 1, "needs a vector");
  Dim n = in.given("N") ? in.integer("N") : x.sizes()[0];
  in.require(ge(n, 0), "N is negative");
  auto dtype = promote(x.dtype, Dtype::i64);
  in.require(dtype.has_value(), "promotion with float8 types is not supported");
  TensorType result = fresh(in, x, {x.sizes()[0], n});
  result.dtype = *dtype;
  in.result(result);
}

void kron(Infer& in) {
  // mul of both with interleaved dims of size 1, seen as one block.
  const Type &a = in.tensor(0), &b = in.tensor(1);
  size_t rank = std::max(a.rank(), b.rank());
  TensorType left = a.tensor(), right = b.tensor();
  left.sizes = left.strides = right.sizes = right.strides = {};
  DimVec sizes;
  auto size_at = [&](const Type& t, size_t i) {
    return i < rank - t.rank() ? Dim(1) : t.sizes()[i - (rank - t.rank())];
  };
  for (size_t i = 0; i < rank; ++i) {
    left.sizes.push_back(size_at(a, i));
    left.sizes.push_back(1);
    right.sizes.push_back(1);
    right.sizes.push_back(size_at(b, i));
    sizes.push_back(size_at(a, i) * size_at(b, i));
  }
  auto viewed = [&](const Type& t, TensorType& v) {
    auto strides = view_strides(in, t, v.sizes);
    LENZ_CHECK(strides.has_value(), "dims of size 1 can always be added");
    v.strides = *strides;
    return in.context().tensor(v);
  };
  Operands operands{{viewed(a, left), Dtype::b8}, {viewed(b, right), Dtype::b8}};
  TensorType product = elementwise_result(in, operands, result_type(in, operands));
  auto strides = view_strides(in, *in.context().tensor(product), sizes);
  in.require(strides.has_value(), "the product's layout allows no view of its blocks");
  product.strides = *strides;
  product.sizes = sizes;
  in.result(product);
}

void pixel_shuffle(Infer& in) {
  const Type& t = in.tensor(0);
  in.require(t.rank() >= 3, "needs a tensor of at least 3 dims");
  int64_t factor = in.constant("upscale_factor");
  in.require(factor > 0, "needs a positive factor");
  in.require(divisible(dim_at(t, 3), factor * factor), "the channels are no multiple of the factor's square");
  DimVec sizes(t.sizes());
  size_t c = t.rank() - 3;
  sizes[c] = floor_div(sizes[c], factor * factor);
  sizes[c + 1] *= factor;
  sizes[c + 2] *= factor;
  MemoryFormat format = suggested_format(in, t);
  in.require(format != MemoryFormat::channels_last_3d, "channels-last with a depth is not supported");
  in.result(fresh(in, t, sizes, format));
}

void pixel_unshuffle(Infer& in) {
  const Type& t = in.tensor(0);
  in.require(t.rank() >= 3, "needs a tensor of at least 3 dims");
  int64_t factor = in.constant("downscale_factor");
  in.require(factor > 0, "needs a positive factor");
  in.require(divisible(dim_at(t, 2), factor), "the height is no multiple of the factor");
  in.require(divisible(dim_at(t, 1), factor), "the width is no multiple of the factor");
  DimVec sizes(t.sizes());
  size_t c = t.rank() - 3;
  sizes[c] *= factor * factor;
  sizes[c + 1] = floor_div(sizes[c + 1], factor);
  sizes[c + 2] = floor_div(sizes[c + 2], factor);
  if (is_empty(in, t)) return in.result(preserved(in, t));
  MemoryFormat format = suggested_format(in, t);
  in.require(format != MemoryFormat::channels_last_3d, "channels-last with a depth is not supported");
  in.result(fresh(in, t, sizes, format));
}

void channel_shuffle(Infer& in) {
  const Type& t = copied_if_lazy(in, 0);
  in.require(t.rank() > 2, "needs a tensor of more than 2 dims");
  Dim groups = in.integer("groups");
  in.require(gt(groups, 0), "needs a positive number of groups");
  in.require(divisible(t.sizes()[1], groups), "the channels are no multiple of the groups");
  if (is_empty(in, t)) return is_read_lazily(in, 0) ? in.result(t.tensor()) : in.alias(t.tensor(), 0);
  in.result(fresh(in, t, DimVec(t.sizes()), suggested_format(in, t)));
}

namespace {
struct Windows {
  SmallVec<int64_t, 6> kernel, dilation, padding, stride;
};

Windows windows(Infer& in) {
  auto pair = [&](std::string_view param) {
    auto list = in.constants(param);
    if (in.arg(param).kind == ArgKind::integer) list.push_back(list[0]);
    in.require(list.size() == 2, "needs two of each attribute");
    return list;
  };
  Windows w{pair("kernel_size"), pair("dilation"), pair("padding"), pair("stride")};
  for (size_t i = 0; i < 2; ++i) {
    in.require(w.kernel[i] > 0 && w.dilation[i] > 0 && w.stride[i] > 0, "kernel, dilation and stride must be positive");
    in.require(w.padding[i] >= 0, "the padding is negative");
  }
  return w;
}

// Places of the window over one side.
Dim places(Dim size, const Windows& w, size_t i) {
  return floor_div(size + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1, w.stride[i]) + 1;
}
}  // namespace

void im2col(Infer& in) {
  const Type& t = in.tensor(0);
  Windows w = windows(in);
  in.require(t.rank() == 3 || t.rank() == 4, "needs a tensor of 3 or 4 dims");
  for (size_t i = t.rank() - 3; i < t.rank(); ++i) in.require(ne(t.sizes()[i], 0), "only the batch may be empty");
  Dim rows = places(dim_at(t, 2), w, 0), columns = places(dim_at(t, 1), w, 1);
  in.require(ge(rows, 1), "the window does not fit");
  in.require(ge(columns, 1), "the window does not fit");
  DimVec sizes{dim_at(t, 3) * w.kernel[0] * w.kernel[1], rows * columns};
  if (t.rank() == 4) sizes.insert(0, t.sizes()[0]);
  in.result(fresh(in, t, sizes));
}

void col2im(Infer& in) {
  const Type& t = in.tensor(0);
  Windows w = windows(in);
  DimVec output = in.ints("output_size");
  if (in.arg("output_size").kind == ArgKind::integer) output.push_back(output[0]);
  in.require(output.size() == 2, "needs two output sizes");
  for (Dim d : output) in.require(gt(d, 0), "the output must not be empty");
  in.require(t.rank() == 2 || t.rank() == 3, "needs a tensor of 2 or 3 dims");
  for (size_t i = t.rank() - 2; i < t.rank(); ++i) in.require(ne(t.sizes()[i], 0), "only the batch may be empty");
  Dim window = w.kernel[0] * w.kernel[1];
  in.require(divisible(dim_at(t, 2), window), "the rows are no multiple of the window's elements");
  for (size_t i = 0; i < 2; ++i) in.require(ge(places(output[i], w, i), 1), "the window does not fit");
  in.require(eq(dim_at(t, 1), places(output[0], w, 0) * places(output[1], w, 1)), "another number of windows");
  DimVec sizes{floor_div(dim_at(t, 2), window), output[0], output[1]};
  if (t.rank() == 3) sizes.insert(0, t.sizes()[0]);
  in.result(fresh(in, t, sizes));
}

}  // namespace lenz::rule
