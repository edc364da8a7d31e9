// Kernels with one fault each, run by eager: writes beside elements, results that are not wholly written, death.
#include "oracle/guarded.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/library.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <new>

#include "compiler/graph/text.h"
#include "compiler/ops/make/common.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/row.h"
#include "compiler/ops/rules/elementwise.h"
#include "oracle/compare.h"
#include "oracle/execute.h"
#include "oracle/row_check.h"
#include "oracle/values_check.h"

namespace {
at::Tensor write_at(const at::Tensor& x, int64_t place) {
  static_cast<float*>(x.storage().mutable_data())[place] = 1;
  return x;
}
at::Tensor add_at(const at::Tensor& x, int64_t place) {
  const auto add = [&](auto* data) { data[place] = data[place] + 1; };
  if (x.scalar_type() == at::kDouble) add(static_cast<double*>(x.storage().mutable_data()));
  if (x.scalar_type() == at::kFloat) add(static_cast<float*>(x.storage().mutable_data()));
  if (x.scalar_type() == at::kHalf) add(static_cast<c10::Half*>(x.storage().mutable_data()));
  if (x.scalar_type() == at::kInt) add(static_cast<int32_t*>(x.storage().mutable_data()));
  if (x.scalar_type() == at::kByte) add(static_cast<uint8_t*>(x.storage().mutable_data()));
  if (x.scalar_type() == at::kBFloat16) add(static_cast<c10::BFloat16*>(x.storage().mutable_data()));
  return x;
}
// The first `count` elements of a result that has as many as x.
at::Tensor partly_written(const at::Tensor& x, int64_t count) {
  at::Tensor r = at::empty_like(x);
  for (int64_t i = 0; i < count; ++i) static_cast<float*>(r.mutable_data_ptr())[i] = 2;
  return r;
}
at::Tensor die_of_one_matrix(const at::Tensor& x) {
  if (x.dim() == 3 && x.size(0) == 1) raise(SIGSEGV);
  return at::empty_like(x);
}
}  // namespace

TORCH_LIBRARY(lenz_guard_test, m) {
  m.def("write_at(Tensor(a!) x, int place) -> Tensor(a!)");
  m.def("add_at(Tensor(a!) x, int place) -> Tensor(a!)");
  m.def("partly_written(Tensor x, int count) -> Tensor");
}
TORCH_LIBRARY_IMPL(lenz_guard_test, CPU, m) {
  m.impl("add_at", add_at);
  m.impl("write_at", write_at);
  m.impl("partly_written", partly_written);
}

// Rows are of ATen's own ops.
TORCH_LIBRARY_FRAGMENT(aten, m) { m.def("lenz_die_of_one_matrix(Tensor self) -> Tensor"); }
TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("lenz_die_of_one_matrix", die_of_one_matrix); }

extern "C" void __asan_init() __attribute__((weak));  // of the address sanitizer, if that is there

