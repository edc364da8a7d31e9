#include "compiler/ops/rules/views.h"
#include "compiler/graph/lazy_views.h"

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/view_parts.h"

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
    if (is_left_open(in, target[i]) || target[i] == size || in.same(target[i], size)) {
      v.sizes[i] = size;
      v.strides[i] = t.strides()[i - missing];
    } else {
      in.require(ge(target[i], 0), "a size is negative");
      in.require(in.is_one(size), "a size other than 1 does not expand");
    }
  }
  return v;
}
}  // namespace

size_t dim_of_ranked(Infer& in, std::string_view param, const Type& t) {
  in.require(t.rank() > 0, "a 0-dim tensor has no dim to name");
  return static_cast<size_t>(in.wrap_dim(in.constant(param), t.rank()));
}

Dim element_place(Assumptions& known, Dim at, Dim size) {
  return known.mentions_open(at) ? mod(at, max(size, 1)) : from_start(known, at, size);
}

Dim clamped(Infer& in, Dim at, Dim low, Dim size) {
  if (at.is(INT64_MAX)) return size;  // how exporters write "to the end"
  at = from_start(in.assumptions(), at, size);
  if (at == size) return size;
  auto is_open = [&](Dim d) { return in.assumptions().mentions_open(d); };
  if (is_open(at - size) || is_open(at - low) || is_open(low)) return min(max(at, low), size);
  if (!(at == low) && in.decide(lt(at, low))) return low;
  return in.decide(gt(at, size)) ? size : at;
}

TensorType slice_of(const TensorType& t, size_t dim, Dim start, Dim length, Dim step) {
  TensorType v = t;
  v.offset += start * v.strides[dim];
  v.sizes[dim] = length;
  v.strides[dim] *= step;
  return v;
}

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

// A storage is at least what its owner covers; of an input, exactly that.
void require_in_storage(Infer& in, const Type& t, const TensorType& v) {
  const bool copied = !in.op().has(Trait::view) && is_read_lazily(in, 0);
  const Type* owner = &t == &in.tensor(0) && !copied ? in.storage_owner(in.arg(0).value()) : &t;
  if (!owner || !owner->is_tensor()) return;
  Dim need = bytes_needed(in, v.dtype, v.sizes, v.strides, v.offset);
  Dim have = bytes_needed(in, owner->dtype, owner->sizes(), owner->strides(), owner->offset);
  in.require(le(need, have), "out of the storage's bounds");
}
}  // namespace

TensorType with_strides(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = in.ints("size");
  v.strides = in.ints("stride");
  in.require(v.sizes.size() == v.strides.size(), "sizes and strides differ in number");
  require_sizes(in, v.sizes);
  for (size_t i = v.rank(); i-- > 0;)  // a negative stride means dense over the dims to its right
    if (in.decide(lt(v.strides[i], 0)))
      v.strides[i] = i + 1 == v.rank() ? Dim(1) : v.strides[i + 1] * max(v.sizes[i + 1], Dim(1));
  require_in_storage(in, t, v);  // which eager does not ask, and reads what lies behind
  return v;
}

// What a view of the first operand sees of it. Copies resolve it first.
Laziness lazy_operand(const Infer& in) {
  return in.owner && in.op().has(Trait::view) ? laziness(*in.owner, in.arg(size_t{0}).value()) : Laziness{};
}

TensorType as_dtype(Infer& in, const Type& t) {
  in.require(!lazy_operand(in).any(), "needs what is not lazily conjugated or negated: a clone");
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
  constexpr int64_t kMostStep = int64_t{1} << 62;  // eager adds it to sizes, and overflows
  in.require(le(step, kMostStep), "the step is too large to count with");
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
  if (in.assumptions().mentions_open(index)) in.require(gt(size, 0), "the index is out of range");
  index = element_place(in.assumptions(), index, size);
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
  start = from_start(in.assumptions(), start, size);
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

TensorType strided(Infer& in, const Type& t) {
  TensorType v = t.tensor();
  v.sizes = in.ints("size");
  v.strides = in.ints("stride");
  in.require(v.sizes.size() == v.strides.size(), "sizes and strides differ in number");
  if (auto offset = in.maybe_integer("storage_offset")) v.offset = *offset;
  in.require(ge(v.offset, 0), "the storage offset is negative");
  require_sizes(in, v.sizes);
  for (Dim s : v.strides) in.require(ge(s, 0), "a stride is negative");
  require_in_storage(in, t, v);
  return v;
}

TensorType of_reals(Infer& in, const Type& t) {
  in.require(is_complex(t.dtype), "needs a complex tensor");
  in.require(!lazy_operand(in).conjugated, "needs what is not lazily conjugated: a clone, or `real` and `imag`");
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

}  // namespace at

void resolved_conj(Infer& in) {
  const Type& self = in.tensor(0);
  if (!in.owner || !laziness(*in.owner, in.arg(size_t{0}).value()).conjugated) return in.alias(self.tensor(), 0);
  in.result(TensorType{self.dtype, self.device, DimVec(self.sizes()), preserved_strides(in, self), 0});
}

}  // namespace lenz::rule
