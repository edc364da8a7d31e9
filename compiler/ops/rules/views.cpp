#include "compiler/ops/rules/views.h"

#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

namespace at {

namespace {
// The same elements with their dims in this order.
TensorType in_order(const Type& t, std::span<const size_t> order) {
  TensorType v = t.tensor();
  for (size_t i = 0; i < order.size(); ++i) {
    v.sizes[i] = t.sizes()[order[i]];
    v.strides[i] = t.strides()[order[i]];
  }
  return v;
}

TensorType with_swapped(Infer& in, const Type& t, int64_t dim0, int64_t dim1) {
  auto a = static_cast<size_t>(in.wrap_dim(dim0, t.rank())), b = static_cast<size_t>(in.wrap_dim(dim1, t.rank()));
  TensorType v = t.tensor();
  if (a == b) return v;
  std::swap(v.sizes[a], v.sizes[b]);
  std::swap(v.strides[a], v.strides[b]);
  return v;
}

SmallVec<size_t, 6> wrapped(Infer& in, std::span<const int64_t> dims, size_t rank) {
  SmallVec<size_t, 6> list;
  SmallVec<bool, 8> seen(std::max<size_t>(rank, 1), false);
  for (int64_t dim : dims) {
    auto d = static_cast<size_t>(in.wrap_dim(dim, rank));
    in.require(!seen[d], "a dim is named twice");
    seen[d] = true;
    list.push_back(d);
  }
  return list;
}

// The dim that a parameter names, of a tensor that must have dims.
size_t dim_of_ranked(Infer& in, std::string_view param, const Type& t) {
  in.require(t.rank() > 0, "a 0-dim tensor has no dim to name");
  return static_cast<size_t>(in.wrap_dim(in.constant(param), t.rank()));
}

TensorType expanded_to(Infer& in, const Type& t, std::span<const Dim> target) {
  in.require(target.size() >= t.rank(), "fewer sizes than the tensor has dims");
  TensorType v = t.tensor();
  v.sizes = DimVec(target);
  v.strides = DimVec(target.size(), Dim(0));
  for (size_t i = target.size(); i-- > 0;) {
    size_t missing = target.size() - t.rank();
    if (i < missing) {
      in.require(ge(target[i], 0), "a new dim needs a size");
      // Of no consequence, but eager gives a new dim the stride that its size 1 would have; a 0-dim tensor gets zeros.
      bool one = t.rank() > 0 && in.is_one(target[i]);
      if (one) v.strides[i] = v.sizes[i + 1] * v.strides[i + 1];
      continue;
    }
    Dim size = t.sizes()[i - missing];
    if (target[i].is(-1) || target[i] == size || in.same(target[i], size)) {
      v.sizes[i] = size;
      v.strides[i] = t.strides()[i - missing];
    } else {
      in.require(ge(target[i], 0), "a size is negative");
      in.require(in.is_one(size), "a size other than 1 does not expand");
    }
  }
  return v;
}

// A position counted from either end, into [low, size].
Dim clamped(Infer& in, Dim at, Dim low, Dim size) {
  if (at.is(INT64_MAX)) return size;  // how exporters write "to the end"
  if (!at.is(0) && in.decide(lt(at, 0))) at += size;
  if (!(at == low) && in.decide(lt(at, low))) return low;
  if (!(at == size) && in.decide(gt(at, size))) return size;
  return at;
}

TensorType slice_of(const TensorType& t, size_t dim, Dim start, Dim length, Dim step = 1) {
  TensorType v = t;
  v.offset += start * v.strides[dim];
  v.sizes[dim] = length;
  v.strides[dim] *= step;
  return v;
}
}  // namespace

TensorType whole(Infer&, const Type& t) { return t.tensor(); }

TensorType shaped(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = infer_size(in, in.ints(param_name(in, 1)), numel(t.sizes()));
  auto strides = view_strides(in, t, v.sizes);
  in.require(strides.has_value(), "the strides allow no view of this shape; use reshape");
  v.strides = *strides;
  return v;
}

TensorType like_other(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = infer_size(in, in.tensor(1).sizes(), numel(t.sizes()));
  auto strides = view_strides(in, t, v.sizes);
  in.require(strides.has_value(), "the strides allow no view of this shape; use reshape_as");
  v.strides = *strides;
  return v;
}

TensorType with_strides(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = in.ints("size");
  v.strides = in.ints("stride");
  in.require(v.sizes.size() == v.strides.size(), "sizes and strides differ in number");
  require_sizes(in, v.sizes);
  for (size_t i = v.rank(); i-- > 0;)  // a negative stride means dense over the dims to its right
    if (in.decide(lt(v.strides[i], 0)))
      v.strides[i] = i + 1 == v.rank() ? Dim(1) : v.strides[i + 1] * max(v.sizes[i + 1], Dim(1));
  return v;
}

TensorType as_dtype(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.dtype = *in.dtype("dtype");
  int from = item_size(t.dtype), to = item_size(v.dtype);
  if (from == to) return v;
  in.require(t.rank() > 0, "a 0-dim tensor keeps its element size");
  in.require(in.same(v.strides.back(), 1), "the last dim must have stride 1");
  if (from > to) {
    Dim ratio = from / to;
    for (Dim& s : v.strides) s *= ratio;
    v.sizes.back() *= ratio;
    v.offset *= ratio;
  } else {
    Dim ratio = to / from;
    auto shrink = [&](Dim& d, std::string_view what) {
      in.require(divisible(d, ratio), what);
      d = floor_div(d, ratio);
    };
    shrink(v.sizes.back(), "the last size is no multiple of the ratio of element sizes");
    shrink(v.offset, "the offset is no multiple of the ratio of element sizes");
    for (size_t i = 0; i + 1 < v.rank(); ++i)
      shrink(v.strides[i], "a stride is no multiple of the ratio of element sizes");
  }
  v.strides.back() = 1;
  return v;
}

TensorType permuted(Infer& in, const Type& t) {
  auto dims = in.constants("dims");
  in.require(dims.size() == t.rank(), "the permutation must name every dim");
  return in_order(t, wrapped(in, dims, t.rank()));
}

TensorType swapped(Infer& in, const Type& t) {
  return with_swapped(in, t, in.constant(param_name(in, 1)), in.constant(param_name(in, 2)));
}

TensorType moved(Infer& in, const Type& t) {
  auto source = wrapped(in, in.constants("source"), t.rank());
  auto destination = wrapped(in, in.constants("destination"), t.rank());
  in.require(source.size() == destination.size(), "source and destination differ in number");
  if (t.rank() == 0) return t.tensor();
  constexpr size_t kFree = SIZE_MAX;
  SmallVec<size_t, 6> order(t.rank(), kFree);
  SmallVec<bool, 8> taken(t.rank(), false);
  for (size_t i = 0; i < source.size(); ++i) {
    order[destination[i]] = source[i];
    taken[source[i]] = true;
  }
  size_t next = 0;
  for (size_t& d : order) {
    if (d != kFree) continue;
    while (taken[next]) ++next;
    d = next++;
  }
  return in_order(t, order);
}

TensorType reversed(Infer&, const Type& t) {
  SmallVec<size_t, 6> order;
  for (size_t i = t.rank(); i-- > 0;) order.push_back(i);
  return in_order(t, order);
}

TensorType flat_transposed(Infer& in, const Type& t) {
  in.require(t.rank() <= 2, "needs a tensor of at most 2 dims");
  return with_swapped(in, t, 0, t.rank() < 2 ? 0 : 1);
}

TensorType matrix_transposed(Infer& in, const Type& t) {
  in.require(t.rank() != 1, "needs a tensor of at least 2 dims");
  return t.rank() == 0 ? t.tensor() : with_swapped(in, t, -2, -1);
}

TensorType adjoint(Infer& in, const Type& t) {
  in.require(t.rank() != 1, "needs a tensor of at least 2 dims");
  return t.rank() == 0 ? t.tensor() : with_swapped(in, t, -2, -1);
}

TensorType matrix_adjoint(Infer& in, const Type& t) {
  in.require(t.rank() <= 2, "needs one matrix");
  return adjoint(in, t);
}

TensorType expanded(Infer& in, const Type& t) { return expanded_to(in, t, in.ints("size")); }
TensorType expanded_as(Infer& in, const Type& t) { return expanded_to(in, t, in.tensor("other").sizes()); }

TensorType squeezed(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  for (size_t i = v.rank(); i-- > 0;)
    if (in.is_one(v.sizes[i])) {
      v.sizes.erase(i);
      v.strides.erase(i);
    }
  return v;
}

TensorType squeezed_dims(Infer& in, const Type& t) {
  auto dims = wrapped(in, in.constants("dim"), t.rank());
  std::sort(dims.begin(), dims.end());
  TensorType v = t.tensor();
  for (size_t k = dims.size(); t.rank() > 0 && k-- > 0;)
    if (in.is_one(v.sizes[dims[k]])) {
      v.sizes.erase(dims[k]);
      v.strides.erase(dims[k]);
    }
  return v;
}

TensorType unsqueezed(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  auto d = static_cast<size_t>(in.wrap_dim(in.constant("dim"), v.rank() + 1));
  Dim stride = d < v.rank() ? v.sizes[d] * v.strides[d] : Dim(1);
  v.sizes.insert(d, Dim(1));
  v.strides.insert(d, stride);
  return v;
}

TensorType sliced(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  Dim size = t.sizes()[d], step = in.integer("step");
  in.require(gt(step, 0), "the step must be positive");
  auto start = in.maybe_integer("start"), end = in.maybe_integer("end");
  Dim first = start ? clamped(in, *start, 0, size) : Dim(0);
  Dim last = end ? clamped(in, *end, first, size) : size;
  return slice_of(t.tensor(), d, first, ceil_div(last - first, step), step);
}

TensorType selected(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  Dim index = in.integer("index"), size = t.sizes()[d];
  in.require(lt(index, size), "the index is out of range");
  in.require(ge(index, -size), "the index is out of range");
  if (in.decide(lt(index, 0))) index += size;
  TensorType v = t.tensor();
  v.offset += index * v.strides[d];
  v.sizes.erase(d);
  v.strides.erase(d);
  return v;
}

TensorType narrowed(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  Dim start = in.integer("start"), length = in.integer("length"), size = t.sizes()[d];
  in.require(ge(length, 0), "the length is negative");
  in.require(ge(start, -size), "the start is out of range");
  in.require(le(start, size), "the start is out of range");
  if (in.decide(lt(start, 0))) start += size;
  in.require(le(start + length, size), "start + length is out of range");
  return slice_of(t.tensor(), d, start, length);
}

TensorType unfolded(Infer& in, const Type& t) {
  auto d = static_cast<size_t>(in.wrap_dim(in.constant(in.has_param("dimension") ? "dimension" : "dim"), t.rank()));
  Dim size = in.integer("size"), step = in.integer("step");
  Dim extent = t.rank() ? t.sizes()[d] : Dim(1), stride = t.rank() ? t.strides()[d] : Dim(1);
  in.require(ge(size, 0), "the size is negative");
  in.require(le(size, extent), "the window is larger than the dim");
  in.require(gt(step, 0), "the step must be positive");
  TensorType v = t.tensor();
  if (t.rank()) {
    v.sizes[d] = floor_div(extent - size, step) + 1;
    v.strides[d] = stride * step;
  }
  v.sizes.push_back(size);
  v.strides.push_back(stride);
  return v;
}

TensorType on_diagonal(Infer& in, const Type& t) {
  size_t d1 = dim_of_ranked(in, "dim1", t), d2 = dim_of_ranked(in, "dim2", t);
  in.require(d1 != d2, "the two dims must differ");
  int64_t offset = in.constant("offset");
  Dim rows = t.sizes()[d1], columns = t.sizes()[d2];
  (offset >= 0 ? columns : rows) += offset >= 0 ? -Dim(offset) : Dim(offset);
  Dim length = rows == columns || in.decide(le(rows, columns)) ? rows : columns;
  if (in.decide(lt(length, 0))) length = 0;
  TensorType v = t.tensor();
  if (offset != 0 && !in.is_zero(length)) v.offset += (offset > 0 ? v.strides[d2] * offset : v.strides[d1] * -offset);
  v.sizes.push_back(length);
  v.strides.push_back(v.strides[d1] + v.strides[d2]);
  for (size_t d : {std::max(d1, d2), std::min(d1, d2)}) {
    v.sizes.erase(d);
    v.strides.erase(d);
  }
  return v;
}

namespace {
// Bytes that a tensor needs its storage to have.
Dim bytes_needed(Infer& in, Dtype dtype, std::span<const Dim> sizes, std::span<const Dim> strides, Dim offset) {
  Dim elements = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (in.is_zero(sizes[i])) return 0;
    elements += (sizes[i] - 1) * strides[i];
  }
  return (elements + offset) * item_size(dtype);
}
}  // namespace

