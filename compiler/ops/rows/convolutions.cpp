// Convolutions, and what a batch, complex numbers and padding by name make of them.
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/contraction.h"
#include "compiler/ops/rows/contraction_loops.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/contraction.h"

namespace lenz {

// Which kernel eager picks decides more than speed.
#define LENZ_KERNELS                                                                                                  \
  "the meta kernel knows no channels-last; where strides fit both memory formats, or a kernel is of one element, "    \
  "the kernel that eager picks (by CPU and threads too) decides the result's; its slower kernels forget to compare "  \
  "the bias: `the operands must have one dtype`, and its faster ones that nothing comes out: `the output would be "   \
  "empty`; of no images they check less: `must be below stride` `must have the shape of the result`; in f16 its "     \
  "vector library dies of one narrow image under strides and dilations, and in bf16 its tiles of the matrix unit of " \
  "images one element deep, padded for a deeper kernel: `SIGSEGV in libtorch, on the CPU`"

namespace {
// The gradient of the input is the other kind of convolution. That of the weight convolves what each channel had with
// the gradients of the results, batches in the place of channels: strides and dilations change places, and what strides
// left over at the end is cut off.
constexpr std::string_view kBackward = R"(
  $n = rank(%input) - 2
  $s = choose(len($stride) == 1, list($n, at($stride, 0)), $stride)
  $p = choose(len($padding) == 1, list($n, at($padding, 0)), $padding)
  $d = choose(len($dilation) == 1, list($n, at($dilation, 0)), $dilation)
  %x = none %w = none %b = none
  if at($output_mask, 0) {
    if $transposed {
      %x = aten.convolution(%grad_output, %weight, none, $s, $p, $d, false, [0], $groups)
      $space = drop(shape(%input), 2)
      %x = aten.slice(%x, 2, 0, at($space, 0))
      if $n > 1 { %x = aten.slice(%x, 3, 0, at($space, 1)) }
      if $n > 2 { %x = aten.slice(%x, 4, 0, at($space, 2)) }
    } else {
      $over = each(range(0, $n), %i, (size(%input, %i + 2) + 2 * at($p, %i) - at($d, %i) * (size(%weight, %i + 2) - 1) - 1) % at($s, %i))
      %x = aten.convolution(%grad_output, %weight, none, $s, $p, $d, true, $over, $groups)
    }
  }
  if at($output_mask, 1) {
    if $transposed { %from = %grad_output %to = %input } else { %from = %input %to = %grad_output }
    $batch = size(%from, 0)
    if $batch == 0 {
      %w = aten.full(shape(%weight), 0, dtype=dtype(%weight), device=device(%weight))
    } else {
      $channels = size(%from, 1) // $groups
      $space = drop(shape(%from), 2)
      %from = aten.permute(aten.reshape(%from, concat([$batch, $groups, $channels], $space)), concat([2, 1, 0], range(3, $n + 3)))
      %from = aten.reshape(%from, concat([$channels, $groups * $batch], $space))
      %to = aten.permute(%to, concat([1, 0], range(2, $n + 2)))
      %w = aten.convolution(%from, %to, none, $d, $p, $s, false, [0], $groups)
      $kernel = drop(shape(%weight), 2)
      %w = aten.slice(%w, 2, 0, at($kernel, 0))
      if $n > 1 { %w = aten.slice(%w, 3, 0, at($kernel, 1)) }
      if $n > 2 { %w = aten.slice(%w, 4, 0, at($kernel, 2)) }
      %w = aten.permute(%w, concat([1, 0], range(2, $n + 2)))
    }
  }
  if at($output_mask, 2) {
    %b = aten.sum(%grad_output, concat([0], range(2, $n + 2)))
    if not equal(shape(%b), result_shape(2)) {
      %b = aten.zeros(result_shape(2), dtype=dtype(%grad_output), device=device(%grad_output))
    }
  }
  return %x, %w, %b)";
}  // namespace

