#include "compiler/ops/rules/contraction.h"

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/rules/pointwise.h"

namespace lenz::rule {

void one_dtype(Infer& in, std::initializer_list<const Type*> types) {
  const Type* first = *types.begin();
  for (const Type* t : types) in.require(t->dtype == first->dtype, "the operands must have one dtype");
  in.require(first->dtype != Dtype::b8, "bools don't multiply");
}

namespace {
const Type& of_rank(Infer& in, std::string_view param, size_t rank) {
  const Type& t = in.tensor(param);
  in.require(t.rank() == rank, "`" + std::string(param) + "` must be of rank " + std::to_string(rank));
  return t;
}

TensorType fresh(const Type& like, std::initializer_list<Dim> sizes) {
  return contiguous_tensor(like.dtype, std::span<const Dim>(sizes.begin(), sizes.size()), like.device);
}

// `self` of addmm and its kin must broadcast to the product.
void broadcasts_to(Infer& in, const Type& self, const TensorType& product,
                   std::string_view otherwise = "`self` doesn't broadcast to the product") {
  in.require(self.rank() <= product.rank(), otherwise);
  size_t shift = product.rank() - self.rank();
  for (size_t i = 0; i < self.rank(); ++i)
    if (!in.is_one(self.sizes()[i])) in.require(eq(self.sizes()[i], product.sizes[shift + i]), otherwise);
}

TensorType product_of(Infer& in, const Type& a, const Type& b) {
  one_dtype(in, {&a, &b});
  in.require(eq(a.sizes()[1], b.sizes()[0]), "the inner dims differ");
  return fresh(a, {a.sizes()[0], b.sizes()[1]});
}

TensorType batched_product(Infer& in, const Type& a, const Type& b) {
  one_dtype(in, {&a, &b});
  in.require(!is_float8(a.dtype), "float8 is not supported");
  in.require(eq(a.sizes()[0], b.sizes()[0]), "the batches differ");
  in.require(eq(a.sizes()[2], b.sizes()[1]), "the inner dims differ");
  return fresh(a, {a.sizes()[0], a.sizes()[1], b.sizes()[2]});
}
}  // namespace

namespace {
bool is_zero_number(const Arg& number) {  // and known to be
  return number.kind == ArgKind::complex ? *number.complex_value == 0.0
         : number.kind == ArgKind::real  ? number.d == 0
                                         : !number.is_value() && number.i == 0;
}

// Where eager does one thing for beta = 0 and another for the rest.
void require_known_beta(Infer& in) {
  if (in.arg("beta").is_value())
    throw Unsupported(in.op().full_name + ": no products, and a beta that only the run knows to be 0");
}

// Where no products are summed eager scales `self`.
bool scales_integers_by_a_real(Infer& in, const TensorType& product) {
  const Arg& beta = in.arg("beta");
  return !is_inexact(product.dtype) && is_floating(number_operand(in, beta).number) && !is_zero_number(beta);
}
void refuse_beta(Infer& in) {
  require_known_beta(in);
  in.raise("integers need an integral beta");
}
void require_integral_beta(Infer& in, const TensorType& product, Dim inner) {
  if (scales_integers_by_a_real(in, product) && in.is_zero(inner) && !in.is_zero(numel(product.sizes))) refuse_beta(in);
}
// For one number of float8 eager has no kernel that does.
void require_kernel_for_float8(Infer& in, const TensorType& product, Dim inner) {
  if (!is_float8(product.dtype) || is_zero_number(in.arg("beta"))) return;
  if (in.is_one(product.sizes[0]) && in.is_one(product.sizes[1]) && in.is_zero(inner)) {
    require_known_beta(in);
    in.raise("not implemented for one number of float8 and no products");
  }
}
}  // namespace

void mm(Infer& in) { in.result(product_of(in, of_rank(in, "self", 2), of_rank(in, "mat2", 2))); }
void bmm(Infer& in) { in.result(batched_product(in, of_rank(in, "self", 3), of_rank(in, "mat2", 3))); }

void addmm(Infer& in) {
  TensorType product = product_of(in, of_rank(in, "mat1", 2), of_rank(in, "mat2", 2));
  one_dtype(in, {&in.tensor("self"), &in.tensor("mat1")});
  broadcasts_to(in, in.tensor("self"), product);
  require_integral_beta(in, product, in.tensor("mat1").sizes()[1]);
  require_kernel_for_float8(in, product, in.tensor("mat1").sizes()[1]);
  in.result(product);
}

void baddbmm(Infer& in) {
  TensorType product = batched_product(in, of_rank(in, "batch1", 3), of_rank(in, "batch2", 3));
  one_dtype(in, {&in.tensor("self"), &in.tensor("batch1")});
  broadcasts_to(in, in.tensor("self"), product);
  require_integral_beta(in, product, in.tensor("batch1").sizes()[2]);
  in.result(product);
}

void addbmm(Infer& in) {
  const Type& a = of_rank(in, "batch1", 3);
  const Type& b = of_rank(in, "batch2", 3);
  one_dtype(in, {&in.tensor("self"), &a, &b});
  in.require(eq(a.sizes()[0], b.sizes()[0]), "the batches differ");
  in.require(eq(a.sizes()[2], b.sizes()[1]), "the inner dims differ");
  TensorType product = fresh(a, {a.sizes()[1], b.sizes()[2]});
  broadcasts_to(in, in.tensor("self"), product);
  // Of no batches it is self alone that is scaled, be there elements or not.
  if (scales_integers_by_a_real(in, product) && in.is_zero(a.sizes()[0])) refuse_beta(in);
  require_integral_beta(in, product, a.sizes()[2]);
  require_kernel_for_float8(in, product, a.sizes()[0] * a.sizes()[2]);
  in.result(product);
}

namespace {
TensorType times_vector(Infer& in, const Type& m, const Type& v) {
  one_dtype(in, {&m, &v});
  in.require(!is_float8(m.dtype), "float8 is not supported");
  in.require(eq(m.sizes()[1], v.sizes()[0]), "the vector's length is not the matrix's width");
  return fresh(m, {m.sizes()[0]});
}
}  // namespace

void mv(Infer& in) { in.result(times_vector(in, of_rank(in, "self", 2), of_rank(in, "vec", 1))); }

// Of a matrix without elements eager scales self and does not expand it, unless it writes in place.
void addmv(Infer& in) {
  const Type &self = in.tensor("self"), &mat = of_rank(in, "mat", 2);
  TensorType product = times_vector(in, mat, of_rank(in, "vec", 1));
  one_dtype(in, {&self, &mat});
  broadcasts_to(in, self, product);
  const bool expands = DimVec(self.sizes()) == product.sizes || in.op().variant == VariantKind::in_place ||
                       is_zero_number(in.arg("beta"));
  if (!expands && (in.is_zero(mat.sizes()[0]) || in.is_zero(mat.sizes()[1]))) {
    require_known_beta(in);
    if (in.op().variant == VariantKind::out)
      throw Unsupported(in.op().full_name + ": of an empty matrix eager resizes `out` twice, and forgets its strides");
    product = contiguous_tensor(self.dtype, self.sizes(), self.device);
  }
  in.result(product);
}

void dot(Infer& in) {
  const Type& a = of_rank(in, param_name(in, 0), 1);
  const Type& b = of_rank(in, param_name(in, 1), 1);
  one_dtype(in, {&a, &b});
  in.require(!is_float8(a.dtype), "float8 is not supported");
  in.require(eq(a.sizes()[0], b.sizes()[0]), "the vectors must be of one length");
  in.result(fresh(a, {}));
}

namespace {
// A vector as a column: the second dim has one element.
const Type& column(Infer& in, const Type& v) {
  TensorType t = v.tensor();
  t.sizes.push_back(Dim(1));
  t.strides = *view_strides(in, v, t.sizes);  // adding a dim of one element is always a view
  return *in.context().tensor(t);
}
}  // namespace

void outer(Infer& in) {
  Operands both{{&column(in, of_rank(in, "self", 1)), Dtype::b8}, {&of_rank(in, "vec2", 1), Dtype::b8}};
  Dtype d = result_type(in, both);
  in.result(elementwise_result(in, both, d));
}

namespace {
void require_integral_factors(Infer& in, Dtype result) {
  for (std::string_view param : {"alpha", "beta"}) {
    const Dtype factor = number_operand(in, in.arg(param)).number;  // of one that only the run knows too
    if (is_floating(factor) && !is_inexact(result)) in.raise("integers need integral factors");
    if (factor == Dtype::b8 && result != Dtype::b8) in.raise("boolean factors are for boolean results");
  }
}
}  // namespace

void addr(Infer& in) {
  const Type& a = of_rank(in, "vec1", 1);
  const Type& b = of_rank(in, "vec2", 1);
  // Expanded to the product's shape it counts as a tensor among tensors, a number as well.
  TensorType whole = in.tensor("self").tensor();
  whole.sizes = {a.sizes()[0], b.sizes()[0]};
  whole.strides = DimVec(2, Dim(0));
  Operands all{{in.context().tensor(whole), Dtype::b8}, {&a, Dtype::b8}, {&b, Dtype::b8}};
  Dtype d = result_type(in, all);
  in.require(!is_float8(d), "float8 is not supported");
  require_integral_factors(in, d);
  TensorType t = contiguous_tensor(d, {}, a.device);
  t.sizes = {a.sizes()[0], b.sizes()[0]};
  broadcasts_to(in, in.tensor("self"), [&] {
    TensorType s = t;
    s.strides = contiguous_strides(s.sizes);
    return s;
  }());
  // `self` is expanded to the product's shape before the kernel looks at its strides.
  TensorType self = in.tensor("self").tensor();
  DimVec strides(2, Dim(0));
  size_t shift = 2 - self.rank();
  for (size_t i = 0; i < self.rank(); ++i)
    if (!in.is_one(self.sizes[i]) || in.is_one(t.sizes[shift + i])) strides[shift + i] = self.strides[i];
  self.sizes = t.sizes;
  self.strides = strides;
  Operands shaped{{in.context().tensor(self), Dtype::b8}, {&column(in, a), Dtype::b8}, {&b, Dtype::b8}};
  in.result(elementwise_result(in, shaped, d));
}

void matmul(Infer& in) {
  const Type& a = in.tensor(0);
  const Type& b = in.tensor(1);
  in.require(a.rank() >= 1 && b.rank() >= 1, "both operands need at least one dim");
  one_dtype(in, {&a, &b});
  in.require(eq(a.sizes().back(), b.sizes()[b.rank() == 1 ? 0 : b.rank() - 2]), "the inner dims differ");
  DimVec batch_a(a.sizes().first(a.rank() > 2 ? a.rank() - 2 : 0)),
      batch_b(b.sizes().first(b.rank() > 2 ? b.rank() - 2 : 0));
  DimVec sizes = broadcast(in, batch_a, batch_b);
  if (a.rank() > 1) sizes.push_back(a.sizes()[a.rank() - 2]);
  if (b.rank() > 1) sizes.push_back(b.sizes().back());
  in.result(contiguous_tensor(a.dtype, sizes, a.device));
}

namespace {
// A contiguous bias of one dim, sizes of 1 apart.
bool is_line(Infer& in, const Type& bias) {
  size_t longer = 0;
  if (bias.rank() != 1)
    for (Dim size : bias.sizes()) longer += in.is_one(size) ? 0 : 1;
  return (bias.rank() == 1 || longer == 1) && is_contiguous(in, bias);
}
}  // namespace

void linear(Infer& in) {
  const Type& input = in.tensor("input");
  const Type& weight = in.tensor("weight");
  in.require(input.rank() >= 1 && (weight.rank() == 1 || weight.rank() == 2), "`weight` must be of rank 1 or 2");
  one_dtype(in, {&input, &weight});
  in.require(eq(input.sizes().back(), weight.sizes().back()), "the input's last dim is not the weight's");
  DimVec sizes(input.sizes().first(input.rank() - 1));
  if (weight.rank() == 2) sizes.push_back(weight.sizes()[0]);
  TensorType product = contiguous_tensor(input.dtype, sizes, input.device);
  if (const Type* bias = in.tensor_or_null("bias")) {
    // Eager adds the bias at once where kernels for matrices can, else to the product, in place.
    bool as_matrix = is_line(in, as_it_lies(in, "bias")) && is_contiguous(in, as_it_lies(in, "input")),
         at_once = input.rank() == 2 || as_matrix;
    in.require(weight.rank() == 2 || !at_once, "a weight of rank 1 beside a bias");
    if (at_once || info(bias->dtype).category > info(input.dtype).category) one_dtype(in, {&input, bias});
    const bool number = bias->rank() == 0 && product.rank() > 0;  // its dtype does not count
    in.require(number || promote(input.dtype, bias->dtype).has_value(),
               "the product and the bias have no common dtype");
    if (as_matrix && bias->rank() > 1) {
      Dim columns = weight.sizes()[0], rows = 1;
      for (Dim size : input.sizes().first(input.rank() - 1)) rows *= size;
      broadcasts_to(in, *bias, fresh(input, {rows, columns}));
    }
    broadcasts_to(in, *bias, product,
                  as_matrix ? "the bias fits the rows of the product, but not the product"
                            : "the bias doesn't broadcast to the product");
  }
  in.result(product);
}

void inner(Infer& in) {
  const Type& a = in.tensor("self");
  const Type& b = in.tensor("other");
  if (a.rank() == 0 || b.rank() == 0) return mul(in);
  one_dtype(in, {&a, &b});
  in.require(eq(a.sizes().back(), b.sizes().back()), "the last dims differ");
  DimVec sizes(a.sizes().first(a.rank() - 1));
  sizes.append(b.sizes().data(), b.sizes().data() + b.rank() - 1);
  in.result(contiguous_tensor(a.dtype, sizes, a.device));
}

void tensordot(Infer& in) {
  const Type& a = in.tensor("self");
  const Type& b = in.tensor("other");
  one_dtype(in, {&a, &b});
  auto dims_a = in.constants("dims_self"), dims_b = in.constants("dims_other");
  in.require(dims_a.size() == dims_b.size(), "both lists of dims must be of one length");
  SmallVec<bool, 6> gone_a(a.rank(), false), gone_b(b.rank(), false);
  for (size_t i = 0; i < dims_a.size(); ++i) {
    auto x = static_cast<size_t>(in.wrap_dim(dims_a[i], a.rank())),
         y = static_cast<size_t>(in.wrap_dim(dims_b[i], b.rank()));
    in.require(x < a.rank() && y < b.rank() && !gone_a[x] && !gone_b[y], "a dim is named twice");
    gone_a[x] = gone_b[y] = true;
    if (!in.is_one(a.sizes()[x]) && !in.is_one(b.sizes()[y]))
      in.require(eq(a.sizes()[x], b.sizes()[y]), "contracted dims differ");
  }
  DimVec sizes;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!gone_a[i]) sizes.push_back(a.sizes()[i]);
  for (size_t i = 0; i < b.rank(); ++i)
    if (!gone_b[i]) sizes.push_back(b.sizes()[i]);
  in.result(contiguous_tensor(a.dtype, sizes, a.device));
}