namespace lenz::oracle {
namespace {

Execution run(std::string_view inputs, std::string_view call, bool guard = true) {
  std::string text = "extern \"lenz_guard_test::write_at(Tensor(a!) x, int place) -> Tensor(a!)\"\n";
  text += "extern \"lenz_guard_test::add_at(Tensor(a!) x, int place) -> Tensor(a!)\"\n";
  text += "extern \"lenz_guard_test::partly_written(Tensor x, int count) -> Tensor\"\n";
  text += "graph @g(" + std::string(inputs) + ") {\n  " + std::string(call) + "\n  return %r\n}\n";
  auto graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  ExecuteOptions options;
  options.guard = guard;
  return Executor(boxed, options).run(*graph, initial_inputs(*graph, boxed, {}));
}
Execution write_at(std::string_view type, int64_t place) {
  std::string t(type);
  return run("%x: " + t + " mut", "%r: " + t + " = lenz_guard_test.write_at(%x, " + std::to_string(place) + ")");
}

// What is added to a place beside elements changes it, whatever it reads there.
TEST(Guarded, AdditionsBesideAnInputShow) {
  for (const std::string dtype : {"f64", "f32", "f16", "bf16"})
    for (const int64_t place : {16, 17, 20, 24, 31, -1, -2, -7}) {
      const std::string t = dtype + "[16]";
      const Execution run = lenz::oracle::run(
          "%x: " + t + " mut", "%r: " + t + " = lenz_guard_test.add_at(%x, " + std::to_string(place) + ")");
      EXPECT_EQ(run.damage.size(), 1u) << t << " at " << place;
    }
}

TEST(Guarded, WritesBesideAnInputShow) {
  Execution behind = write_at("f32[5]", 5);
  ASSERT_EQ(behind.damage.size(), 1u);
  EXPECT_EQ(behind.damage[0].where, "input %x");
  EXPECT_EQ(behind.damage[0].offset, 20);
  EXPECT_LE(behind.damage[0].bytes, 4u);
  EXPECT_THAT(behind.damage[0].after, testing::HasSubstr("%r = lenz_guard_test.write_at"));
  Execution before = write_at("f32[5]", -2);
  ASSERT_EQ(before.damage.size(), 1u);
  EXPECT_EQ(before.damage[0].offset, -8);
}

// Not each node looks so far.
TEST(Guarded, WritesFartherOffShowAtTheEnd) {
  for (const int64_t place : {5 + 40, -40}) {
    Execution far = write_at("f32[5]", place);
    ASSERT_EQ(far.damage.size(), 1u) << place;
    EXPECT_EQ(far.damage[0].offset, place * 4);
    EXPECT_EQ(far.damage[0].after, "");
  }
}

TEST(Guarded, WritesBetweenElementsShow) {
  EXPECT_TRUE(write_at("f32[3, 2] strides [4, 1] offset 1", 2).damage.empty());
  for (int64_t place : {0, 3, 4, 8}) {
    Execution e = write_at("f32[3, 2] strides [4, 1] offset 1", place);
    ASSERT_EQ(e.damage.size(), 1u) << place;
    EXPECT_EQ(e.damage[0].offset, place * 4);
  }
}

TEST(Guarded, AdditionsBetweenElementsShow) {
  for (const std::string dtype : {"f64", "f32", "f16", "bf16", "i32", "u8"})
    for (const int64_t place : {0, 3, 4, 8}) {
      const std::string t = dtype + "[3, 2] strides [4, 1] offset 1";
      const Execution run = lenz::oracle::run(
          "%x: " + t + " mut", "%r: " + t + " = lenz_guard_test.add_at(%x, " + std::to_string(place) + ")");
      ASSERT_EQ(run.damage.size(), 1u) << t << " at " << place;
    }
}

TEST(Guarded, InputsThatShareMemoryCoverItTogether) {
  std::string_view inputs = "%x: f32[8] strides [2] mut alias m, %y: f32[7] strides [2] offset 1 alias m";
  EXPECT_TRUE(run(inputs, "%r: f32[8] strides [2] = lenz_guard_test.write_at(%x, 3)").damage.empty());
  Execution e = run(inputs, "%r: f32[8] strides [2] = lenz_guard_test.write_at(%x, 15)");
  ASSERT_EQ(e.damage.size(), 1u);
  EXPECT_EQ(e.damage[0].where, "input %x and input %y");
}

TEST(Guarded, WritesBesideAResultShow) {
  Execution e = run("%x: f32[5]", "%r: f32[5] = lenz_guard_test.partly_written(%x, 6)");
  ASSERT_EQ(e.damage.size(), 1u);
  EXPECT_EQ(e.damage[0].where, "a buffer of 20 bytes");
  EXPECT_EQ(e.damage[0].offset, 20);
}

TEST(Guarded, ComparisonNamesTheRung) {
  auto graph = parse_graph("graph @g(%x: f32[5]) {\n  %r = aten.full_like(%x, 2)\n  return %r\n}\n", op_table());
  auto written = [&](int count) {
    return run("%x: f32[5]", "%r: f32[5] = lenz_guard_test.partly_written(%x, " + std::to_string(count) + ")");
  };
  Execution expected = written(5);
  EXPECT_FALSE(compare_runs(*graph, expected, written(5)));
  auto beside = compare_runs(*graph, expected, written(6));
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->rung, Rung::guard);
  EXPECT_THAT(beside->summary(), testing::HasSubstr("guard: a buffer of 20 bytes"));
  auto unwritten = compare_runs(*graph, expected, written(4));  // the poison is NaN
  ASSERT_TRUE(unwritten);
  EXPECT_EQ(unwritten->rung, Rung::special);
  EXPECT_EQ(unwritten->element, 4u);
}

// Memory that ends while inputs are being guarded is told: nobody looks at what was not guarded yet.
TEST(Guarded, MemoryMayEndMeanwhile) {
  if (&__asan_init != nullptr) GTEST_SKIP() << "`new` ends the process there instead of throwing";
  auto until_memory_ends = [] {
    auto graph =
        parse_graph("graph @g(%x: u8[2] strides [100000000]) {\n  %r = aten.neg(%x)\n  return %r\n}\n", op_table());
    Boxed boxed(DeviceKind::cpu);
    const std::vector<RunValue> inputs = initial_inputs(*graph, boxed, {});
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + 250'000'000;  // not three of it
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    ExecuteOptions options;
    options.guard = true;
    try {
      Executor(boxed, options).run(*graph, inputs);
    } catch (const std::bad_alloc&) {
      _exit(3);
    }
    _exit(0);
  };
  EXPECT_EXIT(until_memory_ends(), testing::ExitedWithCode(3), "");
}

TEST(Guarded, WithoutItNothingIsWatched) {
  EXPECT_TRUE(run("%x: f32[5] mut", "%r: f32[5] = lenz_guard_test.write_at(%x, 4)", false).damage.empty());
  EXPECT_TRUE(write_at("f32[5]", 4).damage.empty());
}

TEST(Guarded, MemoryOutlivesItsGuard) {
  RunValue kept;
  {
    Execution e = run("%x: f32[5]", "%r = aten.sin(%x)");
    kept = e.outputs[0];
  }
  EXPECT_EQ(look(kept).sizes[0], 5);
}

// --- eager that dies of calls that are legal
RowReport check_dying_row(std::string_view exception) {
  OpTable table;
  RowSink(table).row(
      "lenz_die_of_one_matrix(Tensor self) -> Tensor",
      {.infer = rule::same_dtype, .generate = make::unary, .dtypes = DtypeSet::of(Dtype::f32), .exception = exception});
  CheckOptions options;
  options.calls = 100;
  options.illegal = options.symbolic = 0;
  options.devices = Devices::cpu;
  const OpDef* row = table.rows()[0].get();
  return check_rows({&row, 1}, table, options, 1, {})[0];
}
bool has_crash(const RowReport& report) {
  return std::ranges::any_of(report.findings, [](const Finding& f) { return f.difference.aspect == Aspect::crash; });
}

TEST(DyingEager, IsAFindingUnlessTheRowsExceptionSaysSo) {
  RowReport silent = check_dying_row("");
  EXPECT_TRUE(has_crash(silent));
  RowReport said = check_dying_row("it dies of one matrix: `SIGSEGV in libtorch, on the CPU`");
  EXPECT_FALSE(has_crash(said)) << said.findings[0].difference.text;
  EXPECT_GT(said.eager_crashes, 0);
  RowReport other = check_dying_row("it dies of one matrix: `SIGFPE in libtorch, on the CPU`");
  EXPECT_TRUE(has_crash(other));
}

// A row's other calls are judged all the same, and what it says of deaths holds there too.
ValuesCell values_of_dying_row(std::string_view exception) {
  OpTable table;
  RowSink(table).row(
      "lenz_die_of_one_matrix(Tensor self) -> Tensor",
      {.infer = rule::same_dtype, .generate = make::unary, .dtypes = DtypeSet::of(Dtype::f32), .exception = exception});
  const OpDef* row = table.rows()[0].get();
  return check_values({&row, 1}, table, {.calls = 500}, 1, {})[0].cells.at(Dtype::f32);
}
TEST(DyingEager, IsKnownAmongValuesWhereTheRowsExceptionSaysSo) {
  const ValuesCell silent = values_of_dying_row("");
  EXPECT_EQ(silent.calls, 500);
  EXPECT_GT(silent.died, 0);
  const ValuesCell said = values_of_dying_row("it dies of one matrix: `SIGSEGV in libtorch, on the CPU`");
  EXPECT_EQ(said.calls, 500);
  EXPECT_EQ(said.died, 0);
  EXPECT_EQ(said.known, silent.died);
}

}  // namespace
}  // namespace lenz::oracle
