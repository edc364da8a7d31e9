// Softmaxes and normalisations: the native ops with rules of their own, the ones above them by definition.
#include "compiler/ops/make/normalisation.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/normalisation.h"

// Batches of %input, normalised over all dims but the channels'. The statistics come from the batch (%m, %v) or from
// `before`; `moved` says what those that run are then. Three results, and those after `more` in training, `else_more`
// otherwise. What is kept of the statistics is rounded, and normalises as it is kept; nothing else is on the way.
#define LENZ_BATCH_NORM(statistics_dtype, moved, before, more, else_more)                                     \
  "$d = dtype(%input) " statistics_dtype                                                                      \
  "if given($bias) { $d = dtype(%bias) } if given($weight) { $d = dtype(%weight) } "                          \
  "$c = size(%input, 1) "                                                                                     \
  "$shape = concat([1, $c], list(rank(%input) - 2, 1)) "                                                      \
  "%x = aten._to_copy(%input, dtype=compute_dtype(%input)) "                                                  \
  "if $training { "                                                                                           \
  "  %v, %m = aten.var_mean.correction(%x, concat([0], range(2, rank(%input))), correction=0, keepdim=true) " \
  "  $n = numel(%input) // $c " moved "} else { " before                                                      \
  " } "                                                                                                       \
  "%r = aten.rsqrt(aten.add(%v, $eps)) if $training { "                                                       \
  "  %r = aten._to_copy(%r, dtype=$d) %m = aten._to_copy(%m, dtype=$d) } "                                    \
  "%scale = aten._to_copy(%r, dtype=compute_dtype(%input)) "                                                  \
  "if given($weight) { "                                                                                      \
  "  %scale = aten.mul(%scale, aten._to_copy(aten.reshape(%weight, $shape), dtype=dtype(%scale))) } "         \
  "%shift = aten.neg(aten.mul(aten._to_copy(%m, dtype=dtype(%scale)), %scale)) "                              \
  "if given($bias) { "                                                                                        \
  "  %shift = aten.add(%shift, aten._to_copy(aten.reshape(%bias, $shape), dtype=dtype(%scale))) } "           \
  "%y = aten.add(aten.mul(%x, %scale), %shift) "                                                              \
  "%y = aten._to_copy(%y, dtype=dtype(%input)) "                                                              \
  "if $training { "                                                                                           \
  "  return %y, aten._to_copy(aten.reshape(%m, [$c]), dtype=$d), "                                            \
  "aten._to_copy(aten.reshape(%r, [$c]), dtype=$d)" more                                                      \
  " } "                                                                                                       \
  "%none = aten.zeros([0], dtype=$d, device=device(%input)) "                                                 \
  "return %y, %none, aten.clone(%none)" else_more
#define LENZ_RUNNING_DTYPE "if given($running_mean) { $d = dtype(%running_mean) } "
// In training the running statistics move towards the batch's, the variance without bias.
#define LENZ_MOVED                                                                                 \
  "%mean = aten._to_copy(%running_mean, dtype=compute_dtype(%running_mean)) "                      \
  "%mean = aten.add(aten.mul(%mean, 1 - $momentum), aten.mul(aten.reshape(%m, [$c]), $momentum)) " \
  "%free = aten.div(aten.mul(aten.reshape(%v, [$c]), $n), $n - 1) "                                \
  "%var = aten._to_copy(%running_var, dtype=compute_dtype(%running_var)) "                         \
  "%var = aten.add(aten.mul(%var, 1 - $momentum), aten.mul(%free, $momentum)) "
#define LENZ_MOVED_RESULTS \
  ", aten._to_copy(%mean, dtype=dtype(%running_mean)), aten._to_copy(%var, dtype=dtype(%running_var))"
