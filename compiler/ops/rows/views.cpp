// Views: other ways to look at the same storage. One line gives a view and its `*_copy`.
#include "compiler/ops/make/views.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/movement_loops.h"
#include "compiler/ops/rules/views.h"

namespace lenz {

namespace {
using enum Trait;
namespace at = rule::at;
using Make = void (*)(CallMaker&);

constexpr Traits kView = view | movement | core;
constexpr Traits kComposite = view | movement;  // says nothing that others don't

Row row_of(Traits traits, void (*infer)(Infer&), Make generate, std::string_view raises = {},
           std::string_view exception = {}) {
  return {.traits = traits,
          .infer = infer,
          .generate = generate,
          .dtypes = dtypes::all,
          .raises = raises,
          .exception = exception};
}

// slice.Tensor and slice_copy.Tensor: `name` before the overload, `params` what follows self.
// `resolved`: the view refuses what is lazily conjugated or negated, and the copy takes it.
void with_copy(RowSink& t, std::string_view name, std::string_view overload, std::string_view params, const Row& row,
               void (*infer_copy)(Infer&), std::string_view out, bool list = false, bool resolved = false) {
  std::string base(name), rest = std::string(overload) + "(";
  std::string tail = std::string(params) + (list ? ") -> Tensor[]" : ") -> Tensor");
  std::string viewing = base + rest + (list ? "Tensor(a -> *) self" : "Tensor(a) self") + std::string(params) +
                        (list ? ") -> Tensor(a)[]" : ") -> Tensor(a)");
  std::string copying = base + "_copy" + rest + "Tensor self" + tail;
  t.row(viewing, row);
  Row copy = row;
  copy.traits = movement;
  copy.loops = {};
  copy.written_base = {};
  copy.infer = infer_copy;
  copy.variants = {.out = out, .out_rule = OutRule::copied};
  std::string call = call_of(parse_schema(viewing), parse_schema(copying));
  std::string definition = list ? "return each(" + call + ", %x, aten.clone(%x, memory_format=contiguous_format))"
                                : "return aten.clone(" + call + ", memory_format=contiguous_format)";
  if (resolved) {
    definition.replace(definition.find("$self"), 5, "%x");
    definition = "if lazy(%self) { %x = aten.clone(%self) } else { %x = %self } " + definition;
  }
  t.row(copying, meaning(definition, copy));
}

// What the operand of a view holds once the view holds %written: where the view is all of the operand, in other sizes
// or another order, and where it is a part. Views that may overlap, or look past their operand, don't say it.
// What a view computes once it is a copy, and what its operand holds once it is written.
struct Both {
  std::string_view loops, written_base, definition = {};
  bool resolved = false;  // the view refuses what is lazily conjugated or negated
};
constexpr Both kReshaped{kReshapedLoops, "return aten.reshape(%written, shape(%self))"};
// Sizes of 1 that come or go: the rule knows which.
constexpr Both kRelabelled{{},
                           "return aten.reshape(%written, shape(%self))",
                           "return aten._reshape_alias(%self, result_shape(), result_strides())"};
constexpr Both kWhole{{}, "return %written", "return aten._reshape_alias(%self, result_shape(), result_strides())"};

Row through(const Both& both, Row row) {
  row.loops = both.loops;
  row.written_base = both.written_base;
  row.decompose = both.definition;
  return row;
}

template <rule::View V>
void view_and_copy(RowSink& t, std::string_view name, std::string_view overload, std::string_view out,
                   std::string_view params, Make generate, const Both& both, std::string_view raises = {},
                   DtypeSet dtypes = dtypes::all, bool dims_of_result = false) {
  Row row = through(both, row_of(kView, rule::view<V>, generate, raises));
  row.dtypes = dtypes;
  row.dims_of_result = dims_of_result;
  with_copy(t, name, overload, params, row, rule::view_copy<V>, out, false, both.resolved);
}

template <rule::ViewList V>
void list_and_copy(RowSink& t, std::string_view name, std::string_view overload, std::string_view out,
                   std::string_view params, Make generate, const Both& both, std::string_view raises = {}) {
  with_copy(t, name, overload, params, through(both, row_of(kView, rule::views<V>, generate, raises)),
            rule::views_copy<V>, out, true);
}

void shapes(RowSink& t) {
  constexpr std::string_view kNoView = "the strides allow no such view, or the number of elements differs";
  view_and_copy<at::as_dtype>(t, "view", ".dtype", "dtype_out", ", ScalarType dtype", make::view_dtype,
                              {kViewDtypeLoops,
                               R"(
                               if is_constant(numel(%written)) and numel(%written) == 0 { return aten.clone(%self) }
                               return aten.view.dtype(aten.contiguous(%written), dtype(%self)))",
                               {},
                               true},
                              "element sizes that the strides, sizes or offset don't allow");
  t.row("view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        through(kReshaped, row_of(kView, rule::view<at::shaped>, make::view_shape, kNoView)));
  t.row("_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
        meaning("return aten.view(%self, $size)",
                through(kRelabelled, row_of(kView, rule::view<at::shaped>, make::view_shape, kNoView))));
  t.row("view_copy(Tensor self, SymInt[] size) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::copied},
         .traits = movement,
         .infer = rule::reshape_copy,
         .generate = make::reshape_shape,
         .dtypes = dtypes::all,
         .raises = "the number of elements differs",
         .decompose = "return aten.reshape(aten.clone(%self, memory_format=contiguous_format), $size)"});
  t.row(
      "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
      through({kReshapeAliasLoops, {}},
              row_of(kView, rule::view<at::with_strides>, make::reshape_alias, "strides in another number than sizes",
                     "eager reads what lies behind its memory: `out of the storage's bounds`; of no elements it takes "
                     "any sizes: `a size is negative`")));
  t.row("view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        meaning("return aten.view(%self, shape(%other))",
                crossing("other:any", row_of(kComposite, rule::view<at::like_other>, make::view_like, kNoView))));

