// Elementwise ops of one tensor.
#include "compiler/ops/make/common.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

void pointwise_unary_rows(RowSink& t) {
  using enum Trait;
  constexpr Variants kBoth{.in_place = true, .out = "out"};

  // --- the operand's own dtype
  t.rows("{}(Tensor self) -> Tensor", "neg",
         {.variants = kBoth,
          .traits = elementwise | involution | core,
          .infer = rule::same_dtype,
          .generate = make::unary,
          .dtypes = dtypes::numbers,
          .accuracy = Accuracy::exact,
          .scalar = "{}",
          .raises = "bool has no negation"});

  // --- float results; integers and bools become f32
  t.rows("{}(Tensor self) -> Tensor", "sin cos tan sinh cosh tanh asinh atan exp expm1 sigmoid",
         {.variants = kBoth,
          .traits = elementwise | makes_float | core,
          .infer = rule::float_dtype,
          .generate = make::unary,
          .accuracy = Accuracy::ulp2,
          .scalar = "{}"});
}

}  // namespace lenz
