// Joins of tensors along a dim.
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/rules/movement.h"

namespace lenz::rule {

namespace {
using Tensors = std::vector<const Type*>;

Tensors nonempty_list(Infer& in) {
  Tensors list = in.tensors("tensors");
  in.require(!list.empty(), "needs at least one tensor");
  return list;
}

// For old times' sake eager lets a tensor of shape [0] join anything.
bool joins_anything(Infer& in, const Type& t) { return t.rank() == 1 && in.is_zero(t.sizes()[0]); }

Dtype joined_dtype(Infer& in, const Tensors& list) {
  Operands operands;
  for (const Type* t : list) operands.push_back({t, Dtype::b8});
  return result_type(in, operands);
}

// Channels-last only if every operand suggests it.
MemoryFormat joined_format(Infer& in, const Tensors& list) {
  MemoryFormat format = suggested_format(in, *list[0]);
  for (const Type* t : list)
    if (suggested_format(in, *t) != format) return MemoryFormat::contiguous;
  return format;
}

}  // namespace

TensorType concatenated(Infer& in, const Tensors& list, int64_t dim) {
  for (const Type* t : list) in.require(t->rank() > 0, "0-dim tensors can't be joined");
  const Type* first = nullptr;
  for (const Type* t : list)
    if (!first && !joins_anything(in, *t)) first = t;
  TensorType result{joined_dtype(in, list), list[0]->device, {Dim(0)}, {Dim(1)}, 0};
  MemoryFormat format = joined_format(in, list);
  if (!first) return result;
  auto d = static_cast<size_t>(in.wrap_dim(dim, first->rank()));
  result.sizes = DimVec(first->sizes());
  result.sizes[d] = 0;
  for (const Type* t : list) {
    if (joins_anything(in, *t)) continue;
    in.require(t->rank() == first->rank(), "tensors differ in rank");
    for (size_t i = 0; i < t->rank(); ++i)
      if (i != d) in.require(eq(t->sizes()[i], first->sizes()[i]), "tensors differ in a dim that is not joined");
    result.sizes[d] += t->sizes()[d];
  }
  result.strides = format_strides(in, format, result.sizes);
  return result;
}

namespace {
// The tensors with a dim of size 1 more, as views.
Tensors unsqueezed(Infer& in, const Tensors& list, size_t d) {
  Tensors out;
  for (const Type* t : list) {
    TensorType v = t->tensor();
    Dim stride = d < v.rank() ? v.sizes[d] * v.strides[d] : Dim(1);
    v.sizes.insert(d, Dim(1));
    v.strides.insert(d, stride);
    out.push_back(in.context().tensor(v));
  }
  return out;
}

TensorType stacked(Infer& in, const Tensors& list, int64_t dim) {
  size_t rank = list[0]->rank();
  for (const Type* t : list) {
    in.require(t->rank() == rank, "tensors differ in rank");
    for (size_t i = 0; i < rank; ++i) in.require(eq(t->sizes()[i], list[0]->sizes()[i]), "tensors differ in shape");
  }
  auto d = static_cast<size_t>(in.wrap_dim(dim, rank + 1));
  if (d == rank) return concatenated(in, unsqueezed(in, list, d), static_cast<int64_t>(d));
  // Eager joins and then splits the dim.
  TensorType result = concatenated(in, list, static_cast<int64_t>(d));
  const Type* flat = in.context().tensor(result);
  result.sizes = DimVec(list[0]->sizes());
  result.sizes.insert(d, Dim(static_cast<int64_t>(list.size())));
  auto strides = view_strides(in, *flat, result.sizes);
  LENZ_CHECK(strides.has_value(), "a dim can always be split");
  bool into_out = in.op().variant == VariantKind::out;  // is resized before it is joined into
  result.strides = into_out ? contiguous_strides(result.sizes) : *strides;
  return result;
}

// At least this rank, with ones where eager's atleast_1d, 2d and 3d put them.
Tensors raised(Infer& in, Tensors list, size_t rank) {
  for (const Type*& t : list) {
    TensorType v = t->tensor();
    auto insert = [&](size_t d) {
      Dim stride = d < v.rank() ? v.sizes[d] * v.strides[d] : Dim(1);
      v.sizes.insert(d, Dim(1));
      v.strides.insert(d, stride);
    };
    if (v.rank() == 0) insert(0);
    if (v.rank() == 1 && rank >= 2) insert(t->rank() == 0 ? 1 : 0);
    if (v.rank() == 2 && rank >= 3) insert(2);
    t = in.context().tensor(v);
  }
  return list;
}

TensorType horizontally(Infer& in, const Tensors& list) { return concatenated(in, list, list[0]->rank() == 1 ? 0 : 1); }
}  // namespace

void cat(Infer& in) { in.result(concatenated(in, nonempty_list(in), in.constant("dim"))); }
void stack(Infer& in) { in.result(stacked(in, nonempty_list(in), in.constant("dim"))); }
void hstack(Infer& in) { in.result(horizontally(in, raised(in, nonempty_list(in), 1))); }
void vstack(Infer& in) { in.result(concatenated(in, raised(in, nonempty_list(in), 2), 0)); }
void dstack(Infer& in) { in.result(concatenated(in, raised(in, nonempty_list(in), 3), 2)); }

void column_stack(Infer& in) {
  Tensors list = nonempty_list(in);
  for (const Type*& t : list) {
    if (t->rank() > 1) continue;
    TensorType column = t->tensor();
    column.sizes = {numel(t->sizes()), Dim(1)};
    column.strides = *view_strides(in, *t, column.sizes);
    t = in.context().tensor(column);
  }
  in.result(horizontally(in, list));
}

void at_least(Infer& in, size_t rank) {
  const Type& t = in.tensor(0);
  in.alias(raised(in, {&t}, rank)[0], in.arg(0).value());
}

void block_diag(Infer& in) {
  Tensors list = in.tensors("tensors");
  DimVec sizes{Dim(list.empty() ? 1 : 0), Dim(0)};
  for (const Type* t : list) {
    in.require(t->rank() <= 2, "needs tensors of at most 2 dims");
    sizes[0] += t->rank() == 2 ? t->sizes()[0] : Dim(1);
    sizes[1] += t->rank() == 0 ? Dim(1) : t->sizes().back();
  }
  if (list.empty()) return in.result(contiguous_tensor(Dtype::f32, sizes));
  in.result(contiguous_tensor(joined_dtype(in, list), sizes, list[0]->device));
}

void cartesian_prod(Infer& in) {
  Tensors list = nonempty_list(in);
  Dim rows = 1;
  for (const Type* t : list) {
    in.require(t->rank() == 1, "needs vectors");
    in.require(t->dtype == list[0]->dtype, "needs vectors of one dtype");
    rows *= t->sizes()[0];
  }
  if (list.size() == 1) return in.alias(list[0], in.arg("tensors").value_list()[0]);
  const Dim sizes[] = {rows, Dim(static_cast<int64_t>(list.size()))};
  in.result(contiguous_tensor(list[0]->dtype, sizes, list[0]->device));
}

}  // namespace lenz::rule