void convolution_rows(RowSink& t) {
  using enum Trait;
  constexpr DtypeSet kConvolved = dtypes::real;
  t.row(
      "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
      "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
      {.traits = contraction | core,
       .infer = rule::convolution,
       .generate = make::convolution,
       .dtypes = kConvolved,
       .accuracy = Accuracy::accumulated,
       .flow = {.in_storage = "transposed"},
       .raises = "shapes that don't fit; a kernel larger than the padded input",
       .loops = kConvolutionLoops,
       .exception = LENZ_KERNELS});
  t.row(
      "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
      "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool "
      "cudnn_enabled, bool allow_tf32) -> Tensor",
      {.traits = contraction,
       .infer = rule::convolution,
       .generate = make::convolution,
       .dtypes = kConvolved,
       .accuracy = Accuracy::accumulated,
       .decompose = "return aten.convolution(%input, %weight, $bias, $stride, $padding, $dilation, $transposed, "
                    "$output_padding, $groups)",
       .exception = LENZ_KERNELS});
  t.row(
      "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
      "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] "
      "output_mask) -> (Tensor, Tensor, Tensor)",
      {.traits = contraction,
       .infer = rule::convolution_backward,
       .generate = make::convolution_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::accumulated,
       .flow = {.in_storage = "always"},
       .raises = "a gradient of another shape than the result",
       .decompose = kBackward,
       .exception =
           LENZ_KERNELS "; some refuse what others overlook where nothing is transposed: `output_padding is not "
                        "supported`; the slower ones can't write what lies otherwise: `must be contiguous`"});
  Row conv{.infer = rule::convolution_by_name,
           .generate = make::conv,
           .dtypes = dtypes::numbers,
           .accuracy = Accuracy::accumulated,
           .exception = LENZ_KERNELS};
  // An input without a batch gets one for the time being. `prepare` may do something to %x.
#define LENZ_CONVOLUTION(x, weight, bias, padding, call) \
  "aten.convolution(" x ", " weight ", " bias ", $stride, " padding ", $dilation, " call ", $groups)"
#define LENZ_CONVOLVED(rank, prepare, padding, call) \
  "if rank(%input) == " rank " { %x = aten.unsqueeze(%input, 0) } else { %x = %input } " prepare                   \
  "if is_complex(%input) { "                                                                                       \
  "  if conjugated(%x) { %x = aten.clone(%x) } "                                                                   \
  "  if conjugated(%weight) { %w = aten.clone(%weight) } else { %w = %weight } "                                   \
  "  %xr = aten.real(%x) %xi = aten.imag(%x) %wr = aten.real(%w) %wi = aten.imag(%w) "                             \
  "  if given($bias) { %br = aten.real(%bias) %bi = aten.imag(%bias) %bs = aten.add(%br, %bi) } "                  \
  "  else { %br = none %bi = none %bs = none } "                                                                   \
  "  %a = " LENZ_CONVOLUTION("%xr", "%wr", "%br", padding, call)                                                   \
  "  %b = " LENZ_CONVOLUTION("%xi", "%wi", "none", padding, call)                                                  \
  "  %c = " LENZ_CONVOLUTION("aten.add(%xr, %xi)", "aten.add(%wr, %wi)", "%bs", padding, call)                     \
  "  %y = aten.complex(aten.sub(%a, %b), aten.sub(aten.sub(%c, %a), %b)) "                                         \
  "} else { %y = " LENZ_CONVOLUTION("%x", "%weight", "$bias", padding, call) " } "                                 \
  "if rank(%input) == " rank " { return aten.squeeze(%y, 0) } return %y"
#define LENZ_BATCHED(rank, call) LENZ_CONVOLVED(rank, "", "$padding", call)
  conv.decompose = LENZ_BATCHED("2", "false, [0]");
  t.row(
      "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
      "dilation=[1], SymInt groups=1) -> Tensor",
      conv);
  conv.decompose = LENZ_BATCHED("3", "false, [0]");
  t.row(
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
      "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
      conv);
  conv.decompose = LENZ_BATCHED("4", "false, [0]");
  t.row(
      "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], "
      "SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
      conv);
  conv.dtypes = dtypes::floats | dtypes::complexes | DtypeSet::of(Dtype::i64);
  conv.decompose = LENZ_BATCHED("2", "true, $output_padding");
  t.row(
      "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], "
      "SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
      conv);
  conv.decompose = LENZ_BATCHED("3", "true, $output_padding");
  t.row(
      "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
      "padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
      conv);
  conv.decompose = LENZ_BATCHED("4", "true, $output_padding");
  t.row(
      "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
      "padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
      conv);

  // Padding by name. "same" pads such that nothing shrinks; where that is odd, one more goes to the right, by itself.
#define LENZ_NAMED_PADDING(rank, dims, more)                                                         \
  LENZ_CONVOLVED(rank,                                                                               \
                 "if $padding == \"valid\" { $pad = [0] } else { "                                   \
                 "  if $padding != \"same\" { raise \"no such padding\" } "                          \
                 "  if product($stride) != 1 { raise \"the same size can't be had with strides\" } " \
                 "  if rank(%weight) != " dims                                                       \
                 " + 2 { raise \"the weight is of the wrong rank\" } "                               \
                 "  $apart = choose(len($dilation) == 1, list(" dims                                 \
                 ", at($dilation, 0)), $dilation) "                                                  \
                 "  $pad = each(range(0, " dims                                                      \
                 "), %i, at($apart, %i) * (size(%weight, %i + 2) - 1) // 2) "                        \
                 "  $odd = each(range(0, " dims                                                      \
                 "), %i, at($apart, %i) * (size(%weight, %i + 2) - 1) % 2) "                         \
                 "  if not equal($odd, list(" dims ", 0)) { %x = aten.constant_pad_nd(%x, " more     \
                 ", 0) } "                                                                           \
                 "} ",                                                                               \
                 "$pad", "false, [0]")
  Row named = conv;
  named.dtypes = dtypes::numbers;
  named.raises = "\"same\" with strides; another name";
  named.decompose = LENZ_NAMED_PADDING("2", "1", "[0, at($odd, 0)]");
  t.row(
      "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", "
      "SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
      named);
  named.decompose = LENZ_NAMED_PADDING("3", "2", "[0, at($odd, 1), 0, at($odd, 0)]");
  t.row(
      "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", "
      "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
      named);
  named.decompose = LENZ_NAMED_PADDING("4", "3", "[0, at($odd, 2), 0, at($odd, 1), 0, at($odd, 0)]");
  t.row(
      "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str "
      "padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
      named);
#undef LENZ_NAMED_PADDING
#undef LENZ_BATCHED
#undef LENZ_CONVOLVED

#undef LENZ_CONVOLUTION
#undef LENZ_KERNELS
}

}  // namespace lenz
