// The checker must find what is wrong: rows of each kind of wrongness, made for the purpose.
#include "oracle/row_check.h"

#include <gtest/gtest.h>

#include <csignal>

#include "compiler/graph/copied_strides.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/row.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz::oracle {
namespace {

const Row kRight{.traits = Trait::elementwise | Trait::makes_float,
                 .infer = rule::float_dtype,
                 .generate = make::unary,
                 .dtypes = dtypes::usual};

CheckOptions few() {
  CheckOptions options;
  options.calls = 60;
  options.illegal = 20;
  options.symbolic = 60;
  return options;
}

RowReport check(std::string_view schema, const Row& row, CheckOptions options = few()) {
  OpTable table;
  RowSink(table).row(schema, row);
  quieten_libtorch();
  Place place;
  return check_row(*table.rows()[0], table, options, place);
}

std::vector<Aspect> aspects(const RowReport& report) {
  std::vector<Aspect> list;
  for (const Finding& f : report.findings)
    if (!f.on_broken_call) list.push_back(f.difference.aspect);
  return list;
}

bool has(const RowReport& report, Aspect aspect) {
  auto all = aspects(report);
  return std::find(all.begin(), all.end(), aspect) != all.end();
}

constexpr std::string_view kSin = "sin(Tensor self) -> Tensor";

TEST(RowCheck, ARightRowHasNoFinding) {
  RowReport r = check(kSin, kRight);
  EXPECT_TRUE(aspects(r).empty()) << r.findings[0].difference.text;
  EXPECT_EQ(r.calls, 60);
  EXPECT_GT(r.symbolic, 20);
  EXPECT_GT(r.refused, 0);
  EXPECT_EQ(r.state, RowReport::checked);
}

TEST(RowCheck, FindsAWrongDtype) {
  Row row = kRight;
  row.infer = rule::same_dtype;
  RowReport r = check(kSin, row);
  ASSERT_TRUE(has(r, Aspect::dtype));
  EXPECT_GT(r.findings[0].count, 5);
  EXPECT_NE(r.findings[0].difference.text.find("eager gives f32"), std::string::npos) << r.findings[0].difference.text;
}

TEST(RowCheck, FindsWrongSizes) {
  Row row = kRight;
  row.infer = [](Infer& in) {
    TensorType t = in.tensor(0).tensor();
    t.sizes.push_back(1);
    t.strides.push_back(1);
    t.dtype = rule::float_result_type(in, rule::operands(in, {"self"}));
    in.result(t);
  };
  EXPECT_TRUE(has(check(kSin, row), Aspect::sizes));
}

TEST(RowCheck, FindsAWrongStride) {
  Row row = kRight;
  row.infer = [](Infer& in) {
    in.result(contiguous_tensor(rule::float_result_type(in, rule::operands(in, {"self"})), in.tensor(0).sizes()));
  };
  RowReport r = check(kSin, row);
  ASSERT_EQ(aspects(r), std::vector<Aspect>{Aspect::strides});
  // The example is the smallest that shows it: plain dtype, two dims.
  EXPECT_NE(r.findings[0].call.find("f32[3, 3] strides [1, 3]"), std::string::npos) << r.findings[0].call;
}

TEST(RowCheck, FindsAWrongAlias) {
  Row row = kRight;
  row.dtypes = dtypes::usual;
  row.infer = [](Infer& in) { in.result(in.tensor(0).tensor()); };  // storage of its own
  EXPECT_TRUE(has(check("alias(Tensor(a) self) -> Tensor(a)", row), Aspect::alias));
  row.infer = [](Infer& in) { in.alias(in.tensor(0).tensor(), 0); };
  EXPECT_FALSE(has(check("alias(Tensor(a) self) -> Tensor(a)", row), Aspect::alias));
  row.infer = [](Infer& in) {
    TensorType t = in.tensor(0).tensor();
    t.strides = preserved_strides(in, in.tensor(0));
    t.offset = 0;
    in.alias(t, 0);
  };
  EXPECT_TRUE(has(check("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", row), Aspect::alias));
}

TEST(RowCheck, FindsARuleThatRefusesTooMuchOrTooLittle) {
  Row row = kRight;
  row.infer = [](Infer& in) {
    if (in.tensor(0).rank() == 0) in.raise("no scalars");
    rule::float_dtype(in);
  };
  EXPECT_TRUE(has(check(kSin, row), Aspect::rule_raises));
  row = kRight;
  row.infer = rule::same_dtype;
  EXPECT_TRUE(has(check("neg(Tensor self) -> Tensor", row), Aspect::eager_raises));  // bool
  row = kRight;
  row.infer = [](Infer& in) {
    if (in.tensor(0).dtype == Dtype::bf16) throw Unsupported("bf16 today");
    rule::float_dtype(in);
  };
  EXPECT_TRUE(has(check(kSin, row), Aspect::broken));
}

// Which eager forgets to refuse where there is a size of 0 beside it.
TEST(RowCheck, TensorsOfSizesBelowZeroAreNone) {
  CheckOptions options;
  options.calls = 1;
  options.symbolic = options.definitions = 0;
  options.illegal = 2000;
  options.seed = 3;
  Place place;
  quieten_libtorch();
  const RowReport report = check_row(*op_table().find("aten.as_strided"), op_table(), options, place);
  EXPECT_EQ(report.refusals(), 0) << (report.findings.empty() ? "" : report.findings[0].call);
}

TEST(RowCheck, AnExceptionExcusesTheRefusalThatItQuotes) {
  Row row = kRight;
  row.infer = rule::same_dtype;
  for (std::string_view exception : {"", "eager refuses bool", "bool, with `no such words`"}) {
    row.exception = exception;
    EXPECT_TRUE(has(check("neg(Tensor self) -> Tensor", row), Aspect::eager_raises)) << exception;
  }
  row.exception = "bool is refused: `on a bool tensor is not supported`";
  RowReport r = check("neg(Tensor self) -> Tensor", row);
  EXPECT_FALSE(has(r, Aspect::eager_raises));
  EXPECT_GT(r.eager_excused, 0);
}

TEST(RowCheck, FindsAnOperandThatChanges) {
  OpTable table;
  Row row = kRight;
  row.dtypes = dtypes::floats;
  row.generate = [](CallMaker& m) { m.set("self", m.tensor({.min_rank = 2, .max_rank = 2, .written = true})); };
  row.infer = [](Infer& in) { in.alias(in.tensor(0).tensor(), 0); };  // t_ swaps the strides of its operand too
  EXPECT_FALSE(aspects(check("t_(Tensor(a!) self) -> Tensor(a!)", row)).empty());
}

TEST(RowCheck, FindsWrongDtypeSets) {
  Row row = kRight;
  row.dtypes = dtypes::wide_floats;
  RowReport r = check(kSin, row);
  EXPECT_EQ(std::count_if(r.findings.begin(), r.findings.end(),
                          [](const Finding& f) { return f.difference.aspect == Aspect::dtypes; }),
            10);  // all that eager takes beyond f32 and f64
  row.exception = "f16 and bf16 are left out on purpose";
  EXPECT_EQ(check(kSin, row).findings.size(), r.findings.size() - 2);
  row = kRight;
  row.dtypes = dtypes::all;
  EXPECT_TRUE(has(check(kSin, row), Aspect::eager_raises));  // float8
}

TEST(RowCheck, FindsASchemaThatIsNotLibtorchs) {
  EXPECT_EQ(aspects(check("sin(Tensor me) -> Tensor", kRight)), std::vector<Aspect>{Aspect::schema});
  EXPECT_EQ(aspects(check("sine(Tensor self) -> Tensor", kRight)), std::vector<Aspect>{Aspect::schema});
  EXPECT_EQ(aspects(check("sum(Tensor self, *, ScalarType? dtype=float) -> Tensor", kRight)),
            std::vector<Aspect>{Aspect::schema});
  for (std::string_view right :
       {"contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
        "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
        "padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
        "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"}) {
    OpDef op;
    op.schema = parse_schema(right);
    auto d = check_schema(op);
    EXPECT_FALSE(d.has_value()) << d->text;
  }
}

TEST(RowCheck, FindsARuleThatErrsWithSymbols) {
  Row row = kRight;
  row.infer = [](Infer& in) {
    rule::float_dtype(in);
    bool symbolic = false;
    for (Dim d : in.tensor(0).sizes()) symbolic |= !d.is_constant();
    if (symbolic) in.raise("no symbols, please");
  };
  RowReport r = check(kSin, row);
  EXPECT_EQ(aspects(r), std::vector<Aspect>{Aspect::symbolic});
  EXPECT_NE(r.findings[0].difference.text.find("s0"), std::string::npos);
}

TEST(RowCheck, BrokenCallsAreReportedApart) {
  Row row = kRight;
  row.generate = make::binary;
  row.infer = [](Infer& in) {  // does not mind sizes that don't broadcast
    TensorType t = in.tensor(0).tensor();
    in.result(t);
  };
  row.generate = [](CallMaker& m) {
    Sizes sizes = m.a_shape(1, 3, 2);
    m.set("self", m.tensor({.dtype = Dtype::f32, .sizes = sizes, .plain = true}));
    m.set("other", m.tensor({.dtype = Dtype::f32, .sizes = sizes, .plain = true}));
  };
  row.dtypes = dtypes::usual;
  CheckOptions options = few();
  options.illegal = 200;
  RowReport r = check("atan2(Tensor self, Tensor other) -> Tensor", row, options);
  EXPECT_EQ(r.disagreements(), 0);
  EXPECT_GT(r.refusals(), 0);
}

// A dtype that the row does not list is refused, and whether eager refuses it too is asked.
TEST(RowCheck, BrokenCallsOfDtypesThatTheRowLeavesOutAreHeldAgainstEager) {
  CheckOptions options = few();
  options.illegal = 300;
  Row row = kRight;
  row.infer = rule::same_dtype;
  row.dtypes = dtypes::usual - dtypes::boolean;
  RowReport right = check("neg(Tensor self) -> Tensor", row, options);
  EXPECT_EQ(right.refusals(), 0) << right.findings[0].difference.text;
  row.dtypes = dtypes::floats;  // and integers, which eager takes
  EXPECT_GT(check("neg(Tensor self) -> Tensor", row, options).refusals(), 0);
  row.dtypes = dtypes::usual - dtypes::boolean;
  row.infer = rule::bool_dtype;
  row.dtypes = dtypes::all;  // and float8, which eager has no kernel for
  row.infer = [](Infer& in) { in.result(in.tensor(0).tensor()); };
  row.generate = [](CallMaker& m) { m.set("self", m.tensor({.dtype = Dtype::f32, .min_size = 2, .plain = true})); };
  EXPECT_GT(check("sin(Tensor self) -> Tensor", row, options).refusals(), 0);
}

TEST(RowCheck, WhatMeetsNoKernelExcusesADtype) {
  Row row = kRight;
  row.infer = rule::same_dtype;
  row.dtypes = dtypes::floats | dtypes::complexes;
  row.generate = [](CallMaker& m) {
    m.set("self", m.tensor({.dtype = Dtype::f32, .sizes = Sizes{0, 3}, .plain = true}));
    m.set("dim", Arg::of_int(1));
    m.set("half_to_float", Arg::of_bool(false));
  };
  row.infer = [](Infer& in) { in.result(in.tensor(0).tensor()); };
  CheckOptions options = few();
  options.illegal = 100;
  RowReport r = check("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", row, options);
  EXPECT_GT(r.without_kernel, 0);
}

TEST(RowCheck, ReportsWhatItDoesNotCover) {
  Row row = kRight;
  row.generate = nullptr;
  EXPECT_EQ(check(kSin, row).state, RowReport::no_generator);
  row = kRight;
  row.infer = nullptr;
  EXPECT_EQ(check(kSin, row).state, RowReport::no_rule);
  OpTable table;
  RowSink(table).row("lenz::token() -> Tensor", kRight);
  Place place;
  EXPECT_EQ(check_row(*table.rows()[0], table, few(), place).state, RowReport::structural);
}

// --- in processes of their own
std::vector<RowReport> check_all(const OpTable& table, int jobs, const CheckOptions& options = few()) {
  std::vector<const OpDef*> rows;
  for (const auto& op : table.rows()) rows.push_back(op.get());
  return check_rows(rows, table, options, jobs, {});
}

TEST(RowCheck, ARuleThatKillsItsProcessIsAFinding) {
  OpTable table;
  Row row = kRight;
  row.infer = [](Infer& in) {
    if (in.tensor(0).rank() == 3) raise(SIGSEGV);
    rule::float_dtype(in);
  };
  RowSink sink(table);
  sink.row(kSin, row);
  sink.row("cos(Tensor self) -> Tensor", kRight);
  CheckOptions options = few();
  options.calls = 30;
  options.illegal = options.symbolic = 0;
  auto reports = check_all(table, 2, options);
  ASSERT_EQ(reports.size(), 2u);
  ASSERT_TRUE(has(reports[0], Aspect::crash));
  EXPECT_NE(reports[0].findings[0].difference.text.find("SIGSEGV in the row's rule"), std::string::npos);
  EXPECT_NE(reports[0].findings[0].call.find("aten.sin(self=%x0)"), std::string::npos);
  EXPECT_TRUE(aspects(reports[1]).empty());
}

TEST(RowCheck, ReportsDoNotDependOnTheNumberOfJobs) {
  OpTable table;
  RowSink sink(table);
  Row wrong = kRight;
  wrong.infer = rule::same_dtype;
  sink.rows("{}(Tensor self) -> Tensor", "sin cos tan", kRight);
  sink.rows("{}(Tensor self) -> Tensor", "exp sinh log", wrong);
  auto one = check_all(table, 1), three = check_all(table, 3), again = check_all(table, 2);
  CheckOptions other = few();
  other.seed = 1;
  auto reseeded = check_all(table, 2, other);
  bool any_other = false;
  for (size_t i = 0; i < one.size(); ++i) {
    for (const auto* r : {&three[i], &again[i]}) {
      EXPECT_EQ(one[i].op, r->op);
      EXPECT_EQ(one[i].on_cpu, r->on_cpu);
      EXPECT_EQ(one[i].symbolic, r->symbolic);
      EXPECT_EQ(one[i].refused, r->refused);
      EXPECT_EQ(one[i].reached, r->reached);
      ASSERT_EQ(one[i].findings.size(), r->findings.size());
      for (size_t f = 0; f < r->findings.size(); ++f) {
        EXPECT_EQ(one[i].findings[f].count, r->findings[f].count);
        EXPECT_EQ(one[i].findings[f].difference.text, r->findings[f].difference.text);
        EXPECT_EQ(one[i].findings[f].call, r->findings[f].call);
      }
    }
    any_other |= one[i].symbolic != reseeded[i].symbolic || one[i].refused != reseeded[i].refused;
  }
  EXPECT_TRUE(any_other);
}

}  // namespace
}  // namespace lenz::oracle