TensorType strided(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = in.ints("size");
  v.strides = in.ints("stride");
  in.require(v.sizes.size() == v.strides.size(), "sizes and strides differ in number");
  if (auto offset = in.maybe_integer("storage_offset")) v.offset = *offset;
  in.require(ge(v.offset, 0), "the storage offset is negative");
  require_sizes(in, v.sizes);
  for (Dim s : v.strides) in.require(ge(s, 0), "a stride is negative");
  // The storage is at least what its owner covers; of an input, exactly that.
  const Type* owner = &t == &in.tensor(0) ? in.storage_owner(in.arg(0).value()) : &t;
  if (owner && owner->is_tensor()) {
    Dim need = bytes_needed(in, v.dtype, v.sizes, v.strides, v.offset);
    Dim have = bytes_needed(in, owner->dtype, owner->sizes(), owner->strides(), owner->offset);
    in.require(le(need, have), "out of the storage's bounds");
  }
  return v;
}

TensorType of_reals(Infer& in, const Type& t) {
  in.require(is_complex(t.dtype), "needs a complex tensor");
  TensorType v = t.tensor();
  v.dtype = to_real(t.dtype);
  for (Dim& s : v.strides) s *= 2;
  v.offset *= 2;
  v.sizes.push_back(2);
  v.strides.push_back(1);
  return v;
}

