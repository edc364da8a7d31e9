// Rows by their values: a row whose errors are said to flow otherwise than they do is found, faults of eager's that are
// listed are not counted, and the list's own mistakes are told.
#include "oracle/values_check.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/ops/op_table.h"
#include "oracle/commands.h"

namespace lenz::oracle {
namespace {

ValuesCell total(const ValuesRow& row) {
  ValuesCell sum;
  for (const auto& [dtype, cell] : row.cells) {
    sum.calls += cell.calls;
    sum.passed += cell.passed;
    sum.wrong += cell.wrong;
    sum.known += cell.known;
  }
  return sum;
}

OpDef in_f32(std::string_view name) {
  OpDef op = *op_table().find(name);
  op.dtypes = DtypeSet::of(Dtype::f32);
  return op;
}

TEST(ValuesCheck, RowsAsTheyStandPass) {
  for (std::string_view name :
       {"aten.add.Tensor", "aten.sum", "aten.mm", "aten.softmax.int", "aten.native_layer_norm"}) {
    ValuesCell cell = total(check_row_values(*op_table().find(name), op_table(), {.calls = 5}));
    EXPECT_EQ(cell.wrong, 0) << name;
    EXPECT_GT(cell.passed, 10) << name;
  }
}

TEST(ValuesCheck, ASumThatIsSaidToBeExactIsFound) {
  OpDef sum = in_f32("aten.sum");
  sum.flow.kind = ErrorFlow::moved;
  ValuesCell cell = total(check_row_values(sum, op_table(), {.calls = 40}));
  EXPECT_GT(cell.wrong, 0);
  EXPECT_EQ(total(check_row_values(in_f32("aten.sum"), op_table(), {.calls = 40})).wrong, 0);
}

// Legal ways to compute a call are called right, and come near the bounds; one that a row's accuracy does not allow is
// called wrong.
TEST(ValuesCheck, LegalVariantsOfCalls) {
  for (std::string_view name : {"aten.softmax.int", "aten.native_layer_norm", "aten.mm", "aten.sort"}) {
    OpDef op = in_f32(name);
    ValuesCell cell = check_row_values(op, op_table(), {.calls = 20, .variants = 8}).cells.at(Dtype::f32);
    EXPECT_EQ(cell.wrong, 0) << cell.finding;
    EXPECT_GE(cell.variants, 4 * cell.calls) << name << ": " << cell.uncontrolled_by;
    if (name == "aten.sort") continue;  // eager computes it: that is no measure
    EXPECT_GT(cell.tightness.count(), 0u) << name;
    EXPECT_LT(cell.tightness.median(), 30) << name;
  }
  OpDef drawn = in_f32("aten.rand_like");
  ValuesCell cell = check_row_values(drawn, op_table(), {.calls = 2, .variants = 2}).cells.at(Dtype::f32);
  EXPECT_EQ(cell.variants, 0);
  EXPECT_NE(cell.uncontrolled_by.find("draw"), std::string::npos);
}

TEST(ValuesCheck, AVariantThatIsNotLegalIsFound) {
  OpDef sum = in_f32("aten.sum");
  sum.flow.kind = ErrorFlow::moved;  // no order but one would be right
  ValuesCell cell = check_row_values(sum, op_table(), {.calls = 20, .variants = 8}).cells.at(Dtype::f32);
  EXPECT_NE(cell.finding, "");
}

TEST(ValuesCheck, AFunctionThatIsSaidToBeExactIsFound) {
  OpDef exponential = in_f32("aten.exp");
  exponential.scalar = "floor";
  EXPECT_GT(total(check_row_values(exponential, op_table(), {.calls = 10})).wrong, 0);
}

// A few calls of a cell lie in every class of layouts that its operands can have; of the others it is said why.
TEST(ValuesCheck, LayoutsComeInTurn) {
  const auto cell_of = [](std::string_view name) {
    return check_row_values(in_f32(name), op_table(), {.calls = static_cast<int>(kLayoutClasses)}).cells.at(Dtype::f32);
  };
  for (std::string_view name : {"aten.exp", "aten.add.Tensor", "aten.sum", "aten.cat"}) {
    const ValuesCell cell = cell_of(name);
    EXPECT_EQ(cell.layouts.size(), kLayoutClasses) << name;
    for (const auto& [layout, v] : cell.layouts) EXPECT_GT(v.passed, 0) << name << " " << lenz::name(layout);
    EXPECT_TRUE(cell.no_layouts.empty()) << name << " " << cell.no_layouts.begin()->second;
  }
  EXPECT_EQ(cell_of("aten.mm").no_layouts,
            (std::map<LayoutClass, std::string>{{LayoutClass::channels_last, "neither 4 nor 5 dims"}}));
  const ValuesCell in_place = cell_of("aten.exp_");
  EXPECT_EQ(in_place.no_layouts.at(LayoutClass::overlapping), "it is written to");
  EXPECT_EQ(in_place.no_layouts.at(LayoutClass::expanded), "it is written to");
  EXPECT_EQ(in_place.no_layouts.size(), 2u);
  EXPECT_EQ(cell_of("aten.zeros").no_layouts.size(), kLayoutClasses);
  EXPECT_EQ(cell_of("aten.zeros").no_layouts.at(LayoutClass::gaps), "no tensor among its operands");
}

TEST(ValuesCheck, AClassWhoseTurnDidNotComeIsNamed) {
  const ValuesCell cell = check_row_values(in_f32("aten.exp"), op_table(), {.calls = 2}).cells.at(Dtype::f32);
  EXPECT_EQ(cell.layouts.size(), 2u);
  ASSERT_EQ(cell.no_layouts.size(), kLayoutClasses - 2);
  EXPECT_EQ(cell.no_layouts.begin()->second, "its turn did not come in so few calls");
}

// A call that is wrong is wrong in its class too.
TEST(ValuesCheck, WrongOnesCountInTheirClass) {
  OpDef sum = in_f32("aten.sum");
  sum.flow.kind = ErrorFlow::moved;
  const ValuesCell cell = check_row_values(sum, op_table(), {.calls = 40}).cells.at(Dtype::f32);
  int wrong = 0;
  for (const auto& [layout, v] : cell.layouts) wrong += v.wrong;
  EXPECT_EQ(wrong, cell.wrong);  // sum has one operand
}

TEST(ValuesCheck, EachCallHasOneVerdict) {
  for (std::string_view name : {"aten.add_.Tensor", "aten.histc", "aten.pow_.Scalar", "aten.polygamma_"})
    for (const auto& [dtype, cell] : check_row_values(*op_table().find(name), op_table(), {.calls = 9}).cells) {
      EXPECT_EQ(cell.told(), cell.calls) << name << " in " << lenz::name(dtype);
      for (const auto& [layout, v] : cell.layouts) EXPECT_EQ(v.told(), v.calls) << name << " " << lenz::name(layout);
    }
}

// A row may list a dtype for the sake of an operand that does not lead.
TEST(ValuesCheck, ACellWithoutCallsSaysWhichDtypesHaveSome) {
  const ValuesRow row = check_row_values(*op_table().find("aten.copysign_.Tensor"), op_table(), {.calls = 1});
  EXPECT_EQ(row.cells.at(Dtype::i64).calls, 0);
  EXPECT_EQ(row.cells.at(Dtype::i64).note,
            "none of its calls leads with a tensor of this dtype; they do with f16 bf16 f32 f64");
}

TEST(ValuesCheck, DtypesThatARowHasNoneOfAreItsOwn) {
  ValuesOptions options{.calls = 1, .dtypes = DtypeSet::of(Dtype::f32)};
  EXPECT_EQ(check_row_values(*op_table().find("aten.add.Tensor"), op_table(), options).cells.size(), 1u);
  EXPECT_GT(check_row_values(*op_table().find("aten.bitwise_not"), op_table(), options).cells.size(), 3u);
}

TEST(ValuesCheck, AListedFaultIsKnown) {
  OpDef sum = in_f32("aten.sum");
  sum.flow.kind = ErrorFlow::moved;
  ValuesOptions options{.calls = 40, .known = parse_known_faults("# why\naten.sum | f16 f32 | always | a test\n", "f")};
  ValuesCell cell = total(check_row_values(sum, op_table(), options));
  EXPECT_EQ(cell.wrong, 0);
  EXPECT_GT(cell.known, 0);
  options.known = parse_known_faults("aten.sum | f64 | always | another dtype\n", "f");
  EXPECT_GT(total(check_row_values(sum, op_table(), options)).wrong, 0);
}

TEST(ValuesCheck, ALineThatIsNoneIsRefused) {
  EXPECT_THROW(parse_known_faults("aten.sum | f32 | sometimes | why\n", "f"), UserError);
  EXPECT_THROW(parse_known_faults("aten.sum | f32 | always\n", "f"), UserError);
}

TEST(ValuesCheck, GivenCallsAreJudgedInsteadOfGeneratedOnes) {
  std::map<std::string, std::vector<CallText>> given;
  for (CallText& call :
       split_calls("graph @call(%x: f64[3, 2] init uniform(-1.0, 1.0)) {\n  %r = aten.sum(%x)\n  return %r\n}\n"))
    given[call.op].push_back(call);
  ValuesRow row = check_row_values(*op_table().find("aten.sum"), op_table(), {.given = &given});
  ASSERT_EQ(row.cells.size(), 1u);
  EXPECT_EQ(row.cells.at(Dtype::f64).passed, 1);
}

TEST(ValuesCheck, JsonFitsItsSchema) {
  testing::internal::CaptureStdout();
  std::vector<std::string> args = {"aten.add.Tensor", "aten.histc", "lenz.cond", "--calls", "2", "--json", "--quiet"};
  EXPECT_EQ(values_check_command(args), ExitCode::fine);
  auto report = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/values_check.schema.json");
  auto violations = schema_violations(report, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  EXPECT_GT(report["totals"]["passed"].get<int>(), 10);
}
}  // namespace
}  // namespace lenz::oracle
