// Ops that read or write through indices, masks or order.
#include "compiler/ops/make/indexing.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/creation_loops.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/indexing_loops.h"
#include "compiler/ops/rules/indexing.h"

namespace lenz {

namespace {
using enum Trait;
constexpr std::string_view kNoOrder =
    "of a scalar, or of elements at one place, any dtype will do: `has no kernel for`";
constexpr std::string_view kValues = "values decide: `is out of bounds for dimension`";
constexpr std::string_view kRange = "an index out of range; shapes that don't fit";

void reads(RowSink& t) {
  Row row{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
          .traits = indexing | movement | core,
          .infer = rule::gather,
          .generate = make::gather,
          .dtypes = dtypes::usual,
          .raises = kRange,
          .wants = "index < self[dim]",
          .exception = kValues};
  row.loops = kGatherLoops;
  t.row("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", row);
  row.variants = {};  // an out= tensor is laid out as the index is, the result contiguous: not derivable
  row.infer = rule::take;
  row.generate = make::take;
  row.loops = {};
  row.decompose = "return aten.index.Tensor(aten.reshape(%self, [numel(%self)]), [%index])";
  row.wants = "index < numel(self)";
  t.row("take(Tensor self, Tensor index) -> Tensor", row);
  row.decompose = {};
  row.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  row.dtypes = dtypes::all;
  row.infer = rule::index_select;
  row.generate = make::index_select;
  row.loops = kIndexSelectLoops;
  row.wants = "index < self[dim]";
  t.row("index_select(Tensor self, int dim, Tensor index) -> Tensor", row);
  row.variants = {};
  row.infer = rule::embedding;
  row.generate = make::embedding;
  row.loops = {};
  row.decompose = R"(
    %rows = aten.index_select(%weight, 0, aten.reshape(%indices, [numel(%indices)]))
    return aten.view(%rows, concat(shape(%indices), drop(shape(%weight), 1))))";
  row.wants = "indices < weight[0]";
  t.row(
      "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
      "sparse=False) -> Tensor",
      row);
  row.dtypes = dtypes::usual;
  row.exception = "beside a dim without elements: `ZeroDivisionError`; values decide: `is out of bounds`";
  row.infer = rule::take_along_dim;
  row.generate = make::take_along_dim;
  row.decompose = R"(
    if not given($dim) {
      return aten.gather(aten.reshape(%self, [numel(%self)]), 0, aten.reshape(%indices, [numel(%indices)]))
    }
    if rank(%self) == 0 { return aten.gather(%self, 0, %indices) }
    $d = wrap($dim, rank(%self))
    $s = broadcast(concat(first(shape(%self), $d), concat([1], drop(shape(%self), $d + 1))),
                   concat(first(shape(%indices), $d), concat([1], drop(shape(%indices), $d + 1))))
    %x = aten.expand(%self, concat(first($s, $d), concat([size(%self, $d)], drop($s, $d + 1))))
    %i = aten.expand(%indices, concat(first($s, $d), concat([size(%indices, $d)], drop($s, $d + 1))))
    if numel(%i) > 0 { %i = aten.remainder(%i, size(%self, $d)) }
    return aten.gather(%x, $d, %i))";  // along a dim eager counts round and round, and refuses nothing
  row.wants = "indices < self[dim]";
  t.row("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", row);
  row.dtypes = dtypes::all;
  row.exception = "of no elements eager needs no index, of others its own assertion fails: `at least one index`";
  row.infer = rule::index;
  row.generate = make::index;
  row.loops = kIndexLoops;
  row.wants = "indices < self";
  row.decompose = {};
  row.devices = "indices:cpu";
  t.row("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", row);
  row.loops = {};
  row.decompose = "return aten.index.Tensor(%self, $indices)";
  row.infer = rule::unsafe_index;
  row.generate = make::index_by_numbers;
  t.row("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", row);
}

