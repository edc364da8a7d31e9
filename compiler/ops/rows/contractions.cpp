// Matrix products, attention.
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/contraction.h"
#include "compiler/ops/rows/contraction_loops.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/contraction.h"

namespace lenz {

namespace {
using enum Trait;
// Integers multiply too, on a CPU.
constexpr DtypeSet kProduct = dtypes::numbers;

constexpr std::string_view kEmptyProduct =
    "where nothing is multiplied eager forgets dtypes: `the operands must have one dtype`, `bools don't multiply`, "
    "`float8 is not supported`";

// Beta may be a number that only the run knows: 0 takes nothing of %x, whatever that is.
#define LENZ_UNLESS_BETA_IS_0                                                      \
  "if not is_constant($beta) { "                                                   \
  "  %none = aten.eq(aten.scalar_tensor($beta, dtype=f64, device=device(%x)), 0) " \
  "  %x = aten.where(%none, 0, %x) } "

void products(RowSink& t) {
  Row row{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
          .traits = contraction | core,
          .infer = rule::mm,
          .generate = make::mm,
          .dtypes = kProduct | dtypes::float8,
          .accuracy = Accuracy::accumulated,
          .raises = "inner dims or dtypes that differ"};
  row.loops = kMmLoops;
  t.row("mm(Tensor self, Tensor mat2) -> Tensor", row);
  row.infer = rule::bmm;
  row.generate = make::bmm;
  row.dtypes = kProduct;
  row.exception = kEmptyProduct;
  row.loops = kBmmLoops;
  t.row("bmm(Tensor self, Tensor mat2) -> Tensor", row);
  row.infer = rule::mv;
  row.generate = make::mv;
  row.loops = {};
  row.decompose = "return aten.view(aten.mm(%self, aten.unsqueeze(%vec, 1)), [size(%self, 0)])";
  t.row("mv(Tensor self, Tensor vec) -> Tensor", row);
  row.exception = {};
  row.infer = rule::dot;
  row.generate = make::dot;
  row.decompose = "return aten.view(aten.mm(aten.unsqueeze(%self, 0), aten.unsqueeze(%tensor, 1)), [])";
  row.exception =
      "of two lazy conjugates eager gives one, in memory of its own; here it is none: `read lazily conjugated`";
  t.row("dot(Tensor self, Tensor tensor) -> Tensor", row);
  row.exception = {};
  row.decompose = R"(
    if is_complex(%self) { return aten.dot(aten._conj_physical(%self), %other) }
    return aten.dot(%self, %other))";
  t.row("vdot(Tensor self, Tensor other) -> Tensor", row);

