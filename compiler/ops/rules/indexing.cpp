#include "compiler/ops/rules/indexing.h"

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

namespace {
constexpr std::string_view kMean = "mean";  // op name: a way to reduce
constexpr std::string_view kFromNothing = "an index into a dim without elements";
}  // namespace

namespace {
void require_index(Infer& in, const Type& t, bool i32 = true) {
  in.require(t.dtype == Dtype::i64 || (i32 && t.dtype == Dtype::i32),
             "indices must be i64" + std::string(i32 ? " or i32" : ""));
}

bool has_elements(Infer& in, const Type& t) {
  Dim n = numel(t.sizes());
  return !(n.is_constant() ? n.is(0) : in.is_zero(n));
}

Dim size_at(const Type& t, int64_t dim) { return t.rank() ? t.sizes()[static_cast<size_t>(dim)] : Dim(1); }

size_t rank_at_least_one(const Type& t) { return std::max<size_t>(t.rank(), 1); }

TensorType like(const Type& t) { return contiguous_tensor(t.dtype, t.sizes(), t.device); }

// Every dim of the index but `dim` fits inside the other tensor's.
void require_fits(Infer& in, const Type& index, const Type& in_tensor, int64_t dim, std::string_view message) {
  for (size_t i = 0; i < index.rank(); ++i)
    if (static_cast<int64_t>(i) != dim) in.require(le(index.sizes()[i], in_tensor.sizes()[i]), message);
}
}  // namespace

void gather(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  if (has_elements(in, index)) {  // else eager asks nothing of it
    require_index(in, index);
    in.require(rank_at_least_one(self) == rank_at_least_one(index), "`index` must be of the rank of `self`");
    if (self.rank() && index.rank()) require_fits(in, index, self, dim, "`index` is larger than `self`");
  }
  in.result(contiguous_tensor(self.dtype, index.sizes(), self.device));
}

namespace {
// How elements that meet are put together: by name.
void require_way(Infer& in, std::string_view reduce, bool with_means) {
  constexpr std::string_view kTwo[] = {"add", "multiply"};  // op name: ways to reduce
  constexpr std::string_view kMore[] = {"sum", "prod", kMean, "amax", "amin"};
  bool known = with_means ? std::ranges::find(kMore, reduce) != std::end(kMore)
                          : std::ranges::find(kTwo, reduce) != std::end(kTwo);
  in.require(known, "there is no way to reduce named " + std::string(reduce));
}
}  // namespace

void scatter(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  const Type* src = in.has_param("src") ? in.tensor_or_null("src") : nullptr;
  if (src) in.require(src->dtype == self.dtype, "`src` must have the dtype of `self`");
  if (has_elements(in, index)) {
    require_index(in, index);
    in.require(rank_at_least_one(self) == rank_at_least_one(index), "`index` must be of the rank of `self`");
    if (self.rank() && index.rank()) require_fits(in, index, self, dim, "`index` is larger than `self`");
    if (src) {
      in.require(rank_at_least_one(*src) == rank_at_least_one(index), "`index` must be of the rank of `src`");
      for (int64_t i = 0; i < static_cast<int64_t>(rank_at_least_one(index)); ++i)
        in.require(le(size_at(index, i), size_at(*src, i)), "`index` is larger than `src`");
    }
  }
  std::string_view reduce = in.has_param("reduce") ? in.string("reduce") : std::string_view();
  if (in.has_param("reduce")) require_way(in, reduce, in.has_param("include_self"));
  if (reduce == "amax" || reduce == "amin") in.require(!is_complex(self.dtype), "complex numbers have no order");
  if (reduce == kMean) in.require(self.dtype != Dtype::b8, "bools have no mean");
  in.result(like(self));
}