void bilinear(Infer& in) {
  const Type& a = in.tensor("input1");
  const Type& b = in.tensor("input2");
  const Type& w = of_rank(in, "weight", 3);
  one_dtype(in, {&a, &b, &w});
  in.require(a.rank() == b.rank() && a.rank() >= 1, "the inputs must be of one rank");
  for (size_t i = 0; i + 1 < a.rank(); ++i) in.require(eq(a.sizes()[i], b.sizes()[i]), "the inputs' batches differ");
  in.require(eq(a.sizes().back(), w.sizes()[1]), "`input1` and `weight` disagree");
  in.require(eq(b.sizes().back(), w.sizes()[2]), "`input2` and `weight` disagree");
  DimVec sizes(a.sizes().first(a.rank() - 1));
  sizes.push_back(w.sizes()[0]);
  TensorType product = contiguous_tensor(a.dtype, sizes, a.device);
  const Type* bias = in.tensor_or_null("bias");
  if (!bias) return in.result(product);
  // Eager looks at the bias' first size alone, and adds it as it is.
  in.require(bias->rank() >= 1, "`bias` must have dims");
  one_dtype(in, {&a, bias});
  in.require(eq(bias->sizes()[0], w.sizes()[0]), "`bias` and `weight` disagree");
  Operands both{{in.context().tensor(product), a.dtype}, {bias, a.dtype}};
  in.result(elementwise_result(in, both, a.dtype));
}

