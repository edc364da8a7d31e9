// Losses. What eager writes in terms of other ops is a definition here; one-kernel losses have rules of their own.
#include "compiler/ops/decompose.h"
#include "compiler/ops/make/loss.h"
#include "compiler/ops/rows/creation_loops.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/loss.h"

// The end of a definition whose elementwise loss is %l: 1 takes its mean, 2 its sum, else it stays.
#define LENZ_REDUCED " if $reduction == 1 { return aten.mean(%l) } if $reduction == 2 { return aten.sum(%l) } return %l"
// The end of a definition whose gradient of a summed loss is %y: a mean shares it out.
#define LENZ_SHARED \
  " if $reduction == 1 { %y = aten.div(%y, numel(%self)) } return aten._to_copy(%y, dtype=dtype(%self))"
// Of scores %x and classes %t that stand where the scores' dim 1 is: each one's weight %w and loss %l.
#define LENZ_NLL                                                                                             \
  " %ignored = aten.eq(%t, $ignore_index) %class = aten.where(%ignored, 0, %t) "                             \
  "if given($weight) { %w = aten.reshape(aten.index_select(%weight, 0, aten.reshape(%class, [numel(%t)])), " \
  "shape(%t)) } "                                                                                            \
  "else { %w = aten.ones_like(%class, dtype=dtype(%self)) } "                                                \
  "%w = aten.where(%ignored, 0.0, %w) "                                                                      \
  "%l = aten.where(%ignored, 0.0, aten.mul(aten.neg(aten.gather(%x, 1, %class)), %w)) "
#define LENZ_NLL_REDUCED \
  " %n = aten.sum(%w) if $reduction == 1 { return aten.div(aten.sum(%l), %n), %n } return aten.sum(%l), %n"

namespace lenz {

namespace {
using enum Trait;

void regression(RowSink& t) {
  Row loss{.variants = {.out = "out"},
           .traits = reduction,
           .infer = rule::pointwise_loss,
           .generate = make::broadcast_loss,
           .dtypes = dtypes::real_and_bool,
           .computes = dtypes::floats,
           .accuracy = Accuracy::composed,
           .raises = "integers alone",
           .exception = "to average into float8 there is no kernel: `not implemented for 'Float8`"};
  t.row("mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
        meaning("%d = aten.sub(%self, %target) %l = aten.mul(%d, %d)" LENZ_REDUCED, loss));
  t.row("smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor", meaning(R"(
    %z = aten.abs(aten.sub(%self, %target))
    if $beta == 0 { %l = %z } else {
      %near = aten.div(aten.mul(aten.mul(%z, %z), 0.5), $beta)
      %l = aten.where(aten.lt(%z, $beta), %near, aten.sub(%z, 0.5 * $beta))
    })" LENZ_REDUCED,
                                                                                                        loss));
  loss.variants = {};  // an out= tensor is resized as the broadcast is laid out, the result as `self`: not derivable
  loss.dtypes = dtypes::floats;
  loss.infer = rule::huber_loss;
  loss.exception = "the meta kernel promotes where eager writes into a tensor like self";
  t.row("huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor", meaning(R"(
    %z = aten.abs(aten.sub(%self, %target))
    %far = aten.mul(aten.sub(%z, 0.5 * $delta), $delta)
    %l = aten.where(aten.le(%z, $delta), aten.mul(aten.mul(%z, %z), 0.5), %far)
    %l = aten._to_copy(%l, dtype=dtype(%self)))" LENZ_REDUCED,
                                                                                                     loss));