// Where the elements of whole slices go, %i: an index for each element of them.
#define LENZ_WHOLE_SLICES                                                                                          \
  "if rank(%self) == 0 { %i = aten.reshape(%index, []) } "                                                         \
  "else { "                                                                                                        \
  "  $d = wrap($dim, rank(%self)) "                                                                                \
  "  $before = first(shape(%self), $d) $behind = drop(shape(%self), $d + 1) "                                      \
  "  %line = aten.reshape(%index, concat(list(len($before), 1), concat([numel(%index)], list(len($behind), 1)))) " \
  "  %i = aten.expand(%line, concat($before, concat([numel(%index)], $behind))) "                                  \
  "} "                                                                                                             \
  "if dtype(%i) != i64 { %i = aten._to_copy(%i, dtype=i64) } "

void writes(RowSink& t) {
  Row row{.variants = {.in_place = true, .out = "src_out", .out_rule = OutRule::same_dtype},
          .traits = indexing | core,
          .infer = rule::scatter,
          .generate = make::scatter,
          .dtypes = dtypes::usual,
          .raises = kRange,
          .wants = "index < self[dim]",
          .exception = kValues};
  row.loops = kScatterLoops;
  t.row("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", row);
  row.variants.out = "value_out";
  row.loops = kScatterValueLoops;
  t.row("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        fitting("value:result/index", row));
  row.accuracy = Accuracy::accumulated;
  row.flow.terms = ErrorFlow::all;  // they may multiply and average
  row.variants.out = "reduce_out";
  row.loops = kScatterByWordLoops;
  t.row("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", row);
  row.variants.out = "value_reduce_out";
  row.loops = kScatterValueByWordLoops;
  t.row("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
        fitting("value:result/index", row));
  row.flow = {};
  row.variants.out = "out";
  row.loops = kScatterAddLoops;
  t.row("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", row);
  row.flow.terms = ErrorFlow::all;
  row.variants.out = "two_out";
  row.loops = kScatterReduceLoops;
  t.row(
      "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
      "Tensor",
      row);

  row.flow = {};
  row.variants.out = "out";
  row.infer = rule::index_write;
  row.generate = make::index_write;
  row.loops = {};
  row.decompose = R"(
    $by_tensor = is_integral(dtype(%source)) and is_float($alpha) and not is_constant($alpha)
    if $by_tensor { %x = aten.mul(%source, aten.scalar_tensor($alpha, dtype=dtype(%source), device=device(%source))) }
    else if $alpha == 1 { %x = %source }
    else { %x = aten._to_copy(aten.mul(%source, $alpha), dtype=dtype(%self)) })" LENZ_WHOLE_SLICES
                  "return aten.scatter_add(%self, $dim, %i, aten.reshape(%x, shape(%i)))";
  row.exception =
      "values decide: `is out of bounds for dimension`; of one dim without elements eager converts alpha, for which "
      "its "
      "meaning does not ask: `without overflow`";
  t.row("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        fitting("alpha:result/source", row));
  row.exception = "of some layouts eager's own assertion fails: `INTERNAL ASSERT FAILED`";
  row.flow.terms = ErrorFlow::all;
  row.decompose = LENZ_WHOLE_SLICES
      "return aten.scatter_reduce(%self, $dim, %i, aten.reshape(%source, shape(%i)), $reduce, "
      "include_self=$include_self)";
  t.row(
      "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
      "Tensor",
      row);
  row.exception = {};
  row.flow = {};
  row.dtypes = dtypes::usual;
  row.accuracy = Accuracy::exact;
  row.infer = rule::index_copy;
  row.decompose = LENZ_WHOLE_SLICES "return aten.scatter(%self, $dim, %i, aten.reshape(%source, shape(%i)))";
  t.row("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", row);

  row.variants = {.in_place = true};
  row.exception = "of no elements eager fills beyond them: `are out of bounds for storage`";
  row.infer = rule::index_fill;
  row.generate = make::index_fill;
#define LENZ_FILLED                                            \
  "%i = aten.reshape(%index, [numel(%index)]) "                \
  "if rank(%self) == 0 { "                                     \
  "  %y = aten.index_put(aten.reshape(%self, [1]), [%i], %v) " \
  "  return aten.view(%y, shape(%self)) "                      \
  "} "                                                         \
  "return aten.index_put(%self, concat(list(wrap($dim, rank(%self)), none), [%i]), %v)"
#define LENZ_NUMBER "%v = aten.full([], $value, dtype=dtype(%self), device=device(%self)) "
#define LENZ_ONE_VALUE "%v = aten._to_copy(aten.reshape(%value, []), dtype=dtype(%self), device=device(%self)) "
  row.decompose = LENZ_NUMBER LENZ_FILLED;
  t.row("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        fitting("value:result", row));
  row.exception =
      "values decide: `without overflow`; of no elements eager fills beyond them: `are out of bounds for storage`";
  row.decompose = LENZ_ONE_VALUE LENZ_FILLED;
  row.devices = "value:any";
  t.row("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", row);
  row.devices = {};
  row.infer = rule::masked_fill;
  row.generate = make::masked_fill;
  row.raises = "a mask that is not of bools";
  row.decompose = LENZ_NUMBER "return aten.where(%mask, %v, %self)";
  row.wants = {};
  t.row("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", fitting("value:result", row));
  row.decompose = LENZ_ONE_VALUE "return aten.where(%mask, %v, %self)";
  row.devices = "value:number";
  t.row("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", row);
  row.exception = "values decide: `Number of elements of source`";
  row.devices = {};
  row.infer = rule::masked_scatter;
  row.generate = make::masked_scatter;
#undef LENZ_ONE_VALUE
#undef LENZ_NUMBER
#undef LENZ_FILLED
  row.decompose = {};
  row.loops = kMaskedScatterLoops;
  t.row("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", row);
  row.exception = "values decide: `Tried to put elements into an empty tensor`";
  row.infer = rule::put;
  row.generate = make::put;
  row.wants = "index < numel(self)";
  row.raises = kRange;
  row.accuracy = Accuracy::accumulated;
  row.loops = {};
  row.decompose = R"(
    %y = aten.index_put(aten.reshape(%self, [numel(%self)]), [%index], aten.reshape(%source, shape(%index)), $accumulate)
    return aten.view(%y, shape(%self)))";
  t.row("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", row);
  row.dtypes = dtypes::all;
  row.accuracy = Accuracy::accumulated;
  row.devices = "indices:cpu values:number";
  row.infer = rule::index_put;
  row.generate = make::index_put;
  row.wants = "indices < self";
  row.exception =
      "where a mask takes nothing eager forgets to check: `must have the dtype of`; values decide: `is out of "
      "bounds`, and how many a mask takes: `shape mismatch`; a mask of u8 does not always do: `only supports boolean "
      "masks`";
  row.decompose = {};
  row.loops = kIndexPutLoops;
  t.row("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", row);
  row.variants = {};
  row.loops = {};
  row.decompose = "return aten.index_put(%self, $indices, %values, $accumulate)";
  t.row("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", row);
  t.row(
      "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
      "scale_grad_by_freq) -> Tensor",
      {.traits = indexing,
       .infer = rule::embedding_backward,
       .generate = make::embedding_backward,
       .dtypes = dtypes::usual,
       .accuracy = Accuracy::accumulated,
       .raises = kRange,
       .decompose = R"(
         %i = aten._to_copy(aten.reshape(%indices, [numel(%indices)]), dtype=i64)
         %g = aten.reshape(%grad_output, [numel(%indices), size(%grad_output, -1)])
         %none = aten.logical_or(aten.lt(%i, 0), aten.ge(%i, $num_weights))
         %skipped = aten.logical_or(aten.eq(%i, $padding_idx), %none)
         %zero = aten.full([], 0, dtype=dtype(%g), device=device(%g))
         if $scale_grad_by_freq {
           %ones = aten.full([numel(%indices)], 1, dtype=i64, device=device(%g))
           %counts = aten.index_put(aten.full([$num_weights], 0, dtype=i64, device=device(%g)), [%i], %ones, true)
           %n = aten.unsqueeze(aten.index.Tensor(%counts, [%i]), 1)
           if is_integral(%g) {
             if dtype(%g) != bool { %g = aten.where(aten.eq(%n, 1), %g, %zero) }
           } else { %g = aten.div(%g, aten._to_copy(%n, dtype=dtype(%g))) }
         }
         %g = aten.where(aten.unsqueeze(%skipped, 1), %zero, %g)
         %rows = aten.where(%skipped, 0, %i)
         return aten.index_add(aten.full(result_shape(), 0, dtype=dtype(%g), device=device(%g)), 0, %rows, %g))",
       .wants = "indices < num_weights",
       .exception =
           "what is all padding may be float8: `has no kernel for f8`; indices beyond the weights are skipped, where "
           "they are counted eager counts them beyond its memory: `is out of bounds`"});
}

