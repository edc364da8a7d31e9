#include "compiler/ops/make/views.h"

#include <algorithm>

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
std::string_view param(CallMaker& m, size_t i) { return m.op().schema.params[i].name; }

size_t wrapped(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

int64_t product(const Sizes& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

// Some shape of this many elements.
Sizes factors_of(CallMaker& m, int64_t n, size_t most) {
  Chooser& c = m.choose();
  Sizes shape;
  if (n == 0) {
    shape = m.a_shape(1, static_cast<int>(std::max<size_t>(most, 1)));
    shape[c.below(shape.size())] = 0;
    return shape;
  }
  while (n > 1 && shape.size() + 1 < most) {
    SmallVec<int64_t, 16> divisors{n};
    for (int64_t d = 1; d < n && divisors.size() < 16; ++d)
      if (n % d == 0) divisors.push_back(d);
    int64_t d = divisors[c.below(divisors.size())];
    shape.push_back(d);
    n /= d;
  }
  if (n > 1 || (shape.empty() && most > 0 && c.flip())) shape.push_back(n);
  return shape;
}

// One size becomes -1 where that is unambiguous.
void maybe_hole(CallMaker& m, Sizes& shape) {
  if (shape.empty() || !m.choose().chance(1, 3)) return;
  size_t at = m.choose().below(shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != at && shape[i] == 0) return;
  shape[at] = -1;
}

// Numbers of elements of the runs of dims that a view may merge, outermost first.
Sizes mergeable_runs(const Type& t) {
  Sizes runs;
  int64_t base = t.rank() ? t.strides().back().constant() : 1, count = 1;
  for (size_t d = t.rank(); d-- > 0;) {
    count *= t.sizes()[d].constant();
    if (d > 0 && (t.sizes()[d - 1].is(1) || t.strides()[d - 1].is(count * base))) continue;
    runs.insert(0, count);
    if (d > 0) base = t.strides()[d - 1].constant();
    count = 1;
  }
  return runs;
}

// A shape as which this tensor can be viewed.
Sizes viewable_shape(CallMaker& m, ValueId v) {
  Sizes sizes = m.sizes(v);
  if (product(sizes) == 0) return m.choose().flip() ? sizes : factors_of(m, 0, 4);
  Sizes shape;
  for (int64_t run : mergeable_runs(m.type(v)))
    for (int64_t s : factors_of(m, run, 3)) shape.push_back(s);
  if (shape.size() < 5 && m.choose().chance(1, 4)) shape.insert(m.choose().below(shape.size() + 1), int64_t{1});
  return shape;
}

ValueId self_with_dim(CallMaker& m, size_t* dim, int64_t least_size, std::string_view dim_param) {
  Sizes sizes = m.a_shape(1, 5);
  if (sizes.size() == 5 && m.choose().chance(1, 6)) sizes.push_back(2);
  int64_t d = m.a_dim(sizes.size());
  if (m.has(dim_param)) m.set(dim_param, Arg::of_int(d));
  *dim = wrapped(d, sizes.size());
  if (sizes[*dim] < least_size) sizes[*dim] = m.a_size(least_size);
  return set_self_sized(m, sizes);
}
}  // namespace

void tensor_of_rank(CallMaker& m, int low, int high) {
  TensorWish wish;
  wish.min_rank = low;
  wish.max_rank = high;
  set_self(m, wish);
}

void view_shape(CallMaker& m) {
  ValueId self = set_self(m);
  Sizes shape = viewable_shape(m, self);
  maybe_hole(m, shape);
  m.set_ints(param(m, 1), shape);
}

void reshape_shape(CallMaker& m) {
  ValueId self = set_self(m);
  Sizes shape = m.choose().flip() ? viewable_shape(m, self) : factors_of(m, product(m.sizes(self)), 5);
  maybe_hole(m, shape);
  m.set_ints(param(m, 1), shape);
}

void view_like(CallMaker& m) {
  ValueId self = set_self(m);
  TensorWish other;
  other.sizes = viewable_shape(m, self);
  m.set("other", m.tensor(other));
}

void reshape_like(CallMaker& m) {
  ValueId self = set_self(m);
  TensorWish other;
  other.sizes = m.choose().flip() ? viewable_shape(m, self) : factors_of(m, product(m.sizes(self)), 5);
  m.set("other", m.tensor(other));
}

void view_dtype(CallMaker& m) {
  Dtype from = m.a_dtype(m.op().dtypes), to = m.a_dtype(dtypes::all);
  int wide = item_size(to), narrow = item_size(from);
  TensorWish wish;
  wish.dtype = from;
  if (wide == narrow) {
    set_self(m, wish);
  } else {
    // The last dim is dense; into a wider type all that is counted in elements is a multiple of the ratio.
    Sizes sizes = m.a_shape(1, 5);
    if (wide > narrow) sizes.back() = std::max<int64_t>(sizes.back(), 1) * (wide / narrow);
    wish.sizes = sizes;
    wish.plain = true;
    set_self(m, wish);
  }
  m.set("dtype", Arg::of_dtype(to));
}

void permutation(CallMaker& m) {
  ValueId self = set_self(m);
  SmallVec<int64_t, 6> left, dims;
  auto rank = static_cast<int64_t>(m.rank(self));
  for (int64_t i = 0; i < rank; ++i) left.push_back(i);
  while (!left.empty()) {
    size_t at = m.choose().below(left.size());
    dims.push_back(m.choose().chance(1, 4) ? left[at] - rank : left[at]);
    left.erase(at);
  }
  m.set_ints("dims", dims);
}

void two_dims(CallMaker& m) {
  ValueId self = set_self(m);
  m.set(param(m, 1), Arg::of_int(m.a_dim(m.rank(self))));
  m.set(param(m, 2), Arg::of_int(m.a_dim(m.rank(self))));
}

void move_dims(CallMaker& m) {
  ValueId self = set_self(m);
  size_t rank = m.rank(self);
  if (!m.op().schema.params[1].type.list) {
    m.set("source", Arg::of_int(m.a_dim(rank)));
    m.set("destination", Arg::of_int(m.a_dim(rank)));
    return;
  }
  auto source = m.some_dims(rank, true), destination = m.some_dims(rank, true);
  size_t n = std::min(source.size(), destination.size());
  m.set_ints("source", std::span<const int64_t>(source.data(), n));
  m.set_ints("destination", std::span<const int64_t>(destination.data(), n));
}

void expansion(CallMaker& m) {
  Sizes full = m.a_shape();
  ValueId self = set_self_sized(m, m.shape_like_with_ones(full));
  Sizes own = m.sizes(self);
  for (size_t i = 0; i < own.size(); ++i)
    if (m.choose().chance(1, 4)) full[full.size() - own.size() + i] = -1;
  m.set_ints("size", full);
}

void expansion_like(CallMaker& m) {
  Sizes full = m.a_shape();
  set_self_sized(m, m.shape_like_with_ones(full));
  TensorWish other;
  other.sizes = full;
  m.set("other", m.tensor(other));
}

void a_dim(CallMaker& m) {
  ValueId self = set_self(m);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
}

void list_of_dims(CallMaker& m) {
  ValueId self = set_self(m);
  auto dims = m.some_dims(m.rank(self), true);
  if (m.rank(self) == 0 && m.choose().flip()) dims.push_back(m.a_dim(0));
  m.set_ints("dim", dims);
}

void a_new_dim(CallMaker& m) {
  ValueId self = set_self(m);
  m.set("dim", Arg::of_int(m.a_dim(m.rank(self) + 1)));
}

namespace {
void set_slice_bounds(CallMaker& m, int64_t size) {
  Chooser& c = m.choose();
  if (!c.chance(1, 4)) m.set("start", Arg::of_int(c.chance(1, 8) ? -size - 2 : c.between(-size, size)));
  if (!c.chance(1, 4)) m.set("end", Arg::of_int(c.chance(1, 6) ? INT64_MAX : c.between(-size - 1, size + 2)));
  m.set("step", Arg::of_int(c.flip() ? 1 : c.between(1, size + 1)));
}
}  // namespace

void slice(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  set_slice_bounds(m, m.sizes(self)[d]);
}

void select(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 1, "dim");
  int64_t size = m.sizes(self)[d];
  m.set("index", Arg::of_int(m.choose().between(-size, size - 1)));
}