  // Their out= variants are laid out as the operands are, the results contiguous: not derivable.
  Row backward{.traits = elementwise,
               .infer = rule::pointwise_loss_backward,
               .generate = make::loss_backward,
               .dtypes = dtypes::real,
               .accuracy = Accuracy::composed,
               // Narrow floats too: each step is rounded, and the factor 1 / numel by itself.
               .flow = {.in_storage = "always", .eager = 2},
               .exception =
                   "the meta kernel keeps dense strides; eager fills a contiguous tensor; of integers of no "
                   "elements 2 / numel is no integer: `without overflow`"};
  t.row("mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
        meaning(R"(
    %d = aten.sub(%self, %target)
    if is_integral(%self) and $reduction == 1 and numel(%self) > 2 {
      return aten.zeros_like(aten.mul(%d, 2), dtype=dtype(%self))
    }
    if $reduction == 1 { %d = aten.div(%d, numel(%self)) }
    return aten._to_copy(aten.mul(aten.mul(%d, 2), %grad_output), dtype=dtype(%self)))",
                backward));  // of integers eager rounds 2 / numel towards 0 first
  backward.dtypes = dtypes::floats;
  Row smooth = backward;
  smooth.exception =
      "the meta kernel keeps dense strides; eager fills a contiguous tensor; of u8, i8, i16, i32 and i64 eager rounds "
      "beta or not as the operands' layout has it; beside a gradient of another dtype that layout decides what is "
      "legal: "
      "`the result would not have the dtype of`, `has no kernel for`";
  t.row("smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
        meaning(R"(
    %d = aten.sub(%self, %target)
    %near = aten.div(aten.mul(%d, %grad_output), $beta)
    %far = aten.where(aten.ge(%d, $beta), %grad_output, %near)
    %y = aten.where(aten.le(%d, 0 - $beta), aten.neg(%grad_output), %far))" LENZ_SHARED,
                smooth));
  t.row("huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
        meaning(R"(
    %d = aten.sub(%self, %target)
    %y = aten.clamp(%d, held(0 - $delta, dtype(%d)), held($delta, dtype(%d)))
    if $reduction == 1 { %y = aten.div(%y, numel(%self)) }
    return aten._to_copy(aten.mul(%y, %grad_output), dtype=dtype(%self)))",
                backward));

  t.row("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
        {.infer = rule::composite,
         .generate = make::promoting_loss,
         .dtypes = dtypes::numbers,
         .accuracy = Accuracy::composed,
         .decompose = "%l = aten.abs(aten.sub(%self, %target))" LENZ_REDUCED});
}

void probabilities(RowSink& t) {
  // Its out= variant wants room for the unreduced loss even where it is reduced: not derivable, so left out.
  Row bce{
      .traits = reduction,
      .infer = rule::binary_cross_entropy,
      .generate = make::cross_entropy,
      .dtypes = dtypes::floats,
      .domain = {0.0625, 0.9375},
      .accuracy = Accuracy::composed,
      .raises = "values outside [0, 1]; dtypes that differ",
      .wants = "self in [0, 1]; target in [0, 1]",
      .exception =
          "elements decide, which its definition does not ask: `should be between 0 and 1`; eager's kernel "
          "broadcasts what PyTorch's own function refuses: `must have one shape`; of nothing it forgets the weight's "
          "dtype: `must have the dtype of`"};
  t.row("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
        meaning(R"(
    %no = aten.clamp_min(aten.log1p(aten.neg(%self)), -100)
    %yes = aten.clamp_min(aten.log(%self), -100)
    %l = aten.sub(aten.mul(aten.sub(%target, 1), %no), aten.mul(%target, %yes))
    if given($weight) { %l = aten.mul(%l, %weight) })" LENZ_REDUCED,
                bce));
  t.row(
      "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
      "reduction=1) -> Tensor",
      {.variants = {.out = "out", .out_rule = OutRule::copied},
       .infer = rule::composite_of_copies,
       .generate = make::logits,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .decompose = R"(
           %s = aten.log_sigmoid(%self)
           if given($pos_weight) { %s = aten.mul_(%s, aten.add_(aten.mul(aten.sub(%pos_weight, 1), %target), 1)) }
           %l = aten.sub_(aten.mul_(aten.add_(aten.neg_(aten.clone(%target)), 1), %self), %s)
           if given($weight) { %l = aten.mul_(%l, %weight) })" LENZ_REDUCED});
  t.row("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
        {.infer = rule::composite,
         .generate = make::broadcast_loss,
         .dtypes = dtypes::floats,
         .domain = {0.0625, 4},
         .accuracy = Accuracy::composed,
         .raises = "integers and complex numbers",
         .decompose = R"(
           if not is_float(%self) or not is_float(%target) { raise "needs floating dtypes" }
           if $log_target { %l = aten.mul(aten.exp(%target), aten.sub(%target, %self)) }
           else { %l = aten.sub(aten.xlogy(%target, %target), aten.mul(%target, %self)) })" LENZ_REDUCED});
  t.row("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
        {.infer = rule::composite,
         .generate = make::loss,
         .dtypes = dtypes::usual,
         .computes = dtypes::numbers,
         .domain = {0.0625, 4},
         .accuracy = Accuracy::composed,
         .decompose = R"(
           if $log_input { %l = aten.sub(aten.exp(%input), aten.mul(%target, %input)) }
           else { %l = aten.sub(%input, aten.mul(%target, aten.log(aten.add(%input, $eps)))) }
           if $full {
             %a = aten.sub(aten.mul(%target, aten.log(%target)), %target)
             %b = aten.mul(aten.log(aten.mul(%target, 6.283185307179586)), 0.5)
             %l = aten.add_(%l, aten.masked_fill(aten.add(%a, %b), aten.le(%target, 1), 0))
           })" LENZ_REDUCED,
         .exception = "the meta device keeps odd strides where eager on a CPU converts integers first"});
}