namespace {
struct Indexed {
  TensorType source;                 // self with the indexed dims first, if they aren't neighbours
  SmallVec<const Type*, 6> indices;  // by source dim; null: not indexed
  std::optional<DimVec> shape;       // of the broadcast indices; none if there are no indices
  SmallVec<Dim, 1> counts;           // how many elements each mask takes
};

// As broadcast(), but that what a mask takes beside several indices is as many, or one that stands for all: whether it
// is, eager finds out when it runs.
DimVec broadcast_counts(Infer& in, DimVec a, DimVec b, std::span<const Dim> counts) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    Dim &x = a[a.size() - i], &y = b[b.size() - i];
    auto is_count = [&](Dim d) { return std::ranges::find(counts, d) != counts.end(); };
    auto several = [&](Dim d) { return !is_count(d) && in.assumptions().prove(gt(d, 1)) == Truth::yes; };
    if (is_count(x) && is_count(y) && x != y) x = y = in.unbacked(0, std::nullopt);
    if (is_count(x) && several(y)) x = y;
    if (is_count(y) && several(x)) y = x;
  }
  return broadcast(in, a, b);
}

// A mask stands for the indices of its true elements, of which only the run knows how many.
Indexed indexed(Infer& in) {
  const Type& self = in.tensor("self");
  Indexed r{self.tensor(), {}, std::nullopt, {}};
  std::vector<const Type*> given = in.tensors("indices");
  SmallVec<const Type*, 6> list;
  for (const Type* t : given) {
    if (!t || t->dtype == Dtype::i64 || t->dtype == Dtype::i32) {
      list.push_back(t);
      continue;
    }
    in.require(t->dtype == Dtype::b8 || t->dtype == Dtype::u8, "indices must be integers or bools");
    size_t at = list.size();
    in.require(at + t->rank() <= self.rank(), "too many indices");
    for (size_t i = 0; i < t->rank(); ++i)
      in.require(eq(t->sizes()[i], self.sizes()[at + i]), "a mask must have the shape that it masks");
    Dim count = in.unbacked(0, numel(t->sizes()));
    r.counts.push_back(count);
    // A column of nonzero's result, which is stored column by column.
    TensorType column{Dtype::i64, t->device, {count}, {Dim(1)}, 0};
    for (size_t i = 0; i < t->rank(); ++i) list.push_back(in.context().tensor(column));
    if (t->rank() == 0) throw Unsupported(in.op().full_name + ": a mask without dims");
  }
  in.require(list.size() <= self.rank(), "too many indices");
  while (list.size() < self.rank()) list.push_back(nullptr);
  for (const Type* t : list)
    if (t) r.shape = r.shape ? broadcast_counts(in, *r.shape, DimVec(t->sizes()), r.counts) : DimVec(t->sizes());
  // Indexed dims that aren't neighbours move to the front.
  size_t first = list.size(), last = 0, count = 0;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i]) {
      first = std::min(first, i);
      last = i;
      ++count;
    }
  if (count && last - first + 1 != count) {
    DimVec sizes, strides;
    SmallVec<const Type*, 6> moved;
    for (bool wanted : {true, false})
      for (size_t i = 0; i < list.size(); ++i)
        if ((list[i] != nullptr) == wanted) {
          sizes.push_back(self.sizes()[i]);
          strides.push_back(self.strides()[i]);
          moved.push_back(list[i]);
        }
    r.source.sizes = sizes;
    r.source.strides = strides;
    list = moved;
  }
  r.indices = list;
  return r;
}

// The shape of the result: the indexed dims give way to the indices' shape.
DimVec indexed_shape(const Indexed& x) {
  DimVec sizes;
  bool placed = false;
  for (size_t i = 0; i < x.indices.size(); ++i) {
    if (!x.indices[i]) {
      sizes.push_back(x.source.sizes[i]);
    } else if (!placed) {
      sizes.append(x.shape->begin(), x.shape->end());
      placed = true;
    }
  }
  return sizes;
}