#define LENZ_KEPT_RESULTS ", aten.clone(%running_mean), aten.clone(%running_var)"
// With statistics that are written to, what the functional form gives is copied to them: it has eager's very bits, but
// where they have gaps, which it closes before it computes.
#define LENZ_WRITES_STATISTICS                                                                                 \
  "%y, %s, %r, %mean, %var = aten._native_batch_norm_legit_functional(%input, $weight, $bias, %running_mean, " \
  "%running_var, $training, $momentum, $eps) "                                                                 \
  "if $training { %mean = aten.copy_(%running_mean, %mean) %var = aten.copy_(%running_var, %var) } "           \
  "return %y, %s, %r"
#define LENZ_BEFORE                                                                       \
  "%m = aten.reshape(aten._to_copy(%running_mean, dtype=compute_dtype(%input)), $shape) " \
  "%v = aten.reshape(aten._to_copy(%running_var, dtype=compute_dtype(%input)), $shape) "

namespace lenz {

namespace {
constexpr std::string_view kAnyDtype =
    "of no elements any dtype will do, with a dtype given float8 too: `needs a floating dtype`, `has no kernel for f8`";
#define LENZ_UNCHECKED                                                                               \
  "eager forgets to check, and may read out of bounds: `has the wrong length`, `must be a vector`, " \
  "`needs an input of rank`, `must not be empty`, `must have the input's d`, `can't be stored as the type of`"

void softmaxes(RowSink& t) {
  using enum Trait;
  const Row native{.variants = {.out = "out", .out_rule = OutRule::same_dtype},
                   .traits = reduction,
                   .infer = rule::softmax,
                   .generate = make::softmax,
                   .dtypes = dtypes::floats,
                   .accuracy = Accuracy::composed,
                   .raises = "integers; half_to_float on a CPU",
                   .exception = kAnyDtype};
  // Nothing has no maximum: where only the run knows whether there is something, -inf stands beside it.
  const std::string from_top = R"(
    if is_open(numel(%self)) {
      if is_open(size(%self, $dim)) {
        %lowest = aten.full_like(aten.sum(%self, [$dim], true), -inf)
        %all = aten.cat([%self, %lowest], $dim)
      } else { %all = %self }
    } else {
      if numel(%self) == 0 { return aten.clone(%self, memory_format=contiguous_format) }
      %all = %self
    }
    %x = aten.sub(%self, aten.amax(%all, [$dim], true)))";
  t.row("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", meaning(from_top + R"(
    %e = aten.exp(%x)
    return aten.div(%e, aten.sum(%e, [$dim], true)))",
                                                                                native));
  t.row("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", meaning(from_top + R"(
    return aten.sub(%x, aten.log(aten.sum(aten.exp(%x), [$dim], true))))",
                                                                                    native));
  Row backward{.variants = {.out = "out", .out_params = "grad_input", .out_rule = OutRule::same_dtype},
               .traits = reduction,
               .infer = rule::softmax_backward,
               .generate = make::softmax_backward,
               .dtypes = dtypes::floats,
               .accuracy = Accuracy::composed,
               .exception =
                   "eager forgets to check: `must have one shape`, `the dtypes must be the same`, `needs a "
                   "floating dtype`"};
  t.row("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
        meaning(R"(
    %g = aten.mul(%grad_output, %output)
    return aten.sub(%g, aten.mul(%output, aten.sum(%g, [$dim], true))))",
                backward));
  backward.variants.out_params = "out";
  t.row("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
        meaning("    return aten.sub(%grad_output, aten.mul(aten.exp(%output), aten.sum(%grad_output, [$dim], true)))",
                backward));

  Row above{.variants = {.out = "int_out", .out_rule = OutRule::same_dtype},
            .infer = rule::composite,
            .generate = make::softmax_dtype,
            .dtypes = dtypes::all,
            .accuracy = Accuracy::composed,
            .exception = kAnyDtype};
  constexpr std::string_view kSoftmax = R"(
    if given($dtype) { %x = aten._to_copy(%self, dtype=$dtype) } else { %x = %self }
    return aten._softmax(%x, $dim, false))";
  constexpr std::string_view kLogSoftmax = R"(
    if given($dtype) { %x = aten._to_copy(%self, dtype=$dtype) } else { %x = %self }
    return aten._log_softmax(%x, $dim, false))";
  above.decompose = kSoftmax;
  t.row("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", above);
  above.decompose = kLogSoftmax;
  t.row("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", above);
  above.variants = {};
  // Rows that see nothing are zeros.
  above.dtypes = dtypes::real_and_bool;
  above.decompose = R"(
    %y = aten.softmax(%self, $dim, $dtype)
    %hidden = aten.all(aten.isneginf(%self), $dim, true)
    if not is_open(numel(%self)) and numel(%self) == 0 { return %y }
    return aten.where(%hidden, aten.scalar_tensor(0.0, dtype=dtype(%y), device=device(%y)), %y))";
  t.row("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", above);
  above.dtypes = dtypes::all;
  above.decompose = kLogSoftmax;
  t.row("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", above);
  above.decompose = kSoftmax;
  t.row("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", above);
}