void narrow(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  int64_t size = m.sizes(self)[d];
  int64_t start = m.choose().between(0, size), length = m.choose().between(0, size - start);
  m.set("start", Arg::of_int(start > 0 && start < size && m.choose().chance(1, 3) ? start - size : start));
  m.set("length", Arg::of_int(length));
}

void unfold(CallMaker& m) {
  ValueId self = set_self(m);
  int64_t d = m.a_dim(m.rank(self));
  m.set("dimension", Arg::of_int(d));
  m.set("size", Arg::of_int(m.choose().between(0, m.size(self, d))));
  m.set("step", Arg::of_int(m.choose().between(1, 4)));
}

void diagonal(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 2;
  ValueId self = set_self(m, wish);
  auto rank = static_cast<int64_t>(m.rank(self));
  int64_t d1 = m.choose().between(0, rank - 1), d2 = (d1 + m.choose().between(1, rank - 1)) % rank;
  int64_t reach = std::max(m.size(self, d1), m.size(self, d2)) + 1;
  m.set("offset", Arg::of_int(m.choose().flip() ? 0 : m.choose().between(-reach, reach)));
  if (m.choose().flip()) d1 -= rank;
  if (m.choose().flip()) d2 -= rank;
  m.set("dim1", Arg::of_int(d1));
  m.set("dim2", Arg::of_int(d2));
}

