#include "compiler/ops/make/indexing.h"

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
bool in_place(const CallMaker& m) { return m.op().variant == VariantKind::in_place; }

ValueId self_of(CallMaker& m, int min_rank, int64_t min_size) {
  TensorWish wish;
  wish.min_rank = min_rank;
  wish.min_size = min_size;
  wish.written = in_place(m);
  ValueId self = m.tensor(wish);
  m.set("self", self);
  return self;
}

ValueId indices(CallMaker& m, const Sizes& sizes, int64_t count, Dtype dtype = Dtype::i64, bool negative = false) {
  TensorWish wish;
  wish.dtype = dtype;
  wish.sizes = sizes;
  wish.integers = {negative ? -count : 0, std::max<int64_t>(count, 1) - 1};
  return m.tensor(wish);
}

ValueId same_dtype(CallMaker& m, ValueId like, const Sizes& sizes) {
  TensorWish wish;
  wish.dtype = m.type(like).dtype;
  wish.sizes = sizes;
  return m.tensor(wish);
}

// An index shape that fits inside `self` along every dim but `dim`.
Sizes fitting(CallMaker& m, const Sizes& self, size_t dim) {
  Sizes sizes = self;
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = i == dim ? m.a_size() : m.choose().flip() ? sizes[i] : m.choose().between(0, sizes[i]);
  return sizes;
}

size_t set_dim(CallMaker& m, size_t rank) {
  int64_t dim = m.a_dim(rank);
  m.set("dim", Arg::of_int(dim));
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(std::max<size_t>(rank, 1)) : dim);
}

Dtype index_dtype(CallMaker& m) { return m.choose().chance(1, 4) ? Dtype::i32 : Dtype::i64; }

// Of an index without elements eager does not ask the dtype.
Dtype index_dtype(CallMaker& m, const Sizes& sizes) {
  bool empty = std::ranges::find(sizes, 0) != sizes.end();
  return empty && m.choose().chance(1, 4) ? m.a_dtype(dtypes::integers) : index_dtype(m);
}
}  // namespace

void gather(CallMaker& m) {
  ValueId self = self_of(m, 0, 1);
  size_t dim = set_dim(m, m.rank(self));
  Sizes sizes = fitting(m, m.sizes(self), dim);
  if (m.rank(self) == 0 && m.choose().flip()) sizes.push_back(m.a_size());
  m.set("index", indices(m, sizes, m.size(self, static_cast<int64_t>(dim)), index_dtype(m, sizes)));
  m.set("sparse_grad", Arg::of_bool(false));
}

void scatter(CallMaker& m) {
  Chooser& c = m.choose();
  TensorWish wish;
  wish.min_size = 1;
  wish.written = in_place(m);
  std::string_view reduce;
  if (m.has("reduce")) {
    bool two = m.has("include_self");
    reduce = two ? c.any_of<std::string_view>({"sum", "prod", "mean", "amax", "amin"})
                 : c.any_of<std::string_view>({"add", "multiply"});
    m.set("reduce", m.context().string(reduce));
    if (reduce == "mean") wish.dtypes = m.op().dtypes - dtypes::boolean;
    if (reduce == "amax" || reduce == "amin") wish.dtypes = m.op().dtypes - dtypes::complexes;
  }
  ValueId self = m.tensor(wish);
  m.set("self", self);
  size_t dim = set_dim(m, m.rank(self));
  Sizes sizes = fitting(m, m.sizes(self), dim);
  m.set("index", indices(m, sizes, m.size(self, static_cast<int64_t>(dim)), index_dtype(m, sizes)));
  if (m.has("src")) {
    Sizes larger = sizes;
    for (int64_t& s : larger) s += c.chance(1, 4) ? 1 : 0;
    m.set("src", same_dtype(m, self, larger));
  }
  if (m.has("value")) m.set("value", m.a_number(m.type(self).dtype));
}

namespace {
// Indices for some dims of `self`: integers that broadcast together, absent ones, or a mask; the result's shape.
Sizes set_indices(CallMaker& m, const Sizes& self) {
  Chooser& c = m.choose();
  auto count = static_cast<size_t>(c.between(1, static_cast<int64_t>(self.size())));
  Sizes full = m.a_shape(0, 2);
  SmallVec<ValueId, 8> list;
  Sizes result;
  bool any = false, gap = false, apart = false;
  for (size_t i = 0; i < count; ++i) {
    if ((any || i + 1 < count) && c.chance(1, 4)) {
      list.push_back(kNone);
      gap = any;
      continue;
    }
    apart = apart || gap;
    // The first index has the full shape, so that the broadcast of all is known.
    Sizes shape = any ? m.shape_like_with_ones(full) : full;
    list.push_back(indices(m, shape, self[i], Dtype::i64, c.flip()));
    any = true;
  }
  m.set_tensors("indices", list);
  bool placed = false;
  if (apart) {
    result = full;
    placed = true;
  }
  for (size_t i = 0; i < self.size(); ++i) {
    bool indexed = i < list.size() && list[i] != kNone;
    if (!indexed) result.push_back(self[i]);
    if (indexed && !placed) {
      for (int64_t s : full) result.push_back(s);
      placed = true;
    }
  }
  return result;
}
}  // namespace

