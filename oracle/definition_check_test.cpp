// A definition that computes something else must be found, and one that is right must not.
#include "oracle/definition_check.h"

#include <gtest/gtest.h>

#include "compiler/ops/make/common.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/row.h"
#include "compiler/ops/rules/elementwise.h"
#include "oracle/row_check.h"

namespace lenz::oracle {
namespace {

RowReport check(std::string_view schema, std::string_view definition, DtypeSet dtypes = dtypes::wide_floats) {
  Row row{.infer = rule::float_dtype, .generate = make::unary, .dtypes = dtypes::usual, .accuracy = Accuracy::ulp4};
  OpTable table;
  RowSink sink(table);
  sink.rows("{}(Tensor self) -> Tensor", "sin cos neg", row);
  sink.row("div.Tensor(Tensor self, Tensor other) -> Tensor", row);
  row.dtypes = dtypes;
  sink.row(schema, meaning(definition, row));
  CheckOptions options;
  options.calls = options.illegal = options.symbolic = 0;
  options.definitions = 30;
  quieten_libtorch();
  Place place;
  return check_row(*table.rows().back(), table, options, place);
}

std::string finding(const RowReport& r) { return r.findings.empty() ? "" : r.findings[0].difference.text; }

constexpr std::string_view kTan = "tan(Tensor self) -> Tensor";

TEST(DefinitionCheck, ARightOneHasNoFinding) {
  RowReport r = check(kTan, "return aten.div(aten.sin(%self), aten.cos(%self))");
  EXPECT_EQ(r.defined, 30);
  EXPECT_EQ(finding(r), "");
}

TEST(DefinitionCheck, FindsOtherValues) {
  RowReport r = check(kTan, "return aten.div(aten.sin(%self), aten.cos(aten.neg(aten.neg(aten.sin(%self)))))");
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_EQ(r.findings[0].difference.aspect, Aspect::definition);
  EXPECT_GT(r.findings[0].count, 15);
  EXPECT_NE(finding(r).find("eager gives"), std::string::npos);
  EXPECT_NE(r.findings[0].call.find("aten.tan"), std::string::npos);
}

TEST(DefinitionCheck, FindsAnotherNumberOfResults) {
  RowReport r = check(kTan, "return aten.sin(%self), aten.cos(%self)");
  EXPECT_NE(finding(r).find("another number of results"), std::string::npos) << finding(r);
}

TEST(DefinitionCheck, FindsWhatCanNotBeWrittenOut) {
  RowReport r = check(kTan, "return aten.cot(%self)");
  EXPECT_NE(finding(r).find("can't be written out"), std::string::npos) << finding(r);
}

TEST(DefinitionCheck, FindsCallsThatEagerRefuses) {
  RowReport r =
      check("logical_not(Tensor self) -> Tensor", "return aten.neg(%self)", dtypes::boolean | dtypes::wide_floats);
  EXPECT_NE(finding(r).find("eager refuses a call of the definition: aten.neg"), std::string::npos) << finding(r);
}

TEST(DefinitionCheck, PreciseDtypesLeaveOutWhatRoundsMore) {
  OpDef op;
  op.dtypes = dtypes::usual;
  EXPECT_FALSE(in_precise_dtypes(op).dtypes.has(Dtype::f32));
  EXPECT_TRUE(in_precise_dtypes(op).dtypes.has(Dtype::f64));
  EXPECT_TRUE(in_precise_dtypes(op).dtypes.has(Dtype::i8));
  op.dtypes = dtypes::half;
  EXPECT_TRUE(in_precise_dtypes(op).dtypes.has(Dtype::f16));  // there is nothing better
}

}  // namespace
}  // namespace lenz::oracle