void margins(RowSink& t) {
  Row row{
      .infer = rule::composite, .generate = make::ranking_loss, .dtypes = dtypes::real, .accuracy = Accuracy::composed};
  row.decompose = R"(
    %l = aten.clamp_min_(aten.add(aten.mul(aten.neg(%target), aten.sub(%input1, %input2)), $margin), 0))" LENZ_REDUCED;
  t.row("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
        row);
  row.dtypes = dtypes::numbers;
  row.decompose = R"(
    if rank(%anchor) != rank(%positive) or rank(%anchor) != rank(%negative) { raise "the operands must be of one rank" }
    %near = aten.pairwise_distance(%anchor, %positive, $p, $eps)
    %far = aten.pairwise_distance(%anchor, %negative, $p, $eps)
    if $swap { %far = aten.minimum(%far, aten.pairwise_distance(%positive, %negative, $p, $eps)) }
    %l = aten.clamp_min(aten.sub(aten.add(%near, $margin), %far), 0))" LENZ_REDUCED;
  t.row(
      "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float "
      "eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
      row);

  row.generate = make::broadcast_loss;
  row.dtypes = dtypes::real;
  row.decompose = R"(
    %zeros = aten.zeros_like(%self, memory_format=contiguous_format)
    %margin_part = aten.where(aten.ne(%target, 1), aten.clamp_min_(aten.sub_(aten.full_like(%self, $margin), %self), 0), %zeros)
    %self_part = aten.where(aten.ne(%target, -1), %self, %zeros)
    %l = aten.add(%margin_part, %self_part))" LENZ_REDUCED;
  t.row("hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", row);

  row.generate = make::loss;
  row.dtypes = dtypes::floats | dtypes::complexes;
  row.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  row.decompose = R"(
    %l = aten.log1p_(aten.exp_(aten.mul_(aten.neg(%self), %target)))
    if $reduction == 0 { return %l }
    if $reduction == 1 { return aten.mean(%l) }
    return aten.sum(%l))";
  t.row("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", row);

  t.row(
      "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
      "reduction=1) -> Tensor",
      {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
       .traits = reduction,
       .infer = rule::multi_margin_loss,
       .generate = make::multi_margin,
       .dtypes = dtypes::wide_floats,
       .accuracy = Accuracy::composed,
       .raises = "class numbers out of range",
       .decompose = R"(
         if rank(%self) == 2 { %x = %self } else { %x = aten.reshape(%self, [1, numel(%self)]) }
         $rows = size(%x, 0)
         %t = aten.reshape(%target, [$rows, 1])
         %z = aten.add(aten.rsub(aten.gather(%x, 1, %t), $margin), %x)
         %z = aten.where(aten.isnan(%z), 0.0, aten.clamp_min(%z, 0))
         if $p >= 2 { %z = aten.mul(%z, %z) }
         if given($weight) {
           %w = aten.reshape(aten.index_select(%weight, 0, aten.reshape(%t, [$rows])), [$rows, 1])
           %beyond = aten.where(aten.gt(%z, 0), aten.mul(%z, %w), 0.0)
           %z = aten.where(aten.isfinite(%w), aten.mul(%z, %w), %beyond)
         }
         %others = aten.scatter(%z, 1, %t, 0)
         %l = aten.reshape(aten.div(aten.sum(%others, [1]), size(%x, 1)), shape(%target)))" LENZ_REDUCED,
       .fits = "margin:result",
       .exception = "eager counts its elements: `must be a vector`"});
}

