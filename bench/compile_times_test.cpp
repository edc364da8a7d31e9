#include "bench/compile_times.h"

#include <gtest/gtest.h>

#include <fstream>

#include "compiler/base/json_schema.h"
#include "compiler/driver/build.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::bench {
namespace {

TEST(CompileTimes, EachStepIsAKernelOfItsOwn) {
  for (int64_t steps : {1, 40}) {
    BuildReport report;
    build(*parse_graph(graph_of_kernels(steps), op_table()), {}, &report);
    EXPECT_GE(report.kernels.kernels, static_cast<size_t>(steps));
    EXPECT_LE(report.kernels.kernels, static_cast<size_t>(2 * steps + 1));
  }
}

TEST(CompileTimes, OpenSizesAreSteps) {
  for (const GrowthSizes sizes : {GrowthSizes::open, GrowthSizes::open_each}) {
    const auto graph = parse_graph(graph_of_kernels(12, sizes), op_table());
    BuildReport report;
    build(*graph, {}, &report);
    EXPECT_EQ(graph->inputs().size(), sizes == GrowthSizes::open ? 1u : 12u);
    EXPECT_GE(report.kernels.kernels, 12u);
    EXPECT_LE(report.kernels.kernels, 36u);
  }
}

TEST(CompileTimes, JsonFitsItsSchema) {
  CompileReport report;
  report.rows = {{.name = "a", .cold = {0.1, 0.2, 0.3, 0.7, 3, 0}, .warm = {}, .failed = {}, .inductor_failed = "no"}};
  report.growth = report.rows;
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/bench/compile_times.schema.json");
  const auto violations = schema_violations(report.to_json(), nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  EXPECT_NEAR(report.to_json()["rows"][0]["cold"]["ms"].get<double>(), 600, 1e-9);
}

}  // namespace
}  // namespace lenz::bench