namespace {
void strided(CallMaker& m, ValueId self, bool writable) {
  Chooser& c = m.choose();
  const Type& t = m.type(self);
  int64_t last = t.offset.constant();  // the farthest element of the storage that surely exists; -1: none
  for (size_t i = 0; i < t.rank(); ++i) {
    int64_t size = t.sizes()[i].constant();
    if (size == 0) last = -1;
    if (last >= 0) last += (size - 1) * t.strides()[i].constant();
  }
  int64_t offset = t.offset.constant();
  if (last >= 0 && m.op().schema.find("storage_offset") >= 0 && c.flip()) {
    offset = c.between(0, last);
    m.set("storage_offset", Arg::of_int(offset));
  }
  int64_t room = last - offset;
  Sizes sizes, strides;
  auto rank = c.between(0, 4);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t stride = c.between(writable ? 1 : 0, 4), most = room < 0 ? 4 : stride == 0 ? 4 : room / stride + 1;
    int64_t size = c.between(c.chance(1, 8) ? 0 : 1, std::min<int64_t>(most, 5));
    if (room >= 0) room -= stride * std::max<int64_t>(size - 1, 0);
    sizes.push_back(size);
    strides.push_back(stride);
  }
  if (last < 0) {  // an empty storage holds only empty tensors
    sizes.push_back(0);
    strides.push_back(1);
  }
  m.set_ints("size", sizes);
  m.set_ints("stride", strides);
}
}  // namespace

void as_strided(CallMaker& m) { strided(m, set_self(m), false); }
void as_strided_writable(CallMaker& m) {
  TensorWish wish;
  wish.plain = true;
  strided(m, set_self(m, wish), true);
}

// A reshape, or any other strides.
void reshape_alias(CallMaker& m) {
  if (m.choose().flip()) return strided(m, set_self(m), false);
  TensorWish wish;
  wish.plain = true;
  ValueId self = set_self(m, wish);
  Sizes shape = factors_of(m, product(m.sizes(self)), 4);
  Sizes strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  m.set_ints("size", shape);
  m.set_ints("stride", strides);
}

void of_reals(CallMaker& m) { set_self(m); }