// Classes %t of scores %x, a row each, up to the first that is negative: %valid says which count, %others which classes
// are none of them, by what %in says of how %is_target holds them; %margin is what a score adds to.
#define LENZ_LABELS(in)                                                                     \
  "if rank(%self) == 2 { $rows = size(%self, 0) } else { $rows = 1 } "                      \
  "%x = aten.reshape(%self, [$rows, numel(%self) // max($rows, 1)]) "                       \
  "%t = aten.reshape(%target, shape(%x)) "                                                  \
  "%valid = aten._to_copy(aten.eq(aten.cumsum(aten.lt(%t, 0), 1), 0), dtype=dtype(%self)) " \
  "%class = aten.where(aten.eq(%t, -1), 0, %t) "                                            \
  "%in = " in " %others = aten.rsub(%in, 1) %margin = aten.rsub(aten.gather(%x, 1, %class), 1) "

#define LENZ_IN \
  "aten._to_copy(aten.gt(aten.scatter_add(aten.zeros_like(%x), 1, %class, %valid), 0), dtype=dtype(%self))"

void several_labels(RowSink& t) {
  Row row{.variants = {.out = "output", .out_params = "!output is_target", .out_rule = OutRule::plain},
          .traits = reduction,
          .infer = rule::multilabel_margin_loss,
          .generate = make::multilabel_margin,
          .dtypes = dtypes::wide_floats,
          .accuracy = Accuracy::composed,
          .raises = "class numbers out of range",
          .wants = "target < self[-1]",
          .exception = "eager counts elements: ` must have the shape of `, `the gradient must have th`"};
  row.decompose = LENZ_LABELS(LENZ_IN) R"(
    %z = aten.add(aten.unsqueeze(%margin, 2), aten.unsqueeze(%x, 1))
    %pairs = aten.where(aten.gt(%z, 0), aten.mul(aten.unsqueeze(%valid, 2), aten.unsqueeze(%others, 1)), 0)
    %l = aten.div(aten.sum(aten.where(aten.ne(%pairs, 0), %z, 0), [1, 2]), max(size(%x, 1), 1))
    if rank(%self) < 2 { %l = aten.reshape(%l, []) }
    %is = aten.reshape(%in, shape(%target))
    if $reduction == 1 { return aten.mean(%l), %is }
    if $reduction == 2 { return aten.sum(%l), %is }
    return %l, %is)";
  t.row(
      "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
      row);
  row.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  row.decompose = "%l, %is = aten.multilabel_margin_loss_forward(%self, %target, $reduction) return %l";
  t.row("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", row);
  row.variants = {.out = "grad_input", .out_params = "grad_input", .out_rule = OutRule::plain};
  row.traits = {};
  row.infer = rule::multilabel_margin_loss_backward;
  row.wants = "target < self[-1]; is_target in [0, 1]";
  // Eager refuses what is no number from 0 to 1: so does the look-up, at a place that there is not. Each pair
  // takes from its class what it gives to the other one; pairs are asked for twice, so that nobody has to keep them.
  row.decompose = LENZ_LABELS(
      "aten.take(aten.arange(2, dtype=dtype(%self), device=device(%self)), "
      "aten._to_copy(aten.where(aten.ge(aten.reshape(%is_target, shape(%x)), 0), "
      "aten.ceil(aten.reshape(%is_target, shape(%x))), 2), dtype=i64))") R"(
    %g = aten.reshape(%grad_output, [choose($reduction == 0, $rows, 1), 1])
    $n = max(size(%x, 1), 1)
    if $reduction == 1 { $n = $n * max($rows, 1) }
    %from = aten.gt(aten.add(aten.unsqueeze(%margin, 2), aten.unsqueeze(%x, 1)), 0)
    %away = aten.mul(aten.sum(aten.where(%from, aten.unsqueeze(%valid, 2), 0), [1]), %others)
    %to = aten.gt(aten.add(aten.unsqueeze(%margin, 1), aten.unsqueeze(%x, 2)), 0)
    %each = aten.mul(aten.sum(aten.where(%to, aten.unsqueeze(%others, 2), 0), [1]), %valid)
    %toward = aten.scatter_add(aten.zeros_like(%x), 1, %class, %each)
    %y = aten.mul(aten.div(aten.sub(%away, %toward), $n), %g)
    return aten.reshape(%y, shape(%self)))";
  t.row(
      "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor "
      "is_target) "
      "-> Tensor",
      row);
}
#undef LENZ_IN
#undef LENZ_LABELS

