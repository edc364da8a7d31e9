// Every row whose loops are a text: it parses, and lowers for whatever calls the row's generator makes.
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/notation.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

constexpr uint64_t kCalls = 60;

TEST(RowLoops, TextsParse) {
  for (const auto& row : op_table().rows())
    if (!row->lowering.body.empty()) {
      EXPECT_NO_THROW(notation::parse(row->lowering.body)) << row->full_name;
    }
}

TEST(RowLoops, GeneratedCallsLower) {
  for (const auto& row : op_table().rows()) {
    if (row->lowering.body.empty() || !row->generate) continue;
    size_t failures = 0, lowered = 0;
    for (uint64_t seed = 0; seed < kCalls && failures < 2; ++seed) {
      RandomChooser chooser(seed);
      auto graph = generate_call(*row, op_table(), chooser);
      try {
        lower_graph(*graph, {.externs = false});
        ++lowered;
      } catch (const Unsupported&) {
      } catch (const std::exception& e) {
        ++failures;
        ADD_FAILURE() << row->full_name << " seed " << seed << ": " << e.what();
      }
    }
    EXPECT_GT(lowered, 0u) << row->full_name << " never lowers";
  }
}

}  // namespace
}  // namespace lenz
