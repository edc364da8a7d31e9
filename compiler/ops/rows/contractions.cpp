// Matrix products, convolutions, attention.
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/contraction.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/contraction.h"

namespace lenz {

namespace {
using enum Trait;
// Integers multiply too, on a CPU.
constexpr DtypeSet kProduct = dtypes::numbers;

void products(RowSink& t) {
  Row row{.variants = {.out = "out"},
          .traits = contraction | core,
          .infer = rule::mm,
          .generate = make::mm,
          .dtypes = kProduct | dtypes::float8,
          .accuracy = Accuracy::accumulated,
          .raises = "inner dims or dtypes that differ"};
  t.row("mm(Tensor self, Tensor mat2) -> Tensor", row);
  row.infer = rule::bmm;
  row.generate = make::bmm;
  row.dtypes = kProduct;
  t.row("bmm(Tensor self, Tensor mat2) -> Tensor", row);
  row.infer = rule::mv;
  row.generate = make::mv;
  t.row("mv(Tensor self, Tensor vec) -> Tensor", row);
  row.infer = rule::dot;
  row.generate = make::dot;
  t.row("dot(Tensor self, Tensor tensor) -> Tensor", row);
  t.row("vdot(Tensor self, Tensor other) -> Tensor", row);

  Row added = row;
  added.variants.in_place = true;
  added.infer = rule::baddbmm;
  added.generate = make::bmm;
  t.row("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.infer = rule::addmv;
  added.generate = make::mv;
  added.exception = "over an empty matrix eager forgets to expand `self`";
  t.row("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.exception = {};
  added.dtypes = kProduct | dtypes::float8;
  added.infer = rule::addmm;
  added.generate = make::mm;
  t.row("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.infer = rule::addbmm;
  added.generate = make::bmm;
  t.row("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.traits = elementwise;
  added.dtypes = dtypes::usual;
  added.accuracy = Accuracy::composed;
  added.exception = "the meta kernel composes it of products and sums, with the strides of these";
  added.infer = rule::addr;
  added.generate = make::outer;
  t.row("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
}

void composed(RowSink& t) {
  // The out= variants of matmul and linear run in the form of the product inside: not derivable, so left out.
  Row row{.traits = contraction,
          .infer = rule::matmul,
          .generate = make::matmul,
          .dtypes = kProduct | dtypes::float8,
          .accuracy = Accuracy::accumulated,
          .raises = "inner dims or dtypes that differ",
          .exception = "the meta device keeps the strides of empty products of folded operands"};
  t.row("matmul(Tensor self, Tensor other) -> Tensor", row);
  row.variants.out = "out";
  row.exception = {};
  row.infer = rule::inner;
  row.generate = make::inner;
  t.row("inner(Tensor self, Tensor other) -> Tensor", row);
  row.infer = rule::tensordot;
  row.generate = make::tensordot;
  t.row("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", row);
  row.variants = {};
  row.exception = "the meta device keeps the strides of empty products of folded operands";
  row.infer = rule::linear;
  row.generate = make::linear;
  t.row("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", row);
  row.variants = {};
  row.exception = {};
  row.dtypes = kProduct;
  row.infer = rule::bilinear;
  row.generate = make::bilinear;
  t.row("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", row);
  t.rows("{}(Tensor self, Tensor vec2) -> Tensor", "outer ger",
         {.variants = {.out = "out"},
          .traits = elementwise,
          .infer = rule::outer,
          .generate = make::outer,
          .dtypes = dtypes::all,
          .accuracy = Accuracy::rounded,
          .raises = "operands that are no vectors"});
  t.row("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
        {.variants = {.out = "out"},
         .infer = rule::cross,
         .generate = make::cross,
         .dtypes = kProduct,
         .accuracy = Accuracy::composed,
         .raises = "vectors that are not of length 3"});
  t.row("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
        {.traits = contraction,
         .infer = rule::cdist,
         .generate = make::cdist,
         .dtypes = dtypes::wide_floats,
         .accuracy = Accuracy::composed,
         .raises = "vectors of unequal length"});
  t.row("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
        {.infer = rule::composite,
         .generate = make::cdist,
         .dtypes = dtypes::wide_floats,
         .accuracy = Accuracy::composed,
         .decompose = "return aten._cdist_forward(%x1, %x2, $p, $compute_mode)"});
  t.row("pdist(Tensor self, float p=2.) -> Tensor", {.traits = contraction,
                                                     .infer = rule::pdist,
                                                     .generate = make::pdist,
                                                     .dtypes = dtypes::wide_floats,
                                                     .accuracy = Accuracy::composed});
}

void convolutions(RowSink& t) {
  constexpr DtypeSet kConvolved = dtypes::real;
  constexpr std::string_view kMeta =
      "the meta kernel knows no channels-last; where strides fit both memory formats, or a kernel is of one "
      "element, the kernel that eager picks (by threads too) decides the result's";
  t.row(
      "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
      "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
      {.traits = contraction | core,
       .infer = rule::convolution,
       .generate = make::convolution,
       .dtypes = kConvolved,
       .accuracy = Accuracy::accumulated,
       .raises = "shapes that don't fit; a kernel larger than the padded input",
       .exception = kMeta});
  Row conv{.infer = rule::composite,
           .generate = make::conv,
           .dtypes = dtypes::numbers,
           .accuracy = Accuracy::accumulated,
           .exception = kMeta};
  // An input without a batch gets one for the time being.
#define LENZ_CONVOLUTION(x, weight, bias, call) \
  "aten.convolution(" x ", " weight ", " bias ", $stride, $padding, $dilation, " call ", $groups)"
#define LENZ_BATCHED(rank, call) \
  "if rank(%input) == " rank " { %x = aten.unsqueeze(%input, 0) } else { %x = %input } "                         \
  "if is_complex(%input) { "                                                                                     \
  "  %xr = aten.real(%x) %xi = aten.imag(%x) %wr = aten.real(%weight) %wi = aten.imag(%weight) "                 \
  "  if given($bias) { %br = aten.real(%bias) %bi = aten.imag(%bias) %bs = aten.add(%br, %bi) } "                \
  "  else { %br = none %bi = none %bs = none } "                                                                 \
  "  %a = " LENZ_CONVOLUTION("%xr", "%wr", "%br", call)                                                          \
  "  %b = " LENZ_CONVOLUTION("%xi", "%wi", "none", call)                                                         \
  "  %c = " LENZ_CONVOLUTION("aten.add(%xr, %xi)", "aten.add(%wr, %wi)", "%bs", call)                            \
  "  %y = aten.complex(aten.sub(%a, %b), aten.sub(aten.sub(%c, %a), %b)) "                                       \
  "} else { %y = " LENZ_CONVOLUTION("%x", "%weight", "$bias", call) " } "                                        \
  "if rank(%input) == " rank " { return aten.squeeze(%y, 0) } return %y"
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
  conv.dtypes = dtypes::floats | dtypes::complexes;
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
#undef LENZ_BATCHED
#undef LENZ_CONVOLUTION
}

void attentions(RowSink& t) {
  Row row{.traits = contraction,
          .infer = rule::attention,
          .generate = make::attention,
          .dtypes = dtypes::floats,
          .accuracy = Accuracy::composed,
          .raises = "shapes that don't fit",
          .exception = "the meta device never takes the fused kernel, whose result is laid out like the query"};
  t.row(
      "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      row);
  row.infer = rule::flash_attention;
  t.row(
      "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool "
      "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
      row);
  row.infer = rule::math_attention;
  row.exception = {};
  t.row(
      "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> "
      "(Tensor, Tensor)",
      row);
}
}  // namespace

void contraction_rows(RowSink& t) {
  products(t);
  composed(t);
  convolutions(t);
  attentions(t);
}

}  // namespace lenz
