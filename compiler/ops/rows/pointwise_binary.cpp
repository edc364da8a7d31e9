// Elementwise ops of two operands.
#include "compiler/ops/make/common.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {

void pointwise_binary_rows(RowSink& t) {
  using enum Trait;
  constexpr Variants kBoth{.in_place = true, .out = "out"};

  t.row("mul.Tensor(Tensor self, Tensor other) -> Tensor", {.variants = kBoth,
                                                            .traits = elementwise | commutative | associative | core,
                                                            .infer = rule::same_dtype,
                                                            .generate = make::binary,
                                                            .accuracy = Accuracy::rounded,
                                                            .scalar = "mul"});
  t.row("atan2(Tensor self, Tensor other) -> Tensor", {.variants = kBoth,
                                                       .traits = elementwise | makes_float | core,
                                                       .infer = rule::float_dtype,
                                                       .generate = make::binary_float,
                                                       .dtypes = dtypes::real_and_bool,
                                                       .accuracy = Accuracy::ulp2,
                                                       .scalar = "{}"});
  t.rows("{}.Tensor(Tensor self, Tensor other) -> Tensor", "eq ne",
         {.variants = {.in_place = true, .out = "Tensor_out"},
          .traits = elementwise | commutative | core,
          .infer = rule::bool_dtype,
          .generate = make::comparison,
          .scalar = "{}"});
}

}  // namespace lenz