constexpr std::string_view kClasses =
    "the classes decide: `is out of bounds`; of no classes loops refuse ignored ones too: `for a dim of size 0`, `no "
    "target is "
    "among no classes`; "
    "one class alone may not: `doesn't match the broadcast shape`, `weight tensor should be defined`; weights are "
    "counted: `must be a vector`; what is "
    "not divided by goes unchecked: `the operands must have one "
    "dtype`";

constexpr std::string_view kClassesUnasked =
    "the classes decide, which its definition does not ask: `is out of bounds`; of no classes loops refuse ignored "
    "ones too: `for a dim of size 0`, `no target is among no classes`; weights are counted: `must be a vector`; what "
    "is "
    "not divided by goes unchecked: `the operands must have one dtype`";

void classes(RowSink& t) {
  Row nll{.variants = {.out = "output", .out_params = "!output total_weight", .out_rule = OutRule::same_dtype},
          .traits = reduction,
          .infer = rule::nll_loss,
          .generate = make::nll_loss,
          .dtypes = dtypes::floats,
          .accuracy = Accuracy::accumulated,
          .flow = {.in_storage = "always"},
          .raises = "class numbers out of range",
          .exception = kClasses};
  nll.decompose = R"(
    if rank(%self) == 2 { %x = %self } else { %x = aten.reshape(%self, [1, numel(%self)]) }
    %t = aten._to_copy(aten.reshape(%target, [size(%x, 0), 1]), dtype=i64))" LENZ_NLL R"(
    %l = aten.reshape(%l, [size(%x, 0)])
    if $reduction == 0 and rank(%self) == 2 { return %l, aten.zeros([], dtype=dtype(%self), device=device(%self)) })" LENZ_NLL_REDUCED;
  t.row(
      "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor "
      "output, Tensor total_weight)",
      nll);
  nll.decompose = R"(
    %x = %self
    %t = aten._to_copy(aten.unsqueeze(%target, 1), dtype=i64))" LENZ_NLL R"(
    %l = aten.reshape(%l, shape(%target))
    if $reduction == 0 { return %l, aten.zeros([], dtype=dtype(%self), device=device(%self)) })" LENZ_NLL_REDUCED;
  nll.infer = rule::nll_loss2d;
  nll.generate = make::nll_loss2d;
  t.row(
      "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor "
      "output, Tensor total_weight)",
      nll);
  t.row(
      "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
      "ignore_index, Tensor total_weight) -> Tensor",
      {.variants = {.out = "grad_input", .out_params = "grad_input", .out_rule = OutRule::same_dtype},
       .traits = indexing,
       .infer = rule::nll_loss_backward,
       .generate = make::nll_loss_backward,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::rounded,
       .flow = {.kind = ErrorFlow::positive, .terms = ErrorFlow::factors, .divisor = "total_weight"},
       // Minus the weight of the class that is the target, times the gradient, where the target is not to be ignored.
       .decompose = R"(
         $d = compute_dtype(%self)
         $rows = first(shape(%self), rank(%self) - 1)
         %class = aten.unsqueeze(aten._to_copy(aten.reshape(%target, $rows), dtype=i64), -1)
         %hit = aten.eq(%class, aten.arange(size(%self, -1), device=device(%self)))
         %counts = aten.ne(%class, $ignore_index)
         %hit = aten.logical_and(%hit, %counts)
         %g = aten._to_copy(%grad_output, dtype=$d)
         if $reduction == 0 { %g = aten.reshape(%g, concat($rows, [1])) } else { %g = aten.reshape(%g, []) }
         if $reduction == 1 { %g = aten.div(%g, aten.reshape(aten._to_copy(%total_weight, dtype=$d), [])) }
         if given($weight) {
           %w = aten.index_select(%weight, 0, aten.reshape(aten.where(%counts, %class, 0), [product($rows)]))
           %g = aten.mul(aten._to_copy(aten.reshape(%w, shape(%class)), dtype=$d), %g)
         }
         return aten._to_copy(aten.where(%hit, aten.neg(%g), 0.0), dtype=dtype(%self)))",
       .wants = "target < self[-1]",
       .exception = kClassesUnasked});

  Row above{.infer = rule::composite,
            .generate = make::nll_loss,
            .dtypes = dtypes::floats,
            .accuracy = Accuracy::accumulated,
            .exception = kClasses};
  above.variants = {.out = "out", .out_rule = OutRule::same_dtype};
  above.decompose = "%l, %w = aten.nll_loss_forward(%self, %target, $weight, $reduction, $ignore_index) return %l";
  t.row(
      "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
      above);
  above.generate = make::nll_loss2d;
  above.decompose = "%l, %w = aten.nll_loss2d_forward(%self, %target, $weight, $reduction, $ignore_index) return %l";
  t.row(
      "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
      "Tensor",
      above);
  above.variants = {};
  above.infer = rule::nll_loss_nd;
  above.generate = make::nll_loss_nd;
  above.decompose = R"(
    if rank(%self) <= 2 { return aten.nll_loss(%self, %target, $weight, $reduction, $ignore_index) }
    if rank(%self) == 4 { return aten.nll_loss2d(%self, %target, $weight, $reduction, $ignore_index) }
    $area = product(drop(shape(%self), 2))
    $image = choose(numel(%self) == 0, [0, 0], [1, $area])
    $labels = choose(numel(%target) == 0, [0, 0], [1, product(drop(shape(%target), 1))])
    %s = aten.reshape(aten.contiguous(%self), concat([size(%self, 0), size(%self, 1)], $image))
    %t = aten.reshape(aten.contiguous(%target), concat([size(%target, 0)], $labels))
    %l = aten.nll_loss2d(%s, %t, $weight, $reduction, $ignore_index)
    if $reduction == 0 { return aten.view(%l, shape(%target)) }
    return %l)";
  t.row(
      "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
      "Tensor",
      above);

  t.row(
      "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, "
      "float label_smoothing=0.) -> Tensor",
      {.infer = rule::composite,
       .generate = make::classes_or_probabilities,
       .dtypes = dtypes::floats,
       .accuracy = Accuracy::composed,
       .raises = "class numbers out of range",
       .decompose = R"(
           if $label_smoothing > 1 { raise "label_smoothing must be in [0, 1]" }
           if rank(%self) == 1 { $dim = 0 } else { $dim = 1 }
           $classes = size(%self, $dim)
           %p = aten.log_softmax(%self, $dim)
           if given($weight) { %w = aten.view(%weight, concat(concat(list($dim, 1), [$classes]), list(rank(%self) - $dim - 1, 1))) }
           if rank(%self) == 1 and shape(%target) == shape(%self) and not is_float(%target) {
             raise "a target of this shape holds probabilities"
           }
           if is_float(%target) {
             if rank(%target) != rank(%self) or numel(%target) != numel(%self) { raise "probabilities must have the shape of `self`" }
             if $reduction < 0 or $reduction > 2 { raise "`reduction` must be 0, 1 or 2" }
             if $ignore_index >= 0 { raise "`ignore_index` is for class numbers" }
             %t = aten.expand(%target, shape(%self))
             if $label_smoothing > 0 { %t = aten.add(aten.mul(%t, 1 - $label_smoothing), aten._to_copy(aten.div(aten.full([], $label_smoothing, dtype=f64), $classes), dtype=dtype(%self))) }
             %m = aten.mul(%p, %t)
             if given($weight) { %m = aten.mul(%m, %w) }
             if $reduction == 0 { return aten.neg(aten.sum(%m, [$dim])) }
             if $reduction == 2 { return aten.neg(aten.sum(%m)) }
             return aten.div(aten.neg(aten.sum(%m)), numel(%p) // $classes)
           }
           %nll = aten.nll_loss_nd(%p, %target, $weight, $reduction, $ignore_index)
           if $label_smoothing == 0 { return %nll }
           if $reduction < 0 or $reduction > 2 { raise "`reduction` must be 0, 1 or 2" }
           %q = %p
           if given($weight) { %q = aten.mul(%p, %w) }
           %ignored = aten.eq(%target, $ignore_index)
           %smooth = aten.masked_fill(aten.neg(aten.sum(%q, [$dim])), %ignored, 0)
           if $reduction == 2 { %smooth = aten.sum(%smooth) }
           if $reduction == 1 {
             if given($weight) {
               %class = aten.reshape(aten.masked_fill(%target, %ignored, 0), [numel(%target)])
               %used = aten.masked_fill(aten.index_select(%weight, 0, %class), aten.reshape(%ignored, [numel(%target)]), 0)
               %smooth = aten.div(aten.sum(%smooth), aten.sum(%used))
             } else {
               %smooth = aten.div(aten.sum(%smooth), aten.sum(aten.logical_not(%ignored)))
             }
           }
           return aten.add(aten.mul(%nll, 1 - $label_smoothing), aten.mul(%smooth, aten._to_copy(aten.div(aten.full([], $label_smoothing, dtype=f64), $classes), dtype=dtype(%self)))))",
       .exception = kClasses});
}