void cross(Infer& in) {
  const Type& a = in.tensor("self");
  const Type& b = in.tensor("other");
  one_dtype(in, {&a, &b});
  in.require(a.rank() == b.rank(), "the operands must be of one rank");
  int64_t dim = in.wrap_dim(in.constant("dim"), a.rank());
  in.require(a.rank() > 0, "needs vectors");
  in.require(eq(a.sizes()[static_cast<size_t>(dim)], 3), "a cross product is of vectors of length 3");
  in.require(eq(b.sizes()[static_cast<size_t>(dim)], 3), "a cross product is of vectors of length 3");
  in.result(contiguous_tensor(a.dtype, broadcast(in, a.sizes(), b.sizes()), a.device));
}

void cdist(Infer& in) {
  const Type& a = in.tensor("x1");
  const Type& b = in.tensor("x2");
  in.require(a.rank() >= 2 && b.rank() >= 2, "needs at least matrices");
  in.require(a.dtype == b.dtype && dtypes::wide_floats.has(a.dtype), "needs f32 or f64");
  in.require(in.real("p") >= 0, "`p` must not be negative");
  int64_t mode = in.given("compute_mode") ? in.constant("compute_mode") : 0;
  in.require(mode >= 0 && mode <= 2, "`compute_mode` must be 0, 1 or 2");
  in.require(eq(a.sizes().back(), b.sizes().back()), "the vectors must be of one length");
  DimVec batch_a(a.sizes().first(a.rank() - 2)), batch_b(b.sizes().first(b.rank() - 2));
  DimVec sizes = broadcast(in, batch_a, batch_b);
  sizes.push_back(a.sizes()[a.rank() - 2]);
  sizes.push_back(b.sizes()[b.rank() - 2]);
  in.result(contiguous_tensor(a.dtype, sizes, a.device));
}