namespace {
// A mask of some neighbouring dims of `self`, from the first on where the mask may take few elements.
bool set_mask(CallMaker& m, const Sizes& self, bool takes_all) {
  Chooser& c = m.choose();
  auto first = takes_all ? static_cast<size_t>(c.below(self.size())) : 0;
  auto last = static_cast<size_t>(c.between(static_cast<int64_t>(first) + 1, static_cast<int64_t>(self.size())));
  SmallVec<ValueId, 8> list(first, kNone);
  TensorWish wish;
  wish.dtype = Dtype::b8;
  wish.sizes = Sizes(self.span().subspan(first, last - first));
  if (takes_all) {
    if (std::ranges::all_of(*wish.sizes, [](int64_t s) { return s == 1; })) return false;
    wish.integers = {1, 1};
  }
  list.push_back(m.tensor(wish));
  m.set_tensors("indices", list);
  return true;
}
}  // namespace

void index(CallMaker& m) {
  // Of a strided tensor, or beside dims of one element, a mask that takes no or one element may give strides that the
  // rule does not foresee: it assumes two or more.
  bool masks = m.choose().chance(1, 8), plain = masks && m.choose().flip();
  ValueId self = m.tensor({.min_rank = 1, .min_size = plain ? 2 : 1, .plain = plain});
  m.set("self", self);
  if (!masks || !set_mask(m, m.sizes(self), !plain)) set_indices(m, m.sizes(self));
}

void index_by_numbers(CallMaker& m) { set_indices(m, m.sizes(self_of(m, 1, 1))); }

void index_put(CallMaker& m) {
  bool masks = m.choose().chance(1, 8);
  TensorWish wish;
  wish.min_rank = 1;
  wish.min_size = 1;
  wish.written = in_place(m);
  if (masks) wish.dtypes = m.op().dtypes - dtypes::float8;  // eager fills by a mask, and can't fill float8
  ValueId self = m.tensor(wish);
  m.set("self", self);
  Sizes values;  // of a mask: the same for all that it takes
  if (masks) {
    set_mask(m, m.sizes(self), false);  // its result does not hang on what the mask takes
    const Sizes all = m.sizes(self);
    const size_t taken = m.rank(m.get("indices").value_list()[0]);
    if (m.choose().flip()) values = m.shape_like_with_ones(Sizes(all.span().subspan(taken)));
  } else {
    values = m.shape_like_with_ones(set_indices(m, m.sizes(self)));
  }
  m.set("values", same_dtype(m, self, values));
}

void index_select(CallMaker& m) {
  ValueId self = self_of(m, 0, 1);
  size_t dim = set_dim(m, m.rank(self));
  bool scalar = m.choose().chance(1, 6);
  Sizes sizes = scalar ? Sizes() : Sizes{m.rank(self) ? m.a_size() : 1};
  m.set("index", indices(m, sizes, m.size(self, static_cast<int64_t>(dim)), index_dtype(m)));
}

void index_write(CallMaker& m) {
  Chooser& c = m.choose();
  TensorWish wish;
  wish.min_size = 1;
  wish.written = in_place(m);
  if (m.has("reduce")) {
    auto reduce = c.any_of<std::string_view>({"prod", "mean", "amax", "amin"});
    m.set("reduce", m.context().string(reduce));
    // Eager has kernels for some reductions of bools and complex numbers only, and fails an assertion of its own on
    // products of half precision without the target.
    wish.dtypes = m.op().dtypes - dtypes::boolean - dtypes::complexes;
    if (reduce == "prod") wish.dtypes = wish.dtypes - dtypes::half - dtypes::bfloat;
    if (reduce == "amax" || reduce == "amin") wish.dtypes = wish.dtypes - dtypes::complexes;
  }
  ValueId self = m.tensor(wish);
  m.set("self", self);
  size_t dim = set_dim(m, m.rank(self));
  Sizes source = m.sizes(self);
  Sizes index{1};  // without dims there is one element to write, and maybe no dim that counts it
  if (source.empty()) {
    if (c.flip()) index = {};
  } else {
    source[dim] = index[0] = m.a_size();
  }
  bool copies = !m.has("alpha") && !m.has("reduce");
  m.set("index", indices(m, index, m.size(self, static_cast<int64_t>(dim)), copies ? Dtype::i64 : index_dtype(m)));
  m.set("source", same_dtype(m, self, source));
  if (m.has("alpha") && c.flip()) m.set("alpha", m.a_number(m.type(self).dtype));
}

