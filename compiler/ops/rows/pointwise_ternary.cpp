// Elementwise ops of three operands, bounds, and complex numbers from parts.
#include "compiler/ops/make/common.h"
#include "compiler/ops/make/pointwise.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/pointwise.h"

namespace lenz {

namespace {
using enum Trait;

void bound_rows(RowSink& t) {
  Row row{.variants = {true, "out", {}, OutRule::same_dtype},
          .traits = elementwise | idempotent | monotone,
          .infer = rule::clamp,
          .generate = make::clamp,
          .dtypes = dtypes::real_and_bool,
          .computes = dtypes::real,
          .raises = "complex; no bound given; bool with bool bounds",
          .exception = rule::kConvertsOnCpu};
  row.decompose = R"(
    if given($min) and given($max) { $d = result_type(%self, $min, $max) }
    else if given($min) { $d = result_type(%self, $min) }
    else { $d = result_type(%self, $max) }
    if is_float(%self) or dtype(%self) == $d { %x = %self } else { %x = aten._to_copy(%self, dtype=$d) }
    if given($min) { %x = aten.clamp_min(%x, $min) }
    if given($max) { %x = aten.clamp_max(%x, $max) }
    return %x)";
  t.row("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", fitting("min:result max:result", row));
  t.alias("clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "clamp");
  row.decompose = {};
  row.traits = row.traits | core;
  row.scalar = "maximum";
  t.row("clamp_min(Tensor self, Scalar min) -> Tensor", fitting("min:result", row));
  row.scalar = "minimum";
  t.row("clamp_max(Tensor self, Scalar max) -> Tensor", fitting("max:result", row));
  row.scalar = {};
  row.variants = {true, "Tensor_out"};
  row.traits = elementwise | idempotent;
  row.infer = rule::clamp_tensor;
  row.generate = make::clamp_tensor;
  row.decompose = R"(
    if not given($max) { return aten.maximum(%self, %min) }
    if not given($min) { return aten.minimum(%self, %max) }
    $d = result_type(%self, %min, %max)
    %x = aten.maximum(aten._to_copy(%self, dtype=$d), aten._to_copy(%min, dtype=$d))
    return aten.minimum(%x, aten._to_copy(%max, dtype=$d)))";
  t.row("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", row);
  t.alias("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "clamp.Tensor");
  row.decompose = {};
  row.traits = row.traits | core;
  row.computes = {};
  row.raises = "complex";
  row.scalar = "maximum";
  t.row("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", row);
  row.scalar = "minimum";
  t.row("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", row);
}
}  // namespace

void pointwise_ternary_rows(RowSink& t) {
  Row row{.variants = {false, "self_out", {}, OutRule::same_dtype},
          .traits = elementwise | core,
          .infer = rule::where,
          .generate = make::where,
          .dtypes = DtypeSet::of(Dtype::b8, Dtype::u8),
          .computes = dtypes::all,
          .scalar = "{}",
          .raises = "a condition that is not bool (or u8)"};
  t.row("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", row);
  row.variants = {};
  t.row("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", fitting("self:element", row));
  t.row("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", fitting("other:element", row));
  t.row("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
        fitting("self:element other:element", row));

  bound_rows(t);

  row = {.variants = {true, "Scalar_out"},
         .traits = elementwise | core,
         .infer = rule::lerp,
         .generate = make::lerp,
         .dtypes = dtypes::floats | dtypes::complexes,
         .accuracy = Accuracy::ulp4,
         .scalar = "{}",
         .raises = "integers; tensors of different dtypes, but for a weight without dims",
         .exception = rule::kConvertsOnCpu};
  t.row("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", fitting("weight:computed", row));
  row.variants = {true, "Tensor_out"};
  t.row("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", row);
  t.row("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        {.variants = {true, "out"},
         .traits = elementwise,
         .infer = rule::addcmul,
         .generate = make::addcmul,
         .computes = dtypes::numbers,
         .accuracy = Accuracy::ulp4,
         .raises = "bools among themselves",
         .decompose = R"(
    $d = result_type(%self, %tensor1, %tensor2)
    $v = $value
    if dtype($value) == bool and is_constant($value) { $v = choose($value, 1, 0) }
    $whole = is_integral($d) and is_float($value)
    if $whole and is_constant($value) { $v = choose($value < 0, 0 - scaled(1, 0 - $value), scaled(1, $value)) }
    $c = compute_dtype($d)
    %part = aten.mul(aten._to_copy(aten._to_copy(%tensor1, dtype=$d), dtype=$c), aten._to_copy(aten._to_copy(%tensor2, dtype=$d), dtype=$c))
    if (dtype($value) == bool or $whole) and not is_constant($value) {
      %part = aten.mul(%part, aten.scalar_tensor($value, dtype=$c, device=device(%part)))
      $v = 1
    }
    return aten._to_copy(aten.add(aten._to_copy(aten._to_copy(%self, dtype=$d), dtype=$c), %part, alpha=$v), dtype=$d))",
         .fits = "value:computed",
         .exception = rule::kConvertsOnCpu});
  t.row("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        {.variants = {true, "out"},
         .traits = elementwise,
         .infer = rule::addcdiv,
         .generate = make::addcdiv,
         .computes = dtypes::floats | dtypes::complexes,
         .domain = {0.125, 4},
         .accuracy = Accuracy::ulp4,
         .flow = {.eager = 2},  // it multiplies by the value before it divides
         .raises = "an integer divided by an integer",
         .decompose = R"(
    $d = result_type(%self, %tensor1, %tensor2)
    $c = compute_dtype($d)
    $v = $value
    if dtype($value) == bool and is_constant($value) { $v = choose($value, 1, 0) }
    %part = aten.div(aten._to_copy(aten._to_copy(%tensor1, dtype=$d), dtype=$c), aten._to_copy(aten._to_copy(%tensor2, dtype=$d), dtype=$c))
    if dtype($value) == bool and not is_constant($value) {
      %part = aten.mul(%part, aten.scalar_tensor($value, dtype=$c, device=device(%part)))
      $v = 1
    }
    return aten._to_copy(aten.add(aten._to_copy(aten._to_copy(%self, dtype=$d), dtype=$c), %part, alpha=$v), dtype=$d))",
         .fits = "value:computed",
         .exception = rule::kConvertsOnCpu});
  row = {.variants = {false, "out", {}, OutRule::same_dtype},
         .traits = elementwise | core,
         .infer = rule::make_complex,
         .generate = make::complex_parts,
         .dtypes = dtypes::wide_floats | dtypes::half,
         .scalar = "{}",
         .raises = "operands of different dtypes; anything but f16, f32 and f64"};
  t.row("complex(Tensor real, Tensor imag) -> Tensor", row);
  row.accuracy = Accuracy::ulp2;
  row.dtypes = dtypes::wide_floats;
  row.raises = "operands of different dtypes; anything but f32 and f64";
  t.row("polar(Tensor abs, Tensor angle) -> Tensor", row);
}

}  // namespace lenz