void pdist(Infer& in) {
  const Type& self = of_rank(in, "self", 2);
  in.require(dtypes::wide_floats.has(self.dtype), "needs f32 or f64");
  in.require(in.real("p") >= 0, "`p` must not be negative");
  Dim n = self.sizes()[0];
  Dim pairs = in.decide(le(n, 1)) ? Dim(0) : floor_div(n * (n - 1), 2);
  in.result(fresh(self, {pairs}));
}

namespace {
struct Attention {
  const Type &query, &key, &value;
  DimVec query_batch, key_batch, value_batch;  // keys and values once heads that are shared are written out
};

DimVec batch_of(const Type& t) { return DimVec(t.sizes().first(t.rank() - 2)); }

// Several heads of queries may share one of the keys, and one of the values.
void share_heads(Infer& in, Attention& a) {
  if (a.query_batch.empty() || a.key_batch.empty() || a.value_batch.empty()) in.raise("there must be a dim of heads");
  Dim heads = a.query_batch.back();
  for (DimVec* batch : {&a.key_batch, &a.value_batch}) {
    in.require(gt(batch->back(), 0), "there must be a head");  // eager divides by their number
    in.require(divisible(heads, batch->back()), "the heads of keys and values must divide those of queries");
    batch->back() = heads;
  }
}

Attention attention_operands(Infer& in) {
  const Type &q = in.tensor("query"), &k = in.tensor("key"), &v = in.tensor("value");
  for (const Type* t : {&q, &k, &v}) in.require(t->rank() >= 2, "needs at least matrices");
  Attention a{q, k, v, batch_of(q), batch_of(k), batch_of(v)};
  one_dtype(in, {&a.query, &a.key, &a.value});
  in.require(is_floating(a.query.dtype) && !is_float8(a.query.dtype), "needs a floating dtype");
  in.require(eq(a.query.sizes().back(), a.key.sizes().back()), "queries and keys must be of one length");
  in.require(eq(a.key.sizes()[a.key.rank() - 2], a.value.sizes()[a.value.rank() - 2]),
             "there must be one value per key");
  if (in.has_param("enable_gqa") && in.boolean("enable_gqa")) share_heads(in, a);
  return a;
}

TensorType plain_attention(Infer& in, const Attention& a) {
  DimVec sizes = broadcast(in, a.query_batch, a.key_batch);
  sizes = broadcast(in, sizes, a.value_batch);
  sizes.push_back(a.query.sizes()[a.query.rank() - 2]);
  sizes.push_back(a.value.sizes().back());
  return contiguous_tensor(a.query.dtype, sizes, a.query.device);
}

// The mask is added to the scores in place: it broadcasts to them.
void require_mask(Infer& in, const Attention& a, std::string_view param = "attn_mask") {
  const Type* mask = in.tensor_or_null(param);
  if (!mask) return;
  DimVec scores = broadcast(in, a.query_batch, a.key_batch);
  scores.push_back(a.query.sizes()[a.query.rank() - 2]);
  scores.push_back(a.key.sizes()[a.key.rank() - 2]);
  in.require(promote(a.query.dtype, mask->dtype).has_value(), "promotion with float8 types is not supported");
  in.require(is_complex(a.query.dtype) || !is_complex(mask->dtype), "a complex `attn_mask` beside real queries");
  std::string misfit = "`" + std::string(param) + "` doesn't broadcast to the scores";
  in.require(mask->rank() <= scores.size(), misfit);
  for (size_t i = 0, shift = scores.size() - mask->rank(); i < mask->rank(); ++i)
    if (!in.is_one(mask->sizes()[i])) in.require(eq(mask->sizes()[i], scores[shift + i]), misfit);
}

// Whether eager's CPU asks further whether to take its fused kernel: no dropout, rank 4, equal batches, and heads that
// are equal or shared.
bool may_be_fused(Infer& in, const Attention& a) {
  if (in.real("dropout_p") > 0) return false;
  for (const Type* t : {&a.query, &a.key, &a.value})
    if (t->rank() != 4) return false;
  if (!in.same(a.key.sizes()[1], a.value.sizes()[1])) return false;
  for (const DimVec* batch : {&a.key_batch, &a.value_batch})
    for (size_t d : {size_t{0}, size_t{1}})
      if (!in.same(a.query_batch[d], (*batch)[d])) return false;
  return true;
}

// Whether it does: no mask of rank 3, one length of vectors, some of them, and these whole in memory, said so by a
// stride of 1.
bool is_fused(Infer& in, const Attention& a) {
  const Type* mask = in.tensor_or_null("attn_mask");
  if (mask && mask->rank() == 3) return false;
  if (!in.same(a.query.sizes()[3], a.value.sizes()[3])) return false;
  for (const Type* t : {&a.query, &a.key, &a.value})
    if (in.is_zero(t->sizes()[2]) || !in.same(t->strides()[3], 1)) return false;
  return true;
}
}  // namespace