  const Row reshape = meaning(
      R"(if result_is_view() { return aten.view(%self, result_shape()) }
         return aten.view(aten.clone(%self, memory_format=contiguous_format), result_shape()))",
      through(kRelabelled,
              row_of(maybe_view | movement, rule::reshape, make::reshape_shape, "the number of elements differs")));
  auto reshaping = [&](void (*infer)(Infer&), Make generate) {
    Row row = reshape;
    row.infer = infer;
    row.generate = generate;
    return row;
  };
  t.row("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape);
  t.row("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        meaning("return aten.reshape(%self, shape(%other))",
                crossing("other:any", reshaping(rule::reshape_as, make::reshape_like))));
  t.row("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        meaning(R"($n = rank(%self)
                   if $n == 0 { return aten.reshape(%self, [1]) }
                   $a = wrap($start_dim, $n)
                   $b = wrap($end_dim, $n)
                   if $a == $b { return %self }
                   $merged = [product(drop(first(shape(%self), $b + 1), $a))]
                   return aten.reshape(%self, concat(first(shape(%self), $a),
                                                     concat($merged, drop(shape(%self), $b + 1)))))",
                reshaping(rule::flatten, make::flatten)));
  t.row("ravel(Tensor(a) self) -> Tensor(a)",
        meaning("return aten.view(aten.contiguous(%self), [numel(%self)])", reshaping(rule::ravel, make::unary)));
  Row contiguous = reshaping(rule::contiguous, make::contiguous);
  contiguous.written_base = "return %written";
  contiguous.decompose = R"(
    if result_is_view() { return %self }
    return aten.clone(%self, memory_format=$memory_format))";
  contiguous.copies = dtypes::all;
  t.row("contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", contiguous);
  t.row("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
        meaning(
            R"($d = wrap($dim, rank(%self))
                   $wanted = each($sizes, %n, choose(%n == -1, size(%self, $d) // (0 - product($sizes)), %n))
                   return aten.view(%self, concat(first(shape(%self), $d), concat($wanted, drop(shape(%self), $d + 1)))))",
            row_of(kComposite, rule::view<at::unflattened>, make::unflatten, "the sizes don't multiply to the dim's")));

  constexpr std::string_view kGrows = "a size other than 1 would have to grow";
  constexpr std::string_view kNegative = "an empty tensor may have negative new sizes: `a new dim needs a size`";
  with_copy(t, "expand", "", ", SymInt[] size, *, bool implicit=False",
            through({kExpandedLoops, {}}, row_of(kView, rule::view<at::expanded>, make::expansion, kGrows, kNegative)),
            rule::view_copy<at::expanded>, "out");
  t.row("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        meaning("return aten.expand(%self, shape(%other))",
                crossing("other:any", row_of(kComposite, rule::view<at::expanded_as>, make::expansion_like, kGrows))));
  t.row("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        meaning("return aten.expand(%self, $size)",
                row_of(kComposite, rule::view<at::expanded>, make::expansion, kGrows, kNegative)));
  view_and_copy<at::squeezed>(t, "squeeze", "", "out", "", make::unary, kRelabelled);
  view_and_copy<at::squeezed_dims>(t, "squeeze", ".dim", "dim_out", ", int dim", make::a_dim, kRelabelled);
  view_and_copy<at::squeezed_dims>(t, "squeeze", ".dims", "dims_out", ", int[] dim", make::list_of_dims, kRelabelled,
                                   "a dim is named twice");
  view_and_copy<at::unsqueezed>(t, "unsqueeze", "", "out", ", int dim", make::a_new_dim, kRelabelled, {}, dtypes::all,
                                true);
}

