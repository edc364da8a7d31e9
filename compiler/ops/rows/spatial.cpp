// Pooling and interpolation.
#include <array>

#include "compiler/ops/decompose.h"
#include "compiler/ops/make/spatial.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/interpolation_loops.h"
#include "compiler/ops/rows/spatial_loops.h"
#include "compiler/ops/rules/spatial.h"

namespace lenz {

namespace {
using enum Trait;

// Pools of planes are pools of volumes one plane deep.
#define LENZ_PAIR(x) "choose(len(" x ") == 1, list(2, at(" x ", 0)), " x ")"
#define LENZ_DEEP \
  "$kernel = concat([1], " LENZ_PAIR("$kernel_size") ") "                               \
  "$step = choose(len($stride) == 0, $stride, concat([1], " LENZ_PAIR("$stride") ")) " \
  "$pad = concat([0], " LENZ_PAIR("$padding") ") "

void max_pools(RowSink& t) {
  Row pool{.traits = reduction,
           .infer = rule::max_pool,
           .generate = make::pool,
           .dtypes = dtypes::real,
           .raises = "padding beyond half the kernel; an output that would be empty"};
  t.row(
      "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
      "ceil_mode=False) -> Tensor",
      meaning("%y, %i = aten.max_pool2d_with_indices(%self, $kernel_size, $stride, $padding, $dilation, $ceil_mode) "
              "return %y",
              pool));
  t.row(
      "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool "
      "ceil_mode=False) -> Tensor",
      meaning("%y, %i = aten.max_pool3d_with_indices(%self, $kernel_size, $stride, $padding, $dilation, $ceil_mode) "
              "return %y",
              pool));
  pool.dtypes = dtypes::floats;
  pool.exception = "the meta device runs it as a 2-D pool, with the strides of that";
  t.row(
      "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
      "ceil_mode=False) -> Tensor",
      meaning("%y, %i = aten.max_pool1d_with_indices(%self, $kernel_size, $stride, $padding, $dilation, $ceil_mode) "
              "return %y",
              pool));
  pool.exception = {};
  pool.infer = rule::max_pool_with_indices;
  pool.dtypes = dtypes::real;
  t.row(
      "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] "
      "dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
      meaning(R"(
        %y, %i = aten.max_pool2d_with_indices(aten.unsqueeze(%self, -2), concat([1], $kernel_size),
            choose(len($stride) == 0, [], concat([1], $stride)), concat([0], $padding), concat([1], $dilation), $ceil_mode)
        return aten.squeeze(%y, -2), aten.squeeze(%i, -2))",
              pool));
  pool.variants = {.out = "out", .out_params = "out indices", .out_rule = OutRule::same_dtype};
  pool.decompose = LENZ_DEEP R"(
    %y, %i = aten.max_pool3d_with_indices(aten.unsqueeze(%self, -3), $kernel, $step, $pad,
        concat([1], )" LENZ_PAIR("$dilation") R"(), $ceil_mode)
    return aten.squeeze(%y, -3), aten.squeeze(%i, -3))";
  t.row(
      "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
      "bool ceil_mode=False) -> (Tensor, Tensor)",
      pool);
  pool.variants = {};  // its out= variant lays out a given tensor anew
  pool.decompose = {};
  pool.loops = kMaxPool3dLoops;
  t.row(
      "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
      "bool ceil_mode=False) -> (Tensor, Tensor)",
      pool);
  t.row(
      "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] "
      "padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
      {.variants = {.out = "grad_input", .out_params = "grad_input", .out_rule = OutRule::same_dtype},
       .traits = indexing,
       .infer = rule::pool_backward,
       .generate = make::max_pool_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::accumulated,
       .decompose = R"(
         $lead = first(shape(%self), rank(%self) - 2)
         $windows = concat($lead, [product(last(shape(%indices), 2))])
         %zeros = aten.full(concat($lead, [product(last(shape(%self), 2))]), 0, dtype=dtype(%self), device=device(%self))
         %y = aten.scatter_add(%zeros, -1, aten.reshape(%indices, $windows), aten.reshape(%grad_output, $windows))
         return aten.view(%y, shape(%self)))",
       .wants = "indices < self[-2] * self[-1]"});
  // Elements go back to where they were the greatest of their windows; of no places nobody looks at an index.
  Row unpool{.traits = indexing,
             .infer = rule::max_unpool,
             .generate = make::max_unpool,
             .dtypes = dtypes::floats,
             .raises = "an index out of range; shapes that don't fit",
             .decompose = R"(
               $lead = first(shape(%self), rank(%self) - len($output_size))
               $n = product(last(shape(%self), len($output_size)))
               if product($output_size) == 0 {
                 return aten.full(concat($lead, $output_size), 0, dtype=dtype(%self), device=device(%self))
               }
               %zeros = aten.full(concat($lead, [product($output_size)]), 0, dtype=dtype(%self), device=device(%self))
               %from = aten.reshape(%self, concat($lead, [$n]))
               %y = aten.scatter(%zeros, -1, aten.reshape(%indices, concat($lead, [$n])), %from)
               return aten.view(%y, concat($lead, $output_size)))",
             .exception = "values decide: `invalid max index`; of nothing any size will do: `a size is negative`"};
  // Their out= tensors have to be contiguous, or are made so: not derivable.
  t.row("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", unpool);
  t.row("max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
        unpool);
}

