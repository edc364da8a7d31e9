#include "bench/op_times.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/op_calls.h"
#include "compiler/base/json_schema.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::bench {
namespace {

OpCalls calls_of(std::string_view row, Dtype dtype, size_t count = 3) {
  return large_calls(*op_table().find(row), op_table(), dtype, 1 << 16, count);
}

TEST(OpCalls, GrowToTheSizeAskedFor) {
  for (std::string_view row : {"aten.add.Tensor", "aten.sum.dim_IntList", "aten.max_pool2d", "aten.layer_norm",
                               "aten.gather", "aten.cat", "aten.upsample_bilinear2d", "aten.zeros"}) {
    const OpCalls calls = calls_of(row, Dtype::f32);
    EXPECT_EQ(calls.graphs.size(), 3u) << row << calls.none;
    for (const auto& graph : calls.graphs) {
      EXPECT_LE(elements_of(*graph), 1 << 16) << print(*graph);
      EXPECT_GE(elements_of(*graph), 1 << 13) << print(*graph);
      EXPECT_NO_THROW(verify(*graph)) << print(*graph);
    }
  }
}

TEST(OpCalls, HaveListsThatMayBeSoLong) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i64, Dtype::f32})
    EXPECT_NO_THROW(large_calls(*op_table().find("aten.split.Tensor"), op_table(), dtype, 1 << 18, 2));
}

TEST(OpCalls, AreOfTheDtypeAskedForWhereTheRowTakesIt) {
  for (const auto& graph : calls_of("aten.gather", Dtype::bf16).graphs)
    EXPECT_EQ(graph->type(graph->inputs()[0].value).dtype, Dtype::bf16) << print(*graph);
  const OpCalls bits = calls_of("aten.bitwise_and.Tensor", Dtype::f32);
  ASSERT_FALSE(bits.graphs.empty());
  EXPECT_FALSE(is_inexact(bits.graphs[0]->type(bits.graphs[0]->inputs()[0].value).dtype));
}

TEST(OpCalls, SayWhyThereAreNone) {
  const OpCalls calls = calls_of("lenz.getitem", Dtype::f32);  // op name: a row without a generator
  EXPECT_TRUE(calls.graphs.empty());
  EXPECT_FALSE(calls.none.empty());
}

OpCallTimes took(double ours, double eager, Computed by = Computed::ours) {
  OpCallTimes call;
  call.by = by;
  call.ours = {ours, ours};
  call.eager = {eager, eager};
  return call;
}

TEST(OpTimes, TheSlowestBesideEagerComesFirst) {
  OpTimesReport report;
  report.rows = {{"a", "", {took(1, 2), took(4, 1)}},
                 {"b", "", {took(9, 1, Computed::library), took(1, 1), took(0, 1)}}};
  const auto ours = report.timed(Computed::ours);
  ASSERT_EQ(ours.size(), 3u);
  EXPECT_DOUBLE_EQ(ours[0]->ratio(), 0.25);
  EXPECT_DOUBLE_EQ(ours[2]->ratio(), 2);
  EXPECT_EQ(report.timed(Computed::library).size(), 1u);
}

TEST(OpTimes, JsonFitsItsSchema) {
  OpTimesReport report;
  report.elements = 7;
  report.rows = {{"a", "", {took(1, 2), took(0, 0)}}, {"b", "no calls", {}}};
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/bench/op_times.schema.json");
  const auto violations = schema_violations(report.to_json(), nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
}

}  // namespace
}  // namespace lenz::bench