  t.row("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", {.traits = contraction,
                                                                       .infer = rule::composite,
                                                                       .generate = make::vecdot,
                                                                       .dtypes = dtypes::floats | dtypes::complexes,
                                                                       .accuracy = Accuracy::accumulated,
                                                                       .raises = "integers; vectors of unequal length",
                                                                       .decompose = R"(
           if is_integral(%x) { raise "needs a floating or complex dtype" }
           if dtype(%x) != dtype(%y) { raise "the operands must have one dtype" }
           if rank(%x) == 1 and rank(%y) == 1 { return aten.vdot(%x, %y) }
           return aten.sum(aten.mul(aten.conj_physical(%x), %y), [$dim]))"});

  Row added = row;
  added.variants.in_place = true;
  added.infer = rule::baddbmm;
  added.generate = make::bmm;
  added.exception = kEmptyProduct;
  added.decompose = {};
  added.loops = kBaddbmmLoops;
  added.fits = "beta:computed/batch1/batch2 alpha:computed/batch1/batch2";
  t.row("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.infer = rule::addmv;
  added.generate = make::mv;
  added.exception =
      "of an empty matrix eager does not expand self, libtorch's meta device of some; with alpha=0 it forgets dtypes, "
      "and self's "
      "otherwise: `the operands must have one dtype`, `has no kernel for`";
  added.flow.stores_steps = true;  // the product, before it adds
  added.flow.eager = 2;            // or the vector, by alpha
  added.loops = {};
  added.decompose = R"(
    $none = not equal(result_shape(), [size(%mat, 0)])
    if is_constant(numel(%mat)) or not is_finite($alpha) { $none = $none or numel(%mat) == 0 }
    if $none {
      if without_imaginary($beta) == 0 { return aten.zeros_like(%self) }
      %x = %self
      )" LENZ_UNLESS_BETA_IS_0 R"(
      return aten.mul(%x, aten.scalar_tensor($beta, dtype=dtype(%x), device=device(%x)))
    }
    %y = aten.mv(%mat, %vec)
    $whole = is_integral(dtype(%y))
    if $alpha != 1 {
      if $whole { %y = aten.mul(%y, aten.scalar_tensor($alpha, dtype=dtype(%y), device=device(%y))) }
      else { %y = aten.mul(%y, $alpha) }
    }
    if without_imaginary($beta) == 0 { return %y }
    %x = aten.expand(%self, shape(%y))
    )" LENZ_UNLESS_BETA_IS_0 R"(
    if $beta != 1 {
      if $whole { %x = aten.mul(%x, aten.scalar_tensor($beta, dtype=dtype(%x), device=device(%x))) }
      else { %x = aten.mul(%x, $beta) }
    }
    return aten.add(%y, %x))";
  added.fits = "beta:element beta:result/mat alpha:result/mat";
  t.row("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.flow = {};
  added.exception = {};
  added.dtypes = kProduct | dtypes::float8;
  added.infer = rule::addmm;
  added.generate = make::mm;
  added.flow.eager = 2;  // it may store the product before it adds
  added.decompose = {};
  added.loops = kAddmmLoops;
  added.fits = "beta:computed/mat1/mat2 alpha:computed/mat1/mat2";
  t.row("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.infer = rule::addbmm;
  added.generate = make::bmm;
  added.exception =
      "eager expands self first and resizes it: `can't hold in place`; of no batches it forgets dtypes, and with "
      "out= self's: `the operands must have one dtype`, `has no kernel for`, `can't be stored as the type of`";
  added.flow = {.in_storage = "always"};  // one matrix after the other
  added.loops = {};
  // Batches are summed over as what is between them is.
  added.decompose = R"(
    $n = size(%batch1, 0) * size(%batch1, 2)
    %x = aten.reshape(aten.permute(%batch1, [1, 0, 2]), [size(%batch1, 1), $n])
    %y = aten.reshape(%batch2, [$n, size(%batch2, 2)])
    return aten.addmm(%self, %x, %y, beta=$beta, alpha=$alpha))";
  added.fits = "beta:computed/batch1/batch2 alpha:computed/batch1/batch2";
  t.row("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", added);
  added.flow = {};
  added.loops = {};
  added.traits = elementwise;
  added.dtypes = dtypes::usual;
  added.accuracy = Accuracy::composed;
  added.exception = "the meta kernel composes it of products and sums, with the strides of these";
  added.variants.out_rule = OutRule::direct;
  added.infer = rule::addr;
  added.flow.stores_steps = true;  // the vector that alpha multiplies, first
  added.generate = make::outer;
  added.fits = "beta:result alpha:result";
  // A sum of complex numbers multiplies one of them by 1 + 0i, which makes NaN of infinities, once more than this does.
  t.row("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", meaning(R"(
    $d = result_type(aten.expand(%self, [size(%vec1, 0), size(%vec2, 0)]), %vec1, %vec2)
    if $d == bool {
      %product = aten.logical_and(aten.unsqueeze(%vec1, 1), %vec2)
      if $alpha == 0 { %product = aten.zeros_like(%product) }
      if $beta == 0 { return %product }
      return aten.logical_or(aten.expand(%self, shape(%product)), %product)
    }
    %column = aten._to_copy(%vec1, dtype=$d)
    if $alpha != 1 or is_complex($d) { %column = aten.mul(%column, $alpha) }
    %product = aten.mul(aten.unsqueeze(%column, 1), aten._to_copy(%vec2, dtype=$d))
    if without_imaginary($beta) == 0 { return %product }
    %x = aten._to_copy(%self, dtype=$d)
    )" LENZ_UNLESS_BETA_IS_0 R"(
    if $beta != 1 or is_complex($d) { %x = aten.mul(%x, $beta) }
    %x = aten.expand(%x, shape(%product))
    if is_complex($d) {
      return aten.view_as_complex(aten.add(aten.view_as_real(%x), aten.view_as_real(%product)))
    }
    return aten.add(%x, %product))",
                                                                                                           added));
}

#undef LENZ_UNLESS_BETA_IS_0

void composed(RowSink& t) {
  // The out= variants of matmul and linear run in the form of the product inside: not derivable, so left out.
  Row row{.traits = contraction,
          .infer = rule::matmul,
          .generate = make::matmul,
          .dtypes = kProduct | dtypes::float8,
          .accuracy = Accuracy::accumulated,
          .raises = "inner dims or dtypes that differ",
          .exception =
              "the meta device keeps the strides of empty products of folded operands; of these eager "
              "forgets dtypes: `the operands must have one dtype`"};
  t.row("matmul(Tensor self, Tensor other) -> Tensor", meaning(R"(
    $a = rank(%self)
    $b = rank(%other)
    if $a == 1 and $b == 1 { return aten.dot(%self, %other) }
    if $a == 2 and $b == 1 { return aten.mv(%self, %other) }
    if $a == 1 and $b == 2 { return aten.select(aten.mm(aten.unsqueeze(%self, 0), %other), 0, 0) }
    if $a == 2 and $b == 2 { return aten.mm(%self, %other) }
    if $b <= 2 {
      %rows = aten.reshape(%self, [product(first(shape(%self), $a - 1)), size(%self, -1)])
      if $b == 1 { %y = aten.mv(%rows, %other) } else { %y = aten.mm(%rows, %other) }
      return aten.reshape(%y, concat(first(shape(%self), $a - 1), drop(shape(%other), 1)))
    }
    if $a == 1 { return aten.matmul(aten.transpose(%other, -2, -1), %self) }
    if $a == 2 {
      %y = aten.matmul(aten.transpose(%other, -2, -1), aten.transpose(%self, 0, 1))
      return aten.clone(aten.transpose(%y, -2, -1), memory_format=contiguous_format)
    }
    $batch = broadcast(first(shape(%self), $a - 2), first(shape(%other), $b - 2))
    %x = aten.expand(%self, concat($batch, last(shape(%self), 2)))
    %x = aten.reshape(%x, concat([product($batch)], last(shape(%self), 2)))
    %y = aten.expand(%other, concat($batch, last(shape(%other), 2)))
    %y = aten.reshape(%y, concat([product($batch)], last(shape(%other), 2)))
    return aten.reshape(aten.bmm(%x, %y), concat($batch, [size(%self, -2), size(%other, -1)])))",
                                                               row));
  row.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  row.exception = {};
  row.infer = rule::inner;
  row.generate = make::inner;
  row.exception = "beside a scalar it is a product, which casts to out=: `can't be stored as the type of`";
  t.row("inner(Tensor self, Tensor other) -> Tensor", meaning(R"(
    if rank(%self) == 0 or rank(%other) == 0 { return aten.mul(%self, %other) }
    return aten.tensordot(%self, %other, [-1], [-1]))",
                                                              row));
  row.exception = {};
  row.infer = rule::tensordot;
  row.generate = make::tensordot;
  // What a size of 1 stands against is added up, and stored, before it is multiplied; products of a single result are
  // stored.
  row.flow.in_storage = "beside a size of 1";
  row.flow.stores_steps = true;
  // Among contracted dims a size of 1 stands for any.
  t.row("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", meaning(R"(
    $n = len($dims_self)
    $a = rank(%self) - $n
    $b = rank(%other) - $n
    %x = aten.permute(%self, moved(rank(%self), $dims_self, range($a, $a + $n)))
    %y = aten.permute(%other, moved(rank(%other), $dims_other, range(0, $n)))
    $rows = first(shape(%x), $a)
    $columns = drop(shape(%y), $n)
    if drop(shape(%x), $a) == first(shape(%y), $n) and not product(concat($rows, $columns)) == 1 {
      $inner = product(first(shape(%y), $n))
      %z = aten.mm(aten.reshape(%x, [product($rows), $inner]), aten.reshape(%y, [$inner, product($columns)]))
      return aten.reshape(%z, concat($rows, $columns))
    }
    %x = aten.reshape(%x, concat(shape(%x), list($b, 1)))
    %products = aten.mul(%x, %y)
    if $n == 0 { return %products }
    return aten.sum(%products, range($a, $a + $n), dtype=dtype(%self)))",
                                                                                                     row));
  row.flow = {};
  row.variants = {};
  row.exception =
      "the meta device keeps the strides of empty products of folded operands; an empty product of an input that is "
      "not contiguous has the weight's dtype: `the operands must have one dtype`; where the input is contiguous, and "
      "only there, eager takes a bias for the product's rows in a matrix: `fits the rows of the product`";
  row.infer = rule::linear;
  row.generate = make::linear;
  t.row("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", meaning(R"(
    if rank(%weight) == 2 { %y = aten.matmul(%input, aten.t(%weight)) } else { %y = aten.matmul(%input, %weight) }
    if given($bias) { %y = aten.add(%y, %bias) }
    return %y)",
                                                                                    row));
  row.variants = {};
  row.exception = {};
  row.dtypes = kProduct;
  row.infer = rule::bilinear;
  row.flow.in_storage = "always";
  row.generate = make::bilinear;
  row.exception = "of no elements eager can't tell sizes: `is ambiguous`";
  t.row("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", meaning(R"(
    %rows = aten.tensordot(%input1, %weight, [-1], [1])
    %y = aten.sum(aten.mul(%rows, aten.unsqueeze(%input2, -2)), [-1], dtype=dtype(%rows))
    if given($bias) { %y = aten.add(%y, %bias) }
    return %y)",
                                                                                                      row));
  t.row("outer(Tensor self, Tensor vec2) -> Tensor", {.variants = {.out = "out"},
                                                      .traits = elementwise,
                                                      .infer = rule::outer,
                                                      .generate = make::outer,
                                                      .dtypes = dtypes::all,
                                                      .accuracy = Accuracy::rounded,
                                                      .raises = "operands that are no vectors",
                                                      .decompose = "return aten.mul(aten.unsqueeze(%self, 1), %vec2)"});
  t.alias("ger(Tensor self, Tensor vec2) -> Tensor", "outer");
  t.row("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
        {.infer = rule::composite,
         .generate = make::einsum,
         .dtypes = kProduct | dtypes::boolean,
         .accuracy = Accuracy::composed,
         .raises = "an equation that doesn't fit the tensors",
         .decompose = "return einsum($equation, $tensors, $path)",
         .exception = "where there is nothing to multiply, eager forgets to check: `the operands must have one dtype`, "
                      "`has no kernel for f8`"});
  t.row("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .infer = rule::cross,
         .generate = make::cross,
         .dtypes = kProduct,
         .accuracy = Accuracy::composed,
         .raises = "vectors that are not of length 3",
         .decompose = R"(
           %plus = aten.mul(aten.roll(%self, [-1], [$dim]), aten.roll(%other, [-2], [$dim]))
           %minus = aten.mul(aten.roll(%self, [-2], [$dim]), aten.roll(%other, [-1], [$dim]))
           return aten.sub(%plus, %minus))"});
  t.row("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", {.infer = rule::composite,
                                                                      .generate = make::cross,
                                                                      .dtypes = kProduct,
                                                                      .accuracy = Accuracy::composed,
                                                                      .raises = "no dim of size 3",
                                                                      .decompose = R"(
           if given($dim) { return aten.linalg_cross(%self, %other, dim=$dim) }
           $at = find(shape(%self), 3)
           if $at < 0 { raise "no dim has size 3" }
           return aten.linalg_cross(%self, %other, dim=$at))"});
  t.row("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
        {.traits = contraction,
         .infer = rule::cdist,
         .generate = make::cdist,
         .dtypes = dtypes::wide_floats,
         .accuracy = Accuracy::composed,
         .raises = "vectors of unequal length",
         .decompose = R"(
           %apart = aten.sub(aten.unsqueeze(%x1, -2), aten.unsqueeze(%x2, -3))
           return aten.linalg_vector_norm(%apart, $p, [-1]))",
         .exception = "of no rows the dtypes may differ: `needs f32 or f64`"});
  t.row("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
        {.infer = rule::composite,
         .generate = make::cdist,
         .dtypes = dtypes::wide_floats,
         .accuracy = Accuracy::composed,
         .decompose = "return aten._cdist_forward(%x1, %x2, $p, $compute_mode)",
         .exception = "of no rows the dtypes may differ: `needs f32 or f64`"});
  t.row("pdist(Tensor self, float p=2.) -> Tensor", {.traits = contraction,
                                                     .infer = rule::pdist,
                                                     .generate = make::pdist,
                                                     .dtypes = dtypes::wide_floats,
                                                     .accuracy = Accuracy::composed,
                                                     .decompose = R"(
           $n = size(%self, 0)
           %pairs = aten.triu_indices($n, $n, 1, device=device(%self))
           %first = aten.index_select(%self, 0, aten.select(%pairs, 0, 0))
           %second = aten.index_select(%self, 0, aten.select(%pairs, 0, 1))
           if size(%self, 1) == 0 { return aten.sum.dim_IntList(%first, [1]) }
           return aten.linalg_vector_norm(aten.sub(%first, %second), $p, [1]))",
                                                     .loops = kPdistLoops});
}