namespace {
// Attention that eager's fused kernel does not compute.
TensorType attention_by_steps(Infer& in, const Attention& a) {
  in.require(!in.boolean("is_causal") || !in.tensor_or_null("attn_mask"), "`attn_mask` beside `is_causal`");
  return plain_attention(in, a);
}
}  // namespace

void attention(Infer& in) {
  Attention a = attention_operands(in);
  in.require(!(in.real("dropout_p") > 1), "a probability out of [0, 1]");
  bool fused = may_be_fused(in, a);
  if (const Type* mask = in.tensor_or_null("attn_mask")) {
    in.require(!fused || mask->rank() >= 2, "`attn_mask` must have the scores' two dims");
    in.require(mask->dtype == Dtype::b8 || mask->dtype == Dtype::f32 || mask->dtype == a.query.dtype,
               "`attn_mask` must be of bools, of f32, or of the queries' dtype");
  }
  require_mask(in, a);
  if (!fused || !is_fused(in, a)) return in.result(attention_by_steps(in, a));
  in.require(in.real("dropout_p") == 0, "dropout is not supported");
  in.require(gt(a.key.sizes()[1], 0), "there must be a head");  // eager divides by their number
  in.result(TensorType{a.query.dtype, a.query.device, DimVec(a.query.sizes()), preserved_strides(in, a.query), 0});
}

