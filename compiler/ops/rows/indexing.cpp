// Ops that read or write through indices, masks or order.
#include "compiler/ops/make/indexing.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/indexing.h"

namespace lenz {

namespace {
using enum Trait;
constexpr std::string_view kNoOrder =
    "of a scalar, or of elements at one place, any dtype will do: `this dtype has no order here`";
constexpr std::string_view kRange = "an index out of range; shapes that don't fit";

void reads(RowSink& t) {
  Row row{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
          .traits = indexing | movement | core,
          .infer = rule::gather,
          .generate = make::gather,
          .dtypes = dtypes::usual,
          .raises = kRange};
  t.row("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", row);
  row.variants = {};  // an out= tensor is laid out as the index is, the result contiguous: not derivable
  row.infer = rule::take;
  row.generate = make::take;
  t.row("take(Tensor self, Tensor index) -> Tensor", row);
  row.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  row.dtypes = dtypes::all;
  row.infer = rule::index_select;
  row.generate = make::index_select;
  t.row("index_select(Tensor self, int dim, Tensor index) -> Tensor", row);
  row.variants = {};
  row.infer = rule::embedding;
  row.generate = make::embedding;
  t.row(
      "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
      "sparse=False) -> Tensor",
      row);
  row.dtypes = dtypes::usual;
  row.infer = rule::take_along_dim;
  row.generate = make::take_along_dim;
  t.row("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", row);
  row.dtypes = dtypes::all;
  row.infer = rule::index;
  row.generate = make::index;
  t.row("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", row);
  row.infer = rule::unsafe_index;
  row.generate = make::index_by_numbers;
  t.row("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", row);
}

void writes(RowSink& t) {
  Row row{.variants = {.in_place = true, .out = "src_out", .out_rule = OutRule::same_dtype},
          .traits = indexing | core,
          .infer = rule::scatter,
          .generate = make::scatter,
          .dtypes = dtypes::usual,
          .raises = kRange};
  t.row("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", row);
  row.variants.out = "value_out";
  t.row("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", row);
  row.accuracy = Accuracy::accumulated;
  row.flow.terms = ErrorFlow::all;  // they may multiply and average
  row.variants.out = "reduce_out";
  t.row("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", row);
  row.variants.out = "value_reduce_out";
  t.row("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", row);
  row.flow = {};
  row.variants.out = "out";
  t.row("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", row);
  row.flow.terms = ErrorFlow::all;
  row.variants.out = "two_out";
  t.row(
      "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
      "Tensor",
      row);

  row.flow = {};
  row.variants.out = "out";
  row.infer = rule::index_write;
  row.generate = make::index_write;
  t.row("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", row);
  row.flow.terms = ErrorFlow::all;
  t.row(
      "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
      "Tensor",
      row);
  row.flow = {};
  row.dtypes = dtypes::usual;
  row.accuracy = Accuracy::exact;
  row.infer = rule::index_copy;
  t.row("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", row);

  row.variants = {.in_place = true};
  row.infer = rule::index_fill;
  row.generate = make::index_fill;
  t.row("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", row);
  t.row("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", row);
  row.infer = rule::masked_fill;
  row.generate = make::masked_fill;
  row.raises = "a mask that is not of bools";
  t.row("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", row);
  t.row("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", row);
  row.infer = rule::masked_scatter;
  row.generate = make::masked_scatter;
  t.row("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", row);
  row.infer = rule::put;
  row.generate = make::put;
  row.raises = kRange;
  row.accuracy = Accuracy::accumulated;
  t.row("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", row);
  row.dtypes = dtypes::all;
  row.accuracy = Accuracy::accumulated;
  row.infer = rule::index_put;
  row.generate = make::index_put;
  row.exception = "where a mask takes nothing eager forgets to check: `must have the dtype of`";
  t.row("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", row);
  t.row(
      "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
      "scale_grad_by_freq) -> Tensor",
      {.traits = indexing | core,
       .infer = rule::embedding_backward,
       .generate = make::embedding_backward,
       .dtypes = dtypes::usual,
       .accuracy = Accuracy::accumulated,
       .raises = kRange});
}

void orders(RowSink& t) {
  Row row{.variants = {.out = "values", .out_params = "values indices", .out_rule = OutRule::same_dtype},
          .traits = reduction | core,
          .infer = rule::topk,
          .generate = make::topk,
          .dtypes = dtypes::real,
          .flow = {.ties_open = true},
          .raises = "k beyond the dim"};
  t.row(
      "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
      row);
  row.variants = {};
  row.traits = core;
  row.dtypes = dtypes::real_and_bool;
  row.flow.kind = ErrorFlow::monotone;
  row.infer = rule::sort;
  row.generate = make::sort;
  row.raises = "complex numbers";
  row.exception = kNoOrder;
  t.row("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", row);
  row.flow.ties_open = false;
  t.row(
      "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
      row);
  row.traits = {};
  row.infer = rule::argsort;
  t.row("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        meaning("%values, %order = aten.sort(%self, $dim, $descending) return %order", row));
  t.row("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
        meaning("%values, %order = aten.sort(%self, stable=$stable, dim=$dim, descending=$descending) return %order",
                row));
  t.row("msort(Tensor self) -> Tensor", {.infer = rule::composite,
                                         .generate = make::sort,
                                         .dtypes = dtypes::real_and_bool,
                                         .decompose = "%values, %indices = aten.sort(%self, 0) return %values",
                                         .exception = kNoOrder});

  Row search{.traits = indexing | core,
             .infer = rule::searchsorted,
             .generate = make::searchsorted,
             .dtypes = dtypes::real,
             .flow = {.kind = ErrorFlow::opaque},
             .raises = "dtypes or leading dims that differ"};
  t.row(
      "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor",
      search);
  t.row(
      "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor",
      search);
  search.traits = indexing;
  search.infer = rule::bucketize;
  search.generate = make::bucketize;
  search.decompose = "return aten.searchsorted(%boundaries, %self, out_int32=$out_int32, right=$right)";
  t.row("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
        search);
  t.row("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
        search);
}

void found(RowSink& t) {
  Row row{.traits = data_dependent | indexing | core,
          .infer = rule::nonzero,
          .generate = make::unary,
          .dtypes = dtypes::usual};
  t.row("nonzero(Tensor self) -> Tensor", row);
  t.alias("argwhere(Tensor self) -> Tensor", "nonzero");
  row.flow.kind = ErrorFlow::moved;
  row.infer = rule::masked_select;
  row.generate = make::masked_select;
  row.dtypes = dtypes::all;
  row.raises = "a mask that is not of bools";
  t.row("masked_select(Tensor self, Tensor mask) -> Tensor", row);
  row.flow.kind = ErrorFlow::opaque;
  row.infer = rule::unique;
  row.generate = make::unary;
  row.dtypes = dtypes::real_and_bool;
  row.raises = "complex numbers";
  t.row(
      "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
      "Tensor, Tensor)",
      row);
  row.infer = rule::one_hot;
  row.generate = make::one_hot;
  row.dtypes = DtypeSet::of(Dtype::i64);
  row.raises = "negative class numbers, or ones beyond num_classes";
  row.exception =
      "the meta device composes it of comparisons, with the strides of these; values decide: `Class values must be`";
  t.row("one_hot(Tensor self, int num_classes=-1) -> Tensor", row);
  row.exception = {};
  row.infer = rule::item;
  row.generate = make::item;
  row.dtypes = dtypes::real_and_bool;
  row.raises = "more or less than one element";
  t.row("_local_scalar_dense(Tensor self) -> Scalar", row);

  t.row("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = indexing | core,
         .infer = rule::nonzero_static,
         .generate = make::nonzero_static,
         .dtypes = dtypes::usual,
         .raises = "a negative size"});
  Row isin{.infer = rule::isin, .generate = make::isin, .dtypes = dtypes::real, .raises = "bools and complex numbers"};
  isin.decompose = R"(
    %list = aten.reshape(%test_elements, [numel(%test_elements)])
    %found = aten.any(aten.eq(aten.unsqueeze(%elements, -1), %list), -1)
    if $invert { return aten.logical_not(%found) }
    return %found)";
  t.row(
      "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> "
      "Tensor",
      isin);
  isin.dtypes = dtypes::real | dtypes::float8;
  isin.decompose = R"(
    if $invert { return aten.ne(%elements, $test_element) }
    return aten.eq(%elements, $test_element))";
  t.row(
      "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> "
      "Tensor",
      isin);
}
}  // namespace

void indexing_rows(RowSink& t) {
  reads(t);
  writes(t);
  orders(t);
  found(t);
}

}  // namespace lenz
