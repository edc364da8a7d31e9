// Activations and their gradients.
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/activation.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/activation.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

namespace {
// Eager takes the steps of the definition in another order, or a reciprocal for a division.
Row loosely(Row row) {
  row.flow.eager = 2;
  return row;
}

using enum Trait;
constexpr Variants kSameDtype{true, "out", {}, OutRule::same_dtype};
constexpr DtypeSet kFloatOrComplex = dtypes::floats | dtypes::complexes;

// The halves of a tensor along $dim, as %a and %b.
#define LENZ_HALVES(tensor) \
  "$n = size(" tensor ", $dim) // 2 %a = aten.slice(" tensor ", $dim, 0, $n) %b = aten.slice(" tensor ", $dim, $n) "
// The gradient and what it is taken at, in their common dtype, as %g and %x.
#define LENZ_PROMOTED(grad, at) \
  "$d = result_type(" grad ", " at ") %g = aten._to_copy(" grad ", dtype=$d) %x = aten._to_copy(" at ", dtype=$d) "

void forward_rows(RowSink& t) {
  Row row{.variants = kSameDtype,
          .traits = elementwise | idempotent | monotone | core,
          .infer = rule::same_dtype,
          .generate = make::unary,
          .dtypes = dtypes::real,
          .scalar = "{}",
          .raises = "bool, complex"};
  row.variants.out_rule = OutRule::copied;
  t.row("relu(Tensor self) -> Tensor", row);
  row.scalar = {};
  row.variants = {true};
  row.traits = elementwise | idempotent | monotone;
  row.infer = rule::hardtanh;
  t.row("relu6(Tensor self) -> Tensor", meaning("return aten.hardtanh(%self, 0, 6)", row));
  row.variants = kSameDtype;
  row.generate = make::hardtanh;
  row.raises = "bool, complex; negative bounds for u8";
  t.row("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
        fitting("min_val:truncated max_val:truncated",
                meaning("return aten._to_copy(aten.clamp(%self, $min_val, $max_val), dtype=dtype(%self))", row)));
  row = {.variants = {true, "out"},
         .traits = elementwise,
         .infer = rule::same_dtype,
         .generate = make::activation_of_any_sign,
         .dtypes = dtypes::real,
         .raises = "bool, complex"};
  t.row("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
        fitting("threshold:computed value:result", meaning(R"(
    if is_float(%self) { return aten.where(aten.le(%self, $threshold), $value, %self) }
    %threshold = aten.scalar_tensor($threshold, dtype=dtype(%self), device=device(%self))
    %value = aten.scalar_tensor($value, dtype=dtype(%self), device=device(%self))
    return aten.where(aten.le(%self, %threshold), %value, %self))",
                                                           row)));
  row.generate = make::activation;

