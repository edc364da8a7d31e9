// Gradients of normalisations. `output_mask` says which of the three are asked for; the others are absent.
#include "compiler/ops/make/normalisation.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/normalisation.h"

// The end of each definition: of normalised values %z, the scale %r they came by, weighted gradients %g, and $n values
// normalised together over $dims, which share statistics.
#define LENZ_INPUT_GRADIENT                                         \
  "%average = aten.div(aten.sum(%g, $dims, true), $n) "             \
  "%slope = aten.div(aten.sum(aten.mul(%g, %z), $dims, true), $n) " \
  "%dx = aten.mul(aten.sub(aten.sub(%g, %average), aten.mul(%z, %slope)), %r) "

namespace lenz {

namespace {
constexpr std::string_view kUnchecked =
    "eager forgets to check, and reads out of bounds: `the gradient must have the input's shape`, `of the statistics`, "
    "`the input's shape must end in`, `must be a vector`, `has the wrong length`, `must be at least 1`, "
    "`must have the input's d`, `is longer than`, `the channels don't divide`, `needs statistics`, `needs an input "
    "of`, "
    "`needs a floating dtype`";

void layer_norms(RowSink& t) {
  t.row(
      "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
      "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      {.variants = {.out = "out", .out_params = "out0 out1 out2", .out_rule = OutRule::copied},
       .traits = Trait::reduction,
       .infer = rule::native_layer_norm_backward,
       .generate = make::layer_norm_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .flow = {.in_storage = "always", .eager = 4},  // its factors stand in another order
       .raises = "shapes that don't end in normalized_shape; a parameter's gradient without the parameter",
       .decompose = R"(
         $lead = rank(%input) - len($normalized_shape)
         $dims = range($lead, rank(%input))
         $n = product($normalized_shape)
         $d = compute_dtype(%input)
         %x = aten._to_copy(%input, dtype=$d)
         %y = aten._to_copy(%grad_out, dtype=$d)
         %r = aten.reshape(%rstd, concat(first(shape(%input), $lead), list(len($normalized_shape), 1)))
         %z = aten.sub(aten.mul(%x, %r), aten.mul(aten.reshape(%mean, shape(%r)), %r))
         if given($weight) { %g = aten.mul(%y, %weight) } else { %g = %y }
         %dx = none %dw = none %db = none
         if at($output_mask, 0) {)" LENZ_INPUT_GRADIENT R"(%dx = aten._to_copy(%dx, dtype=dtype(%input)) }
         if at($output_mask, 1) {
           %dw = aten.mul(%y, %z)
           if $lead > 0 { %dw = aten.sum(%dw, range(0, $lead)) }
           %dw = aten._to_copy(%dw, dtype=dtype(%weight))
         }
         if at($output_mask, 2) {
           %db = %y
           if $lead > 0 { %db = aten.sum(%db, range(0, $lead)) }
           %db = aten._to_copy(%db, dtype=dtype(%bias))
         }
         return %dx, %dw, %db)",
       .exception = kUnchecked});
}

void group_norms(RowSink& t) {
  t.row(
      "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, "
      "SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      {.variants = {.out = "out", .out_params = "out0 out1 out2", .out_rule = OutRule::copied},
       .traits = Trait::reduction,
       .infer = rule::native_group_norm_backward,
       .generate = make::group_norm_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .flow = {.in_storage = "always", .eager = 4},  // its factors stand in another order
       .raises = "channels that don't divide; a parameter's gradient without `weight`",
       .decompose = R"(
         $d = compute_dtype(%input)
         $shape = [$N, $group, $C // $group, $HxW]
         $dims = [2, 3]
         $n = $C // $group * $HxW
         %x = aten.reshape(aten._to_copy(%input, dtype=$d), $shape)
         %y = aten.reshape(aten._to_copy(%grad_out, dtype=$d), $shape)
         %r = aten.reshape(%rstd, [$N, $group, 1, 1])
         %z = aten.sub(aten.mul(%x, %r), aten.mul(aten.reshape(%mean, [$N, $group, 1, 1]), %r))
         if given($weight) { %g = aten.mul(%y, aten.reshape(%weight, [1, $group, $C // $group, 1])) } else { %g = %y }
         %dx = none %dw = none %db = none
         if at($output_mask, 0) {)" LENZ_INPUT_GRADIENT R"(
           %dx = aten.reshape(aten._to_copy(%dx, dtype=dtype(%input)), shape(%input))
         }
         if at($output_mask, 1) {
           %dw = aten._to_copy(aten.reshape(aten.sum(aten.mul(%y, %z), [0, 3]), [$C]), dtype=dtype(%weight))
         }
         if at($output_mask, 2) {
           %db = aten._to_copy(aten.reshape(aten.sum(%y, [0, 3]), [$C]), dtype=dtype(%weight))
         }
         return %dx, %dw, %db)",
       .exception = kUnchecked});
}

void batch_norms(RowSink& t) {
  t.row(
      "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
      "running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, "
      "Tensor, Tensor)",
      {.variants = {.out = "out", .out_params = "out0 out1 out2", .out_rule = OutRule::copied},
       .traits = Trait::reduction,
       .infer = rule::native_batch_norm_backward,
       .generate = make::batch_norm_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .flow = {.in_storage = "always", .eager = 4},  // its factors stand in another order
       .raises = "no statistics",
       .decompose = R"(
         $d = compute_dtype(%input)
         $c = size(%input, 1)
         $dims = concat([0], range(2, rank(%input)))
         $shape = concat([1, $c], list(rank(%input) - 2, 1))
         $n = numel(%input) // $c
         %x = aten._to_copy(%input, dtype=$d)
         %y = aten._to_copy(%grad_out, dtype=$d)
         if $train { %m = %save_mean %r = %save_invstd }
         else { %m = %running_mean %r = aten.rsqrt(aten.add(aten._to_copy(%running_var, dtype=$d), $eps)) }
         $p = dtype(%m)
         %r = aten.reshape(%r, $shape)
         %z = aten.sub(aten.mul(%x, %r), aten.mul(aten.reshape(%m, $shape), %r))
         if given($weight) { %g = aten.mul(%y, aten.reshape(%weight, $shape)) } else { %g = %y }
         %dx = none %dw = none %db = none
         if at($output_mask, 0) {
           if $train {)" LENZ_INPUT_GRADIENT R"(} else { %dx = aten.mul(%g, %r) }
           %dx = aten._to_copy(%dx, dtype=dtype(%input))
         }
         if at($output_mask, 1) { %dw = aten._to_copy(aten.sum(aten.mul(%y, %z), $dims), dtype=$p) }
         if at($output_mask, 2) { %db = aten._to_copy(aten.sum(%y, $dims), dtype=$p) }
         return %dx, %dw, %db)",
       .exception = kUnchecked});
}
}  // namespace

void normalisation_backward_rows(RowSink& t) {
  layer_norms(t);
  group_norms(t);
  batch_norms(t);
}
#undef LENZ_INPUT_GRADIENT

}  // namespace lenz