void norms(RowSink& t) {
  using enum Trait;
  t.row(
      "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, "
      "Tensor, Tensor)",
      {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
       .traits = reduction,
       .infer = rule::native_layer_norm,
       .generate = make::layer_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .raises = "shapes that don't end in normalized_shape",
       .decompose = R"(
         $d = dtype(%input)
         if given($bias) { $d = dtype(%bias) }
         if given($weight) { $d = dtype(%weight) }
         $dims = range(rank(%input) - len($normalized_shape), rank(%input))
         %x = aten._to_copy(%input, dtype=compute_dtype(%input))
         $n = product($normalized_shape)
         %m = aten.div(aten.sum(%x, $dims, true), max($n, 1))
         %apart = aten.sub(%x, %m)
         %r = aten.rsqrt(aten.add(aten.div(aten.sum(aten.mul(%apart, %apart), $dims, true), $n), $eps))
         %y = aten.mul(%apart, %r)
         if given($weight) { %y = aten.mul(%y, %weight) }
         if given($bias) { %y = aten.add(%y, %bias) }
         return aten._to_copy(%y, dtype=dtype(%input)), aten._to_copy(%m, dtype=$d), aten._to_copy(%r, dtype=$d))",
       .exception = "over an empty normalized shape the meta kernel's statistics are empty too"});
  t.row(
      "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float "
      "eps) -> (Tensor, Tensor, Tensor)",
      {.variants = {.out = "out", .out_rule = OutRule::copied},
       .traits = reduction,
       .infer = rule::native_group_norm,
       .generate = make::native_group_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .raises = "channels that don't divide; an input that is not dense",
       .decompose = R"(
         $d = dtype(%input)
         if given($bias) { $d = dtype(%bias) }
         if given($weight) { $d = dtype(%weight) }
         $each = [1, $group, $C // $group, 1]
         %x = aten.reshape(aten._to_copy(%input, dtype=compute_dtype(%input)), [$N, $group, $C // $group, $HxW])
         %v, %m = aten.var_mean.correction(%x, [2, 3], correction=0, keepdim=true)
         %r = aten.rsqrt(aten.add(%v, $eps))
         %scale = %r
         if given($weight) { %scale = aten.mul(%scale, aten.reshape(%weight, $each)) }
         %shift = aten.neg(aten.mul(%m, %scale))
         if given($bias) { %shift = aten.add(%shift, aten.reshape(%bias, $each)) }
         %y = aten.add(aten.mul(%x, %scale), %shift)
         return aten.reshape(aten._to_copy(%y, dtype=dtype(%input)), shape(%input)),
                aten._to_copy(aten.reshape(%m, [$N, $group]), dtype=$d),
                aten._to_copy(aten.reshape(%r, [$N, $group]), dtype=$d))",
       .exception = "eager reads a weight or bias with gaps as if it had none; the meta kernel gives statistics the "
                    "input's dtype and accepts inputs that are not dense"});
  constexpr std::string_view kVariances = "running_var in [0.25, 4]";
  Row batch{
      .variants = {.out = "out", .out_params = "out save_mean save_invstd", .out_rule = OutRule::copied},
      .traits = reduction,
      .infer = rule::native_batch_norm,
      .generate = make::batch_norm,
      .dtypes = dtypes::floats,
      .accuracy = Accuracy::composed,
      .raises = "an empty input; no statistics in evaluation",
      .decompose = "if $training and given($running_mean) { " LENZ_WRITES_STATISTICS
                   " } " LENZ_BATCH_NORM(LENZ_RUNNING_DTYPE, "", LENZ_BEFORE, "", ""),
      .writes = "running_mean running_var if training",
      .wants = kVariances,
      .exception = "the meta kernel keeps odd dense strides, and saves statistics in evaluation; " LENZ_UNCHECKED};
  t.row(
      "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
      "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
      batch);
  batch.writes = {};
  batch.decompose = LENZ_BATCH_NORM("", "", "raise \"needs running statistics when not training\"", "", "");
  batch.variants.out = "no_stats_out";
  batch.wants = {};
  t.row(
      "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
      "float eps) -> (Tensor, Tensor, Tensor)",
      batch);
  batch.variants = {};
  batch.wants = kVariances;
  batch.decompose = LENZ_WRITES_STATISTICS;
  t.row(
      "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) "
      "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
      batch);
  Row trained = batch;
  trained.infer = rule::composite_of_copies;
  trained.decompose =
      "%y, %s, %r = aten.native_batch_norm(%input, $weight, $bias, %running_mean, %running_var, false, $momentum, "
      "$eps) return %y, %s, %r";
  t.row(
      "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
      "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
      trained);
  batch.infer = rule::native_batch_norm_functional;
  batch.decompose = LENZ_BATCH_NORM(LENZ_RUNNING_DTYPE, LENZ_MOVED, LENZ_BEFORE, LENZ_MOVED_RESULTS, LENZ_KEPT_RESULTS);
  t.row(
      "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
      "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, "
      "Tensor running_var_out)",
      batch);

  t.row(
      "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
      "eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
      {.infer = rule::composite,
       .generate = make::layer_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .decompose = "%y, %m, %r = aten.native_layer_norm(%input, $normalized_shape, $weight, $bias, $eps) return %y",
       .exception = "over an empty normalized shape the meta kernel keeps odd strides"});
  t.row(
      "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
      "eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
      {.infer = rule::composite,
       .generate = make::group_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .decompose = R"(
           %x = aten.contiguous(%input, memory_format=suggested_format(%input))
           $area = product(drop(shape(%x), 2))
           %y, %m, %r = aten.native_group_norm(%x, $weight, $bias, size(%x, 0), size(%x, 1), $area, $num_groups, $eps)
           return %y)",
       .exception = "eager reads a weight or bias with gaps as if it had none; the meta kernel forgets channels-last"});
  t.row(
      "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
      "training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      {.infer = rule::composite,
       .generate = make::batch_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .decompose = R"(
           if numel(%input) == 0 {
             %a = aten.clone(%input)
             if given($weight) { %b = aten.mul(%a, aten.select($weight, 0, 0)) } else { %b = %a }
             if given($bias) { return aten.add(%b, aten.select($bias, 0, 0)) }
             return %b
           }
           %y, %m, %r = aten.native_batch_norm(%input, $weight, $bias, $running_mean, $running_var, $training, $momentum, $eps)
           return %y)",
       .writes = "running_mean running_var if training",
       .exception = "the meta kernel keeps odd dense strides; " LENZ_UNCHECKED});
}

