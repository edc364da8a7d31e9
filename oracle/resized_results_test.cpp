// Results of graphs that give an input another shape: `out=` resizes what does not fit.
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/judge_results.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

constexpr std::string_view kText =
    "graph @g(%x: f32[3], %y: f32[0] mut) {\n  %0 = aten.neg(%x, out=%y)\n  return %0\n}\n";

class ResizedResults : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = parse_graph(kText, op_table());
    options_.results = testing::TempDir() + "resized_" + std::to_string(getpid()) + ".npz";
    Boxed boxed(DeviceKind::cpu);
    write_results(options_.results, *graph_,
                  Executor(boxed).run(*graph_, draw_inputs(*graph_, boxed, {}, Values::ordinary, options_.seed)));
  }
  void TearDown() override { unlink(options_.results.c_str()); }

  std::unique_ptr<Graph> graph_;
  JudgeOptions options_;
};

TEST_F(ResizedResults, TheInputHasItsNewShape) {
  const ResultsVerdict verdict = judge_results(*graph_, options_);
  EXPECT_EQ(verdict.code, ExitCode::fine) << (verdict.mismatch ? verdict.mismatch->summary() : "");
}

TEST_F(ResizedResults, OneThatKeptItsShapeIsWrong) {
  NpyArray empty;
  empty.dtype = Dtype::f32;
  empty.shape = {0};
  NpyArray result = NpzReader(options_.results).read("out0");
  write_npz(options_.results, std::vector<std::pair<std::string, NpyArray>>{{"y", empty}, {"out0", result}});
  EXPECT_EQ(judge_results(*graph_, options_).code, ExitCode::wrong);
}

}  // namespace
}  // namespace lenz::oracle