void flash_attention(Infer& in) {
  Attention a = attention_operands(in);
  for (const Type* t : {&a.query, &a.key, &a.value}) in.require(t->rank() == 4, "needs tensors of rank 4");
  in.require(gt(a.query.sizes()[2], 0), "there must be a query");  // eager divides by their number
  in.require(gt(a.key.sizes()[2], 0), "there must be a key");
  in.require(eq(a.key.sizes()[1], a.value.sizes()[1]), "keys and values must have as many heads");
  if (!in.same(a.query.sizes()[1], a.key.sizes()[1])) share_heads(in, a);
  in.require(gt(a.key.sizes()[1], 0), "there must be a head");
  for (size_t d : {size_t{0}, size_t{3}}) {
    in.require(eq(a.query.sizes()[d], a.key.sizes()[d]), "batches and lengths must agree");
    in.require(eq(a.query.sizes()[d], a.value.sizes()[d]), "batches and lengths must agree");
  }
  in.require(in.real("dropout_p") == 0, "dropout is not supported");
  if (const Type* mask = in.tensor_or_null("attn_mask")) {
    in.require(mask->dtype == a.query.dtype, "`attn_mask` must be of the queries' dtype");
    in.require(mask->rank() == 2 || mask->rank() == 4, "`attn_mask` must be of rank 2 or 4");
  }
  require_mask(in, a);
  in.result(TensorType{a.query.dtype, a.query.device, DimVec(a.query.sizes()), preserved_strides(in, a.query), 0});
  // The sums of exponentials are kept position first, and handed out as [batch, head, position].
  Dim b = a.query.sizes()[0], h = a.query.sizes()[1], s = a.query.sizes()[2];
  Dtype wide = is_reduced_float(a.query.dtype) ? Dtype::f32 : a.query.dtype;
  Dim stored[] = {b, s, h};
  DimVec strides = contiguous_strides(stored);
  std::swap(strides[1], strides[2]);
  in.result(TensorType{wide, a.query.device, {b, h, s}, strides, 0});
}

void math_attention(Infer& in) {
  Attention a = attention_operands(in);
  in.require(!(in.real("dropout_p") > 1) || in.given("dropout_mask"), "a probability out of [0, 1]");
  TensorType out = attention_by_steps(in, a);
  require_mask(in, a);
  in.result(out);
  DimVec scores = broadcast(in, a.query_batch, a.key_batch);
  scores.push_back(a.query.sizes()[a.query.rank() - 2]);
  scores.push_back(a.key.sizes()[a.key.rank() - 2]);
  in.result(contiguous_tensor(out.dtype, scores, out.device));
}

void written_attention(Infer& in) {
  Attention a = attention_operands(in);
  require_mask(in, a, "bias");
  require_mask(in, a, "seen");
  if (const Type* bias = in.tensor_or_null("bias")) in.require(is_floating(bias->dtype), "`bias` must be of floats");
  if (const Type* seen = in.tensor_or_null("seen")) in.require(seen->dtype == Dtype::b8, "`seen` must be of bools");
  in.result(plain_attention(in, a));
}

}  // namespace lenz::rule