void distances(RowSink& t) {
  Row row{
      .infer = rule::composite, .generate = make::row_pairs, .dtypes = dtypes::numbers, .accuracy = Accuracy::composed};
  row.decompose = R"(
    %d = aten.add(aten.sub(%x1, %x2), $eps)
    return aten.norm(%d, $p, [rank(%d) - 1], $keepdim))";
  t.row(
      "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> "
      "Tensor",
      row);
  row.dtypes = dtypes::real_and_bool;
  row.computes = dtypes::floats;
  row.decompose = R"(
    %both = aten.add(%x1, %x2)
    if not is_float(%both) { raise "needs floating dtypes" }
    %x = %x1
    %y = %x2
    if is_integral(%x1) { %x = aten._to_copy(%x1, dtype=dtype(%both)) }
    if is_integral(%x2) { %y = aten._to_copy(%x2, dtype=dtype(%both)) }
    if not ($eps >= 0) { raise "eps must not be negative" }
    %least = aten.scalar_tensor($eps, dtype=dtype(%both), device=device(%both))
    if dtype(%both) == f16 or dtype(%both) == bf16 {
      %a = aten.maximum(aten.linalg_vector_norm(aten.expand_as(%x, %both), 2, [$dim], true), %least)
      %b = aten.maximum(aten.linalg_vector_norm(aten.expand_as(%y, %both), 2, [$dim], true), %least)
      return aten.sum(aten.mul(aten.div(%x, %a), aten.div(%y, %b)), [$dim])
    }
    %s = aten.sum(aten.mul(%x1, %x2), [$dim])
    %a = aten.maximum(aten.linalg_vector_norm(aten.expand_as(%x, %both), 2, [$dim]), %least)
    %b = aten.maximum(aten.linalg_vector_norm(aten.expand_as(%y, %both), 2, [$dim]), %least)
    return aten.div(%s, aten.mul(%a, %b)))";
  // Of narrow floats the products might leave the range that quotients by norms have.
  row.fits = "eps:computed";
  row.flow.stores_steps = true;  // it divides both vectors by their norms first
  row.flow.eager = 3;            // which rounds each factor of a product too
  t.row("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", row);
  row.fits = {};
  row.flow = {};
  row.computes = {};
  row.generate = make::cosine_embedding;
  row.dtypes = dtypes::real_and_bool;
  row.decompose = R"(
    $dim = rank(%target)
    if $dim > 1 { raise "`target` must be of rank 0 or 1" }
    if rank(%input1) != $dim + 1 or rank(%input2) != $dim + 1 { raise "the inputs must have one dim more than `target`" }
    %dot = aten.sum(aten.mul(%input1, %input2), [$dim])
    %a = aten.add(aten.sum(aten.mul(%input1, %input1), [$dim]), 9.999999960041972e-13)
    %b = aten.add(aten.sum(aten.mul(%input2, %input2), [$dim]), 9.999999960041972e-13)
    %cos = aten.div(%dot, aten.sqrt(aten.mul(%a, %b)))
    %zeros = aten.zeros_like(%cos)
    %positive = aten.where(aten.eq(%target, 1), aten.rsub(%cos, 1), %zeros)
    %negative = aten.where(aten.eq(%target, -1), aten.clamp_min(aten.sub(%cos, $margin), 0), %zeros)
    %l = aten.add(%positive, %negative))" LENZ_REDUCED;
  t.row(
      "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
      row);
}