#undef LENZ_WHOLE_SLICES

void orders(RowSink& t) {
  Row row{.variants = {.out = "values", .out_params = "values indices", .out_rule = OutRule::same_dtype},
          .traits = reduction | core,
          .infer = rule::topk,
          .generate = make::topk,
          .dtypes = dtypes::real,
          .flow = {.ties_open = true},
          .raises = "k beyond the dim"};
  row.loops = kTopkLoops;
  t.row(
      "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
      row);
  row.traits = {};
  row.dtypes = dtypes::real_and_bool;
  row.flow.kind = ErrorFlow::monotone;
  row.infer = rule::sort;
  row.generate = make::sort;
  row.raises = "complex numbers";
  row.exception = kNoOrder;
  row.loops = kSortLoops;
  t.row("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", row);
  row.flow.ties_open = false;
  row.variants.out = "values_stable";
  t.row(
      "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
      row);
  row.variants = {};
  row.traits = {};
  row.loops = {};
  row.flow = {};
  row.infer = rule::argsort;
  t.row("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        meaning("%values, %order = aten.sort(%self, $dim, $descending) return %order", row));
  t.row("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", meaning(R"(
          if $stable { %values, %order = aten.sort(%self, stable=true, dim=$dim, descending=$descending) }
          else { %values, %order = aten.sort(%self, $dim, $descending) }
          return %order)",
                                                                                                            row));
  t.row("msort(Tensor self) -> Tensor", {.infer = rule::composite,
                                         .generate = make::sort,
                                         .dtypes = dtypes::real_and_bool,
                                         .decompose = "%values, %indices = aten.sort(%self, 0) return %values",
                                         .exception = kNoOrder});

  Row search{.traits = indexing | core,
             .infer = rule::searchsorted,
             .generate = make::searchsorted,
             .dtypes = dtypes::real_and_bool,
             .computes = dtypes::real,
             .flow = {.kind = ErrorFlow::opaque},
             .raises = "leading dims that differ",
             .wants = "sorted_sequence sorted; sorter < sorted_sequence[-1]; sorter sorted",
             .exception = "of nothing to look up any dtype will do: `with float8 types`"};
  search.loops = kSearchsortedLoops;
  t.row(
      "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor",
      search);
  search.loops = kSearchsortedScalarLoops;
  t.row(
      "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor",
      search);
  search.traits = indexing;
  search.loops = {};
  search.wants = {};
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
  row.loops = kNonzeroLoops;
  t.row("nonzero(Tensor self) -> Tensor", row);
  t.alias("argwhere(Tensor self) -> Tensor", "nonzero");
  row.flow.kind = ErrorFlow::moved;
  row.infer = rule::masked_select;
  row.generate = make::masked_select;
  row.dtypes = dtypes::all;
  row.raises = "a mask that is not of bools";
  row.loops = kMaskedSelectLoops;
  t.row("masked_select(Tensor self, Tensor mask) -> Tensor", row);
  row.flow.kind = ErrorFlow::opaque;
  row.infer = rule::unique;
  row.generate = make::unary;
  row.dtypes = dtypes::real_and_bool;
  row.raises = "complex numbers";
  row.loops = kUniqueLoops;
  t.row(
      "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
      "Tensor, Tensor)",
      row);
  row.loops = kOneHotLoops;
  row.infer = rule::one_hot;
  row.generate = make::one_hot;
  row.wants = "self < num_classes";
  row.dtypes = DtypeSet::of(Dtype::i64);
  row.raises = "negative class numbers, or ones beyond num_classes";
  row.exception =
      "the meta device composes it of comparisons, with the strides of these; values decide: `Class values must be`";
  t.row("one_hot(Tensor self, int num_classes=-1) -> Tensor", row);
  row.loops = {};
  row.exception = {};
  row.wants = {};
  row.infer = rule::item;
  row.generate = make::item;
  row.dtypes = dtypes::real_and_bool;
  row.raises = "more or less than one element";
  row.exception = "eager's kernel takes the first of several, its caller counts: `a tensor of one element is needed`";
  row.loops = kItemLoops;
  t.row("_local_scalar_dense(Tensor self) -> Scalar", row);

  Row question{.traits = data_dependent, .infer = rule::composite_of_copies, .dtypes = dtypes::all};
  question.generate = make::equal;
  question.decompose = R"(
    if not equal(shape(%self), shape(%other)) { return aten._local_scalar_dense(aten.zeros([], dtype=bool)) }
    return aten._local_scalar_dense(aten.all(aten.eq(%self, %other))))";
  question.exception =
      "of one tensor twice it looks for a NaN, by a kernel that its meaning does not ask for: `\"equal_notnan_cpu\"`";
  t.row("equal(Tensor self, Tensor other) -> bool", question);
  question.exception = {};
  question.dtypes = dtypes::usual;
  question.generate = make::isclose;
  question.raises = "operands of different dtypes; negative tolerances";
  question.decompose =
      "return aten._local_scalar_dense(aten.all(aten.isclose(%self, %other, $rtol, $atol, $equal_nan)))";
  t.row(
      "allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) "
      "-> bool",
      question);
  Row flags{
      .traits = reduction, .infer = rule::composite_of_copies, .generate = make::unary, .dtypes = dtypes::boolean};
  flags.raises = "anything but bools";
  t.row("_is_all_true(Tensor self) -> Tensor", meaning("return aten.all(%self)", flags));
  t.row("_is_any_true(Tensor self) -> Tensor", meaning("return aten.any(%self)", flags));

  t.row("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = indexing | core,
         .infer = rule::nonzero_static,
         .generate = make::nonzero_static,
         .dtypes = dtypes::usual,
         .raises = "a negative size",
         .loops = kNonzeroStaticLoops});
  Row isin{.infer = rule::isin,
           .generate = make::isin,
           .dtypes = dtypes::real,
           .raises = "bools and complex numbers",
           .exception =
               "of no elements any dtype will do: `with float8 types`; how a few test elements lie its meaning does "
               "not ask: `view size is not compatible`"};
  // Many are looked up in their order: NaNs come last there, where bisection takes them for infinities, and equal
  // nothing; both zeros are found by either.
  isin.decompose = R"(
    %list = aten.reshape(%test_elements, [numel(%test_elements)])
    $most = numel(%list) - 1
    if is_constant($most) and $most >= 383 and (not is_constant(numel(%elements)) or numel(%elements) >= 384) {
      $t = result_type(%elements, %test_elements)
      %x = aten.to.dtype(%elements, $t)
      %rising, %order = aten.sort(aten.to.dtype(%list, $t))
      %bounds = %rising
      if is_float(%rising) { %bounds = aten.where(aten.isnan(%rising), inf, %rising) }
      %at = aten.clamp(aten.searchsorted(%bounds, %x), none, $most)
      %nearest = aten.take(%rising, %at)
      if $invert { return aten.ne(%nearest, %x) }
      return aten.eq(%nearest, %x)
    }
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