void orders(RowSink& t) {
  view_and_copy<at::permuted>(t, "permute", "", "out", ", int[] dims", make::permutation,
                              {kPermutedLoops, R"($order = each($dims, %d, wrap(%d, rank(%self)))
                                 return aten.permute(%written, each(range(0, rank(%self)), %d, find($order, %d))))"},
                              "not a permutation of all dims");
  view_and_copy<at::swapped>(t, "transpose", ".int", "int_out", ", int dim0, int dim1", make::two_dims,
                             {{}, "return aten.transpose(%written, $dim0, $dim1)", R"(
                                 $n = rank(%self)
                                 if $n == 0 { return %self }
                                 $a = wrap($dim0, $n)
                                 $b = wrap($dim1, $n)
                                 return aten.permute(%self, each(range(0, $n), %i,
                                     choose(%i == $a, $b, choose(%i == $b, $a, %i)))))"});
  view_and_copy<at::flat_transposed>(t, "t", "", "out", "", make::ranked<0, 2>, {{}, "return aten.t(%written)", R"(
                                         if rank(%self) < 2 { return %self }
                                         return aten.permute(%self, [1, 0]))"},
                                     "more than 2 dims");
  const Row swapped = row_of(kComposite, rule::view<at::swapped>, make::two_dims);
  t.row("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
        meaning("return aten.transpose(%self, $axis0, $axis1)", swapped));
  t.row("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        meaning("return aten.transpose(%self, $dim0, $dim1)", swapped));
  const Row moving = row_of(kComposite, rule::view<at::moved>, make::move_dims, "a dim is named twice");
  t.rows("{}.int(Tensor(a) self, int source, int destination) -> Tensor(a)", "movedim moveaxis",
         meaning(R"($n = rank(%self)
                    if $n == 0 { return %self }
                    $s = wrap($source, $n)
                    $d = wrap($destination, $n)
                    $rest = concat(first(range(0, $n), $s), drop(range(0, $n), $s + 1))
                    return aten.permute(%self, concat(first($rest, $d), concat([$s], drop($rest, $d)))))",
                 moving));
  t.rows("{}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", "movedim moveaxis",
         meaning(R"(if rank(%self) == 0 { return %self }
                    return aten.permute(%self, moved(rank(%self), $source, $destination)))",
                 moving));
  t.row("numpy_T(Tensor(a) self) -> Tensor(a)",
        meaning("return aten.permute(%self, each(range(0, rank(%self)), %i, rank(%self) - 1 - %i))",
                row_of(kComposite, rule::view<at::reversed>, make::unary)));
  t.row("mT(Tensor(a) self) -> Tensor(a)",
        meaning(R"(if rank(%self) == 0 { return %self }
                   return aten.transpose(%self, -2, -1))",
                row_of(kComposite, rule::view<at::matrix_transposed>, make::ranked<2, 5>, "1 dim")));
  // Of complex tensors these are lazily conjugated: more than their types say.
  Row adjoint = meaning(R"(if rank(%self) == 0 { %t = %self } else { %t = aten.transpose(%self, -2, -1) }
                           if is_complex(dtype(%t)) { return aten._conj(%t) }
                           return %t)",
                        row_of(kComposite | opaque_view, rule::view<at::adjoint>, make::ranked<2, 5>, "1 dim"));
  t.rows("{}(Tensor(a) self) -> Tensor(a)", "mH adjoint", adjoint);
  adjoint.infer = rule::view<at::matrix_adjoint>;
  adjoint.generate = make::ranked<2, 2>;
  t.row("matrix_H(Tensor(a) self) -> Tensor(a)", adjoint);
}