  row.variants = kSameDtype;
  row.dtypes = dtypes::floats;
  row.raises = "integers, complex";
  row.accuracy = Accuracy::ulp4;
  t.row("mish(Tensor self) -> Tensor", meaning("return aten.mul(%self, aten.tanh(aten.softplus(%self)))", row));
  t.row("hardswish(Tensor self) -> Tensor",
        widely("return aten.mul(%self, aten.div(aten.clamp(aten.add(%self, 3), 0, 6), 6))", loosely(row)));
  t.row("hardsigmoid(Tensor self) -> Tensor",
        widely("return aten.div(aten.clamp(aten.add(%self, 3), 0, 6), 6)", loosely(row)));
  t.row("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        fitting("negative_slope:computed",
                meaning("return aten.where(aten.gt(%self, 0), %self, aten.mul(%self, $negative_slope))", row)));
  t.row("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
        fitting("alpha:computed scale:computed input_scale:computed", widely(R"(
    %grown = aten.expm1(aten.mul(%self, $input_scale))
    if is_constant($alpha) and is_constant($scale) { %low = aten.mul(%grown, 1.0 * $alpha * $scale) }
    else { %low = aten.mul(aten.mul(%grown, $alpha), $scale) }
    return aten.where(aten.lt(%self, 0), %low, aten.mul(%self, $scale)))",
                                                                             row)));
  Row selu = row;
  selu.variants = {true};
  t.row("selu(Tensor self) -> Tensor", widely("return aten.elu(%self, 1.6732632423543772, 1.0507009873554805)", selu));
  row.variants.in_place = false;
  t.row("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
        fitting("beta:computed threshold:computed", meaning(R"(
    %z = aten.mul(%self, $beta)
    return aten.where(aten.gt(%z, $threshold), %self, aten.div(aten.log1p(aten.exp(%z)), $beta)))",
                                                            row)));
  row.generate = make::activation_of_any_sign;
  t.row("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", fitting("lambd:result", meaning(R"(
    %small = aten.le(aten.abs(%self), $lambd)
    return aten.where(%small, 0.0, %self))",
                                                                                               row)));
  row.generate = make::activation;
  row.infer = rule::softshrink;
  row.raises = "integers, complex; a negative lambd";
  t.row("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", meaning(R"(
    $l = $lambd + 0
    %low = aten.where(aten.lt(%self, 0 - $l), aten.add(%self, $l), aten.mul(%self, 0))
    return aten.where(aten.gt(%self, $l), aten.sub(%self, $l), %low))",
                                                                       row));
  row.variants = {true, "out", {}, OutRule::copied};
  row.infer = rule::celu;
  row.raises = "integers, complex; alpha=0";
  t.row("celu(Tensor self, Scalar alpha=1.) -> Tensor",
        fitting("alpha:computed", widely("return aten.elu(%self, $alpha, 1.0, 1 / $alpha)", row)));
  row.variants = kSameDtype;
  row.infer = rule::gelu;
  // Its vectorised error function is off by up to 11.5 * 2^-24 (measured at 28 million x from -6 to -1, the worst near
  // -2.97 and -3.46), beside the one that it cancels; a step of erf may add one.
  row.flow.eager = 12;
  row.flow.eager_for = "approximate=none";
  row.raises = "integers, complex; an approximation that is not \"none\" or \"tanh\"";
  t.row("gelu(Tensor self, *, str approximate=\"none\") -> Tensor", meaning(R"(
    %half = aten.mul(%self, 0.5)
    if $approximate == "tanh" {
      %cube = aten.mul(aten.mul(%self, %self), %self)
      %inner = aten.mul(aten.add(%self, aten.mul(%cube, 0.044715)), 0.79788456080286541)
      return aten.mul(%half, aten.add(aten.tanh(%inner), 1))
    }
    return aten.mul(%half, aten.add(aten.erf(aten.mul(%self, 0.70710678118654752)), 1)))",
                                                                            row));
  t.row("silu(Tensor self) -> Tensor", {.variants = kSameDtype,
                                        .traits = elementwise,
                                        .infer = rule::same_dtype,
                                        .generate = make::unary,
                                        .dtypes = kFloatOrComplex,
                                        .accuracy = Accuracy::ulp4,
                                        .raises = "integers",
                                        .decompose = "return aten.mul(%self, aten.sigmoid(%self))"});
  row = {.variants = {false, "out", {}, OutRule::copied},
         .traits = elementwise,
         .infer = rule::log_sigmoid,
         .generate = make::unary,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex"};
  t.row("log_sigmoid(Tensor self) -> Tensor",
        meaning("%output, %buffer = aten.log_sigmoid_forward(%self) return %output", row));
  row.variants = {.out = "output", .out_params = "!output buffer", .out_rule = OutRule::plain};
  t.row("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", meaning(R"(
    %buffer = aten.exp(aten.neg(aten.abs(%self)))
    return aten.sub(aten.clamp(%self, none, 0), aten.log1p(%buffer)), %buffer)",
                                                                                      loosely(row)));
  t.row("glu(Tensor self, int dim=-1) -> Tensor",
        {.variants = {false, "out"},
         .infer = rule::glu,
         .generate = make::glu,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex; an odd size of dim; no dims",
         .decompose = LENZ_HALVES("%self") "return aten.mul(%a, aten.sigmoid(%b))"});
  row = {.traits = elementwise,
         .infer = rule::prelu,
         .generate = make::prelu,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::rounded,
         .raises = "integers, complex; weights that are neither one nor one per channel"};
  t.row("prelu(Tensor self, Tensor weight) -> Tensor", meaning(R"(
    $rank = rank(%self)
    if numel(%weight) == 1 { $shape = list($rank, 1) }
    else if $rank == 1 { $shape = [numel(%weight)] }
    else { $shape = concat([1, numel(%weight)], list($rank - 2, 1)) }
    return aten._prelu_kernel(%self, aten.reshape(%weight, $shape)))",
                                                               row));
  row.infer = rule::prelu_kernel;
  row.generate = make::prelu_kernel;
  row.raises = "integers, complex; operands of different dtypes";
  t.row("_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
        meaning("return aten.where(aten.gt(%self, 0), %self, aten.mul(%weight, %self))", row));
  constexpr std::string_view kDrawsBetween =
      "eager looks at its bounds where it draws only: `lower must not be above upper`, `the bounds must be finite`";
  t.row(
      "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
      "generator=None) -> Tensor",
      {.variants = {true},
       .traits = random,
       .infer = rule::rrelu,
       .generate = make::rrelu,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::rounded,
       .raises = "integers, complex; lower > upper; f16 in training",
       .decompose = R"(
         if $training {
           %slope = aten.uniform(%self, $lower, $upper, generator=$generator)
           return aten.where(aten.le(%self, 0), aten.mul(%self, %slope), %self)
         }
         return aten.leaky_relu(%self, ($lower + $upper) / 2))",
       .exception = kDrawsBetween});
  // Its out= variant writes beyond a tensor that is too small instead of resizing it.
  Row noisy{.variants = {true, "out", {}, OutRule::plain},
            .traits = random,
            .infer = rule::rrelu_with_noise,
            .generate = make::rrelu_with_noise,
            .dtypes = dtypes::floats,
            .accuracy = Accuracy::rounded,
            .raises = "integers, complex; lower > upper and f16 in training; noise of another shape",
            .decompose = R"(
              if $training {
                %slope = aten.uniform(%self, $lower, $upper, generator=$generator)
                %slope = aten.copy_(%noise, aten.where(aten.le(%self, 0), %slope, 1.0))
                return aten.mul(%self, %slope)
              }
              return aten.leaky_relu(%self, ($lower + $upper) / 2))",
            .exception = kDrawsBetween};
  t.row(
      "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
      "training=False, Generator? generator=None) -> Tensor",
      noisy);
  noisy.variants = {};
  noisy.infer = rule::rrelu_with_noise_functional;
  noisy.decompose = R"(
    %drawn = aten.clone(%noise)
    %y = aten.rrelu_with_noise(%self, %drawn, $lower, $upper, $training, $generator)
    return %y, %drawn)";
  t.row(
      "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, "
      "bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
      noisy);
}