// Statistics of each image apart: a batch norm over one batch of all images' channels. Running ones that it uses stay
// as they are: their mean over the images would round.
void instance_norms(RowSink& t) {
  t.row(
      "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
      "use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      {.infer = rule::composite,
       .generate = make::instance_norm,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .raises = "no statistics when not `use_input_stats`",
       .decompose = R"(
         if not $use_input_stats and not (given($running_mean) and given($running_var)) {
           raise "needs running statistics without `use_input_stats`"
         }
         if given($bias) and given($running_mean) and not given($weight) and dtype(%bias) != dtype(%input) {
           raise "statistics of another dtype need a `weight` beside the `bias`"
         }
         $b = size(%input, 0)
         $c = size(%input, 1)
         %w = none %o = none %m = none %v = none
         if given($weight) { %w = aten.repeat(%weight, [$b]) }
         if given($bias) { %o = aten.repeat(%bias, [$b]) }
         if given($running_mean) { %m = aten.repeat(%running_mean, [$b]) }
         if given($running_var) { %v = aten.repeat(%running_var, [$b]) }
         %x = aten.view(aten.contiguous(%input), concat([1, $b * $c], drop(shape(%input), 2)))
         %y = aten.batch_norm(%x, %w, %o, %m, %v, $use_input_stats, $momentum, $eps, $cudnn_enabled)
         if $use_input_stats and given($running_mean) {
           %moved = aten.copy_(aten.alias(%running_mean), aten.mean(aten.view(%m, [$b, $c]), [0], false))
         }
         if $use_input_stats and given($running_var) {
           %moved = aten.copy_(aten.alias(%running_var), aten.mean(aten.view(%v, [$b, $c]), [0], false))
         }
         return aten.view(%y, shape(%input)))",
       .writes = "running_mean running_var if use_input_stats",
       .exception = LENZ_UNCHECKED ", `more dims than the place that it goes to`, "
                                   "`the shape has another number of elements`"});
}

