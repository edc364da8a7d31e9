// Ops that move elements into fresh memory, bit by bit: copies, reorderings, joins, paddings.
#include "compiler/ops/make/movement.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/views.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/movement_loops.h"
#include "compiler/ops/rows/spatial_loops.h"
#include "compiler/ops/rules/movement.h"

namespace lenz {

namespace {
using enum Trait;
using Make = void (*)(CallMaker&);

constexpr Variants kCopied{.out = "out", .out_rule = OutRule::copied};
constexpr Variants kOut{.out = "out"};
constexpr DtypeSet kUsual = dtypes::usual;

Row row_of(Traits traits, void (*infer)(Infer&), Make generate, std::string_view raises = {}) {
  return {.traits = traits, .infer = infer, .generate = generate, .dtypes = dtypes::all, .raises = raises};
}
Row with(Row row, Variants variants) {
  row.variants = variants;
  return row;
}
Row of(DtypeSet dtypes, Row row) {
  row.dtypes = dtypes;
  return row;
}
Row except(std::string_view why, Row row) {
  row.exception = why;
  return row;
}
constexpr std::string_view kFormat = "channels-last: the CPU keeps it, libtorch's meta device says contiguous";
#define LENZ_GOES_ROUND \
  "a pad that one side cuts and the other repeats may go round more than once: `a circular padding goes round`"
// What stands before and behind a dim, the last but `k`, is what it ends and begins with.
#define LENZ_GONE_ROUND(k)                                                                           \
  "$d = rank(%self) - 1 - " k " $before = at($pad, 2 * " k ") $behind = at($pad, 2 * " k             \
  " + 1) $size = size(%self, $d) "                                                                   \
  "if $before > 0 and $behind > 0 { %y = aten.cat([aten.slice(%y, $d, $size - $before, $size), %y, " \
  "aten.slice(%y, $d, 0, $behind)], $d) } "                                                          \
  "else if $before > 0 { %y = aten.cat([aten.slice(%y, $d, $size - $before, $size), %y], $d) } "     \
  "else if $behind > 0 { %y = aten.cat([%y, aten.slice(%y, $d, 0, $behind)], $d) } "
constexpr std::string_view kShuffled =
    "channels-last: the CPU keeps it; for float8 it has no kernel, which its meaning does not ask: `not implemented "
    "for 'Float8`; libtorch's meta device says contiguous";
Row looped(std::string_view loops, Row row) {
  row.loops = loops;
  return row;
}
// The result is self where its type is self's.
Row copying(Row row) {
  row.copies = dtypes::all;
  return row;
}

void copies(RowSink& t) {
  t.row("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
        looped(kCopyLoops,
               with(copying(row_of(movement | core, rule::clone, make::clone, "a format that the rank can't have")),
                    kCopied)));
  t.row("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
        meaning(R"(%c = aten._to_copy(%src, dtype=dtype(%self), device=device(%self))
                   if equal(shape(%self), shape(%src)) { return %c }
                   return aten.expand_copy(%c, shape(%self)))",
                crossing("src:any",
                         except("libtorch's meta device has no kernels that could lack one for what is lazily negated",
                                looped(kCopyFromLoops,
                                       with(row_of(movement, rule::copy, make::copy, "src does not expand to self"),
                                            {.in_place = true, .out = "out", .out_rule = OutRule::copied}))))));
  t.row(
      "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
      looped(kCopyLoops, copying(row_of(elementwise | core, rule::to_copy, make::conversion,
                                        "a format that the rank can't have"))));
  auto whole = [](Row row) {
    row.written_base = "return %written";  // where it is a view at all
    return row;
  };
  constexpr std::string_view kConverted = R"(
    if result_is_view() { return %self }
    return aten._to_copy(%self, dtype=result_dtype(), device=result_device(), memory_format=$memory_format))";
  const Row to = meaning(
      kConverted, whole(copying(row_of(maybe_view, rule::to, make::conversion, "a format that the rank can't have"))));
  t.row(
      "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
      "memory_format=None) -> Tensor(a)",
      to);
  t.row(
      "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
      to);
  t.row(
      "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      to);
  const Row like = meaning(
      kConverted, crossing("other:any", whole(copying(row_of(maybe_view, rule::to_other, make::conversion_like)))));
  t.row(
      "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
      "memory_format=None) -> Tensor(a)",
      like);
  t.row("type_as(Tensor self, Tensor other) -> Tensor", meaning("return aten.to(%self, %other)", like));
}

void reorderings(RowSink& t) {
  constexpr std::string_view kRows =
      "for float8 rows that lie element by element eager has no kernel, which its meaning does not ask: `\"flip_cpu\" "
      "not`";
  t.row("flip(Tensor self, int[] dims) -> Tensor",
        looped(kFlipLoops,
               with(except(kRows, row_of(movement | core, rule::flip, make::flip, "a dim is named twice")), kCopied)));
  const Row flip = except(kRows, row_of(movement, rule::flip_along<0>, make::flip_from<1>, "0 dims"));
  t.row("flipud(Tensor self) -> Tensor", meaning("return aten.flip(%self, [0])", flip));
  Row fliplr = flip;
  fliplr.infer = rule::flip_along<1>;
  fliplr.generate = make::flip_from<2>;
  fliplr.raises = "fewer than 2 dims";
  t.row("fliplr(Tensor self) -> Tensor", meaning("return aten.flip(%self, [1])", fliplr));
  t.row("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
        looped(kRollLoops,
               with(row_of(movement | core, rule::roll, make::roll, "shifts and dims in different numbers"), kCopied)));
  t.row("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
        with(meaning(R"($quarters = $k % 4
                        $a = at($dims, 0)
                        $b = at($dims, 1)
                        if $quarters == 0 { return aten.clone(%self, memory_format=contiguous_format) }
                        if $quarters == 1 { return aten.transpose(aten.flip(%self, [$b]), $a, $b) }
                        if $quarters == 2 { return aten.flip(%self, $dims) }
                        return aten.transpose(aten.flip(%self, [$a]), $a, $b))",
                     except(kRows, row_of(movement, rule::rot90, make::rot90, "not two different dims"))),
             kCopied));
  // No out=: of a layout that is not contiguous eager writes out of its bounds.
  const Row triangle = with(of(kUsual, row_of(movement | core, rule::triangle, make::triangle, "fewer than 2 dims")),
                            {.in_place = true});
#define LENZ_TRIANGLE(kept)                                                       \
  "%column = aten.arange(size(%self, -1), device=device(%self)) "                 \
  "%row = aten.unsqueeze(aten.arange(size(%self, -2), device=device(%self)), 1) " \
  "%kept = " kept " return aten.where(%kept, %self, aten.full([], 0, dtype=dtype(%self), device=device(%self)))"
  t.row("tril(Tensor self, SymInt diagonal=0) -> Tensor",
        meaning(LENZ_TRIANGLE("aten.le(aten.sub(%column, %row), $diagonal)"), triangle));
  t.row("triu(Tensor self, SymInt diagonal=0) -> Tensor",
        meaning(LENZ_TRIANGLE("aten.ge(aten.sub(%column, %row), $diagonal)"), triangle));
#undef LENZ_TRIANGLE
  t.row("diag(Tensor self, int diagonal=0) -> Tensor",
        with(meaning(R"(if rank(%self) == 1 { return aten.diag_embed(%self, $diagonal) }
                        return aten.diagonal_copy(%self, $diagonal))",
                     row_of(movement, rule::diag, make::diag, "neither a vector nor a matrix")),
             kCopied));
  Row embedded = with(row_of(movement | core, rule::diag_embed, make::diag_embed, "the two dims are one"), kCopied);
  embedded.dims_of_result = true;
  // As memory that the diagonal strides over it needs no condition at each element.
  embedded.decompose = R"(
    $sizes = result_shape()
    %zeros = aten.full($sizes, 0, dtype=dtype(%self), device=device(%self))
    if not is_constant($sizes) { return aten.diagonal_scatter(%zeros, %self, $offset, $dim1, $dim2) }
    $a = wrap($dim1, len($sizes))
    $b = wrap($dim2, len($sizes))
    $steps = result_strides()
    $start = max(0 - $offset, 0) * at($steps, $a) + max($offset, 0) * at($steps, $b)
    $others = concat(first($steps, min($a, $b)), drop(first($steps, max($a, $b)), min($a, $b) + 1))
    $others = concat($others, drop($steps, max($a, $b) + 1))
    return aten.as_strided_scatter(%zeros, %self, shape(%self), concat($others, [at($steps, $a) + at($steps, $b)]), $start))";
  t.row("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", embedded);
  t.row("diagflat(Tensor self, int offset=0) -> Tensor",
        meaning("return aten.diag(aten.reshape(%self, [numel(%self)]), $offset)",
                row_of(movement, rule::diagflat, make::diagflat)));

  constexpr std::string_view kShuffle = R"(
    $n = rank(%self) - 3
    $lead = first(shape(%self), $n)
    $f = $upscale_factor
    %x = aten.reshape(%self, concat($lead, [size(%self, -3) // ($f * $f), $f, $f, size(%self, -2), size(%self, -1)]))
    %x = aten.permute(%x, concat(range(0, $n), [$n, $n + 3, $n + 1, $n + 4, $n + 2]))
    $sizes = concat($lead, [size(%x, $n), size(%self, -2) * $f, size(%self, -1) * $f])
    return aten.reshape(aten.clone(%x, memory_format=contiguous_format), $sizes))";
  t.row("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
        with(meaning(kShuffle, except(kShuffled, row_of(movement, rule::pixel_shuffle, make::pixel_shuffle,
                                                        "channels that are no multiple of the factor's square"))),
             kCopied));
  constexpr std::string_view kUnshuffle = R"(
    if numel(%self) == 0 { return aten.clone(%self) }
    $n = rank(%self) - 3
    $lead = first(shape(%self), $n)
    $f = $downscale_factor
    $h = size(%self, -2) // $f
    $w = size(%self, -1) // $f
    %x = aten.reshape(%self, concat($lead, [size(%self, -3), $h, $f, $w, $f]))
    %x = aten.permute(%x, concat(range(0, $n), [$n, $n + 2, $n + 4, $n + 1, $n + 3]))
    return aten.reshape(aten.clone(%x, memory_format=contiguous_format), concat($lead, [size(%self, -3) * $f * $f, $h, $w])))";
  t.row("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
        with(meaning(
                 kUnshuffle,
                 except("channels-last: the CPU keeps it, libtorch's meta device says contiguous; of an empty tensor "
                        "the CPU returns a clone, shape and all; channels-last it has no kernel for float8, which its "
                        "meaning does not ask: `not implemented for 'Float8`",
                        row_of(movement, rule::pixel_unshuffle, make::pixel_unshuffle,
                               "a height or width that is no multiple of the factor"))),
             kCopied));
  const Row shuffle = meaning(R"(
        if result_is_view() { return %self }
        $c = size(%self, 1)
        %x = aten.reshape(%self, concat([size(%self, 0), $groups, $c // $groups], drop(shape(%self), 2)))
        %y = aten.clone(aten.transpose(%x, 1, 2), memory_format=contiguous_format)
        return aten.view(%y, shape(%self)))",
                              row_of(maybe_view | movement, rule::channel_shuffle, make::channel_shuffle,
                                     "channels that are no multiple of the groups"));
  t.row(
      "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
      with(except("eager has no float8 kernel but for what it views, which its meaning does not ask: `channel_shuffle`",
                  shuffle),
           kCopied));
  t.row(
      "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
      except(
          "libtorch's meta device reshapes, and may return a view where the CPU copies; eager has no float8 kernel but "
          "for what it views, which its meaning does not ask: `channel_shuffle`",
          shuffle));
}

void repetitions(RowSink& t) {
  t.row("repeat(Tensor self, SymInt[] repeats) -> Tensor",
        meaning(R"(
          $n = len($repeats)
          $sizes = concat(list($n - rank(%self), 1), shape(%self))
          %x = aten.reshape(%self, each(range(0, 2 * $n), %i, choose(%i % 2 == 0, 1, at($sizes, %i // 2))))
          %y = aten.expand(%x, each(range(0, 2 * $n), %i,
              choose(%i % 2 == 0, at($repeats, %i // 2), at($sizes, %i // 2))))
          return aten.view(aten.clone(%y, memory_format=contiguous_format), result_shape()))",
                with(copying(row_of(movement, rule::repeat, make::repeat, "fewer repeats than dims, or negative ones")),
                     kCopied)));
  t.row("tile(Tensor self, SymInt[] dims) -> Tensor",
        meaning(R"($missing = rank(%self) - len($dims)
                   if $missing > 0 { return aten.repeat(%self, concat(list($missing, 1), $dims)) }
                   return aten.repeat(%self, $dims))",
                copying(row_of(movement, rule::tile, make::repeat, "negative repeats"))));
  const Row interleave =
      row_of(movement, rule::repeat_interleave, make::repeat_interleave, "repeats of another size than the dim");
  t.row("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        meaning(R"(if given($dim) { %x = %self } else { %x = aten.reshape(%self, [numel(%self)]) }
                   if given($dim) { $d = wrap($dim, rank(%self)) } else { $d = 0 }
                   %rows = aten.unsqueeze(%x, $d + 1)
                   $sizes = concat(first(shape(%rows), $d + 1), concat([$repeats], drop(shape(%rows), $d + 2)))
                   %all = aten.clone(aten.expand(%rows, $sizes), memory_format=contiguous_format)
                   return aten.view(%all, concat(first(shape(%x), $d), concat([size(%x, $d) * $repeats],
                                                                             drop(shape(%x), $d + 1)))))",
                interleave));
  constexpr std::string_view kSum = "the values of repeats decide: `allocated size does not match required size`";
  constexpr std::string_view kRepeats = "repeats in [0, 3]";
  Row by_tensor = interleave;
  by_tensor.exception = kSum;
  by_tensor.wants = kRepeats;
  by_tensor.traits = movement | data_dependent | core;
  by_tensor.loops = kRepeatInterleaveLoops;
  t.row(
      "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> "
      "Tensor",
      by_tensor);
  Row indices = of(DtypeSet::of(Dtype::i32, Dtype::i64), row_of(data_dependent | core, rule::repeats_to_indices,
                                                                make::repeats, "repeats that are no vector"));
  indices.exception = kSum;
  indices.loops = kRepeatsLoops;
  indices.wants = kRepeats;
  t.row("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", indices);
  t.row("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
        of(dtypes::floats | dtypes::complexes | dtypes::boolean,
           meaning(R"(
             $kernel = choose(len($kernel_size) == 1, list(2, at($kernel_size, 0)), $kernel_size)
             $apart = choose(len($dilation) == 1, list(2, at($dilation, 0)), $dilation)
             $pad = choose(len($padding) == 1, list(2, at($padding, 0)), $padding)
             $step = choose(len($stride) == 1, list(2, at($stride, 0)), $stride)
             $span = each([0, 1], %k, at($apart, %k) * (at($kernel, %k) - 1) + 1)
             $n = rank(%self) - 2
             %x = aten.constant_pad_nd(%self, [at($pad, 1), at($pad, 1), at($pad, 0), at($pad, 0)], 0)
             %x = aten.unfold(%x, $n, at($span, 0), at($step, 0))
             %x = aten.unfold(%x, $n + 1, at($span, 1), at($step, 1))
             %x = aten.slice(%x, $n + 2, 0, at($span, 0), at($apart, 0))
             %x = aten.slice(%x, $n + 3, 0, at($span, 1), at($apart, 1))
             %x = aten.permute(%x, concat(range(0, $n), [$n + 2, $n + 3, $n, $n + 1]))
             return aten.view(aten.clone(%x, memory_format=contiguous_format), result_shape()))",
                   row_of(movement, rule::im2col, make::im2col, "a window that does not fit"))));
  Row col2im = of(dtypes::floats | dtypes::complexes | dtypes::boolean,
                  row_of(core, rule::col2im, make::col2im, "sizes that im2col does not make"));
  col2im.accuracy = Accuracy::accumulated;
  col2im.flow.in_storage = "always";
  col2im.loops = kCol2imLoops;
  t.row(
      "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
      "-> Tensor",
      col2im);
  Row kron = row_of({}, rule::kron, make::kron, "layouts that its view of blocks does not fit");
  kron.accuracy = Accuracy::rounded;
  t.row("kron(Tensor self, Tensor other) -> Tensor", meaning(R"(
    $n = max(rank(%self), rank(%other))
    $a = concat(list($n - rank(%self), 1), shape(%self))
    $b = concat(list($n - rank(%other), 1), shape(%other))
    %x = aten.reshape(%self, each(range(0, 2 * $n), %i, choose(%i % 2 == 0, at($a, %i // 2), 1)))
    %y = aten.reshape(%other, each(range(0, 2 * $n), %i, choose(%i % 2 == 1, at($b, %i // 2), 1)))
    return aten.reshape(aten.mul(%x, %y), each(range(0, $n), %i, at($a, %i) * at($b, %i))))",
                                                             kron));
  Row vander = of(kUsual, row_of({}, rule::vander, make::vander, "no vector"));
  vander.accuracy = Accuracy::accumulated;
  t.row("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", meaning(R"(
    if given($N) { $n = $N } else { $n = size(%x, 0) }
    if is_integral(%x) { %base = aten._to_copy(%x, dtype=i64) } else { %base = %x }
    %ones = aten.ones([size(%x, 0), min($n, 1)], dtype=dtype(%base), device=device(%x))
    %factors = aten.expand(aten.unsqueeze(%base, 1), [size(%x, 0), max($n - 1, 0)])
    %y = aten.cumprod(aten.cat([%ones, %factors], 1), 1)
    if $increasing { return %y }
    return aten.flip(%y, [1]))",
                                                                                  vander));
}

void joins(RowSink& t) {
  constexpr std::string_view kShapes = "no tensors, or shapes that don't join";
  Row join = copying(row_of(movement, rule::cat, make::cat, kShapes));  // of all that there is, then
  join.dims_of_result = true;                                           // an operand may be a bare [0]
  Row cat = join;
  cat.traits = movement | core;
  cat.loops = kCatLoops;
  t.row("cat(Tensor[] tensors, int dim=0) -> Tensor", with(cat, kOut));
  t.rows("{}(Tensor[] tensors, int dim=0) -> Tensor", "concat concatenate",
         with(meaning("return aten.cat(%tensors, $dim)", join), kOut));
  Row stack = row_of(movement, rule::stack, make::stack, kShapes);
  stack.dims_of_result = true;
  t.row("stack(Tensor[] tensors, int dim=0) -> Tensor",
        with(meaning("return aten.cat(each(%tensors, %t, aten.unsqueeze(%t, $dim)), $dim)", stack), kOut));
  auto list = [&](std::string_view names, void (*infer)(Infer&), Make generate, Variants variants,
                  std::string_view definition) {
    t.rows("{}(Tensor[] tensors) -> Tensor", names,
           with(meaning(definition, row_of(Traits(movement), infer, generate, kShapes)), variants));
  };
  list("hstack", rule::hstack, make::joined<1, 1>, kOut, R"(
    if rank(at(%tensors, 0)) <= 1 { return aten.cat(each(%tensors, %t, aten.atleast_1d(%t)), 0) }
    return aten.cat(%tensors, 1))");
  list("vstack", rule::vstack, make::joined<2, 0>, kOut, "return aten.cat(each(%tensors, %t, aten.atleast_2d(%t)), 0)");
  t.row(
      "row_stack(Tensor[] tensors) -> Tensor",
      with(meaning("return aten.vstack(%tensors)", row_of(movement, rule::vstack, make::joined<2, 0>, kShapes)), kOut));
  list("dstack", rule::dstack, make::joined<3, 2>, kOut, "return aten.cat(each(%tensors, %t, aten.atleast_3d(%t)), 2)");
  list("column_stack", rule::column_stack, make::column_stack, kOut, R"(
    return aten.cat(each(%tensors, %t, choose(rank(%t) <= 1, aten.reshape(%t, [numel(%t), 1]), %t)), 1))");
  t.row("block_diag(Tensor[] tensors) -> Tensor",
        meaning(R"(
          $widths = each(%tensors, %t, choose(rank(%t) == 0, 1, size(%t, -1)))
          $heights = each(%tensors, %t, choose(rank(%t) == 2, size(%t, 0), 1))
          %rows = each(range(0, len($widths)), %k, aten.constant_pad_nd(
              aten.reshape(aten._to_copy(at(%tensors, %k), dtype=result_dtype()), [at($heights, %k), at($widths, %k)]),
              [sum(first($widths, %k)), sum(drop($widths, %k + 1))], 0))
          return aten.cat(%rows, 0))",
                with(row_of(movement, rule::block_diag, make::block_diag, kShapes), kCopied)));
  t.row("cartesian_prod(Tensor[] tensors) -> Tensor",
        meaning(R"(
          if len(%tensors) == 1 { return at(%tensors, 0) }
          $sizes = each(%tensors, %t, numel(%t))
          $n = len($sizes)
          %columns = each(range(0, $n), %k, aten.reshape(
              aten.expand(aten.reshape(at(%tensors, %k),
                                       each(range(0, $n), %j, choose(%j == %k, at($sizes, %k), 1))), $sizes),
              [product($sizes)]))
          return aten.stack(%columns, 1))",
                row_of(maybe_view | movement, rule::cartesian_prod, make::cartesian_prod, "not vectors of one dtype")));
  t.row("atleast_1d(Tensor self) -> Tensor", meaning(R"(if rank(%self) == 0 { return aten.view(%self, [1]) }
                                                       return %self)",
                                                     row_of(view | movement, rule::atleast<1>, make::unary)));
  t.row("atleast_2d(Tensor self) -> Tensor", meaning(R"(if rank(%self) == 0 { return aten.view(%self, [1, 1]) }
                                                       if rank(%self) == 1 { return aten.unsqueeze(%self, 0) }
                                                       return %self)",
                                                     row_of(view | movement, rule::atleast<2>, make::unary)));
  t.row("atleast_3d(Tensor self) -> Tensor", meaning(R"(if rank(%self) == 0 { return aten.view(%self, [1, 1, 1]) }
                   if rank(%self) == 1 { return aten.unsqueeze(aten.unsqueeze(%self, 0), -1) }
                   if rank(%self) == 2 { return aten.unsqueeze(%self, -1) }
                   return %self)",
                                                     row_of(view | movement, rule::atleast<3>, make::unary)));
}

// Fewer dims are three, of which the others have one element and no padding.
struct InMoreDims {
  std::string_view reflect, replicate, reflect_backward, replicate_backward;
};
#define LENZ_PADDED(name, more, none, less) \
  "return aten.squeeze(aten." name "_pad3d(" more("%self") ", concat($padding, " none ")), " less ")"
#define LENZ_PADDED_BACKWARD(name, more, none, less) \
  "return aten.squeeze(aten." name                   \
  "_pad3d_backward(" more("%grad_output") ", " more("%self") ", concat($padding, " none ")), " less ")"
#define LENZ_OF_LINES(x) "aten.unsqueeze(aten.unsqueeze(" x ", -2), -2)"
#define LENZ_OF_PLANES(x) "aten.unsqueeze(" x ", -3)"
#define LENZ_IN_MORE(...)                                                           \
  {LENZ_PADDED("reflection", __VA_ARGS__), LENZ_PADDED("replication", __VA_ARGS__), \
   LENZ_PADDED_BACKWARD("reflection", __VA_ARGS__), LENZ_PADDED_BACKWARD("replication", __VA_ARGS__)}
template <size_t Dims>
constexpr InMoreDims kInMoreDims = Dims == 1 ? InMoreDims LENZ_IN_MORE(LENZ_OF_LINES, "[0, 0, 0, 0]", "[-3, -2]")
                                             : InMoreDims LENZ_IN_MORE(LENZ_OF_PLANES, "[0, 0]", "[-3]");
#undef LENZ_IN_MORE
#undef LENZ_OF_PLANES
#undef LENZ_OF_LINES
#undef LENZ_PADDED_BACKWARD
#undef LENZ_PADDED

template <size_t Dims, bool Reflect>
void edge_pads(RowSink& t, std::string_view forward, std::string_view backward) {
  Row row = of(dtypes::real | dtypes::complexes, row_of(movement, rule::edge_pad<Dims, Reflect>,
                                                        make::edge_pad<Dims, Reflect>, "paddings that don't fit"));
  row.loops = Dims < 3 ? std::string_view() : Reflect ? kReflectionPadLoops : kReplicationPadLoops;
  row.decompose = Dims == 3 ? std::string_view() : Reflect ? kInMoreDims<Dims>.reflect : kInMoreDims<Dims>.replicate;
  // Eager gives the out= tensors of the others strides that depend on more than the result.
  row.exception =
      Dims == 3 || (Dims == 2 && !Reflect) ? kFormat : "an empty batch goes unchecked: `negative paddings take more`";
  if (Dims == 1) row.variants = {.out = "out", .out_rule = OutRule::copied};
  t.row(forward, row);
  Row gradient = row;
  gradient.loops = Dims < 3 ? std::string_view() : Reflect ? kReflectionPadBackwardLoops : kReplicationPadBackwardLoops;
  gradient.decompose = Dims == 3 ? std::string_view()
                       : Reflect ? kInMoreDims<Dims>.reflect_backward
                                 : kInMoreDims<Dims>.replicate_backward;
  gradient.variants = {};
#define LENZ_UNCHECKED                                                                                                 \
  "eager forgets to check: `the gradient has another shape than the result`, and, over an empty batch, `the gradient " \
  "has another dtype`, `the gradient has another rank than the result`, `needs a pair of paddings for each padded "    \
  "dim`, "                                                                                                             \
  "`only the batch may be empty`; in 1-D it takes self's last dims for all: `needs one dim of channels, and perhaps`"
  gradient.exception = Dims == 3 && Reflect
                           ? "channels-last: the CPU keeps it, libtorch's meta device says contiguous; " LENZ_UNCHECKED
                           : LENZ_UNCHECKED;
#undef LENZ_UNCHECKED
  gradient.traits = {};
  gradient.infer = rule::edge_pad_backward<Dims, Reflect>;
  gradient.generate = make::edge_pad<Dims, Reflect, true>;
  gradient.dtypes = dtypes::floats | dtypes::complexes;
  gradient.accuracy = Accuracy::accumulated;
  gradient.flow.in_storage = "always";
  gradient.raises = "a gradient of another shape than the result";
  if (Dims == 1) gradient.variants = {.out = "grad_input", .out_params = "grad_input", .out_rule = OutRule::copied};
  t.row(backward, gradient);
}

void paddings(RowSink& t) {
  constexpr std::string_view kRaises = "paddings that leave nothing, or don't fit the rank";
  t.row(
      "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
      fitting("value:result/pad",
              with(looped(kConstantPadLoops, row_of(movement | core, rule::constant_pad, make::constant_pad, kRaises)),
                   kCopied)));
  t.row("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
        meaning(
            R"($dims = len($pad) // 2
                   if $mode == "constant" {
                     if given($value) { return aten.constant_pad_nd(%self, $pad, $value) }
                     return aten.constant_pad_nd(%self, $pad)
                   }
                   if $mode == "circular" { return aten._pad_circular(%self, $pad) }
                   if $mode == "reflect" {
                     if $dims == 1 { return aten.reflection_pad1d(%self, $pad) }
                     if $dims == 2 { return aten.reflection_pad2d(%self, $pad) }
                     return aten.reflection_pad3d(%self, $pad)
                   }
                   if $dims == 1 { return aten.replication_pad1d(%self, $pad) }
                   if $dims == 2 { return aten.replication_pad2d(%self, $pad) }
                   return aten.replication_pad3d(%self, $pad))",
            fitting("value:result/pad",
                    except("channels-last: the CPU keeps it, libtorch's meta device says contiguous; " LENZ_GOES_ROUND,
                           row_of(movement, rule::pad, make::pad, kRaises)))));
  t.row("_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
        except(LENZ_GOES_ROUND, meaning(R"(
            $n = len($pad) // 2
            $lead = rank(%self) - $n
            if is_constant($pad) {
              if $n < 5 and sum(each($pad, %p, min(%p, 0))) == 0 {
                %y = %self
                if $n > 0 { )" LENZ_GONE_ROUND("0") R"( }
                if $n > 1 { )" LENZ_GONE_ROUND("1") R"( }
                if $n > 2 { )" LENZ_GONE_ROUND("2") R"( }
                if $n > 3 { )" LENZ_GONE_ROUND("3") R"( }
                return %y
              }
            }
            $sizes = drop(shape(%self), $lead)
            %places = each(range(0, $n), %k, aten.reshape(aten.sub(aten.remainder(
                aten.sub(aten.arange(at(result_shape(), $lead + %k), device=device(%self)),
                         max(at($pad, 2 * ($n - 1 - %k)), 0)),
                max(at($sizes, %k) + min(at($pad, 2 * ($n - 1 - %k)), 0) + min(at($pad, 2 * ($n - %k) - 1), 0), 1)),
                min(at($pad, 2 * ($n - 1 - %k)), 0)), concat([at(result_shape(), $lead + %k)], list($n - 1 - %k, 1))))
            return aten.index.Tensor(%self, concat(list($lead, none), %places)))",
                                        row_of(movement, rule::circular_pad, make::circular_pad, kRaises))));
  t.row(
      "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") "
      "-> Tensor",
      meaning(
          R"(
        $most = at(result_shape(), choose($batch_first, 1, 0))
        %rows = each(%sequences, %x, aten.expand(aten.to(%x, result_dtype()),
            concat([size(%x, 0)], drop(shape(at(%sequences, 0)), 1))))
        %padded = each(%rows, %x, aten.constant_pad_nd(%x, concat(list(2 * (rank(%x) - 1), 0),
            choose($padding_side == "left", [$most - size(%x, 0), 0], [0, $most - size(%x, 0)])), $padding_value))
        return aten.stack(%padded, choose($batch_first, 0, 1)))",
          except("libtorch's meta device has no kernels that could lack one for what is lazily negated",
                 fitting("padding_value:filled", row_of(movement, rule::pad_sequence, make::pad_sequence,
                                                        "shapes that differ in more than the first dim")))));
  edge_pads<1, true>(t, "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
                     "reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor");
  edge_pads<2, true>(t, "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
                     "reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor");
  edge_pads<3, true>(t, "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
                     "reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor");
  edge_pads<1, false>(t, "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
                      "replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor");
  edge_pads<2, false>(t, "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
                      "replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor");
  edge_pads<3, false>(t, "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
                      "replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor");
}
}  // namespace

void movement_rows(RowSink& t) {
  copies(t);
  reorderings(t);
  repetitions(t);
  joins(t);
  paddings(t);
}

}  // namespace lenz
