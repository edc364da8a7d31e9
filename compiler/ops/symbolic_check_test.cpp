#include "compiler/ops/symbolic_check.h"

#include <gtest/gtest.h>

#include "compiler/ops/make/common.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/row.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz {
namespace {

struct Count {
  int same = 0, differs = 0, guarded = 0, nothing = 0;
  std::string text;
};

Count count(void (*infer)(Infer&), void (*generate)(CallMaker&),
            std::string_view schema = "op(Tensor self, Tensor other) -> Tensor") {
  OpTable table;
  RowSink(table).row(schema, {.infer = infer, .generate = generate, .dtypes = dtypes::wide_floats});
  Count n;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser random(seed), symbols(seed);
    DrawnCall call = draw_call(*table.rows()[0], table, random);
    SymbolicVerdict v = check_symbolic(call, symbols);
    (v.kind == SymbolicVerdict::same      ? n.same
     : v.kind == SymbolicVerdict::differs ? n.differs
     : v.kind == SymbolicVerdict::guarded ? n.guarded
                                          : n.nothing) += 1;
    if (n.text.empty()) n.text = v.text;
  }
  return n;
}

TEST(SymbolicCheck, ARightRuleSaysTheSame) {
  Count n = count(rule::same_dtype, make::binary);
  EXPECT_EQ(n.differs, 0) << n.text;
  EXPECT_GT(n.same, 60);
  EXPECT_GT(n.guarded, 0);  // sizes that the hints take for unequal
}

TEST(SymbolicCheck, FindsARuleThatForgetsToAsk) {
  // Takes sizes for unequal to 1 without recording it.
  auto careless = [](Infer& in) {
    TensorType t = in.tensor(0).tensor();
    for (Dim& d : t.sizes)
      if (!d.is_constant()) d = d + 1;
    in.result(t);
  };
  Count n = count(careless, make::unary, "op(Tensor self) -> Tensor");
  EXPECT_GT(n.differs, 100);
  EXPECT_NE(n.text.find("another size of dim"), std::string::npos) << n.text;
}

TEST(SymbolicCheck, FindsARefusalThatNoGuardExplains) {
  auto refuses = [](Infer& in) {
    for (Dim d : in.tensor(0).sizes())
      if (!d.is_constant()) in.raise("only numbers");
    in.result(in.tensor(0).tensor());
  };
  EXPECT_GT(count(refuses, make::unary, "op(Tensor self) -> Tensor").differs, 100);
  // The same behind a guard that does not hold says nothing.
  auto guarded = [](Infer& in) {
    for (Dim d : in.tensor(0).sizes())
      if (!d.is_constant() && in.decide(gt(d, 1000000))) in.raise("too large");
    in.result(in.tensor(0).tensor());
  };
  EXPECT_EQ(count(guarded, make::unary, "op(Tensor self) -> Tensor").differs, 0);
}

}  // namespace
}  // namespace lenz
