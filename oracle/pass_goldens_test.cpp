// What the golden tests of graph passes show, against eager: each pass by itself on its own examples, bit by bit, or
// within the bounds where the pass may round otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

namespace fs = std::filesystem;

class GoldenGraphs : public testing::TestWithParam<std::string> {};

TEST_P(GoldenGraphs, GiveWhatEagerGives) {
  size_t rewrites = 0, files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(LENZ_SOURCE_DIR) / "corpus/passes" / GetParam())) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    std::string given = text.str().substr(0, text.str().find("# ---- after "));
    auto graph = parse_graph(given, op_table());
    auto lines = select_passes(GetParam());
    GraphCheckOptions options;
    options.seeds = 6;
    options.layouts = true;
    options.bounds = lines[0].pass.rounds;
    options.lines = lines;
    GraphReport r = check_graph(*graph, options);
    ++files;
    rewrites += r.rewrites;
    if (lines[0].pass.rounds) rewrites += r.runs > r.seeds;  // it ran beside eager: it had done something
    auto by_eager = [&](const PassFinding& f) {  // where eager itself leaves the bounds, a pass can't be judged by them
      return std::ranges::any_of(r.findings, [&](const PassFinding& e) {
        return e.seed == f.seed && e.path.starts_with("float64 reference");
      });
    };
    for (const PassFinding& f : r.findings)
      if (!lines[0].pass.rounds || !by_eager(f))
        ADD_FAILURE() << entry.path() << ", seed " << f.seed << " " << name(f.values) << ": " << f.mismatch.summary();
  }
  EXPECT_GT(files, 0u);
  EXPECT_GT(rewrites, 0u);
}

INSTANTIATE_TEST_SUITE_P(Passes, GoldenGraphs,
                         testing::Values("uniform_values", "joined_parts", "known_idioms", "operand_sources",
                                         "product_operands", "attention", "batch_norm_folding", "convolution_products",
                                         "channels_last", "partial_extremes"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lenz::oracle
