#include "compiler/ops/rules/reduction.h"

#include <cmath>

#include "compiler/ops/rules/elementwise.h"

namespace lenz::rule {

SmallVec<bool, 6> reduced_dims(Infer& in, size_t rank) {
  SmallVec<bool, 6> mask(rank, false);
  bool all = !in.has_param("dim") || !in.given("dim");
  auto dims = all ? SmallVec<int64_t, 6>() : in.constants("dim");
  if (all || dims.empty()) {
    // any and all over an empty list of dims reduce nothing; other ops take it for all dims.
    bool none = !all && in.op().has(Trait::empty_dims_keep);
    return SmallVec<bool, 6>(rank, !none);
  }
  SmallVec<int64_t, 6> seen;
  for (int64_t d : dims) {
    int64_t dim = in.wrap_dim(d, rank);
    in.require(std::find(seen.begin(), seen.end(), dim) == seen.end(),
               "dim " + std::to_string(dim) + " appears twice in the list of dims");
    seen.push_back(dim);
    if (rank) mask[static_cast<size_t>(dim)] = true;
  }
  return mask;
}

DimVec reduced_sizes(Infer&, std::span<const Dim> sizes, const SmallVec<bool, 6>& reduced, bool keep) {
  DimVec out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!reduced[i]) out.push_back(sizes[i]);
    if (reduced[i] && keep) out.push_back(Dim(1));
  }
  return out;
}

namespace {
bool keeps(Infer& in) { return in.has_param("keepdim") && in.boolean("keepdim"); }

TensorType reduced(Infer& in, Dtype dtype) {
  const Type& self = in.tensor(0);
  return contiguous_tensor(dtype, reduced_sizes(in, self.sizes(), reduced_dims(in, self.rank()), keeps(in)),
                           self.device);
}

void refuse_float8(Infer& in, Dtype d) { in.require(!is_float8(d), "float8 is not supported"); }

void require_inexact(Infer& in, Dtype d) {
  in.require(is_inexact(d) && !is_float8(d), "needs a floating or complex dtype, not " + std::string(name(d)));
}

void require_ordered(Infer& in, Dtype d) {
  in.require(!is_complex(d) && !is_float8(d), "complex and float8 numbers have no order");
}

// An extremum of no elements doesn't exist: eager refuses unless another dim is empty and the reduced one is not.
void require_elements(Infer& in, const Type& self, const SmallVec<bool, 6>& reduced) {
  bool listed = in.has_param("dim") && in.given("dim") && !in.constants("dim").empty();
  Dim total = numel(self.sizes());
  if (total.is_constant() ? total.constant() != 0 : !in.is_zero(total)) return;
  in.require(listed, "has no identity: the tensor is empty, and no dim is given");
  for (size_t i = 0; i < self.rank(); ++i)
    if (reduced[i]) in.require(ne(self.sizes()[i], 0), "has no identity: a reduced dim is empty");
}

TensorType extremum_type(Infer& in, Dtype dtype) {
  const Type& self = in.tensor(0);
  auto mask = reduced_dims(in, self.rank());
  require_elements(in, self, mask);
  return contiguous_tensor(dtype, reduced_sizes(in, self.sizes(), mask, keeps(in)), self.device);
}
}  // namespace

namespace {
// Where no `dtype` is given, an out= tensor says what is computed along dims.
Dtype accumulated_dtype(Infer& in, Dtype otherwise) {
  if (in.op().variant == VariantKind::out && in.has_param("dim")) otherwise = in.tensor("out").dtype;
  return in.dtype("dtype").value_or(otherwise);
}
}  // namespace

void sum_like(Infer& in) {
  Dtype d = in.tensor(0).dtype;
  d = accumulated_dtype(in, is_integral(d, true) ? Dtype::i64 : d);
  refuse_float8(in, d);
  in.result(reduced(in, d));
}

void nansum(Infer& in) {
  Dtype to = in.dtype("dtype").value_or(in.tensor(0).dtype);
  Dtype self = in.tensor(0).dtype;
  in.require(!is_complex(self) && !is_complex(to), "complex numbers are not supported");
  if (is_floating(self)) {  // of others it is a sum
    Dtype d = accumulated_dtype(in, to);
    in.require(is_floating(d), "has no kernel that computes in " + std::string(name(d)));
  }
  sum_like(in);
}