void index_fill(CallMaker& m) {
  ValueId self = self_of(m, 0, 1);
  size_t dim = set_dim(m, m.rank(self));
  m.set("index", indices(m, {m.a_size()}, m.size(self, static_cast<int64_t>(dim))));
  if (m.op().schema.params[3].type.kind == ParamKind::tensor) {
    m.set("value", same_dtype(m, self, {}));
  } else {
    m.set("value", m.a_number(m.type(self).dtype));
  }
}

namespace {
ValueId masked(CallMaker& m) {
  Sizes full = m.a_shape();
  TensorWish wish;
  wish.sizes = in_place(m) ? full : m.shape_like_with_ones(full);
  wish.written = in_place(m);
  ValueId self = m.tensor(wish);
  m.set("self", self);
  wish.written = false;
  wish.sizes = m.shape_like_with_ones(full);
  wish.dtype = Dtype::b8;
  m.set("mask", m.tensor(wish));
  return self;
}
}  // namespace

void masked_fill(CallMaker& m) {
  ValueId self = masked(m);
  if (m.op().schema.params[2].type.kind == ParamKind::tensor) {
    m.set("value", same_dtype(m, self, {}));
  } else {
    m.set("value", m.a_number(m.type(self).dtype));
  }
}

void masked_select(CallMaker& m) { masked(m); }

void masked_scatter(CallMaker& m) {
  ValueId self = masked(m);
  // As many elements as the mask could take.
  Sizes a = m.sizes(self), b = m.sizes(m.get("mask").value());
  int64_t most = 1;
  size_t rank = std::max(a.size(), b.size());
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    most *= x == 1 ? y : x;
  }
  m.set("source", same_dtype(m, self, {most}));
}

void embedding(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = wish.max_rank = 2;
  wish.min_size = 1;
  ValueId weight = m.tensor(wish);
  m.set("weight", weight);
  Sizes shape = m.a_shape(0, 3);
  m.set("indices", indices(m, shape, m.size(weight, 0), index_dtype(m)));
  if (m.choose().flip()) m.set("padding_idx", Arg::of_int(m.choose().between(0, m.size(weight, 0) - 1)));
}

void embedding_backward(CallMaker& m) {
  Sizes sizes = m.a_shape(0, 3), grad = sizes;
  int64_t rows = m.a_size(1);
  grad.push_back(m.a_size(1));
  TensorWish wish;
  wish.sizes = grad;
  m.set("grad_output", m.tensor(wish));
  m.set("indices", indices(m, sizes, rows, index_dtype(m)));
  m.set("num_weights", Arg::of_int(rows));
  m.set("padding_idx", Arg::of_int(m.choose().flip() ? -1 : 0));
}

namespace {
// Seldom: nothing in `self`, and nothing asked of it.
bool set_nothing(CallMaker& m) {
  if (!m.choose().chance(1, 16)) return false;
  Sizes sizes = m.a_shape(1, 4);
  sizes.back() = 0;
  m.set("self", m.tensor({.sizes = sizes, .written = in_place(m)}));
  m.set("index", indices(m, {0}, 0));
  return true;
}
}  // namespace

void take(CallMaker& m) {
  if (set_nothing(m)) return;
  ValueId self = self_of(m, 0, 1);
  int64_t n = 1;
  for (int64_t s : m.sizes(self)) n *= s;
  Sizes shape = m.a_shape(0, 3);
  m.set("index", indices(m, shape, n, Dtype::i64, m.choose().flip()));
}

void take_along_dim(CallMaker& m) {
  bool as_vectors = m.choose().chance(1, 3);  // eager views both as vectors
  TensorWish wish;
  wish.min_size = 1;
  wish.min_rank = as_vectors ? 0 : 1;
  wish.plain = as_vectors;
  ValueId self = m.tensor(wish);
  m.set("self", self);
  Sizes sizes = m.sizes(self);
  if (as_vectors) {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    TensorWish flat;
    flat.dtype = Dtype::i64;
    flat.integers = {0, n - 1};
    flat.plain = true;
    m.set("indices", m.tensor(flat));
    return;
  }
  size_t dim = set_dim(m, m.rank(self));
  Sizes index = sizes;
  for (size_t i = 0; i < index.size(); ++i)
    if (i == dim) {
      index[i] = m.a_size();
    } else if (m.choose().chance(1, 3)) {
      index[i] = 1;
    }
  m.set("indices", indices(m, index, m.size(self, static_cast<int64_t>(dim))));
}

