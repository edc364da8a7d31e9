// What every pass promises, on random graphs: the result is valid and its text parses back (the runner checks), the
// caller sees the same values, memory and types, also when only some rewrites are done; claims hold.
#include <gtest/gtest.h>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/passes/interpreter_test.h"
#include "compiler/passes/random_graph_test.h"
#include "compiler/passes/runner.h"

namespace lenz {
namespace {

constexpr uint64_t kGraphs = 6000;

std::unique_ptr<Graph> random_graph(uint64_t seed) {
  RandomChooser chooser(seed);
  bool torch = seed % 3 != 0;
  return test::RandomGraph(chooser,
                           {.writes = torch, .level = torch ? Level::torch : Level::aten, .symbolic = seed % 5 == 0})
      .make();
}

std::string compare(const test::Seen& a, const test::Seen& b) {
  if (a.types != b.types) return "types of outputs differ";
  if (a.shares != b.shares) return "inputs and outputs share other memory";
  if (a.outputs != b.outputs) return "outputs differ";
  if (a.inputs != b.inputs) return "inputs differ afterwards";
  return "";
}

// Runs passes; false for a graph that one of them says it can't do, as a write to a tensor that overlaps itself.
bool supported(Graph& graph, std::span<const PipelineLine> lines, const RunnerOptions& options, size_t& unsupported,
               RunStatistics* statistics = nullptr) {
  std::string before = print(graph);
  try {
    RunStatistics s = run_passes(graph, lines, options);
    if (statistics) *statistics = std::move(s);
    return true;
  } catch (const Unsupported&) {
    ++unsupported;
  } catch (const InternalError& error) {
    ADD_FAILURE() << error.what() << "\n" << before;
  }
  return false;
}

TEST(RandomGraphs, AreValidAndGivePassesSomethingToDo) {
  size_t rewrites = 0, writes = 0, unsupported = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    auto graph = random_graph(seed);
    auto violations = verify(*graph);
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << to_string(violations[0]) << "\n" << print(*graph);
    writes += AliasClasses(*graph).any_writes();
    RunStatistics run;
    if (supported(*graph, pipeline(), {}, unsupported, &run)) rewrites += run.rewrites;
  }
  EXPECT_LT(unsupported, kGraphs / 50);
  EXPECT_GT(rewrites, kGraphs);
  EXPECT_GT(writes, kGraphs / 4);
}

class EachPass : public testing::TestWithParam<std::string> {};

TEST_P(EachPass, ChangesNothingThatTheCallerSees) {
  auto lines = select_passes(GetParam());
  int changed = 0;
  size_t unsupported = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    auto graph = random_graph(seed);
    std::string before = print(*graph);
    test::Seen expected = test::Interpreter(*graph, seed).run();
    RunnerOptions options = checked_options();
    if (seed % 4 == 1)  // a part of the rewrites must be as right as all of them
      options.selection =
          PassSelection::parse(GetParam() + (seed % 8 == 1 ? ":#" : ":") + std::to_string(1 + seed % 3), pipeline());
    RunStatistics s;
    if (!supported(*graph, lines, options, unsupported, &s)) continue;
    changed += s.runs[0].changed;
    std::string difference = compare(expected, test::Interpreter(*graph, seed).run());
    ASSERT_EQ(difference, "") << "seed " << seed << "\n" << before << "\nbecomes\n" << print(*graph);
    const Pass& pass = lines[0].pass;
    ASSERT_TRUE(!pass.never_grows || s.runs[0].nodes_after <= s.runs[0].nodes_before) << "seed " << seed << "\n"
                                                                                      << before;
    if (pass.idempotent && seed % 4 != 1) {
      std::string once = print(*graph);
      ASSERT_FALSE(run_passes(*graph, lines).runs[0].changed) << "seed " << seed << "\n"
                                                              << before << "\nbecomes\n"
                                                              << once << "\nbecomes\n"
                                                              << print(*graph);
    }
  }
  EXPECT_LT(unsupported, kGraphs / 50);
  // Those whose idioms random graphs hardly hold have examples of their own (corpus/passes); here they do no harm.
  constexpr std::string_view kOwnGraphs[] = {"constant_folding", "attention",          "batch_norm_folding",
                                             "joined_parts",     "known_idioms",       "product_operands",
                                             "peak_memory",      "subgraph_arguments", "convolution_products",
                                             "channels_last",    "partial_extremes",   "vector_products"};
  bool own = std::ranges::find(kOwnGraphs, GetParam()) != std::end(kOwnGraphs);
  EXPECT_GT(changed, own ? -1 : 20) << "the random graphs give this pass too little to do";
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const PipelineLine& line : pipeline())
    if (std::ranges::find(names, line.pass.name) == names.end()) names.emplace_back(line.pass.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Pipeline, EachPass, testing::ValuesIn(pass_names()),
                         [](const auto& info) { return info.param; });

TEST(WholePipeline, ChangesNothingThatTheCallerSees) {
  size_t unsupported = 0;
  for (uint64_t seed = 0; seed < 2 * kGraphs; ++seed) {
    auto graph = random_graph(seed);
    std::string before = print(*graph);
    test::Seen expected = test::Interpreter(*graph, seed).run();
    RunnerOptions options = checked_options();
    if (seed % 4 == 1) options.selection = PassSelection::parse("all:" + std::to_string(seed % 20), pipeline());
    if (!supported(*graph, pipeline(), options, unsupported)) continue;
    std::string difference = compare(expected, test::Interpreter(*graph, seed).run());
    ASSERT_EQ(difference, "") << "seed " << seed << "\n" << before << "\nbecomes\n" << print(*graph);
  }
  EXPECT_LT(unsupported, kGraphs / 25);
}

}  // namespace
}  // namespace lenz