void backward_rows(RowSink& t) {
  Row row{.variants = {false, "grad_input", "grad_input"},
          .traits = elementwise,
          .infer = rule::activation_backward,
          .generate = make::activation_backward,
          .dtypes = dtypes::real_and_bool,
          .computes = dtypes::floats,
          .accuracy = Accuracy::ulp4,
          .raises = "integers among themselves; complex",
          .exception = rule::kConvertsOnCpu};
  t.row("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
        meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %inside = aten.logical_and(aten.gt(%x, -3), aten.lt(%x, 3))
    return aten.where(%inside, aten.mul(%g, 0.16666667163372040), 0.0))",
                loosely(row)));
  t.row("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
        fitting("min_val:computed max_val:computed", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %outside = aten.logical_or(aten.le(%x, $min_val), aten.ge(%x, $max_val))
    return aten.where(%outside, 0.0, %g))",
                                                             row)));
  t.row("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
        fitting("beta:computed threshold:computed", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %z = aten.mul(%x, $beta)
    return aten.where(aten.gt(%z, $threshold), %g, aten.mul(%g, aten.sigmoid(%z))))",
                                                            row)));
  t.row("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
        fitting("lambd:result", meaning(LENZ_PROMOTED("%grad_out", "%self") R"(
    %small = aten.le(aten.abs(%x), $lambd)
    return aten.where(%small, 0.0, %g))",
                                        row)));
  t.row("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
        fitting("lambd:result", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %small = aten.le(aten.abs(%x), $lambd)
    return aten.where(%small, 0.0, %g))",
                                        row)));
  t.row("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
        fitting("eps:result", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %y = aten.div(%g, aten.mul(%x, aten.rsub(%x, 1)))
    if given($eps) and $eps >= 0 {
      %outside = aten.logical_or(aten.lt(%x, $eps), aten.gt(%x, 1 - $eps))
      return aten.where(%outside, 0.0, %y)
    }
    %outside = aten.logical_or(aten.lt(%x, 0), aten.gt(%x, 1))
    return aten.where(%outside, nan, %y))",
                                      row)));
  row.infer = rule::elu_backward;
  t.row(
      "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
      "self_or_result) -> Tensor",
      fitting("alpha:computed scale:computed input_scale:computed",
              meaning(LENZ_PROMOTED("%grad_output", "%self_or_result") R"(
    $known = is_constant($alpha) and is_constant($scale) and is_constant($input_scale)
    if $is_result {
      if $known { $end = 1.0 * $alpha * $scale %moved = aten.add(%x, $end) }
      else { %end = aten.mul(aten.scalar_tensor($alpha, dtype=f64, device=device(%x)), $scale) %moved = aten.add(%x, %end) }
      %low = aten.mul(%moved, $input_scale)
    } else {
      %grown = aten.exp(aten.mul(%x, $input_scale))
      if $known { %low = aten.mul(%grown, 1.0 * $input_scale * $alpha * $scale) }
      else { %low = aten.mul(aten.mul(aten.mul(%grown, $input_scale), $alpha), $scale) }
    }
    return aten.where(aten.le(%x, 0), aten.mul(%g, %low), aten.mul(%g, $scale)))",
                      loosely(row))));
  row.infer = rule::leaky_relu_backward;
  t.row("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
        fitting("negative_slope:computed",
                meaning(LENZ_PROMOTED("%grad_output",
                                      "%self") "return aten.where(aten.gt(%x, 0), %g, aten.mul(%g, $negative_slope))",
                        row)));
  row.infer = rule::gelu_backward;
  row.flow.eager = 4;
  row.generate = make::same_shape_backward;
  const std::string_view converts = row.exception;
  row.exception =
      "oneDNN refuses integers: `could not create a primitive descriptor`, `itensor_view_from_dense`; it does not "
      "broadcast, which eager does by itself in some layouts: `the operands must have one shape`; " LENZ_CONVERTS;
  t.row("gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
        meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    if $approximate == "tanh" {
      %square = aten.mul(%x, %x)
      %inner = aten.mul(aten.add(%x, aten.mul(aten.mul(%square, %x), 0.044715)), 0.79788456080286541)
      %tanh = aten.tanh(%inner)
      %left = aten.mul(aten.add(%tanh, 1), 0.5)
      %slope = aten.mul(aten.add(aten.mul(%square, 0.134145), 1), 0.79788456080286541)
      %bell = aten.rsub(aten.mul(%tanh, %tanh), 1)
      return aten.mul(%g, aten.add(%left, aten.mul(aten.mul(aten.mul(%x, 0.5), %bell), %slope)))
    }
    %area = aten.mul(aten.add(aten.erf(aten.mul(%x, 0.70710678118654752)), 1), 0.5)
    %density = aten.mul(aten.exp(aten.mul(aten.mul(%x, %x), -0.5)), 0.3989422804014327)
    return aten.mul(%g, aten.add(%area, aten.mul(%x, %density))))",
                row));
  row.flow = {};
  row.exception = converts;
  row.generate = make::mish_backward;
  row.infer = rule::mish_backward;
  row.variants = {};
  t.row("mish_backward(Tensor grad_output, Tensor self) -> Tensor", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %tanh = aten.tanh(aten.softplus(%x))
    %bell = aten.rsub(aten.mul(%tanh, %tanh), 1)
    %y = aten.mul(%g, aten.add(%tanh, aten.mul(aten.mul(%x, aten.sigmoid(%x)), %bell)))
    return aten._to_copy(%y, dtype=dtype(%self)))",
                                                                            row));
  row.generate = make::activation_backward;
  row.infer = rule::activation_backward;
  row.variants = {false, "out", {}, OutRule::copied};
  t.row("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
        widely(LENZ_PROMOTED("%grad_output", "%self") R"(
    %middle = aten.mul(%g, aten.add(aten.div(%x, 3), 0.5))
    return aten.where(aten.le(%x, -3), 0.0, aten.where(aten.lt(%x, 3), %middle, %g)))",
               loosely(row)));
  row.variants = {false, "grad_input", "grad_input"};
  row.infer = rule::threshold_backward;
  row.computes = dtypes::real;
  row.raises = "bools among themselves; complex";
  t.row("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
        fitting("threshold:computed", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    if is_float($d) { return aten.where(aten.le(%x, $threshold), 0, %g) }
    return aten.where(aten.le(%x, aten.scalar_tensor($threshold, dtype=$d, device=device(%self))), 0, %g))",
                                              row)));
  row.infer = rule::activation_backward;
  row.dtypes = dtypes::usual;
  row.computes = kFloatOrComplex;
  row.raises = "integers among themselves";
  t.row("silu_backward(Tensor grad_output, Tensor self) -> Tensor", meaning(LENZ_PROMOTED("%grad_output", "%self") R"(
    %s = aten.sigmoid(%x)
    %slope = aten.mul(%s, aten.add(aten.mul(%x, aten.rsub(%s, 1)), 1))
    return aten.mul(%g, %slope))",
                                                                            row));
  Row of_sigmoid = loosely(row);
  of_sigmoid.flow.in_storage = "always";
  // Of complex numbers: rsub multiplies what it takes away by one, and the parts of an infinite one meet 0.
  t.row("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
        meaning(LENZ_PROMOTED("%grad_output", "%output") R"(
    if is_complex(%x) { return aten.mul(%g, aten.conj_physical(aten.mul(%x, aten.add(aten.neg(%x), 1)))) }
    return aten.mul(aten.mul(%g, aten.rsub(%x, 1)), %x))",
                of_sigmoid));
  t.row("tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
        widely(LENZ_PROMOTED("%grad_output", "%output") R"(
    if is_complex(%x) { return aten.mul(%g, aten.conj_physical(aten.add(aten.neg(aten.mul(%x, %x)), 1))) }
    return aten.mul(%g, aten.rsub(aten.mul(%x, %x), 1)))",
               row));

  row = {.variants = {false, "grad_input", "grad_input", OutRule::same_dtype},
         .traits = elementwise,
         .infer = rule::log_sigmoid_backward,
         .generate = make::same_shape_backward,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex; tensors of different dtypes"};
  t.row("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", widely(R"(
    %part = aten.div(%buffer, aten.add(%buffer, 1))
    return aten.mul(%grad_output, aten.where(aten.lt(%self, 0), aten.rsub(%part, 1), %part)))",
                                                                                                 row));
  row.traits = {};
  row.infer = rule::glu_backward;
  row.generate = make::glu;
  row.variants.out_rule = OutRule::copied;
  t.row("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", meaning(LENZ_HALVES("%self") R"(
    %s = aten.sigmoid(%b)
    %first = aten.mul(%s, %grad_output)
    %second = aten.mul(aten.mul(aten.mul(aten.rsub(%s, 1), %s), %a), %grad_output)
    return aten.cat([%first, %second], $dim))",
                                                                                    row));
  row.variants = {false, "out", {}, OutRule::copied};
  row.infer = rule::glu_jvp;
  row.dtypes = dtypes::wide_floats;
  row.raises = "integers, complex, f16, bf16; an odd size of dim";
  t.row("glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor", meaning(R"(
    $d = wrap($dim, rank(%x)) $n = size(%glu, $d)
    %s = aten.sigmoid(aten.slice(%x, $d, $n, 2 * $n))
    %a = aten.slice(%dx, $d, 0, $n) %b = aten.slice(%dx, $d, $n, 2 * $n)
    return aten.add(aten.mul(%a, %s), aten.mul(%glu, aten.sub(%b, aten.mul(%s, %b)))))",
                                                                               row));
  row.infer = rule::composite_of_copies;
  row.dtypes = dtypes::numbers;
  row.raises = "no dims; halves that don't broadcast; bools";
  row.exception = "with out= eager copies the first operand of any dtype: `has no kernel for bool`";
  t.row("glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor",
        meaning(R"(
        if rank(%x) == 0 or rank(%grad_glu) == 0 { raise "a tensor without dims has no halves" }
        if dtype(%x) == bool or dtype(%dx) == bool { raise "bools don't subtract" }
        $d = wrap($dim, rank(%x))
        $n = size(%grad_glu, $d)
        if size(%grad_x, $d) < 2 * $n { raise "`grad_x` has no two halves" }
        %a = aten.narrow(%x, $d, 0, $n)
        %b = aten.narrow(%x, $d, $n, $n)
        %da = aten.narrow(%dx, $d, 0, $n)
        %db = aten.narrow(%dx, $d, $n, $n)
        %g = aten.narrow(%grad_x, $d, 0, $n)
        %s = aten.sigmoid(%b)
        %glu = aten.mul(%a, %s)
        %step = aten.sub(%db, aten.mul(%db, %s))
        %first = aten.add(aten.mul(%dgrad_glu, %s), aten.mul(%g, %step))
        %moved = aten.sub(aten.sub(%da, aten.mul(%da, %s)), aten.mul(%glu, %step))
        return aten.cat([%first, aten.add(aten.mul(%first, aten.sub(%a, %glu)), aten.mul(%g, %moved))], $d))",
                row));
  row.flow = {};
  row.variants = {};
  row.dtypes = dtypes::floats;
  row.raises = "integers, complex; tensors of different dtypes";
  row.traits = elementwise;
  row.infer = rule::prelu_kernel_backward;
  row.generate = make::prelu_kernel;
  t.row("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", meaning(R"(
    %positive = aten.gt(%self, 0)
    return aten.where(%positive, %grad_output, aten.mul(%weight, %grad_output)),
           aten.where(%positive, 0.0, aten.mul(%self, %grad_output)))",
                                                                                                              row));
  t.row(
      "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool "
      "training, bool self_is_result) -> Tensor",
      {.variants = {false, "out", {}, OutRule::copied},
       .traits = elementwise,
       .infer = rule::rrelu_with_noise_backward,
       .generate = make::same_shape_backward,
       .dtypes = dtypes::real_and_bool,
       .computes = dtypes::floats,
       .accuracy = Accuracy::ulp4,
       .raises = "integers among themselves, complex",
       .decompose = R"(
         if $training { return aten.mul(%noise, %grad_output) }
         return aten.leaky_relu_backward(%grad_output, %self, ($lower + $upper) / 2, $self_is_result))",
       .exception = "what is not trained multiplies complex numbers too: `has no kernel for c`; " LENZ_CONVERTS});
}
}  // namespace

void activation_rows(RowSink& t) {
  forward_rows(t);
  backward_rows(t);
}
#undef LENZ_HALVES
#undef LENZ_PROMOTED

}  // namespace lenz