void mean_like(Infer& in) {
  Dtype self = in.tensor(0).dtype, d = accumulated_dtype(in, self);
  if (in.op().variant == VariantKind::out && !in.has_param("dim")) {
    Dtype out = in.tensor("out").dtype;
    in.require(is_complex(out) || !is_complex(self), "complex numbers can't be cast to the type of `out`");
    d = in.dtype("dtype").value_or(out);
  }
  if (!in.dtype("dtype")) require_inexact(in, self);
  require_inexact(in, d);
  in.result(reduced(in, d));
}

void nanmean(Infer& in) {
  Dtype self = in.tensor(0).dtype;
  in.require(is_floating(self) && !is_float8(self), "needs a floating dtype");
  in.require(is_floating(accumulated_dtype(in, self)), "needs a floating dtype");
  mean_like(in);
}

void extremum(Infer& in) {
  require_ordered(in, in.tensor(0).dtype);
  in.result(extremum_type(in, in.tensor(0).dtype));
}

void extremum_pair(Infer& in) {
  require_ordered(in, in.tensor(0).dtype);
  TensorType t = extremum_type(in, in.tensor(0).dtype);
  in.result(t);
  in.result(t);
}

namespace {
// An out= tensor that has the size of the reduced dim too would be kept, and handed out without that dim.
void kept_out(Infer& in, const Type& self, size_t dim, const Type& out) {
  bool kept = self.rank() > 0 && out.rank() == self.rank();
  for (size_t i = 0; kept && i < out.rank(); ++i)
    kept = i == dim ? in.is_one(out.sizes()[i]) : in.same(out.sizes()[i], self.sizes()[i]);
  if (kept) throw Unsupported(in.op().full_name + ": an out= tensor with the reduced dim, which eager takes away");
}
}  // namespace

void value_and_index(Infer& in) {
  const Type& self = in.tensor(0);
  require_ordered(in, self.dtype);
  int64_t dim = in.wrap_dim(in.constant("dim"), self.rank());
  if (self.rank()) in.require(ne(self.sizes()[static_cast<size_t>(dim)], 0), "the reduced dim is empty");
  if (in.has_param("k")) {
    Dim k = in.integer("k"), size = self.rank() ? self.sizes()[static_cast<size_t>(dim)] : Dim(1);
    in.require(le(1, k), "k must be at least 1");
    in.require(le(k, size), "k is larger than the dim");
    if (in.op().variant == VariantKind::out && !in.boolean("keepdim"))
      for (std::string_view p : {"values", "indices"}) kept_out(in, self, static_cast<size_t>(dim), in.tensor(p));
  }
  TensorType t = reduced(in, self.dtype);
  in.result(t);
  t.dtype = Dtype::i64;
  in.result(t);
}

void arg_extremum(Infer& in) {
  require_ordered(in, in.tensor(0).dtype);
  in.result(extremum_type(in, Dtype::i64));
}

void any_all(Infer& in) {
  Dtype d = in.tensor(0).dtype == Dtype::u8 ? Dtype::u8 : Dtype::b8;
  if (in.op().variant == VariantKind::out && in.tensor("out").dtype == Dtype::u8) d = Dtype::u8;
  in.result(reduced(in, d));
}

bool asks_what_it_writes(const OpDef& op, Dtype written) { return op.infer == any_all && written == Dtype::u8; }

void variance(Infer& in) {
  require_inexact(in, in.tensor(0).dtype);
  in.result(reduced(in, to_real(in.tensor(0).dtype)));
}

void variance_and_mean(Infer& in) {
  variance(in);
  in.result(reduced(in, in.tensor(0).dtype));
}

namespace {
Dtype norm_dtype(Infer& in) {
  Dtype self = in.tensor(0).dtype, d = self;
  if (auto wanted = in.dtype("dtype")) {
    require_inexact(in, *wanted);
    bool refused = is_complex(self) && !in.has_param("ord");
    in.require(!refused, "a complex tensor takes no `dtype` here");
    in.require(is_complex(*wanted) == is_complex(self), "`dtype` must be complex just where the tensor is");
    in.require(promote(self, *wanted) == wanted, "`dtype` would narrow the tensor's");
    d = *wanted;
  }
  require_inexact(in, d);
  return d;
}
}  // namespace