void parts(RowSink& t) {
  constexpr std::string_view kSlice = ", int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1";
  view_and_copy<at::sliced>(t, "slice", ".Tensor", "Tensor_out", kSlice, make::slice,
                            {kSliceLoops, "return aten.slice_scatter(%self, %written, $dim, $start, $end, $step)"},
                            "0 dims, or a step below 1");
  view_and_copy<at::selected>(t, "select", ".int", "int_out", ", int dim, SymInt index", make::select,
                              {kSelectLoops, "return aten.select_scatter(%self, %written, $dim, $index)"},
                              "the index is out of range");
  t.row("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
        meaning(R"($at = from_start($start, size(%self, $dim))
                   return aten.slice(%self, $dim, $at, $at + $length))",
                row_of(kComposite, rule::view<at::narrowed>, make::narrow, "the range leaves the dim")));
  t.row("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
        meaning("return aten.clone(aten.narrow(%self, $dim, $start, $length), memory_format=contiguous_format)",
                row_of(movement, rule::view_copy<at::narrowed>, make::narrow, "the range leaves the dim")));
  view_and_copy<at::unfolded>(t, "unfold", "", "out", ", int dimension, int size, int step", make::unfold,
                              {kUnfoldLoops, {}}, "a window larger than the dim, a step below 1");
  view_and_copy<at::on_diagonal>(
      t, "diagonal", "", "out", ", int offset=0, int dim1=0, int dim2=1", make::diagonal,
      {kDiagonalLoops, "return aten.diagonal_scatter(%self, %written, $offset, $dim1, $dim2)"}, "the two dims are one");
  t.row("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
        meaning("return aten.diagonal(%A, $offset, $dim1, $dim2)",
                row_of(kComposite, rule::view<at::on_diagonal>, make::diagonal, "the two dims are one")));
  Row strided = through({kAsStridedLoops, {}}, row_of(kView, rule::view<at::strided>, make::as_strided,
                                                      "an element lies outside of the storage"));
  strided.exception =
      "libtorch's meta device does not ask whether the copy of what is lazily negated has so much memory";
  with_copy(t, "as_strided", "", ", SymInt[] size, SymInt[] stride, SymInt? storage_offset=None", strided,
            rule::view_copy<at::strided>, "out", false, true);

  constexpr std::string_view kSource = "src:any";
  constexpr std::string_view kScatter = "src has another shape than the part, or the part is illegal";
  auto scatter = [&](std::string_view schema, void (*infer)(Infer&), Make generate, std::string_view definition,
                     std::string_view loops, std::string_view devices) {
    t.row(schema, {.variants = {.out = "out", .out_rule = OutRule::copied},
                   .traits = movement,
                   .infer = infer,
                   .generate = generate,
                   .dtypes = dtypes::all,
                   .raises = kScatter,
                   .decompose = definition,
                   .loops = loops,
                   .devices = devices,
                   .dims_of_result = true});
  };
  scatter(
      "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
      "Tensor",
      rule::scatter<at::sliced>, make::scatter<make::slice, at::sliced>, {}, kSliceScatterLoops, kSource);
  scatter("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", rule::scatter<at::selected>,
          make::scatter<make::select, at::selected>, R"(
            $d = wrap($dim, rank(%self))
            $k = element_place($index, size(%self, $d))
            return aten.slice_scatter(%self, aten.unsqueeze(%src, $d), $d, $k, $k + 1))",
          {}, kSource);
  scatter("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
          rule::scatter<at::on_diagonal>, make::scatter<make::diagonal, at::on_diagonal>, {}, kDiagonalScatterLoops,
          kSource);
  scatter(
      "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
      "Tensor",
      rule::scatter<at::strided>, make::scatter<make::as_strided_writable, at::strided>, {}, kAsStridedScatterLoops,
      kSource);
  scatter(
      "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
      rule::view_backward<at::selected>, make::select_backward,
      "return aten.select_scatter(aten.zeros($input_sizes, dtype=dtype(%grad_output), device=device(%grad_output)), "
      "%grad_output, $dim, $index)",
      {}, {});
  scatter(
      "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> "
      "Tensor",
      rule::view_backward<at::sliced>, make::slice_backward,
      "return aten.slice_scatter(aten.zeros($input_sizes, dtype=dtype(%grad_output), device=device(%grad_output)), "
      "%grad_output, $dim, $start, $end, $step)",
      {}, {});
  scatter(
      "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
      rule::view_backward<at::on_diagonal>, make::diagonal_backward,
      "return aten.diagonal_scatter(aten.zeros($input_sizes, dtype=dtype(%grad_output), device=device(%grad_output)), "
      "%grad_output, $offset, $dim1, $dim2)",
      {}, {});
  t.row("unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::copied},
         .traits = movement | core,
         .infer = rule::unfold_backward,
         .generate = make::unfold_backward,
         .dtypes = dtypes::all,
         .accuracy = Accuracy::accumulated,
         .flow = {.kind = ErrorFlow::positive, .in_storage = "always"},
         .raises = "windows that don't overlap, and a gradient of another shape; float8",
         .loops = kUnfoldBackwardLoops,
         .exception =
             "of a gradient without elements eager reads nevertheless: `are out of bounds for storage`; of one "
             "with other windows it reads what lies behind: `the windows are of another`, `has another rank than "
             "the windows`",
         .dims_of_result = true});
}