// An index expanded to the indices' shape, with dims of one element around it for the dims that aren't indexed.
Operand placed_index(Infer& in, const Indexed& x, const Type& index, size_t before, size_t after) {
  TensorType t = index.tensor();
  size_t shift = x.shape->size() - index.rank();
  DimVec strides(x.shape->size(), Dim(0));
  for (size_t i = 0; i < index.rank(); ++i)
    if (!in.is_one(index.sizes()[i]) || in.is_one((*x.shape)[shift + i])) strides[shift + i] = index.strides()[i];
  {
    // expand gives a new leading dim the stride of what lies behind it, and 0 where it repeats.
    for (size_t i = shift; i-- > 0;)
      strides[i] =
          in.is_one((*x.shape)[i]) ? (i + 1 < x.shape->size() ? (*x.shape)[i + 1] * strides[i + 1] : Dim(1)) : Dim(0);
  }
  t.sizes = *x.shape;
  t.strides = strides;
  t = converted(in, *in.context().tensor(t), Dtype::i64);  // once it is expanded
  DimVec sizes(before, Dim(1));
  sizes.append(x.shape->begin(), x.shape->end());
  for (size_t i = 0; i < after; ++i) sizes.push_back(Dim(1));
  const Type* expanded = in.context().tensor(t);
  auto view = view_strides(in, *expanded, sizes);
  t.strides = view ? *view : contiguous_strides(sizes);
  t.sizes = sizes;
  return {in.context().tensor(t), Dtype::b8};
}

TensorType index_result(Infer& in, const Indexed& x) {
  size_t before = 0, after = 0, at = 0;
  while (at < x.indices.size() && !x.indices[at]) ++at, ++before;
  while (at < x.indices.size() && x.indices[at]) ++at;
  after = x.indices.size() - at;
  for (size_t i = before; i < at; ++i)
    if (in.is_zero(x.source.sizes[i])) {
      Dim n = numel(*x.shape);
      in.require(n.is_constant() ? n.is(0) : in.is_zero(n), "indexing a dim without elements");
    }
  TensorType source = x.source;
  source.sizes = indexed_shape(x);
  source.strides = DimVec(x.source.strides.span().first(before));
  for (size_t i = 0; i < x.shape->size(); ++i) source.strides.push_back(Dim(0));
  for (size_t i = at; i < x.indices.size(); ++i) source.strides.push_back(x.source.strides[i]);
  Operands all{{in.context().tensor(source), Dtype::b8}};
  for (size_t i = before; i < at; ++i) all.push_back(placed_index(in, x, *x.indices[i], before, after));
  return elementwise_result(in, all, x.source.dtype, std::nullopt);
}

// What was relied on since, and does not speak of how much masks take.
std::vector<Cond> others_relied(Infer& in, size_t since, const Indexed& x) {
  std::vector<Cond> others;
  for (size_t i = since; i < in.assumptions().relied().size(); ++i) {
    const Cond& c = in.assumptions().relied()[i];
    bool counts = false;
    for (Dim side : {c.lhs, c.rhs})
      for_each_symbol(side, [&](const SymNode* s) { counts |= std::ranges::find(x.counts, Dim(s)) != x.counts.end(); });
    if (!counts) others.push_back(c);
  }
  return others;
}

}  // namespace

void index(Infer& in) {
  Indexed x = indexed(in);
  in.require(x.shape.has_value(), "at least one index must be given");
  in.result(index_result(in, x));
}

void unsafe_index(Infer& in) {
  for (const Type* t : in.tensors("indices"))
    in.require(!t || t->dtype == Dtype::i64 || t->dtype == Dtype::i32, "indices must be integers");
  index(in);
}