// Unlike a norm's, its `dtype` may be narrower than the tensor's.
void power_sum(Infer& in) {
  const Dtype self = in.tensor(0).dtype, d = in.dtype("dtype").value_or(self);
  require_inexact(in, d);
  in.require(is_complex(d) == is_complex(self), "`dtype` must be complex just where the tensor is");
  in.result(reduced(in, to_real(d)));
}

void vector_norm(Infer& in) {
  Dtype d = norm_dtype(in);
  // A p below 0, and infinity, has no identity.
  std::string_view order = in.has_param("ord") ? "ord" : "p";
  double p = in.given(order) ? in.real(order) : 2;
  const Type& t = in.tensor(0);
  if (p < 0 || std::isinf(p)) {
    auto mask = reduced_dims(in, t.rank());
    Dim total = numel(t.sizes());
    if (total.is_constant() ? total.is(0) : in.is_zero(total)) require_elements(in, t, mask);
  }
  in.result(reduced(in, to_real(d)));
}

void logsumexp(Infer& in) {
  Dtype d = in.tensor(0).dtype;
  refuse_float8(in, d);
  TensorType t = reduced(in, is_integral(d, true) ? Dtype::f32 : d);
  // An empty list stands for all dims, but eager subtracts the maxima with their dims kept.
  if (in.constants("dim").empty() && in.tensor(0).rank() > 0 && !keeps(in))
    in.require(eq(numel(in.tensor(0).sizes()), 0), "over an empty list of dims, `keepdim` must be true");
  in.result(t);
}

void count_nonzero(Infer& in) {
  bool all = !in.given("dim") || in.constants("dim").empty();
  in.require(!all || !is_float8(in.tensor(0).dtype), "float8 is not supported without dims");
  in.result(reduced(in, Dtype::i64));
}

void trace(Infer& in) {
  const Type& self = in.tensor(0);
  in.require(self.rank() == 2, "needs a matrix");
  in.result(contiguous_tensor(is_integral(self.dtype, true) ? Dtype::i64 : self.dtype, {}, self.device));
}

void distance(Infer& in) {
  Operands both = operands(in, {"self", "other"});
  Dtype d = result_type(in, both);
  require_inexact(in, d);
  for (const Operand& o : both) in.require(o.type->dtype != Dtype::b8, "bools can't be subtracted");
  elementwise_result(in, both, d);
  in.result(contiguous_tensor(to_real(d), {}, in.tensor(0).device));
}

void cumulative(Infer& in) {
  const Type& self = in.tensor(0);
  in.wrap_dim(in.constant("dim"), self.rank());
  Dtype d = accumulated_dtype(in, is_integral(self.dtype, true) ? Dtype::i64 : self.dtype);
  if (self.rank() > 0 && !in.is_zero(numel(self.sizes()))) {  // else there is nothing to add
    refuse_float8(in, d);
    in.require(d != Dtype::b8, "bools can't accumulate");
  }
  bool other = in.op().variant == VariantKind::in_place && in.given("dtype") && d != self.dtype;
  in.require(!other, "in place, the result must have the dtype of `self`");
  in.result(contiguous_tensor(d, self.sizes(), self.device));
}

void cumulative_same(Infer& in) {
  const Type& self = in.tensor(0);
  in.wrap_dim(in.constant("dim"), self.rank());
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

void cumulative_extremum(Infer& in) {
  const Type& self = in.tensor(0);
  bool empty = std::ranges::any_of(self.sizes(), [](Dim d) { return d.is(0); });
  if (!empty) in.wrap_dim(in.constant("dim"), self.rank());  // else eager does not look at it
  require_ordered(in, self.dtype);
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
  in.result(contiguous_tensor(Dtype::i64, self.sizes(), self.device));
}

void renorm(Infer& in) {
  const Type& self = in.tensor(0);
  require_inexact(in, self.dtype);
  in.require(in.real("p") > 0, "a norm of non-positive p is not supported");
  in.require(in.real("maxnorm") >= 0, "`maxnorm` must not be negative");
  in.require(self.rank() >= 2, "needs a tensor of rank 2 or more");
  const auto dim = static_cast<size_t>(in.wrap_dim(in.constant("dim"), self.rank()));
  for (size_t i = 0; i < self.rank(); ++i)
    if (i != dim && std::isinf(in.real("p"))) in.require(gt(self.sizes()[i], 0), "the greatest of nothing");
  in.result(contiguous_tensor(self.dtype, self.sizes(), self.device));
}

}  // namespace lenz::rule