void lists(RowSink& t) {
  Row by_size = through({{},
                         "$from = $element * $split_size "
                         "return aten.slice_scatter(%self, %written, $dim, $from, $from + size(%written, $dim))",
                         // The last part ends where the dim does: who asks whether it could be a full one guards that.
                         "$n = result_count() "
                         "return each(range(0, $n), %i, aten.slice(%self, $dim, %i * $split_size, "
                         "choose(%i == $n - 1, none, (%i + 1) * $split_size)))"},
                        row_of(kView, rule::views<at::split>, make::split, "a negative split size"));
  by_size.exception = "split_copy copies to an out= tensor of any dtype: `can't be stored as the type of`";
  with_copy(t, "split", ".Tensor", ", SymInt split_size, int dim=0", by_size, rule::views_copy<at::split>, "Tensor_out",
            true);
  list_and_copy<at::split_with_sizes>(
      t, "split_with_sizes", "", "out", ", SymInt[] split_sizes, int dim=0", make::split_sizes,
      {{},
       "$from = sum(first($split_sizes, $element)) "
       "return aten.slice_scatter(%self, %written, $dim, $from, $from + size(%written, $dim))",
       // A slice asks where it ends; of sizes that only the run knows it is said.
       "$n = len($split_sizes) "
       "if run_tells($split_sizes) { return each(range(0, $n), %i, "
       "aten.narrow(%self, $dim, sum(first($split_sizes, %i)), at($split_sizes, %i))) } "
       "return each(range(0, $n), %i, aten.slice(%self, $dim, sum(first($split_sizes, %i)), "
       "choose(%i == $n - 1, none, sum(first($split_sizes, %i + 1)))))"},
      "sizes that don't add up to the dim's");
  list_and_copy<at::unbound>(t, "unbind", ".int", "int_out", ", int dim=0", make::unbind,
                             {{},
                              "return aten.select_scatter(%self, %written, $dim, $element)",
                              "return each(range(0, result_count()), %i, aten.select(%self, $dim, %i))"},
                             "0 dims");
  const Row split = row_of(kComposite, rule::views<at::split>, make::split, "a negative split size");
  auto like_split = [&](void (*infer)(Infer&), Make generate, std::string_view raises) {
    Row row = split;
    row.infer = infer;
    row.generate = generate;
    row.raises = raises;
    return row;
  };
  constexpr std::string_view kSum = "sizes that don't add up to the dim's";
  t.row("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
        meaning("return aten.split_with_sizes(%self, $split_size, $dim)",
                like_split(rule::views<at::split_with_sizes>, make::split_sizes, kSum)));
  t.row("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
        meaning(R"($n = size(%self, $dim)
                   if $n == 0 { return aten.split_with_sizes(%self, list($chunks, 0), $dim) }
                   return aten.split(%self, ($n + $chunks - 1) // $chunks, $dim))",
                like_split(rule::views<at::chunked>, make::chunk, "chunks below 1")));
  // These claim fresh results, and share the storage all the same; but that of a copy, where eager hands one over.
  auto unsafe = [&](std::string_view schema, void (*infer)(Infer&), Make generate, std::string_view call,
                    std::string_view raises) {
    Row row = like_split(infer, generate, raises);
    row.traits = maybe_view | movement;
    t.row(schema,
          meaning("if lazy(%self) { %x = aten.clone(%self) } else { %x = %self } return " + std::string(call), row));
  };
  unsafe("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", rule::maybe_views<at::split>,
         make::split, "aten.split(%x, $split_size, $dim)", split.raises);
  unsafe("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
         rule::maybe_views<at::split_with_sizes>, make::split_sizes, "aten.split_with_sizes(%x, $split_sizes, $dim)",
         kSum);
  unsafe("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", rule::maybe_views<at::chunked>, make::chunk,
         "aten.chunk(%x, $chunks, $dim)", "chunks below 1");
  t.row("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
        meaning(R"($n = size(%self, $dim) // $sections
                   $more = size(%self, $dim) % $sections
                   return each(range(0, $sections), %i,
                               aten.slice(%self, $dim, %i * $n + min(%i, $more),
                                          (%i + 1) * $n + min(%i + 1, $more))))",
                like_split(rule::views<at::split_in_sections>, make::tensor_split, "sections below 1")));
  t.row("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
        meaning(R"($from = concat([0], $indices)
                   $to = concat($indices, [size(%self, $dim)])
                   return each(range(0, len($from)), %i, aten.slice(%self, $dim, at($from, %i), at($to, %i))))",
                like_split(rule::views<at::split_at>, make::tensor_split, "0 dims")));
  // By sections, which must divide the dim, and by indices.
  auto axis = [&](std::string_view name, void (*infer)(Infer&), Make generate, std::string_view sections,
                  std::string_view indices) {
    Row row = like_split(infer, generate, "too few dims, or a size that the sections don't divide");
    t.rows("{}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", name, meaning(sections, row));
    t.rows("{}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", name, meaning(indices, row));
  };
  axis("vsplit", rule::views<at::split_axis<0>>, make::axis_split<0>, "return aten.tensor_split(%self, $sections, 0)",
       "return aten.tensor_split(%self, $indices, 0)");
  axis("hsplit", rule::views<at::split_axis<1>>, make::axis_split<1>,
       R"(if rank(%self) == 1 { return aten.tensor_split(%self, $sections, 0) }
          return aten.tensor_split(%self, $sections, 1))",
       R"(if rank(%self) == 1 { return aten.tensor_split(%self, $indices, 0) }
          return aten.tensor_split(%self, $indices, 1))");
  axis("dsplit", rule::views<at::split_axis<2>>, make::axis_split<2>, "return aten.tensor_split(%self, $sections, 2)",
       "return aten.tensor_split(%self, $indices, 2)");
}

