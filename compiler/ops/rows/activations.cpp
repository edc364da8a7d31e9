// Activations and their gradients.
#include "compiler/ops/make/activation.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/activation.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

namespace {
using enum Trait;
constexpr Variants kSameDtype{true, "out", {}, OutRule::same_dtype};
constexpr DtypeSet kFloatOrComplex = dtypes::floats | dtypes::complexes;

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
  t.row("relu6(Tensor self) -> Tensor", row);
  row.variants = kSameDtype;
  row.generate = make::hardtanh;
  row.raises = "bool, complex; negative bounds for u8";
  t.row("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", row);
  row = {.variants = {true, "out"},
         .traits = elementwise,
         .infer = rule::same_dtype,
         .generate = make::activation,
         .dtypes = dtypes::real,
         .raises = "bool, complex"};
  t.row("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", row);

  row.variants = kSameDtype;
  row.dtypes = dtypes::floats;
  row.raises = "integers, complex";
  row.accuracy = Accuracy::ulp4;
  t.rows("{}(Tensor self) -> Tensor", "mish hardswish hardsigmoid", row);
  t.row("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", row);
  t.row("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", row);
  t.row("selu(Tensor self) -> Tensor", [&] {
    Row selu = row;
    selu.variants = {true};
    return selu;
  }());
  row.variants.in_place = false;
  t.row("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", row);
  t.row("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", row);
  row.infer = rule::softshrink;
  row.raises = "integers, complex; a negative lambd";
  t.row("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", row);
  row.variants = {true, "out", {}, OutRule::copied};
  row.infer = rule::celu;
  row.raises = "integers, complex; alpha=0";
  t.row("celu(Tensor self, Scalar alpha=1.) -> Tensor", row);
  row.variants = kSameDtype;
  row.infer = rule::gelu;
  row.raises = "integers, complex; an approximation that is not \"none\" or \"tanh\"";
  t.row("gelu(Tensor self, *, str approximate=\"none\") -> Tensor", row);
  t.row("silu(Tensor self) -> Tensor", {.variants = kSameDtype,
                                        .traits = elementwise,
                                        .infer = rule::same_dtype,
                                        .generate = make::unary,
                                        .dtypes = kFloatOrComplex,
                                        .accuracy = Accuracy::ulp4,
                                        .raises = "integers"});
  row = {.variants = {false, "out", {}, OutRule::copied},
         .traits = elementwise,
         .infer = rule::log_sigmoid,
         .generate = make::unary,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex"};
  t.row("log_sigmoid(Tensor self) -> Tensor", row);
  row.variants = {};  // the out= variant makes its buffer contiguous, which no other op does to a tensor that fits
  t.row("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", row);
  t.row("glu(Tensor self, int dim=-1) -> Tensor", {.variants = {false, "out"},
                                                   .infer = rule::glu,
                                                   .generate = make::glu,
                                                   .dtypes = dtypes::floats,
                                                   .accuracy = Accuracy::ulp4,
                                                   .raises = "integers, complex; an odd size of dim; no dims"});
  row = {.traits = elementwise,
         .infer = rule::prelu,
         .generate = make::prelu,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::rounded,
         .raises = "integers, complex; weights that are neither one nor one per channel"};
  t.row("prelu(Tensor self, Tensor weight) -> Tensor", row);
  row.infer = rule::prelu_kernel;
  row.generate = make::prelu_kernel;
  row.raises = "integers, complex; operands of different dtypes";
  t.row("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", row);
  t.row(
      "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
      "generator=None) -> Tensor",
      {.variants = {true},
       .traits = random,
       .infer = rule::rrelu,
       .generate = make::rrelu,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::rounded,
       .raises = "integers, complex; lower > upper; f16 in training"});
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
  t.row("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", row);
  t.row("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", row);
  t.row("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", row);
  t.row("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", row);
  t.row("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", row);
  t.row("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", row);
  row.infer = rule::elu_backward;
  t.row(
      "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
      "self_or_result) -> Tensor",
      row);
  row.infer = rule::leaky_relu_backward;
  t.row("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
        row);
  row.infer = rule::gelu_backward;
  row.generate = make::same_shape_backward;
  t.row("gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", row);
  row.generate = make::mish_backward;
  row.infer = rule::mish_backward;
  row.variants = {};
  t.row("mish_backward(Tensor grad_output, Tensor self) -> Tensor", row);
  row.generate = make::activation_backward;
  row.infer = rule::activation_backward;
  row.variants = {false, "out", {}, OutRule::copied};
  t.row("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", row);
  row.variants = {false, "grad_input", "grad_input"};
  row.infer = rule::threshold_backward;
  row.computes = dtypes::real;
  row.raises = "bools among themselves; complex";
  t.row("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", row);
  row.infer = rule::activation_backward;
  row.dtypes = dtypes::usual;
  row.computes = kFloatOrComplex;
  row.raises = "integers among themselves";
  t.row("silu_backward(Tensor grad_output, Tensor self) -> Tensor", row);
  t.rows("{}(Tensor grad_output, Tensor output) -> Tensor", "sigmoid_backward tanh_backward", row);

  row = {.variants = {false, "grad_input", "grad_input", OutRule::same_dtype},
         .traits = elementwise,
         .infer = rule::log_sigmoid_backward,
         .generate = make::same_shape_backward,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::ulp4,
         .raises = "integers, complex; tensors of different dtypes"};
  t.row("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", row);
  row.traits = {};
  row.infer = rule::glu_backward;
  row.generate = make::glu;
  row.variants.out_rule = OutRule::copied;
  t.row("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", row);
  row.variants = {false, "out", {}, OutRule::copied};
  row.infer = rule::glu_jvp;
  row.dtypes = dtypes::wide_floats;
  row.raises = "integers, complex, f16, bf16; an odd size of dim";
  t.row("glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor", row);
  row.variants = {};
  row.dtypes = dtypes::floats;
  row.raises = "integers, complex; tensors of different dtypes";
  row.traits = elementwise;
  row.infer = rule::prelu_kernel_backward;
  row.generate = make::prelu_kernel;
  t.row("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", row);
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
       .exception = rule::kConvertsOnCpu});
}
}  // namespace

void activation_rows(RowSink& t) {
  forward_rows(t);
  backward_rows(t);
}

}  // namespace lenz