TensorType of_complexes(Infer& in, const Type& t) {
  in.require(t.dtype == Dtype::f32 || t.dtype == Dtype::f64 || t.dtype == Dtype::f16, "needs floats, not bfloat16");
  if (t.dtype == Dtype::f16) throw Unsupported(in.op().full_name + ": the result would be complex32");
  in.require(t.rank() > 0, "needs at least one dim");
  in.require(in.same(t.sizes().back(), 2), "the last dim must have size 2");
  in.require(in.same(t.strides().back(), 1), "the last dim must have stride 1");
  TensorType v = t.tensor();
  v.dtype = to_complex(t.dtype);
  v.sizes.pop_back();
  v.strides.pop_back();
  for (size_t i = 0; i < v.rank(); ++i) {
    if (!in.is_one(v.sizes[i])) in.require(divisible(v.strides[i], 2), "every other stride must be even");
    v.strides[i] = floor_div(v.strides[i], 2);
  }
  in.require(divisible(v.offset, 2), "the offset must be even");
  v.offset = floor_div(v.offset, 2);
  return v;
}

namespace {
TensorType part_of_complex(const Type& t, int64_t part) {
  TensorType v = t.tensor();
  v.dtype = to_real(t.dtype);
  for (Dim& s : v.strides) s *= 2;
  v.offset = v.offset * 2 + part;
  return v;
}
}  // namespace