void wholes(RowSink& t) {
  view_and_copy<at::whole>(t, "alias", "", "out", "", make::unary, kWhole);
  t.row("lift_fresh(Tensor(a) self) -> Tensor(a)",
        meaning("return aten.alias(%self)",
                through({{}, "return %written"}, row_of(kView, rule::view<at::whole>, make::unary))));
  Row detach = through({{}, "return %written", "return aten.alias(%self)"},
                       row_of(kView | opaque_view, rule::view<at::whole>, make::unary));
  with_copy(t, "detach", "", "", detach, rule::view_copy<at::whole>, "out");

  t.row("conj(Tensor(a) self) -> Tensor(a)",
        meaning(R"(if is_complex(dtype(%self)) { return aten._conj(%self) }
                   return %self)",
                row_of(kComposite | opaque_view, rule::view<at::whole>, make::unary)));
  Row conj = through({kConjLoops, "return aten.conj_physical(%written)"},
                     row_of(kView | opaque_view, rule::view<at::whole>, make::unary, "no complex tensor"));
  conj.dtypes = dtypes::complexes;
  t.row("_conj(Tensor(a) self) -> Tensor(a)", conj);
  // The same, for the imaginary part of what is lazily conjugated.
  Row negative = through({kNegViewLoops, "return aten.neg(%written)"},
                         row_of(kView | opaque_view, rule::view<at::whole>, make::unary));
  negative.dtypes = dtypes::floats;
  negative.exception =
      "the parts of a conjugate are floats; of bool, u8, i8, i16, i32, i64, c64, c128, f8e4m3 and f8e5m2, which eager "
      "takes too, nobody asks for it";
  t.row("_neg_view(Tensor(a) self) -> Tensor(a)", negative);
  // What is not lazy is its own answer.
  t.row("resolve_conj(Tensor(a) self) -> Tensor(a)",
        meaning("if conjugated(%self) { return aten.clone(%self) } return %self",
                row_of(maybe_view | movement, rule::resolved_conj, make::unary)));
  Row fresh = meaning("return aten.clone(%self, memory_format=contiguous_format)",
                      row_of(movement, rule::view_copy<at::whole>, make::unary));
  fresh.variants = {.out = "out", .out_rule = OutRule::copied};
  t.row("lift_fresh_copy(Tensor self) -> Tensor", fresh);

  const DtypeSet pairs = dtypes::wide_floats | dtypes::half;  // of f16 the rule says: unsupported
  view_and_copy<at::of_reals>(t, "view_as_real", "", "out", "", make::of_reals,
                              {kAsRealLoops, "return aten.view_as_complex(aten.contiguous(%written))", {}, true},
                              "no complex tensor", dtypes::complexes);
  view_and_copy<at::of_complexes>(t, "view_as_complex", "", "out", "", make::of_complexes,
                                  {kAsComplexLoops, "return aten.view_as_real(%written)"},
                                  "the last dim is no dense pair, or an odd stride or offset", pairs);
  t.row("real(Tensor(a) self) -> Tensor(a)", meaning(R"(if not is_complex(dtype(%self)) { return %self }
                   if conjugated(%self) { %x = aten._conj(%self) } else { %x = %self }
                   return aten.select(aten.view_as_real(%x), -1, 0))",
                                                     row_of(kComposite, rule::view<at::real_part>, make::unary)));
  Row imag = meaning(R"(if not conjugated(%self) { return aten.select(aten.view_as_real(%self), -1, 1) }
                        return aten.select(aten._neg_view(aten.view_as_real(aten._conj(%self))), -1, 1))",
                     row_of(kComposite, rule::view<at::imaginary_part>, make::unary, "no complex tensor"));
  imag.dtypes = dtypes::complexes;
  t.row("imag(Tensor(a) self) -> Tensor(a)", imag);
}
}  // namespace

void view_rows(RowSink& t) {
  shapes(t);
  orders(t);
  parts(t);
  lists(t);
  wholes(t);
}

}  // namespace lenz