void index_put(Infer& in) {
  constexpr int64_t kAny = -1;  // the size that a mask leaves
  const Type& self = in.tensor("self");
  const Type& values = in.tensor("values");
  in.require(self.dtype == values.dtype, "`values` must have the dtype of `self`");
  const Assumptions before = in.assumptions();
  Indexed x = indexed(in);
  in.require(x.shape.has_value(), "at least one index must be given");
  DimVec sizes = indexed_shape(x);
  in.require(values.rank() <= sizes.size(), "`values` must broadcast to what is indexed");
  std::vector<std::optional<int64_t>> most(sizes.size());  // that a mask takes
  if (!x.counts.empty()) {  // the result does not show them: whether the values fit, the run finds out
    for (size_t d = 0; d < sizes.size(); ++d)
      if (in.assumptions().mentions_open(sizes[d]) && !before.mentions_open(sizes[d])) {
        most[d] = in.assumptions().known().range(sizes[d]).high;
        sizes[d] = Dim(kAny);
      }
    std::vector<Cond> others = others_relied(in, before.relied().size(), x);
    in.assumptions() = before;
    for (const Cond& c : others) in.assumptions().assume(c);
  }
  for (size_t i = 0; i < values.rank(); ++i) {
    Dim v = values.sizes()[i], s = sizes[sizes.size() - values.rank() + i];
    const std::optional<int64_t> taken = most[sizes.size() - values.rank() + i];
    in.require(!taken || !v.is_constant() || v.is(1) || v.constant() <= *taken,
               "`values` must broadcast to what is indexed");
    if (!s.is(kAny) && !in.is_one(v)) in.require(eq(v, s), "`values` must broadcast to what is indexed");
  }
  in.result(TensorType{self.dtype, self.device, DimVec(self.sizes()), like_strides(in, self, std::nullopt), 0});
}

void index_select(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  require_index(in, index);
  in.require(index.rank() <= 1, "`index` must be a vector");
  DimVec sizes(self.sizes());
  Dim count = index.rank() ? index.sizes()[0] : Dim(1);
  if (self.rank()) {
    sizes[static_cast<size_t>(dim)] = count;
  } else {
    in.require(eq(count, 1), "`index` must hold one number beside a scalar");
  }
  TensorType t = contiguous_tensor(self.dtype, sizes, self.device);
  if (has_elements(in, *in.context().tensor(t))) in.require(gt(size_at(self, dim), 0), kFromNothing);
  in.result(t);
}

namespace {
void write_at(Infer& in, bool i32) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  const Type& source = in.tensor("source");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  require_index(in, index, i32);
  in.require(index.rank() <= 1, "`index` must be a vector");
  in.require(self.dtype == source.dtype, "`source` must have the dtype of `self`");
  if (in.has_param("reduce")) {
    std::string_view reduce = in.string("reduce");
    in.require(reduce != "sum", "`sum` is what another op does");  // op name: a way to reduce
    require_way(in, reduce, true);
  }
  if (in.has_param("reduce") && (self.dtype == Dtype::b8 || is_complex(self.dtype)))
    in.require(in.boolean("include_self") && (is_complex(self.dtype) || in.string("reduce") != kMean),
               "bools and complex numbers are reduced with themselves only");
  in.require(self.rank() == source.rank() || (!i32 && (self.rank() == 0 || source.rank() == 0)),
             "`source` must be of the rank of `self`");
  Dim count = index.rank() ? index.sizes()[0] : Dim(1);
  in.require(eq(count, size_at(source, dim)), "`index` must name as many places as `source` has");
  for (size_t i = 0; self.rank() == source.rank() && i < self.rank(); ++i)
    if (static_cast<int64_t>(i) != dim)
      in.require(eq(self.sizes()[i], source.sizes()[i]), "`source` has another shape than `self`");
  if (has_elements(in, source)) in.require(gt(size_at(self, dim), 0), kFromNothing);
  in.result(like(self));
}
}  // namespace

void index_write(Infer& in) { write_at(in, true); }
void index_copy(Infer& in) { write_at(in, false); }

