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

// What excuses a disagreement has to name it: words that all disagreements of a kind have in common would excuse them
// all.
TEST(Rows, ExceptionsQuoteWhatIsSaidOfOneThing) {
  constexpr std::string_view kFrames[] = {
      "result: the rule says f32[], eager gives f32[1]; eager raises: eager accepts what the rule refuses: ",
      "libtorch's meta device: eager dies: RuntimeError: value cannot be converted"};
  for (const auto& row : op_table().rows())
    for (std::string_view rest = row->exception; rest.find('`') != rest.npos;) {
      rest.remove_prefix(rest.find('`') + 1);
      const std::string_view quote = rest.substr(0, rest.find('`'));
      rest.remove_prefix(std::min(quote.size() + 1, rest.size()));
      EXPECT_GE(quote.size(), 10u) << row->full_name << ": " << quote;
      for (std::string_view frame : kFrames)
        EXPECT_EQ(frame.find(quote), frame.npos) << row->full_name << ": " << quote;
    }
}

}  // namespace
}  // namespace lenz