// Attention as its definition says: its weights %p, before dropout, and their logarithms' denominators %w.
#define LENZ_ATTENTION(masked)                                                                              \
  "if given($scale) { %s = $scale } "                                                                       \
  "else if is_constant(size(%query, -1)) { %s = power(size(%query, -1), -0.5) } "                           \
  "else { %s = aten.rsqrt(aten.full([], size(%query, -1), dtype=f64, device=device(%query))) } "            \
  "%w = aten.mul(aten.matmul(%query, aten.transpose(%keys, -2, -1)), %s) "                                  \
  "if $is_causal { "                                                                                        \
  "  %seen = aten.tril(aten.ones([size(%query, -2), size(%keys, -2)], dtype=bool, device=device(%query))) " \
  "  %w = aten.masked_fill(%w, aten.logical_not(%seen), -inf) "                                             \
  "} "                                                                                                      \
  "if given($attn_mask) { " masked                                                                          \
  " } "                                                                                                     \
  "%p = aten.softmax(%w, -1) "                                                                              \
  "if given($attn_mask) or $is_causal { "                                                                   \
  "  if is_open(size(%keys, -2)) or size(%keys, -2) > 0 { "                                                 \
  "    %p = aten.where(aten.eq(aten.amax(%w, [-1], true), -inf), 0.0, %p) "                                 \
  "  } "                                                                                                    \
  "} "
