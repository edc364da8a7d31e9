// Every row by itself, without libtorch: its generator never fails, whatever the choices.
#include <gtest/gtest.h>

#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

TEST(Rows, GeneratorsMakeLegalCallsForEverySeed) {
  for (const auto& row : op_table().rows()) {
    if (!row->generate) continue;
    size_t failures = 0;
    for (uint64_t seed = 0; seed < 60 && failures < 2; ++seed) {
      RandomChooser chooser(seed);
      try {
        EXPECT_NE(generate_call(*row, op_table(), chooser), nullptr);
      } catch (const std::exception& e) {
        ++failures;
        ADD_FAILURE() << row->full_name << " seed " << seed << ": " << e.what();
      }
    }
  }
}

TEST(Rows, TheSimplestChoicesMakeACall) {
  for (const auto& row : op_table().rows()) {
    if (!row->generate) continue;
    ReplayChooser zeros({});
    EXPECT_NO_THROW(generate_call(*row, op_table(), zeros)) << row->full_name;
  }
}

}  // namespace
}  // namespace lenz