void counts(RowSink& t) {
  t.row("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
        {.variants = {.out = "out", .out_rule = OutRule::same_dtype},
         .traits = reduction,
         .infer = rule::histc,
         .generate = make::histogram,
         .dtypes = dtypes::floats,
         .accuracy = Accuracy::composed,
         .raises = "integers; a range that is not finite",
         // Places are computed in the dtype, and decide between bins; the ends belong to the first and the last. Of a
         // range that is not finite no bin is one, which the scatter refuses; where the ends are, but not the range
         // between them or its multiple, the last bin is nobody's promise. Of bf16 eager also refuses one number that
         // f64 can't tell from its neighbours, of f16 one that has none at a distance of 1.
         .decompose = R"(
           $d = dtype(%self)
           %zeros = aten.zeros([$bins], dtype=$d, device=device(%self))
           if numel(%self) == 0 { return %zeros }
           %x = aten.reshape(%self, [numel(%self)])
           if $min == $max {
             %low = aten.amin(%x, [0])
             %high = aten.amax(%x, [0])
           } else {
             %low = aten.full([], $min, dtype=$d, device=device(%self))
             %high = aten.full([], $max, dtype=$d, device=device(%self))
           }
           %point = aten.eq(%low, %high)
           %told = aten.logical_and(aten.isfinite(%low), aten.isfinite(%high))
           if $d == bf16 {
             %wide = aten._to_copy(%low, dtype=f64)
             %apart = aten.ne(aten.sub(%wide, 1), aten.add(%wide, 1))
             %told = aten.logical_and(%told, aten.logical_or(aten.logical_not(%point), %apart))
           }
           if $d == f16 {
             %room = aten.lt(aten.abs(%low), highest(%self))
             %told = aten.logical_and(%told, aten.logical_or(aten.logical_not(%point), %room))
           }
           %low = aten.where(%point, aten.sub(%low, 1), %low)
           %high = aten.where(%point, aten.add(%high, 1), %high)
           %range = aten.sub(%high, %low)
           %place = aten.div(aten.mul(aten.sub(%x, %low), $bins), %range)
           %last = aten.logical_and(aten.ge(%x, %high), aten.isfinite(aten.mul(%range, $bins)))
           %place = aten.where(%last, aten.full([], $bins - 0.5, dtype=$d, device=device(%self)), %place)
           %place = aten.where(aten.le(%x, %low), aten.full([], 0.5, dtype=$d, device=device(%self)), %place)
           %bin = aten.clamp(aten._to_copy(aten.floor(%place), dtype=i64), 0, $bins - 1)
           %bin = aten.where(%told, %bin, aten.full([], $bins, dtype=i64, device=device(%self)))
           %inside = aten.logical_and(aten.ge(%x, %low), aten.le(%x, %high))
           return aten.scatter_add(%zeros, 0, %bin, aten._to_copy(%inside, dtype=$d)))",
         .loops = kHistcLoops,
         .fits = "min:result max:result"});
  t.row("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
        {.traits = reduction | data_dependent | core,
         .infer = rule::bincount,
         .generate = make::bincount,
         .dtypes = dtypes::integers,
         .accuracy = Accuracy::accumulated,
         .raises = "negative values",
         .loops = kBincountLoops,
         .wants = "self in [0, 9]"});
}
}  // namespace

void loss_rows(RowSink& t) {
  regression(t);
  probabilities(t);
  margins(t);
  several_labels(t);
  classes(t);
  distances(t);
  counts(t);
}

}  // namespace lenz