void index_fill(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  in.wrap_dim(in.constant("dim"), self.rank());
  require_index(in, index, false);
  in.require(index.rank() <= 1, "`index` must be a vector");
  if (const Type* value = in.op().schema.params[3].type.kind == ParamKind::tensor ? &in.tensor("value") : nullptr)
    in.require(value->rank() == 0 && (!is_complex(value->dtype) || is_complex(self.dtype)),
               "`value` must be a scalar tensor, and real where `self` is");
  in.require(in.arg("value").kind != ArgKind::complex || is_complex(self.dtype),
             "`value` must be real where `self` is");
  in.result(TensorType{self.dtype, self.device, DimVec(self.sizes()), like_strides(in, self, std::nullopt), 0});
}

void masked_fill(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& mask = in.tensor("mask");
  in.require(mask.dtype == Dtype::b8, "the mask must be of bools");
  const Param& value = in.op().schema.params[2];
  if (value.type.kind == ParamKind::tensor)
    in.require(in.tensor("value").rank() == 0, "`value` must be a scalar tensor");
  in.result(contiguous_tensor(self.dtype, broadcast(in, self.sizes(), mask.sizes()), self.device));
}

void masked_select(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& mask = in.tensor("mask");
  in.require(mask.dtype == Dtype::b8, "the mask must be of bools");
  Dim most = numel(broadcast(in, self.sizes(), mask.sizes()));
  DimVec sizes{in.unbacked(0, most)};
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
}

void masked_scatter(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& mask = in.tensor("mask");
  in.require(mask.dtype == Dtype::b8, "the mask must be of bools");
  in.require(in.tensor("source").dtype == self.dtype, "`source` must have the dtype of `self`");
  in.result(contiguous_tensor(self.dtype, broadcast(in, self.sizes(), mask.sizes()), self.device));
}

void embedding(Infer& in) {
  const Type& weight = in.tensor("weight");
  const Type& indices = in.tensor("indices");
  in.require(weight.rank() == 2, "`weight` must be a matrix");
  require_index(in, indices);
  if (has_elements(in, indices)) in.require(gt(weight.sizes()[0], 0), kFromNothing);
  DimVec sizes(indices.sizes());
  sizes.push_back(weight.sizes()[1]);
  in.result(contiguous_tensor(weight.dtype, sizes, weight.device));
}

void embedding_backward(Infer& in) {
  const Type& grad = in.tensor("grad_output");
  require_index(in, in.tensor("indices"));
  in.require(grad.rank() >= 1, "the gradient needs a dim");
  in.require(eq(numel(grad.sizes()), numel(in.tensor("indices").sizes()) * grad.sizes().back()),
             "the gradient must hold one row per index");
  in.require(ge(in.integer("num_weights"), 0), "`num_weights` must not be negative");
  DimVec sizes{in.integer("num_weights"), grad.sizes().back()};
  in.result(contiguous_tensor(grad.dtype, sizes, grad.device));
}

void take(Infer& in) {
  const Type& index = in.tensor("index");
  require_index(in, index, false);
  if (has_elements(in, index)) in.require(gt(numel(in.tensor("self").sizes()), 0), "there is nothing to take");
  in.result(contiguous_tensor(in.tensor("self").dtype, index.sizes(), index.device));
}

void take_along_dim(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& indices = in.tensor("indices");
  bool flat = !in.given("dim");
  if (!flat || has_elements(in, indices)) require_index(in, indices, flat);
  if (flat) {
    DimVec sizes{numel(indices.sizes())};
    in.require(view_strides(in, self, DimVec{numel(self.sizes())}).has_value(), "`self` can't be viewed as a vector");
    in.require(view_strides(in, indices, sizes).has_value(), "`indices` can't be viewed as a vector");
    return in.result(contiguous_tensor(self.dtype, sizes, self.device));
  }
  in.require(self.rank() == indices.rank(), "`indices` must be of the rank of `self`");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  DimVec a(self.sizes()), b(indices.sizes());
  in.require(self.rank() > 0, "a scalar has no dims to take along");
  a[static_cast<size_t>(dim)] = Dim(1);
  b[static_cast<size_t>(dim)] = Dim(1);
  DimVec sizes = broadcast(in, a, b);
  sizes[static_cast<size_t>(dim)] = indices.sizes()[static_cast<size_t>(dim)];
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
}

