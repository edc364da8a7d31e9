// Paddings, and gradients of those that repeat elements.
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"
#include "compiler/ops/rules/movement.h"
#include "compiler/ops/rules/views.h"

namespace lenz::rule {

namespace {
TensorType fresh(Infer& in, const Type& like, const DimVec& sizes, MemoryFormat format) {
  return {like.dtype, like.device, sizes, format_strides(in, format, sizes), 0};
}

void pad_with_constant(Infer& in, const Type& t, const DimVec& pad) {
  in.require(pad.size() % 2 == 0, "needs pairs of paddings");
  in.require(pad.size() / 2 <= t.rank(), "more paddings than dims");
  TensorType cut = t.tensor();
  bool grows = false;
  DimVec sizes(t.sizes());
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    size_t d = t.rank() - 1 - k;
    for (size_t side = 0; side < 2; ++side) {
      Dim p = pad[2 * k + side];
      if (!in.decide(lt(p, 0))) {
        grows = grows || (!p.is(0) && in.decide(gt(p, 0)));
        continue;
      }
      in.require(ge(cut.sizes[d] + p, 0), "a negative padding takes more than there is");
      if (side == 0) cut.offset = cut.offset - p * cut.strides[d];
      cut.sizes[d] += p;
    }
    sizes[d] += pad[2 * k] + pad[2 * k + 1];
    in.require(ge(sizes[d], 0), "negative paddings take more than there is");
  }
  if (!grows) {  // only cuts: a view of self, cloned
    cut.strides = preserved_strides(in, *in.context().tensor(cut));
    cut.offset = 0;
    return in.result(cut);
  }
  in.result(fresh(in, t, sizes, suggested_format(in, t)));
}

// Sizes of a padding that repeats self's own elements in its last `dims` dims.
DimVec edge_padded(Infer& in, const Type& t, const DimVec& pad, size_t dims, bool reflect) {
  in.require(pad.size() == 2 * dims, "needs a pair of paddings for each padded dim");
  in.require(t.rank() == dims + 1 || t.rank() == dims + 2, "needs one dim of channels, and perhaps one of a batch");
  for (size_t i = t.rank() == dims + 2 ? 1 : 0; i < t.rank(); ++i)
    in.require(ne(t.sizes()[i], 0), "only the batch may be empty");
  DimVec sizes(t.sizes());
  bool left = false;
  for (size_t k = 0; k < dims; ++k) {
    size_t d = t.rank() - 1 - k;
    Dim low = pad[2 * k], high = pad[2 * k + 1];
    if (reflect) {
      in.require(lt(low, t.sizes()[d]), "a reflected padding must be smaller than its dim");
      in.require(lt(high, t.sizes()[d]), "a reflected padding must be smaller than its dim");
    }
    sizes[d] += low + high;
    in.require(ge(sizes[d], 0), "negative paddings take more than there is");
    left = left || in.decide(ge(sizes[d], 1));
  }
  in.require(left, "nothing would be left");
  return sizes;
}
}  // namespace

void constant_pad(Infer& in) { pad_with_constant(in, in.tensor(0), in.ints("pad")); }

void reflect_or_replicate(Infer& in, size_t dims, bool reflect) {
  const Type& t = in.tensor(0);
  DimVec sizes = edge_padded(in, t, in.ints(in.has_param("padding") ? "padding" : "pad"), dims, reflect);
  in.result(fresh(in, t, sizes, suggested_format(in, t)));
}

void pad_backward(Infer& in, size_t dims, bool reflect) {
  const Type &grad = in.tensor(0), &self = in.tensor("self");
  in.require(grad.dtype == self.dtype, "the gradient has another dtype");
  DimVec sizes = edge_padded(in, self, in.ints("padding"), dims, reflect);
  in.require(grad.rank() == sizes.size(), "the gradient has another rank than the result");
  for (size_t i = 0; i < sizes.size(); ++i)
    in.require(eq(grad.sizes()[i], sizes[i]), "the gradient has another shape than the result");
  in.result(fresh(in, self, DimVec(self.sizes()), suggested_format(in, self)));
}

void circular_pad(Infer& in) {
  const Type& t = in.tensor(0);
  DimVec pad = in.ints("pad");
  size_t dims = pad.size() / 2;
  in.require(t.rank() == dims + 1 || t.rank() == dims + 2, "the paddings don't fit the rank");
  DimVec sizes(t.sizes());
  for (size_t k = 0; k < dims; ++k) {
    size_t d = t.rank() - 1 - k;
    for (size_t side = 0; side < 2; ++side) {  // what the other side cuts off can't be repeated
      Dim other = pad[2 * k + 1 - side], left = t.sizes()[d];
      if (in.decide(lt(other, 0))) left += other;
      in.require(le(pad[2 * k + side], left), "a circular padding goes round at most once");
    }
    sizes[d] += pad[2 * k] + pad[2 * k + 1];
    in.require(ge(sizes[d], 0), "negative paddings take more than there is");
  }
  in.result(fresh(in, t, sizes, MemoryFormat::contiguous));
}

void pad_sequence(Infer& in) {
  auto list = in.tensors("sequences");
  in.require(!list.empty(), "needs at least one tensor");
  std::string_view side = in.string("padding_side");
  in.require(side == "left" || side == "right", "padding_side is left or right");
  const std::span<const ValueId> values = in.arg("sequences").value_list();
  Dim longest = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    const Type* t = list[k];
    in.require(t->rank() > 0, "needs tensors with dims");
    DimVec row{t->sizes()[0]};
    for (size_t i = 1; i < list[0]->rank(); ++i) row.push_back(list[0]->sizes()[i]);
    if (row != DimVec(t->sizes())) require_expands(in, *t, row);  // each is copied into its row, which broadcasts
    require_negatable(in, values[k], list[0]->dtype, row);
    if (longest.is(0) || in.decide(gt(t->sizes()[0], longest))) longest = t->sizes()[0];
  }
  DimVec sizes{Dim(static_cast<int64_t>(list.size())), longest};
  if (!in.boolean("batch_first")) std::swap(sizes[0], sizes[1]);
  for (size_t i = 1; i < list[0]->rank(); ++i) sizes.push_back(list[0]->sizes()[i]);
  in.result(fresh(in, *list[0], sizes, MemoryFormat::contiguous));
}

void pad(Infer& in) {
  const Type& t = in.tensor(0);
  DimVec widths = in.ints("pad");
  std::string_view mode = in.string("mode");
  in.require(widths.size() % 2 == 0 && widths.size() / 2 <= t.rank(), "the paddings don't fit the rank");
  if (mode == "constant") return pad_with_constant(in, t, widths);
  in.require(!in.given("value") || in.real("value") == 0, "only the constant mode takes a value");
  size_t dims = widths.size() / 2;
  in.require(dims >= 1 && dims <= 3 && (t.rank() == dims + 1 || t.rank() == dims + 2),
             "the paddings don't fit the rank");
  if (mode == "circular") return circular_pad(in);
  in.require(mode == "reflect" || mode == "replicate", "there is no such mode");
  // Those kernels know fewer dtypes than the one that pads with a constant.
  const OpDef& kernel =
      *in.table().find(mode == "reflect" ? "aten.reflection_pad1d" : "aten.replication_pad1d");  // op name: its dtypes
  in.require(kernel.dtypes.has(t.dtype), "not implemented for " + std::string(name(t.dtype)));
  reflect_or_replicate(in, dims, mode == "reflect");
}

}  // namespace lenz::rule