void avg_pools(RowSink& t) {
  constexpr DtypeSet kAveraged = dtypes::floats | DtypeSet::of(Dtype::i64);
  Row pool{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
           .traits = reduction,
           .infer = rule::avg_pool,
           .generate = make::pool,
           .dtypes = kAveraged,
           .accuracy = Accuracy::accumulated,
           .flow = {.terms = ErrorFlow::windowed},
           .raises = "padding beyond half the kernel; an output that would be empty"};
  pool.variants.out_rule = OutRule::copied;
  t.row(
      "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
      "count_include_pad=True) -> Tensor",
      meaning(R"(
        %y = aten.avg_pool2d(aten.unsqueeze(%self, -2), concat([1], $kernel_size),
            choose(len($stride) == 0, [], concat([1], $stride)), concat([0], $padding), $ceil_mode, $count_include_pad)
        return aten.squeeze(%y, -2))",
              pool));
  pool.variants.out_rule = OutRule::same_dtype;
  // Narrow floats have no kernel of volumes, and an image smaller than the window has none: around it zeros are
  // written out, and what counts is counted; a window of zeros alone has none.
  pool.decompose = LENZ_DEEP R"(
    $d = compute_dtype(%self)
    %x = choose($d == dtype(%self), %self, aten._to_copy(%self, dtype=$d))
    if not is_open(numel(%x)) and (size(%x, -2) < at($kernel, 1) or size(%x, -1) < at($kernel, 2)) {
      $top = at($pad, 1) $left = at($pad, 2)
      $around = [$left, $left, $top, $top]
      $beyond = [0, max(0, at($kernel, 2) - size(%x, -1) - 2 * $left), 0, max(0, at($kernel, 1) - size(%x, -2) - 2 * $top)]
      %z = aten.constant_pad_nd(aten.constant_pad_nd(%x, $around, 0), $beyond, 0)
      %sums = aten.avg_pool3d(aten.unsqueeze(%z, -3), $kernel, $step, [0, 0, 0], $ceil_mode, true, 1)
      if given($divisor_override) { $n = $divisor_override } else {
        %o = aten.constant_pad_nd(aten.ones_like(%x), $around, choose($count_include_pad, 1, 0))
        %o = aten.unsqueeze(aten.constant_pad_nd(%o, $beyond, 0), -3)
        $n = aten.clamp_min(aten.avg_pool3d(%o, $kernel, $step, [0, 0, 0], $ceil_mode, true, 1), 1)
      }
      %all = choose(is_integral(%x), aten.div(%sums, $n, rounding_mode="trunc"), aten.div(%sums, $n))
      %high = aten.slice(aten.squeeze(%all, -3), -2, 0, at(result_shape(), -2))
      %y = aten.slice(%high, -1, 0, at(result_shape(), -1))
    } else {
      %y = aten.squeeze(aten.avg_pool3d(aten.unsqueeze(%x, -3), $kernel, $step, $pad, $ceil_mode, $count_include_pad,
                                        $divisor_override), -3)
    }
    return choose($d == dtype(%self), %y, aten._to_copy(%y, dtype=dtype(%self))))";
  t.row(
      "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      pool);
  pool.dtypes = dtypes::wide_floats | DtypeSet::of(Dtype::i64);
  pool.decompose = {};
  pool.loops = kAvgPool3dLoops;
  t.row(
      "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      pool);
  t.row(
      "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool "
      "ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
      {.variants = {.out = "grad_input", .out_params = "grad_input", .out_rule = OutRule::same_dtype},
       .traits = core,
       .infer = rule::pool_backward,
       .generate = make::avg_pool_backward,
       .dtypes = kAveraged,
       .accuracy = Accuracy::accumulated,
       .flow = {.terms = ErrorFlow::windowed, .in_storage = "always"},
       .loops = kAvgPoolBackwardLoops,
       .exception = "eager forgets to check the batch: `the gradient is of another shape than the result`"});
}

void adaptive_pools(RowSink& t) {
  Row pool{.traits = reduction,
           .infer = rule::adaptive_avg_pool,
           .generate = make::adaptive_pool,
           .dtypes = dtypes::floats,
           .accuracy = Accuracy::accumulated,
           .flow = {.terms = ErrorFlow::windowed},
           .raises = "an empty input",
           .exception =
               "where its channels alone are empty eager goes on: `must not be empty`; to one place it takes "
               "means, of c64 and c128 too, and of no "
               "batch any size will do: `must not be negative`"};
  t.row("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
        meaning(
            "return aten.squeeze(aten._adaptive_avg_pool2d(aten.unsqueeze(%self, -2), concat([1], $output_size)), -2)",
            pool));
  t.row("adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
        meaning("if product($output_size) == 1 { return aten.mean.dim(%self, [-2, -1], true) } "
                "return aten._adaptive_avg_pool2d(%self, $output_size)",
                pool));
  t.row("_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
        meaning("$d = compute_dtype(%self) "
                "%x = choose($d == dtype(%self), %self, aten._to_copy(%self, dtype=$d)) "
                "%y = aten.squeeze(aten._adaptive_avg_pool3d(aten.unsqueeze(%x, -3), concat([1], " LENZ_PAIR(
                    "$output_size") ")), -3) "
                                    "return choose($d == dtype(%self), %y, aten._to_copy(%y, dtype=dtype(%self)))",
                pool));
  pool.flow.in_storage = "always";  // of volumes alone
  t.row("adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
        meaning("if product($output_size) == 1 { return aten.mean.dim(%self, [-3, -2, -1], true) } "
                "return aten._adaptive_avg_pool3d(%self, $output_size)",
                pool));
  pool.loops = kAdaptiveAvgPool3dLoops;
  t.row("_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", pool);
  pool.infer = rule::adaptive_max_pool;
  pool.accuracy = Accuracy::exact;
  pool.flow = {};
  pool.loops = {};
  pool.exception = "of an empty batch any size will do for out=: `must not be negative (needs`";
  t.row("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
        meaning("%y, %i = aten.adaptive_max_pool2d(aten.unsqueeze(%self, -2), concat([1], $output_size)) return "
                "aten.squeeze(%y, -2), aten.squeeze(%i, -2)",
                pool));
  pool.variants = {.out = "out", .out_params = "out indices", .out_rule = OutRule::same_dtype};
  t.row("adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
        meaning("%y, %i = aten.adaptive_max_pool3d(aten.unsqueeze(%self, -3), concat([1], " LENZ_PAIR(
                    "$output_size") ")) return aten.squeeze(%y, -3), aten.squeeze(%i, -3)",
                pool));
  pool.loops = kAdaptiveMaxPool3dLoops;
  t.row("adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", pool);
  t.row("_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
        {.traits = core,
         .infer = rule::pool_backward,
         .generate = make::adaptive_pool_backward,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::accumulated,
         .flow = {.terms = ErrorFlow::windowed, .in_storage = "always"},
         .loops = kAdaptiveAvgPoolBackwardLoops,
         .exception = "eager forgets to check, and writes out of its bounds: `the gradient has another batch or other "
                      "channels`, `a spatial dim of the input is empty`"});
}

#undef LENZ_DEEP
#undef LENZ_PAIR

// Of three channels it reads one pixel as channels-last, and finds that odd.
#define LENZ_ONE_PIXEL \
  "eager's kernels of u8 fail to make one pixel of 3 channels: `num_channels == unpacked_output.size(0)`"
constexpr std::string_view kOnePixel = LENZ_ONE_PIXEL;

void interpolations(RowSink& t) {
  constexpr DtypeSet kBytes = DtypeSet::of(Dtype::u8);
  Row row{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
          .traits = indexing | core,
          .infer = rule::upsample,
          .generate = make::upsample,
          .dtypes = dtypes::floats | kBytes,
          .raises = "an empty input or output"};
  constexpr std::pair<std::string_view, std::array<std::string_view, 2>> kNearest[] = {
      {"upsample_nearest", {kNearest2dLoops, kNearest3dLoops}},
      {"_upsample_nearest_exact", {kNearestExact2dLoops, kNearestExact3dLoops}}};
  for (const auto& [name, loops] : kNearest) {
    std::string deep = "return aten.squeeze(aten." + std::string(name) +
                       "3d(aten.unsqueeze(aten.unsqueeze(%self, -2), -2), concat([1, 1], $output_size), none, none, "
                       "$scales), [-3, -2])";
    row.loops = {};
    t.rows("{}1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", name, meaning(deep, row));
    row.loops = loops[0];
    t.rows("{}2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", name, row);
    row.loops = loops[1];
    t.rows(
        "{}3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> "
        "Tensor",
        name, row);
  }
  row.accuracy = Accuracy::composed;
  row.flow = {.kind = ErrorFlow::interpolated};
  row.exception = kOnePixel;
  auto planar = [&](std::string_view name, std::string_view loops) {
    row.loops = loops;
    t.rows(
        "{}(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
        "Tensor",
        name, row);
  };
  const ErrorFlow anywhere = row.flow, neighbours{.kind = anywhere.kind, .terms = ErrorFlow::windowed};
  row.flow = neighbours;
  planar("upsample_bilinear2d", kBilinear2dLoops);
  row.flow = anywhere;
  planar("upsample_bicubic2d", kBicubic2dLoops);
  row.dtypes = dtypes::wide_floats | kBytes;
  planar("_upsample_bilinear2d_aa", kBilinearAaLoops);
  planar("_upsample_bicubic2d_aa", kBicubicAaLoops);
  row.dtypes = dtypes::floats;
  row.exception = {};
  row.flow = neighbours;
  row.loops = kLinear1dLoops;
  t.row("upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor", row);
  row.loops = kTrilinear3dLoops;
  t.row(
      "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? "
      "scales_h=None, float? scales_w=None) -> Tensor",
      row);

  Row vec{.traits = indexing,
          .infer = rule::upsample_vec,
          .generate = make::upsample_vec,
          .dtypes = dtypes::floats | kBytes,
          .accuracy = Accuracy::composed,
          .raises = "neither or both of output_size and scale_factors"};
  // Each is a call of the op above with a size; factors give one, and stay as scales.
  auto with_factors = [&](std::string_view name, std::initializer_list<std::string_view> scales, bool aligns) {
    std::string text =
        "if given($output_size) { $size = $output_size } else { $size = each(range(0, len($scale_factors)), %i, "
        "scaled(size(%input, %i + 2), at($scale_factors, %i))) } return aten." +
        std::string(name) + "(%input, $size" + (aligns ? ", $align_corners" : "");
    int i = 0;
    for (std::string_view scale : scales)
      text += ", " + std::string(scale) + "=choose(given($scale_factors), at($scale_factors, " + std::to_string(i++) +
              "), none)";
    text += ")";
    t.row(std::string(name) + ".vec(Tensor input, SymInt[]? output_size, " + (aligns ? "bool align_corners, " : "") +
              "float[]? scale_factors) -> Tensor",
          meaning(text, vec));
  };
  for (std::string_view name : {"upsample_nearest1d", "_upsample_nearest_exact1d"})
    with_factors(name, {"scales"}, false);
  for (std::string_view name : {"upsample_nearest2d", "_upsample_nearest_exact2d"})
    with_factors(name, {"scales_h", "scales_w"}, false);
  for (std::string_view name : {"upsample_nearest3d", "_upsample_nearest_exact3d"})
    with_factors(name, {"scales_d", "scales_h", "scales_w"}, false);
  vec.exception = kOnePixel;
  for (std::string_view name : {"upsample_bilinear2d", "upsample_bicubic2d"})
    with_factors(name, {"scales_h", "scales_w"}, true);
  vec.dtypes = dtypes::wide_floats | kBytes;
  vec.exception = LENZ_ONE_PIXEL "; at a scale of 1 it copies any dtype: `has no kernel for`";
  for (std::string_view name : {"_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"})
    with_factors(name, {"scales_h", "scales_w"}, true);
  vec.dtypes = dtypes::floats;
  vec.exception = {};
  with_factors("upsample_linear1d", {"scales"}, true);
  with_factors("upsample_trilinear3d", {"scales_d", "scales_h", "scales_w"}, true);

  Row grid{.traits = indexing | core,
           .infer = rule::grid_sampler,
           .generate = make::grid_sampler,
           .dtypes = dtypes::floats,
           .accuracy = Accuracy::composed,
           .flow = {.kind = ErrorFlow::interpolated},
           .raises = "shapes that don't fit"};
  grid.loops = kGridSampler2dLoops;
  t.row(
      "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
      "Tensor",
      grid);
  grid.loops = kGridSampler3dLoops;
  t.row(
      "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
      "Tensor",
      grid);
  grid.loops = {};
  grid.traits = indexing;
  grid.flow = {};
  grid.decompose = R"(
    if rank(%input) == 4 {
      return aten.grid_sampler_2d(%input, %grid, $interpolation_mode, $padding_mode, $align_corners)
    }
    return aten.grid_sampler_3d(%input, %grid, $interpolation_mode, $padding_mode, $align_corners))";
  t.row(
      "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
      grid);
  t.row("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
        {.infer = rule::affine_grid,
         .generate = make::affine_grid,
         .dtypes = dtypes::numbers,
         .accuracy = Accuracy::composed,
         .raises = "shapes that don't fit",
         .decompose = R"(
           $dims = len($size) - 2
           $d = dtype(%theta)
           $points = drop($size, 2)
           $shape = concat([at($size, 0)], concat($points, [1]))
           %lines = each(range(0, $dims), %i, choose(at($points, %i) <= 1,
               aten.zeros([at($points, %i)], dtype=$d, device=device(%theta)),
               choose($align_corners, aten.linspace(-1, 1, at($points, %i), dtype=$d, device=device(%theta)),
                   aten.div(aten.mul(aten.linspace(-1, 1, at($points, %i), dtype=$d, device=device(%theta)),
                       at($points, %i) - 1), at($points, %i)))))
           %sides = each(range(1, $dims + 1), %i, aten.expand(aten.reshape(aten._to_copy(at(%lines, $dims - %i), dtype=$d),
               concat(concat(list($dims - %i + 1, 1), [at($points, $dims - %i)]), list(%i, 1))), $shape))
           %one = aten.ones($shape, dtype=$d, device=device(%theta))
           %grid = aten.reshape(aten.cat(concat(%sides, [%one]), -1), [at($size, 0), product($points), $dims + 1])
           %y = aten.bmm(%grid, aten.transpose(%theta, 1, 2))
           return aten.view(%y, concat([at($size, 0)], concat($points, [$dims]))))"});
}
}  // namespace

void spatial_rows(RowSink& t) {
  max_pools(t);
  avg_pools(t);
  adaptive_pools(t);
  interpolations(t);
}

}  // namespace lenz