void put(CallMaker& m) {
  if (set_nothing(m)) {
    m.set("source", same_dtype(m, m.get("self").value(), {0}));
    return;
  }
  ValueId self = self_of(m, 0, 1);
  int64_t n = 1;
  for (int64_t s : m.sizes(self)) n *= s;
  Sizes sizes = m.a_shape(0, 3);
  m.set("index", indices(m, sizes, n));
  m.set("source", same_dtype(m, self, sizes));
}

void topk(CallMaker& m) {
  ValueId self = self_of(m, 0, 0);
  int64_t dim = m.a_dim(m.rank(self));
  m.set("dim", Arg::of_int(dim));
  m.set("k", Arg::of_int(m.choose().between(0, m.size(self, dim))));
}

void sort(CallMaker& m) {
  ValueId self = self_of(m, 0, 0);
  if (m.has("dim")) m.set("dim", Arg::of_int(m.a_dim(m.rank(self))));
  if (m.has("stable"))
    m.set("stable", m.op().schema.params[static_cast<size_t>(m.op().schema.find("stable"))].type.optional &&
                            m.choose().chance(1, 3)
                        ? Arg::none()
                        : Arg::of_bool(m.choose().flip()));
}

namespace {
// What is looked up meets the sequence in the dtype that both promote to.
ValueId looked_up(CallMaker& m, ValueId sequence, const Sizes& sizes) {
  TensorWish wish;
  wish.dtype = partner_of(m, m.type(sequence).dtype, computes(m));
  wish.sizes = sizes;
  return m.tensor(wish);
}
}  // namespace

void searchsorted(CallMaker& m) {
  Chooser& c = m.choose();
  TensorWish wish;
  bool number = m.op().schema.params[1].type.kind == ParamKind::scalar;
  wish.min_rank = 1;
  wish.max_rank = number || c.flip() ? 1 : 3;
  wish.dtypes = alone(m);
  wish.sorted = true;
  ValueId sequence = m.tensor(wish);
  m.set("sorted_sequence", sequence);
  if (number) {
    m.set("self", number_for(m, m.type(sequence).dtype, computes(m), false));
  } else {
    Sizes sizes = m.rank(sequence) == 1 ? m.a_shape(0, 3) : m.sizes(sequence);
    if (m.rank(sequence) > 1) sizes.back() = m.a_size();
    m.set("self", looked_up(m, sequence, sizes));
  }
  if (c.chance(1, 4)) {
    // Positions that ascend, as the sequence does: what they pick is sorted, as it has to be.
    TensorWish sorter;
    sorter.dtype = Dtype::i64;
    sorter.sizes = m.sizes(sequence);
    sorter.integers = {0, std::max<int64_t>(m.size(sequence, -1), 1) - 1};
    sorter.sorted = true;
    m.set("sorter", m.tensor(sorter));
  }
  bool right = c.flip();
  m.set("right", Arg::of_bool(right));
  if (c.chance(1, 3)) m.set("side", m.context().string(right || c.flip() ? "right" : "left"));
}

void bucketize(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = wish.max_rank = 1;
  wish.dtypes = alone(m);
  wish.sorted = true;
  ValueId boundaries = m.tensor(wish);
  m.set("boundaries", boundaries);
  if (m.op().schema.params[0].type.kind == ParamKind::scalar) {
    m.set("self", number_for(m, m.type(boundaries).dtype, computes(m), false));
  } else {
    m.set("self", looked_up(m, boundaries, m.a_shape()));
  }
}

void nonzero_static(CallMaker& m) {
  self_of(m, 0, 0);
  m.set("size", Arg::of_int(m.a_size()));
}

void isin(CallMaker& m) {
  TensorWish wish;
  // Who says that nothing occurs twice must mean it.
  const DtypeSet wide = m.op().dtypes & DtypeSet::of(Dtype::i32, Dtype::i64);
  bool unique = m.choose().chance(1, 4) && !wide.empty();  // others have too few values
  m.set("assume_unique", Arg::of_bool(unique));
  wish.permutation = wish.plain = unique;
  if (unique) wish.dtypes = wide;
  ValueId elements = m.tensor(wish);
  m.set("elements", elements);
  if (m.has("test_element")) {
    m.set("test_element", m.a_number(m.type(elements).dtype));
  } else {
    TensorWish test;
    test.dtype = m.type(elements).dtype;
    test.plain = true;
    test.permutation = unique;
    m.set("test_elements", m.tensor(test));
  }
}

void one_hot(CallMaker& m) {
  Chooser& c = m.choose();
  TensorWish wish;
  wish.min_size = 1;
  wish.integers = {0, 4};
  m.set("self", m.tensor(wish));
  m.set("num_classes", Arg::of_int(c.flip() ? 5 + c.between(0, 3) : -1));
}

void item(CallMaker& m) {
  TensorWish wish;
  wish.sizes = Sizes(m.choose().below(3), 1);
  m.set("self", m.tensor(wish));
}

}  // namespace lenz::make