void of_complexes(CallMaker& m) {
  TensorWish wish;
  Sizes sizes = m.a_shape(0, 4);
  size_t rank = sizes.size();
  sizes.push_back(2);
  wish.dtypes = m.op().dtypes - dtypes::half;
  // Pairs are dense; the other dims lie in any order.
  Sizes strides(rank + 1, 1), outer;
  for (size_t i = 0; i < rank; ++i) outer.push_back(static_cast<int64_t>(i));
  int64_t at = 2;
  while (!outer.empty()) {
    size_t pick = outer.size() - 1 - m.choose().below(m.choose().chance(1, 3) ? outer.size() : 1);
    auto d = static_cast<size_t>(outer[pick]);
    strides[d] = at;
    at *= std::max<int64_t>(sizes[d], 1);
    outer.erase(pick);
  }
  wish.sizes = sizes;
  wish.strides = strides;
  set_self(m, wish);
}

void unflatten(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  int64_t size = m.sizes(self)[d];
  Sizes parts = size == 0 ? Sizes{0, m.a_size()} : factors_of(m, size, m.choose().flip() ? 3 : 5);
  if (parts.empty()) parts.push_back(1);
  maybe_hole(m, parts);
  m.set_ints("sizes", parts);
}

void flatten(CallMaker& m) {
  ValueId self = set_self(m);
  auto rank = static_cast<int64_t>(std::max<size_t>(m.rank(self), 1));
  int64_t a = m.choose().between(0, rank - 1), b = m.choose().between(a, rank - 1);
  m.set("start_dim", Arg::of_int(m.choose().chance(1, 3) ? a - rank : a));
  m.set("end_dim", Arg::of_int(m.choose().chance(1, 3) ? b - rank : b));
}

void contiguous(CallMaker& m) {
  ValueId self = set_self(m);
  if (m.choose().flip()) return;
  MemoryFormat f = m.rank(self) == 4   ? MemoryFormat::channels_last
                   : m.rank(self) == 5 ? MemoryFormat::channels_last_3d
                                       : MemoryFormat::contiguous;
  m.set("memory_format", Arg::of_memory_format(f));
}

void split(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  int64_t size = m.sizes(self)[d];
  m.set("split_size", Arg::of_int(m.choose().between(size == 0 ? 0 : 1, size + 2)));
}

void split_sizes(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  int64_t left = m.sizes(self)[d];
  Sizes sizes;
  while (left > 0 || (sizes.size() < 4 && m.choose().chance(1, 4))) {
    int64_t part = sizes.size() >= 5 ? left : m.choose().between(0, left);
    sizes.push_back(part);
    left -= part;
  }
  m.set_ints(param(m, 1), sizes);
}

void chunk(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  m.set("chunks", Arg::of_int(m.choose().between(1, m.sizes(self)[d] + 2)));
}

namespace {
Sizes cut_points(CallMaker& m, int64_t size) {
  Sizes points;
  auto count = m.choose().between(0, 4);
  for (int64_t i = 0; i < count; ++i) points.push_back(m.choose().between(-size - 1, size + 2));
  return points;
}
}  // namespace

void tensor_split(CallMaker& m) {
  size_t d;
  ValueId self = self_with_dim(m, &d, 0, "dim");
  int64_t size = m.sizes(self)[d];
  if (m.has("sections")) {
    m.set("sections", Arg::of_int(m.choose().between(1, size + 2)));
  } else {
    m.set_ints("indices", cut_points(m, size));
  }
}

void split_axis(CallMaker& m, size_t axis) {
  Sizes sizes = m.a_shape(axis == 2 ? 3 : axis == 0 ? 2 : 1, 5);
  int64_t& size = sizes[axis == 1 && sizes.size() == 1 ? 0 : axis];
  if (m.has("indices")) {
    m.set_ints("indices", cut_points(m, size));
  } else {
    int64_t sections = m.choose().between(1, 4);
    size = size / sections * sections;
    m.set("sections", Arg::of_int(sections));
  }
  set_self_sized(m, sizes);
}