TensorType real_part(Infer&, const Type& t) { return is_complex(t.dtype) ? part_of_complex(t, 0) : t.tensor(); }

TensorType imaginary_part(Infer& in, const Type& t) {
  in.require(is_complex(t.dtype), "needs a complex tensor");
  return part_of_complex(t, 1);
}

TensorType unflattened(Infer& in, const Type& t) {
  auto d = static_cast<size_t>(in.wrap_dim(in.constant("dim"), t.rank()));
  in.require(t.rank() > 0, "a 0-dim tensor has no dim to unflatten");
  DimVec sizes = in.ints("sizes");
  in.require(!sizes.empty(), "needs sizes");
  sizes = infer_size(in, sizes, t.sizes()[d]);
  TensorType v = t.tensor();
  v.sizes.erase(d);
  for (size_t i = 0; i < sizes.size(); ++i) v.sizes.insert(d + i, sizes[i]);
  auto strides = view_strides(in, t, v.sizes);
  in.require(strides.has_value(), "the strides allow no view of this shape");
  v.strides = *strides;
  return v;
}

// --- lists

namespace {
// Lists are written out, a type each: nobody needs long ones, and a short text must not ask for gigabytes.
constexpr int64_t kMostParts = 65'536;
size_t number_of_parts(const Infer& in, int64_t count) {
  if (count > kMostParts)
    throw Unsupported(in.op().full_name + ": a list of " + std::to_string(count) + " tensors; the limit is " +
                      std::to_string(kMostParts));
  return static_cast<size_t>(count);
}

std::vector<TensorType> parts_of(const TensorType& t, size_t dim, std::span<const Dim> lengths) {
  std::vector<TensorType> parts;
  Dim start = 0;
  for (Dim length : lengths) {
    parts.push_back(slice_of(t, dim, start, length));
    start += length;
  }
  return parts;
}

std::vector<TensorType> equal_parts(Infer& in, const Type& t, size_t d, Dim length) {
  Dim size = t.sizes()[d];
  DimVec lengths;
  int64_t count = 1;
  if (!in.is_zero(length)) count = std::max<int64_t>(in.specialize(ceil_div(size, length)), 1);
  lengths.resize(number_of_parts(in, count) - 1, length);
  lengths.push_back(length - (length * count - size));
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> near_equal_parts(Infer& in, const Type& t, size_t d, int64_t sections) {
  in.require(sections > 0, "needs at least one section");
  number_of_parts(in, sections);
  Dim least = floor_div(t.sizes()[d], sections);
  int64_t longer = in.specialize(t.sizes()[d] - least * sections);
  DimVec lengths;
  for (int64_t i = 0; i < sections; ++i) lengths.push_back(i < longer ? least + 1 : least);
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> parts_between(Infer& in, const Type& t, size_t d, std::span<const Dim> indices) {
  Dim size = t.sizes()[d];
  std::vector<TensorType> parts;
  Dim previous = 0;
  for (size_t i = 0; i <= indices.size(); ++i) {
    Dim start = clamped(in, previous, 0, size);
    Dim end = i < indices.size() ? clamped(in, indices[i], start, size) : size;
    parts.push_back(slice_of(t.tensor(), d, start, end - start));
    if (i < indices.size()) previous = indices[i];
  }
  return parts;
}
}  // namespace

std::vector<TensorType> split(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  Dim length = in.integer("split_size");
  in.require(ge(length, 0), "the split size is negative");
  in.require(!in.is_zero(length) || in.is_zero(t.sizes()[d]), "a split size of 0 needs a dim of size 0");
  return equal_parts(in, t, d, length);
}

std::vector<TensorType> split_with_sizes(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  DimVec lengths = in.ints(param_name(in, 1));
  Dim total = 0;
  for (Dim l : lengths) {
    in.require(ge(l, 0), "a split size is negative");
    total += l;
  }
  in.require(eq(total, t.sizes()[d]), "the split sizes don't add up to the dim's size");
  return parts_of(t.tensor(), d, lengths);
}

std::vector<TensorType> chunked(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  int64_t chunks = in.constant("chunks");
  in.require(chunks > 0, "needs at least one chunk");
  if (in.is_zero(t.sizes()[d])) return parts_of(t.tensor(), d, DimVec(number_of_parts(in, chunks), Dim(0)));
  return equal_parts(in, t, d, ceil_div(t.sizes()[d], chunks));
}

std::vector<TensorType> split_in_sections(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  return near_equal_parts(in, t, d, in.specialize(in.integer("sections")));
}

std::vector<TensorType> split_at(Infer& in, const Type& t) {
  return parts_between(in, t, dim_of_ranked(in, "dim", t), in.ints("indices"));
}

std::vector<TensorType> split_along(Infer& in, const Type& t, size_t axis) {
  in.require(t.rank() >= (axis == 0 ? 2 : axis == 1 ? 1 : 3), "needs a tensor of more dims");
  size_t d = axis == 1 && t.rank() == 1 ? 0 : axis;
  if (in.has_param("indices")) return parts_between(in, t, d, in.ints("indices"));
  int64_t sections = in.constant("sections");
  in.require(sections != 0, "needs sections");
  in.require(divisible(t.sizes()[d], sections), "the dim's size is no multiple of the sections");
  return near_equal_parts(in, t, d, sections);
}

std::vector<TensorType> unbound(Infer& in, const Type& t) {
  size_t d = dim_of_ranked(in, "dim", t);
  TensorType element = t.tensor();
  element.sizes.erase(d);
  element.strides.erase(d);
  std::vector<TensorType> list;
  size_t count = number_of_parts(in, in.specialize(t.sizes()[d]));
  for (size_t i = 0; i < count; ++i) {
    list.push_back(element);
    element.offset += t.strides()[d];
  }
  return list;
}

}  // namespace at

namespace {
const Type* list_type(Infer& in, const std::vector<TensorType>& elements) {
  SmallVec<const Type*, 8> types;
  for (const TensorType& t : elements) types.push_back(in.context().tensor(t));
  return in.context().list(types);
}

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

void alias_list(Infer& in, const std::vector<TensorType>& views) { in.alias(list_type(in, views), in.arg(0).value()); }

void fresh_list(Infer& in, const std::vector<TensorType>& views) {
  std::vector<TensorType> fresh;
  for (const TensorType& t : views) fresh.push_back(contiguous_like(t));
  in.result(list_type(in, fresh));
}

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
  // Of others eager trusts the number and the size.
  in.require(!is_float8(grad.dtype), "float8 is not supported");
  auto d = static_cast<size_t>(in.wrap_dim(in.constant("dim"), whole.rank()));
  in.require(grad.rank() == 0 || grad.rank() == whole.rank() + 1, "the gradient has another rank than the windows");
  bool nothing = std::ranges::any_of(whole.sizes, [](Dim s) { return s.is(0); });
  if (grad.rank() && !nothing) in.require(gt(grad.sizes()[d], 0), "there is no window to read from");
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