// A mask of bools says what is seen; eager adds -inf to what isn't, so that a score that is NaN stays. The kernel below
// adds the mask itself, as zeros and ones.
#define LENZ_MASKED                                                                       \
  "if dtype(%attn_mask) == bool { %w = aten.where(%attn_mask, %w, aten.add(%w, -inf)) } " \
  "else { %w = aten.add(%w, %attn_mask) }"
#define LENZ_ADDED "%w = aten.add(%w, %attn_mask)"
// Several queries may share keys and values.
#define LENZ_REPEATED(x) "aten.repeat_interleave(" x ", size(%query, -3) // size(" x ", -3), rank(" x ") - 3)"
#define LENZ_SHARED_HEADS          \
  "%keys = %key %values = %value " \
  "if $enable_gqa { %keys = " LENZ_REPEATED("%key") " %values = " LENZ_REPEATED("%value") " } "
void attentions(RowSink& t) {
  Row row{.traits = contraction,
          .infer = rule::attention,
          .generate = make::attention,
          .dtypes = dtypes::floats,
          .accuracy = Accuracy::composed,
          .raises = "shapes that don't fit; a mask beside `is_causal`, but of the fused kernel",
          .exception =
              "the meta device never takes the fused kernel, whose result is laid out like the query; that "
              "kernel forgets to check: `there must be one value per key`, `batches and lengths must agree`, "
              "`keys and values must have as many heads`, `the heads of keys and values`, "
              "` must be of the queries' dtype`, ` must be of rank 2`, ` doesn't broadcast`"};
  row.sampling = "definition(dropout_p)";
  t.row(
      "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      meaning(
          LENZ_SHARED_HEADS LENZ_ATTENTION(LENZ_MASKED) "if $dropout_p > 0 { %p = aten.dropout(%p, $dropout_p, true) } "
                                                        "return aten.matmul(%p, %values)",
          row));
  row.infer = rule::flash_attention;
  row.sampling = {};
  t.row(
      "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool "
      "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
      meaning("if size(%query, 1) == size(%key, 1) { %keys = %key %values = %value } "
              "else { %keys = " LENZ_REPEATED("%key") " %values = " LENZ_REPEATED("%value") " } " LENZ_ATTENTION(
                  LENZ_MASKED) "%sums = aten.logsumexp(aten._to_copy(%w, dtype=compute_dtype(%query)), [-1]) "
                               "return aten.matmul(%p, %values), %sums",
              row));
  row.infer = rule::math_attention;
  row.sampling = "definition(dropout_p)";
  row.exception = "eager scales, which makes floats, before it multiplies: `has no kernel for`, `must have one dtype`";
  t.row(
      "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> "
      "(Tensor, Tensor)",
      meaning(LENZ_SHARED_HEADS LENZ_ATTENTION(LENZ_ADDED) R"(
        %kept = %p
        if given($dropout_mask) {
          %kept = aten.mul(aten.masked_fill(%p, aten.logical_not(%dropout_mask), 0.0), 1 / (1 - $dropout_p))
        } else if $dropout_p > 0 { %kept = aten.dropout(%p, $dropout_p, true) }
        return aten.matmul(%kept, %values), %p)",
              row));
  // Attention as graphs write it out: a row that sees nothing has the softmax of infinities, which is NaN, where ATen's
  // ops have zeros. Scores and weights are kept in the dtype that sums are kept in; `narrow`: they may be rounded to
  // that of the queries.
  t.row(
      "lenz::attention(Tensor query, Tensor key, Tensor value, Tensor? bias=None, Tensor? seen=None, *, float "
      "scale=1., float hidden=0., bool narrow=False) -> Tensor",
      meaning(R"(
        %q = %query %k = %key %v = %value
        if not dtype(%query) == compute_dtype(%query) {
          %q = aten._to_copy(%q, dtype=compute_dtype(%query))
          %k = aten._to_copy(%k, dtype=compute_dtype(%query))
          %v = aten._to_copy(%v, dtype=compute_dtype(%query))
        }
        %w = aten.mul(aten.matmul(%q, aten.transpose(%k, -2, -1)), $scale)
        if $narrow { %w = aten._to_copy(aten._to_copy(%w, dtype=dtype(%query)), dtype=compute_dtype(%query)) }
        if given($seen) { %w = aten.where(%seen, %w, $hidden) }
        if given($bias) {
          %w = aten.add(%w, %bias)
          if $narrow { %w = aten._to_copy(aten._to_copy(%w, dtype=dtype(%query)), dtype=compute_dtype(%query)) }
        }
        %p = aten.softmax(%w, -1)
        if $narrow { %p = aten._to_copy(aten._to_copy(%p, dtype=dtype(%query)), dtype=compute_dtype(%query)) }
        %r = aten.matmul(%p, %v)
        if not dtype(%query) == dtype(%r) { %r = aten._to_copy(%r, dtype=dtype(%query)) }
        return %r)",
              {.traits = contraction,
               .infer = rule::written_attention,
               .dtypes = dtypes::floats,
               .accuracy = Accuracy::composed,
               .raises = "shapes that don't fit"}));
}
#undef LENZ_ATTENTION
#undef LENZ_MASKED
#undef LENZ_ADDED
#undef LENZ_SHARED_HEADS
#undef LENZ_REPEATED
}  // namespace

void contraction_rows(RowSink& t) {
  products(t);
  composed(t);
  attentions(t);
}

}  // namespace lenz