void put(Infer& in) {
  const Type& self = in.tensor("self");
  const Type& index = in.tensor("index");
  const Type& source = in.tensor("source");
  require_index(in, index, false);
  in.require(self.dtype == source.dtype, "`source` must have the dtype of `self`");
  in.require(eq(numel(index.sizes()), numel(source.sizes())), "`index` and `source` must hold as many numbers");
  in.result(TensorType{self.dtype, self.device, DimVec(self.sizes()), like_strides(in, self, std::nullopt), 0});
}

void topk(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(!is_complex(self.dtype) && self.dtype != Dtype::b8 && !is_float8(self.dtype),
             "this dtype has no order here");
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  Dim k = in.integer("k");
  in.require(ge(k, 0), "`k` must not be negative");
  in.require(le(k, size_at(self, dim)), "`k` is larger than the dim");
  DimVec sizes(self.sizes());
  if (self.rank()) sizes[static_cast<size_t>(dim)] = k;
  in.result(contiguous_tensor(self.dtype, sizes, self.device));
  in.result(contiguous_tensor(Dtype::i64, sizes, self.device));
}

namespace {
// Sorting keeps the strides of a dense tensor; others become dense in their own order.
TensorType sorted(Infer& in, Dtype dtype) {
  const Type& self = in.tensor("self");
  in.require(!is_complex(self.dtype) && (!is_float8(self.dtype) || self.rank() == 0), "this dtype has no order here");
  in.wrap_dim(in.has_param("dim") ? in.constant("dim") : 0, self.rank());
  return {dtype, self.device, DimVec(self.sizes()), like_strides(in, self, std::nullopt), 0};
}
}  // namespace

void sort(Infer& in) {
  in.result(sorted(in, in.tensor("self").dtype));
  in.result(sorted(in, Dtype::i64));
}

void argsort(Infer& in) { in.result(sorted(in, Dtype::i64)); }

namespace {
Dtype position_dtype(Infer& in) { return in.boolean("out_int32") ? Dtype::i32 : Dtype::i64; }
}  // namespace

void searchsorted(Infer& in) {
  const Type& sequence = in.tensor("sorted_sequence");
  if (std::string_view side = in.string("side"); !side.empty()) {
    in.require(side == "left" || side == "right", "`side` must be left or right");
    in.require(side == "right" || !in.boolean("right"), "`side` and `right` contradict");
  }
  if (const Type* sorter = in.tensor_or_null("sorter")) {
    in.require(sorter->dtype == Dtype::i64, "`sorter` must hold i64");
    in.require(sorter->rank() == sequence.rank(), "`sorter` must have the shape of the sequence");
    for (size_t i = 0; i < sequence.rank(); ++i)
      in.require(eq(sorter->sizes()[i], sequence.sizes()[i]), "`sorter` must have the shape of the sequence");
  }
  if (in.op().schema.params[1].type.kind == ParamKind::scalar) {
    in.require(sequence.rank() == 1, "a number is looked up in a vector");
    require_dtype(in, result_type(in, operands(in, {"sorted_sequence", "self"})));
    return in.result(contiguous_tensor(position_dtype(in), {}, sequence.device));
  }
  const Type& self = in.tensor("self");
  require_dtype(in, result_type(in, operands(in, {"sorted_sequence", "self"})));
  in.require(sequence.rank() >= 1, "the sequence needs a dim");
  if (sequence.rank() > 1) {
    in.require(self.rank() == sequence.rank(), "`self` must be of the sequence's rank");
    for (size_t i = 0; i + 1 < self.rank(); ++i)
      in.require(eq(self.sizes()[i], sequence.sizes()[i]), "the leading dims differ");
  }
  in.result(contiguous_tensor(position_dtype(in), self.sizes(), self.device));
}

