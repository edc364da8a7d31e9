// Every row whose loops are a text: it parses, lowers for whatever calls the row's generator makes, with numbers or
// symbols for sizes, and what comes out keeps the rules of loop programs.
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/loops/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/notation.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/symbolic_call.h"

namespace lenz {
namespace {

constexpr uint64_t kCalls = 60, kSymbolicCalls = 20;

// Those in place are functional ones by the time they are lowered.
bool has_text(const OpDef& row) {
  return !row.lowering.body.empty() && row.generate && row.variant != VariantKind::in_place;
}

TEST(RowLoops, TextsParse) {
  for (const auto& row : op_table().rows())
    if (!row->lowering.body.empty()) {
      EXPECT_NO_THROW(notation::parse(row->lowering.body)) << row->full_name;
    }
}

// Whether it lowers; what is wrong with it, if anything, in `finding`.
bool lowers(const Graph& graph, std::string& finding) {
  try {
    loops::ProgramVerdict verdict = loops::verify(lower_graph(graph, {.externs = false}));
    if (!verdict.valid()) finding = to_string(verdict.violations[0]);
    return true;
  } catch (const Unsupported&) {
    return false;
  } catch (const std::exception& e) {
    finding = e.what();
    return false;
  }
}

TEST(RowLoops, GeneratedCallsLower) {
  for (const auto& row : op_table().rows()) {
    if (!has_text(*row)) continue;
    size_t failures = 0, lowered = 0;
    for (uint64_t seed = 0; seed < kCalls && failures < 2; ++seed) {
      RandomChooser chooser(seed);
      std::string finding;
      lowered += lowers(*generate_call(*row, op_table(), chooser), finding);
      if (finding.empty()) continue;
      ++failures;
      ADD_FAILURE() << row->full_name << " seed " << seed << ": " << finding;
    }
    bool lazy = row->has(Trait::opaque_view);  // alone it is an output that is more than its elements: refused
    EXPECT_TRUE(lazy || lowered > 0) << row->full_name << " never lowers";
  }
}

TEST(RowLoops, CallsOfSymbolicSizesLower) {
  size_t lowered = 0;
  for (const auto& row : op_table().rows()) {
    if (!has_text(*row) || row->variant != VariantKind::functional) continue;
    size_t failures = 0;
    for (uint64_t seed = 0; seed < kSymbolicCalls && failures < 1; ++seed) {
      RandomChooser chooser(seed);
      std::unique_ptr<Graph> graph = with_symbolic_sizes(draw_call(*row, op_table(), chooser), Range{2, 4096});
      if (!graph) continue;
      std::string finding;
      lowered += lowers(*graph, finding);
      if (finding.empty()) continue;
      ++failures;
      ADD_FAILURE() << row->full_name << " seed " << seed << ": " << finding;
    }
  }
  EXPECT_GT(lowered, 1000u);
}

}  // namespace
}  // namespace lenz