void unbind(CallMaker& m) {
  size_t d;
  self_with_dim(m, &d, 0, "dim");
}

namespace {
Sizes part_sizes(CallMaker& m, rule::View place, const Type& whole) {
  SmallVec<Arg, 8> args;
  for (const Param& p : m.op().schema.params)
    args.push_back(m.is_set(p.name)                ? m.get(p.name)
                   : p.fallback || p.type.optional ? default_arg(m.context(), p)
                                                   : Arg::none());
  Infer infer(m.graph().shared_context(), m.graph().ops(), m.op(), args, m.graph().types(), m.graph().assumptions);
  Sizes sizes;
  for (Dim d : place(infer, whole).sizes) sizes.push_back(d.constant());
  return sizes;
}
}  // namespace

void set_source(CallMaker& m, rule::View place) {
  const Type& self = m.type(m.get(m.op().schema.params[0].name).value());
  TensorWish wish;
  wish.sizes = part_sizes(m, place, self);
  wish.dtype = m.choose().chance(1, 4) ? m.a_dtype(m.op().dtypes) : self.dtype;  // written as it would be copied
  m.set("src", m.tensor(wish));
}

namespace {
// The gradient of a part of a tensor of these sizes.
void set_gradient(CallMaker& m, const Sizes& sizes, rule::View place, DtypeSet dtypes = {}) {
  m.set_ints("input_sizes", sizes);
  DimVec dims;
  for (int64_t s : sizes) dims.push_back(Dim(s));
  TensorWish wish;
  wish.sizes = part_sizes(m, place, *m.context().tensor(contiguous_tensor(Dtype::f32, dims)));
  wish.dtypes = dtypes;
  set_self(m, wish);
}
}  // namespace

void select_backward(CallMaker& m) {
  Sizes sizes = m.a_shape(1, 5);
  int64_t d = m.a_dim(sizes.size());
  int64_t& size = sizes[wrapped(d, sizes.size())];
  size = std::max<int64_t>(size, 1);
  m.set("dim", Arg::of_int(d));
  m.set("index", Arg::of_int(m.choose().between(-size, size - 1)));
  set_gradient(m, sizes, rule::at::selected);
}

void slice_backward(CallMaker& m) {
  Sizes sizes = m.a_shape(1, 5);
  int64_t d = m.a_dim(sizes.size());
  int64_t size = sizes[wrapped(d, sizes.size())];
  m.set("dim", Arg::of_int(d));
  m.set("start", Arg::of_int(0));
  m.set("end", Arg::of_int(INT64_MAX));
  set_slice_bounds(m, size);
  set_gradient(m, sizes, rule::at::sliced);
}

void diagonal_backward(CallMaker& m) {
  Sizes sizes = m.a_shape(2, 5);
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t d1 = m.choose().between(0, rank - 1), d2 = (d1 + m.choose().between(1, rank - 1)) % rank;
  m.set("offset", Arg::of_int(m.choose().between(-3, 3)));
  m.set("dim1", Arg::of_int(d1));
  m.set("dim2", Arg::of_int(m.choose().flip() ? d2 - rank : d2));
  set_gradient(m, sizes, rule::at::on_diagonal);
}

void unfold_backward(CallMaker& m) {
  Sizes sizes = m.a_shape(1, 4);
  int64_t d = m.a_dim(sizes.size());
  int64_t size = sizes[wrapped(d, sizes.size())];
  m.set("dim", Arg::of_int(d));
  int64_t window = m.choose().between(size == 0 ? 0 : 1, size), step = m.choose().between(1, 4);
  m.set("size", Arg::of_int(window));
  m.set("step", Arg::of_int(step));
  // Overlapping windows are added up, which float8 can't.
  set_gradient(m, sizes, rule::at::unfolded, step < window ? m.op().dtypes - dtypes::float8 : m.op().dtypes);
}

}  // namespace lenz::make