void rms_norms(RowSink& t) {
  constexpr std::string_view kMeta =
      "the meta device has a kernel of its own, which keeps odd strides of dims of size 1";
  Row row{.infer = rule::composite,
          .generate = make::rms_norm,
          .dtypes = dtypes::floats | dtypes::complexes,
          .accuracy = Accuracy::composed,
          .raises = "shapes that don't end in normalized_shape; integers",
          .decompose = R"(
            $lead = rank(%input) - len($normalized_shape)
            if not is_float(%input) and not is_complex(%input) { raise "needs a floating or complex dtype" }
            $e = $eps
            if not given($eps) { $e = epsilon(compute_dtype(%input)) }
            %x = aten.to(%input, compute_dtype(%input))
            %mean = aten.mean(aten.pow(%x, 2), range($lead, rank(%input)), true)
            %r = aten.rsqrt(aten.add(%mean, $e))
            %y = aten.mul(%x, %r)
            if given($weight) { %y = aten.mul(%y, %weight) }
            if suggested_format(%input) == contiguous_format { %y = aten.contiguous(%y) }
            return aten.to(%y, dtype(%input)), %r)",
          .exception = kMeta};
  t.row("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)", row);
  row.decompose = R"(
    if len($normalized_shape) == 0 { raise "`normalized_shape` must name at least one dim" }
    $lead = rank(%input) - len($normalized_shape)
    if $lead < 0 or not equal(drop(shape(%input), $lead), $normalized_shape) {
      raise "the input's shape must end in `normalized_shape`"
    }
    if given($weight) {
      if not equal(shape(%weight), $normalized_shape) { raise "`weight` must have shape `normalized_shape`" }
    }
    %y, %r = aten._fused_rms_norm(%input, $normalized_shape, $weight, $eps)
    return %y)";
  t.row("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", row);
}
}  // namespace

void normalisation_rows(RowSink& t) {
  softmaxes(t);
  norms(t);
  instance_norms(t);
  rms_norms(t);
}
#undef LENZ_BEFORE
#undef LENZ_MOVED
#undef LENZ_RUNNING_DTYPE
#undef LENZ_BATCH_NORM

}  // namespace lenz