void bucketize(Infer& in) {
  const Type& boundaries = in.tensor("boundaries");
  in.require(boundaries.rank() == 1, "`boundaries` must be a vector");
  require_dtype(in, result_type(in, operands(in, {"boundaries", "self"})));
  if (in.op().schema.params[0].type.kind == ParamKind::scalar)
    return in.result(contiguous_tensor(position_dtype(in), {}, boundaries.device));
  const Type& self = in.tensor("self");
  in.result(contiguous_tensor(position_dtype(in), self.sizes(), self.device));
}

// Eager writes the coordinates dim by dim and hands out the transpose.
void nonzero(Infer& in) {
  const Type& self = in.tensor("self");
  Dim most = numel(self.sizes());
  Dim count = most.is(0) ? Dim(0) : in.unbacked(0, most);
  TensorType t{Dtype::i64, self.device, {count, Dim(static_cast<int64_t>(self.rank()))}, {Dim(1), count}, 0};
  in.result(t);
}

void nonzero_static(Infer& in) {
  const Type& self = in.tensor("self");
  Dim size = in.integer("size");
  in.require(ge(size, 0), "`size` must not be negative");
  DimVec sizes{size, Dim(static_cast<int64_t>(self.rank()))};
  in.result(contiguous_tensor(Dtype::i64, sizes, self.device));
}

void unique(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(!is_complex(self.dtype) && !is_float8(self.dtype), "this dtype has no order here");
  Dim most = numel(self.sizes());
  Dim count = most.is(0) ? Dim(0) : in.unbacked(most.is_constant() ? 1 : 0, most);
  DimVec found{count}, none{Dim(0)};
  in.result(contiguous_tensor(self.dtype, found, self.device));
  in.result(contiguous_tensor(Dtype::i64, in.boolean("return_inverse") ? DimVec(self.sizes()) : none, self.device));
  in.result(contiguous_tensor(Dtype::i64, in.boolean("return_counts") ? found : none, self.device));
}

void isin(Infer& in) {
  const Type& elements = in.tensor("elements");
  if (in.has_param("test_elements")) result_type(in, operands(in, {"elements", "test_elements"}));
  for (const Param& p : in.op().schema.params) {
    if (p.type.kind != ParamKind::tensor || p.is_out) continue;
    Dtype d = in.tensor(p.name).dtype;
    in.require(!is_complex(d) && d != Dtype::b8, "this dtype has no order here");
  }
  in.result(contiguous_tensor(Dtype::b8, elements.sizes(), elements.device));
}

void one_hot(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(self.dtype == Dtype::i64, "needs i64 class numbers");
  Dim classes = in.integer("num_classes");
  Dim n = numel(self.sizes());
  bool empty = n.is_constant() ? n.is(0) : in.is_zero(n);
  if (empty) in.require(gt(classes, 0), "the number of classes can't be told from an empty tensor");
  DimVec sizes(self.sizes());
  sizes.push_back(classes.is(-1) ? in.unbacked(1, std::nullopt) : classes);
  in.result(contiguous_tensor(Dtype::i64, sizes, self.device));
}

void item(Infer& in) {
  const Type& self = in.tensor("self");
  in.require(eq(numel(self.sizes()), 1), "a tensor of one element is needed");
  if (is_complex(self.dtype)) throw Unsupported(in.op().full_name + ": a complex number as a value");
  if (self.dtype == Dtype::b8) return in.result(in.context().simple(TypeKind::sym_bool));
  if (is_floating(self.dtype)) return in.result(in.context().simple(TypeKind::sym_float));
  int64_t low = !info(self.dtype).is_signed   ? 0
                : info(self.dtype).bits == 64 ? INT64_MIN
                                              : -(int64_t{1} << (info(self.dtype).bits - 1));
  in.result(in.context().sym_int(in.unbacked(low, std::nullopt)));
}

}  // namespace lenz::rule
